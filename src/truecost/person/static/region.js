// Who speaks when in a part of a recording: the turns of a region, and how they are moved and named.
import { button, group, make } from "./elements.js";

const STEP = 0.05; // seconds that an arrow moves a boundary
const SHORTEST = 0.01; // seconds of a turn

/** Turns of a line `START END SPEAKER|...` within a part, in seconds of the recording. */
export function turnsOf(line, [first, last]) {
  return line.split("|").filter((turn) => turn.trim()).map((turn) => {
    const [start, end, speaker] = turn.trim().split(/\s+/);
    return { start: Math.max(first, +start), end: Math.min(last, +end), speaker };
  }).filter((turn) => turn.start < turn.end);
}

const lineOf = (turns) => turns.map((t) => `${t.start.toFixed(6)} ${t.end.toFixed(6)} ${t.speaker}`).join("|");

/** Turns in their order, those of a speaker that touch as one. */
const joined = (turns) => [...turns].sort((a, b) => a.start - b.start).reduce((found, turn) => {
  const last = found.find((one) => one.speaker && one.speaker === turn.speaker && one.end >= turn.start);
  if (last) last.end = Math.max(last.end, turn.end);
  else found.push(turn);
  return found;
}, []);

const shown = (time) => `${time.toFixed(2)} s`;

/** The turns of a question, one of which is chosen; times are in seconds of the recording. */
class Turns {
  constructor({ base = 0, length, wide, output, speakers = [] }) {
    this.part = [base, base + length]; // within which boundaries stay
    this.wide = wide;
    const sides = wide ? [[wide[0], this.part[0]], [this.part[1], wide[1]]] : [];
    this.outside = sides.flatMap((side) => turnsOf(output ?? "", side)); // stays as it is
    this.whole = { start: this.part[0], end: this.part[1], speaker: null };
    this.all = output === undefined ? [{ ...this.whole }] : turnsOf(output, this.part);
    this.speakers = [...new Set([...speakers, ...this.all.map((t) => t.speaker).filter(Boolean)])];
    this.choose(0);
  }
  get turn() { return this.all[this.chosen]; }
  choose(place) {
    this.chosen = Math.max(0, Math.min(place, this.all.length - 1));
    this.clipped = [false, false]; // the boundary that was stopped at the end of the part
  }
  move(side, to) {
    const turn = this.turn, inside = Math.min(Math.max(Math.round(to * 1000) / 1000, this.part[0]), this.part[1]);
    this.clipped = [false, false];
    this.clipped[side] = Math.abs(inside - to) > 1e-3;
    if (side) turn.end = Math.max(inside, turn.start + SHORTEST);
    else turn.start = Math.min(inside, turn.end - SHORTEST);
  }
  /** Let boundaries leave the part that is asked about; `end`: of what can be heard. */
  widen(end) {
    const kept = this.turn;
    this.part = [this.wide[0], Math.max(this.part[1], Math.min(this.wide[1], end))];
    this.all = joined([...this.all, ...this.outside]);
    this.outside = [];
    this.choose(this.all.findIndex((t) => kept && t.speaker === kept.speaker && t.start <= kept.start && t.end >= kept.end));
  }
  name(speaker) {
    if (!this.speakers.includes(speaker)) this.speakers.push(speaker);
    if (this.turn) this.turn.speaker = speaker;
  }
  add() {
    this.all.push({ ...this.whole });
    this.choose(this.all.length - 1);
  }
  remove() {
    this.all.splice(this.chosen, 1);
    this.choose(this.chosen);
  }
  get label() { return lineOf([...this.all, ...this.outside]); }
}

/** What can be done with the turns, each followed by `update`. */
function actionsOf(turns, question, page, update) {
  const changing = (act) => (...values) => { act(...values); update(); };
  const move = (side, to) => {
    if (!turns.turn) return;
    turns.move(side, to);
    if (turns.clipped[side]) {
      const more = turns.wide ? " Choose “Wider” to correct more." : "";
      page.say(`The question is about ${turns.part.map(shown).join(" to ")}: the boundary stays inside.${more}`);
    }
  };
  const widen = () => {
    if (!turns.wide) return;
    turns.widen(page.duration() ? question.start + page.duration() : Infinity);
    turns.wide = undefined; // once
    page.say(`You may correct ${turns.part.map(shown).join(" to ")} now.`);
  };
  const finish = () => {
    const unnamed = turns.all.findIndex((turn) => !turn.speaker);
    if (unnamed < 0) return page.give({ label: turns.label });
    turns.choose(unnamed);
    page.say(`Choose a speaker for turn ${unnamed + 1} first.`);
  };
  return {
    move: changing(move),
    widen: changing(widen),
    finish: changing(finish),
    choose: changing((place) => turns.choose(place)),
    name: changing((speaker) => turns.name(speaker)),
    add: changing(() => turns.add()),
    remove: changing(() => turns.remove()),
  };
}

/** The list of turns, and its update. */
function listOf(turns, act) {
  const element = make("ul", { className: "turns" });
  const update = () => element.replaceChildren(...turns.all.map((turn, place) => {
    const one = button(`${shown(turn.start)} to ${shown(turn.end)}: ${turn.speaker ?? "who?"}`, "", () => act.choose(place));
    one.setAttribute("aria-pressed", String(place === turns.chosen));
    return make("li", {}, one);
  }));
  return { element, update };
}

/** The buttons of speakers, and their update. */
function speakersOf(turns, act) {
  const element = group("Speaker");
  const update = () => element.replaceChildren(...turns.speakers.map((speaker, k) => {
    const one = button(speaker, k < 9 ? String(k + 1) : "", () => act.name(speaker), { dir: "auto" });
    one.setAttribute("aria-pressed", String(turns.turn?.speaker === speaker));
    return one;
  }));
  return { element, update };
}

/** Sliders of the boundaries of the turn that is chosen, and their update. */
function boundsOf(turns, question, page, act) {
  const element = make("div", { className: "bounds" });
  const sliders = ["Start", "End"].map((label, side) => {
    const slider = make("input", { type: "range", id: `bound-${side}`, step: STEP / 5 });
    const value = make("output");
    slider.oninput = () => act.move(side, +slider.value);
    element.append(make("label", { htmlFor: slider.id }, label), slider, value);
    return { slider, value };
  });
  const update = () => {
    const first = question.start, last = Math.max(turns.part[1], first + page.duration());
    element.hidden = !turns.all.length;
    sliders.forEach(({ slider, value }, side) => {
      Object.assign(slider, { min: Math.min(first, turns.part[0]), max: last });
      if (!turns.turn) return;
      slider.value = side ? turns.turn.end : turns.turn.start;
      value.textContent = shown(side ? turns.turn.end : turns.turn.start);
      value.classList.toggle("clipped", turns.clipped[side]);
    });
  };
  return { element, update };
}

/** The field for a speaker who is not there yet. */
function newcomerOf(act) {
  const field = make("input", { type: "text", id: "newcomer", maxLength: 40, size: 12, autocomplete: "off" });
  const introduce = () => {
    const speaker = field.value.trim().replace(/[\s|]+/g, "_"); // a name has no blanks
    if (!speaker) return;
    field.value = "";
    act.name(speaker);
    field.blur();
  };
  field.onkeydown = (e) => {
    if (e.key === "Enter") introduce();
    else if (e.key === "Escape") field.blur();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const label = make("label", { htmlFor: field.id }, "New speaker ", make("kbd", { textContent: "N" }));
  return { element: make("div", { className: "row" }, label, field, button("Add", "", introduce)), field };
}

/** The buttons below the turns, and their update. */
function buttonsOf(turns, act) {
  const done = make("button", { type: "button", className: "main", onclick: act.finish });
  const wider = button("Wider", "W", act.widen);
  const others = [button("Another turn", "A", act.add), button("Remove the turn", "Del", act.remove)];
  const update = () => {
    if (!turns.wide && document.activeElement === wider) done.focus();
    wider.hidden = !turns.wide;
    done.replaceChildren(turns.all.length ? "Done " : "Nobody speaks ", make("kbd", { textContent: "Enter" }));
  };
  return { element: make("div", { className: "row" }, done, ...others, wider), update };
}

/** Whether a single key has a meaning, and what it does. */
function keyOf(e, turns, act, field) {
  const key = e.key.toLowerCase();
  if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
    const side = e.shiftKey ? 0 : 1, turn = turns.turn;
    if (turn) act.move(side, (side ? turn.end : turn.start) + (e.key === "ArrowLeft" ? -STEP : STEP));
  } else if (/^[1-9]$/.test(e.key) && turns.speakers[e.key - 1]) act.name(turns.speakers[e.key - 1]);
  else if (e.key === "Enter") act.finish();
  else if (e.key === "Delete") act.remove();
  else if (key === "a") act.add();
  else if (key === "n") field.focus();
  else if (key === "w") act.widen();
  else return false;
  return true;
}

/** The editor of a question of the kind region. */
export function region(question, page) {
  const turns = new Turns(question);
  const act = actionsOf(turns, question, page, update);
  const list = listOf(turns, act), bounds = boundsOf(turns, question, page, act);
  const speakers = speakersOf(turns, act), buttons = buttonsOf(turns, act), newcomer = newcomerOf(act);
  const views = [list, bounds, speakers, buttons];
  function update() {
    views.forEach((view) => view.update());
    page.redraw();
  }
  const stretch = () => turns.turn && [turns.turn.start - question.start, turns.turn.end - question.start];
  const picture = () => ({
    part: turns.part.map((time) => time - question.start),
    marks: (stretch() ?? []).map((time, side) => ({ time, clipped: turns.clipped[side] })),
  });
  /** Move the nearer boundary to a time of the sound; the side that was moved. */
  const drag = (time, side = null) => {
    const [start, end] = stretch() ?? [0, 0];
    const moved = side ?? (Math.abs(time - start) < Math.abs(time - end) ? 0 : 1);
    act.move(moved, time + question.start);
    return moved;
  };
  const element = make("div", {}, list.element, bounds.element, speakers.element, newcomer.element, buttons.element);
  return { element, key: (e) => keyOf(e, turns, act, newcomer.field), stretch, picture, drag, begin: update };
}
