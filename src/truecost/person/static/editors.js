// How each kind of question is answered. An editor is made for a question and gives
//   element    what stands on the page
//   key(e)     whether it has dealt with a single key
//   focus()    whether it has taken the focus (else the question has it)
//   stretch()  what of the sound is played, in seconds of it; all of it where there is none
//   picture()  what is drawn on the sound
// `page` brings settings, give(answer), say(text), redraw() and duration().

const MANY = 35; // classes that have a search field
const KEYS = "1234567890qwertyiopasdfghjklzcvbnm"; // u takes back, x refuses
const STEP = 0.05; // seconds that an arrow moves a boundary
const SHORTEST = 0.01; // seconds of a turn

export function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export function button(name, key, act, properties = {}) {
  const shown = key ? [name, " ", make("kbd", { textContent: key })] : [name];
  return make("button", { type: "button", onclick: act, ...properties }, ...shown);
}

const group = (name, ...children) => {
  const made = make("div", { className: "row", role: "group" }, ...children);
  made.setAttribute("aria-label", name);
  return made;
};

/** Keys of classes: those of the settings, else their own letters, else digits and letters. */
function keysOf(names, wanted) {
  if (wanted.length === names.length) return wanted;
  const own = names.map((name) => name.toLowerCase());
  const single = own.every((name) => name.length === 1 && !"ux/ ".includes(name));
  return single && new Set(own).size === own.length ? own : [...KEYS];
}

function classes(question, page) {
  const names = question.classes ?? page.settings.classes;
  const keys = keysOf(names, question.classes ? [] : page.settings.keys);
  const choose = (place) => page.give({ label: names[place] });
  const buttons = names.map((name, place) => button(name, keys[place], () => choose(place), { dir: "auto" }));
  const choices = make("div", { className: "choices", role: "group" }, ...buttons);
  choices.setAttribute("aria-label", "Classes");
  const element = make("div", {}, choices);
  let search = null;
  if (names.length > MANY) {
    choices.classList.add("many");
    search = make("input", { type: "search", className: "search", id: "search", autocomplete: "off" });
    const count = make("span", { className: "soft" });
    count.setAttribute("role", "status");
    const found = () => buttons.filter((one) => !one.hidden);
    search.oninput = () => {
      const wanted = search.value.trim().toLowerCase();
      buttons.forEach((one, k) => { one.hidden = !names[k].toLowerCase().includes(wanted); });
      count.textContent = `${found().length} of ${names.length} classes`;
    };
    search.onkeydown = (e) => {
      if (e.key === "Enter" && search.value.trim() && found().length) found()[0].click();
      else if (e.key === "ArrowDown") found()[0]?.focus();
      else if (e.key === "Escape") { search.value = ""; search.oninput(); search.blur(); }
      else return;
      e.preventDefault();
    };
    const label = make("label", { htmlFor: "search" }, "Search ", make("kbd", { textContent: "/" }));
    element.prepend(make("div", { className: "row" }, label, search, count));
    search.oninput();
  }
  const key = (e) => {
    if (e.key === "/" && search) { search.focus(); return true; }
    const place = keys.indexOf(e.key.toLowerCase());
    if (place < 0 || place >= names.length) return false;
    choose(place);
    return true;
  };
  return { element, key };
}

/** Words of two texts by their longest common subsequence: [tag, words] in their order. */
export function changes(before, after) {
  const a = before.split(/\s+/).filter(Boolean), b = after.split(/\s+/).filter(Boolean);
  if (a.length * b.length > 4e6) return [["del", before], ["ins", after]];
  const width = b.length + 1, common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) {
      const skipped = Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : skipped;
    }
  const found = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) { found.push(["span", a[i++]]); j++; }
    else if (j === b.length || (i < a.length && common[(i + 1) * width + j] >= common[i * width + j + 1]))
      found.push(["del", a[i++]]);
    else found.push(["ins", b[j++]]);
  }
  return found;
}

function text(question, page) {
  const before = question.output ?? "";
  const area = make("textarea", { id: "text", rows: 3, dir: "auto", value: before, spellcheck: false, autocomplete: "off" });
  const shown = make("p", { className: "changes", dir: "auto" });
  shown.setAttribute("role", "group");
  shown.setAttribute("aria-label", "Changes");
  const name = document.createTextNode("");
  const save = make("button", { type: "button", className: "main" }, name, make("kbd", { textContent: "Ctrl Enter" }));
  const words = () => area.value.split(/\s+/).filter(Boolean).join(" ");
  let warned = false;
  save.onclick = () => {
    if (!words() && !warned) {
      warned = true;
      page.say("The text is empty. Save it again if nothing is said.");
    } else page.give({ label: words() });
  };
  area.oninput = () => {
    const same = question.output !== undefined && words() === before.split(/\s+/).filter(Boolean).join(" ");
    name.textContent = same ? "Right as it is " : "Save ";
    const parts = question.output === undefined || same ? [] : changes(before, area.value);
    shown.replaceChildren(...parts.flatMap(([tag, word]) => [make(tag, { textContent: word }), " "]));
  };
  area.onkeydown = (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); save.click(); }
    else if (e.key === "Escape") document.getElementById("ask").focus();
  };
  area.oninput();
  const label = question.output === undefined ? "Text" : "Corrected text";
  const element = make("div", {}, make("label", { htmlFor: "text" }, label), area, shown, make("p", { className: "row" }, save));
  const focus = () => {
    area.focus({ preventScroll: true });
    area.setSelectionRange(area.value.length, area.value.length);
    return true;
  };
  const key = (e) => e.key === "Enter" && focus();
  return { element, key, focus };
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i; // as the server has it

function number(question, page) {
  const field = make("input", { type: "text", id: "number", inputMode: "decimal", maxLength: 40, autocomplete: "off" });
  const save = button("Save", "Enter", () => {
    const said = field.value.trim();
    if (NUMBER.test(said) && Number.isFinite(+said)) return page.give({ label: said });
    field.setAttribute("aria-invalid", "true");
    page.say("Write a number with a point, such as 3.5 or -2e3.");
    field.focus();
  }, { className: "main" });
  field.oninput = () => field.removeAttribute("aria-invalid");
  field.onkeydown = (e) => {
    if (e.key === "Enter") { e.preventDefault(); save.click(); }
    else if (e.key === "Escape") document.getElementById("ask").focus();
  };
  const label = make("label", { htmlFor: "number" }, "Number");
  const element = make("div", { className: "row" }, label, field, save);
  const focus = () => { field.focus({ preventScroll: true }); return true; };
  const key = (e) => e.key === "Enter" && focus();
  return { element, key, focus };
}

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

function region(question, page) {
  const base = question.base ?? 0;
  let part = [base, base + question.length]; // within which boundaries stay
  let outside = question.wide // what of the output stays as it is
    ? [[question.wide[0], part[0]], [part[1], question.wide[1]]].flatMap((side) => turnsOf(question.output ?? "", side))
    : [];
  const whole = { start: part[0], end: part[1], speaker: null };
  let turns = question.output === undefined ? [whole] : turnsOf(question.output, part);
  const speakers = [...new Set([...(question.speakers ?? []), ...turns.map((t) => t.speaker).filter(Boolean)])];
  let chosen = 0;
  let clipped = [false, false];
  const list = make("ul", { className: "turns" });
  const bounds = make("div", { className: "bounds" });
  const people = group("Speaker");
  const newcomer = make("input", { type: "text", id: "newcomer", maxLength: 40, size: 12, autocomplete: "off" });
  const done = make("button", { type: "button", className: "main" });
  const wider = button("Wider", "W", widen, { hidden: !question.wide });
  const shown = (time) => `${time.toFixed(2)} s`;

  function move(side, to) {
    const turn = turns[chosen];
    if (!turn) return;
    const inside = Math.min(Math.max(Math.round(to * 1000) / 1000, part[0]), part[1]);
    clipped = [false, false];
    clipped[side] = Math.abs(inside - to) > 1e-3;
    if (side) turn.end = Math.max(inside, turn.start + SHORTEST);
    else turn.start = Math.min(inside, turn.end - SHORTEST);
    if (clipped[side]) {
      const more = wider.hidden ? "" : " Choose “Wider” to correct more.";
      page.say(`The question is about ${shown(part[0])} to ${shown(part[1])}: the boundary stays inside.${more}`);
    }
    update();
  }
  /** From here on boundaries may leave the part that is asked about: what changes there is volunteered. */
  function widen() {
    if (wider.hidden) return;
    const kept = turns[chosen], end = question.start + page.duration();
    part = [question.wide[0], Math.max(part[1], page.duration() ? Math.min(question.wide[1], end) : question.wide[1])];
    turns = joined([...turns, ...outside]);
    outside = [];
    chosen = Math.max(0, turns.findIndex((t) => kept && t.speaker === kept.speaker && t.start <= kept.start && t.end >= kept.end));
    clipped = [false, false];
    if (document.activeElement === wider) done.focus();
    wider.hidden = true;
    page.say(`You may correct ${shown(part[0])} to ${shown(part[1])} now.`);
    update();
  }
  function name(speaker) {
    if (turns[chosen]) turns[chosen].speaker = speaker;
    update();
  }
  function add() {
    turns.push({ ...whole });
    chosen = turns.length - 1;
    update();
  }
  function remove() {
    turns.splice(chosen, 1);
    chosen = Math.max(0, Math.min(chosen, turns.length - 1));
    update();
  }
  function introduce() {
    const speaker = newcomer.value.trim().replace(/[\s|]+/g, "_"); // a name has no blanks
    if (!speaker) return;
    if (!speakers.includes(speaker)) speakers.push(speaker);
    newcomer.value = "";
    name(speaker);
    newcomer.blur();
  }
  function finish() {
    const unnamed = turns.findIndex((turn) => !turn.speaker);
    if (unnamed < 0) return page.give({ label: lineOf([...turns, ...outside]) });
    chosen = unnamed;
    update();
    page.say(`Choose a speaker for turn ${unnamed + 1} first.`);
  }
  const sliders = ["Start", "End"].map((label, side) => {
    const slider = make("input", { type: "range", id: `bound-${side}`, step: STEP / 5 });
    const value = make("output");
    slider.oninput = () => move(side, +slider.value);
    bounds.append(make("label", { htmlFor: slider.id }, label), slider, value);
    return { slider, value };
  });
  function update() {
    list.replaceChildren(...turns.map((turn, place) => {
      const text = `${shown(turn.start)} to ${shown(turn.end)}: ${turn.speaker ?? "who?"}`;
      const one = button(text, "", () => { chosen = place; clipped = [false, false]; update(); });
      one.setAttribute("aria-pressed", String(place === chosen));
      return make("li", {}, one);
    }));
    people.replaceChildren(...speakers.map((speaker, k) => {
      const one = button(speaker, k < 9 ? String(k + 1) : "", () => name(speaker), { dir: "auto" });
      one.setAttribute("aria-pressed", String(turns[chosen]?.speaker === speaker));
      return one;
    }));
    bounds.hidden = !turns.length;
    const first = question.start, last = Math.max(part[1], first + page.duration());
    sliders.forEach(({ slider, value }, side) => {
      Object.assign(slider, { min: Math.min(first, part[0]), max: last });
      if (!turns[chosen]) return;
      slider.value = side ? turns[chosen].end : turns[chosen].start;
      value.textContent = shown(side ? turns[chosen].end : turns[chosen].start);
      value.classList.toggle("clipped", clipped[side]);
    });
    done.replaceChildren(turns.length ? "Done " : "Nobody speaks ", make("kbd", { textContent: "Enter" }));
    page.redraw();
  }
  done.onclick = finish;
  newcomer.onkeydown = (e) => {
    if (e.key === "Enter") introduce();
    else if (e.key === "Escape") newcomer.blur();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const element = make(
    "div", {}, list, bounds, people,
    make("div", { className: "row" }, make("label", { htmlFor: "newcomer" }, "New speaker ", make("kbd", { textContent: "N" })), newcomer, button("Add", "", introduce)),
    make("div", { className: "row" }, done, button("Another turn", "A", add), button("Remove the turn", "Del", remove), wider),
  );
  const key = (e) => {
    if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
      const side = e.shiftKey ? 0 : 1, turn = turns[chosen];
      if (turn) move(side, (side ? turn.end : turn.start) + (e.key === "ArrowLeft" ? -STEP : STEP));
    } else if (/^[1-9]$/.test(e.key) && speakers[e.key - 1]) name(speakers[e.key - 1]);
    else if (e.key === "Enter") finish();
    else if (e.key.toLowerCase() === "a") add();
    else if (e.key === "Delete") remove();
    else if (e.key.toLowerCase() === "n") newcomer.focus();
    else if (e.key.toLowerCase() === "w") widen();
    else return false;
    return true;
  };
  const stretch = () => turns[chosen] && [turns[chosen].start - question.start, turns[chosen].end - question.start];
  const picture = () => ({
    part: part.map((time) => time - question.start),
    marks: (stretch() ?? []).map((time, side) => ({ time, clipped: clipped[side] })),
  });
  /** Move the nearer boundary to a time of the sound; the side that was moved. */
  const drag = (time, side = null) => {
    const [start, end] = stretch() ?? [0, 0];
    const moved = side ?? (Math.abs(time - start) < Math.abs(time - end) ? 0 : 1);
    move(moved, time + question.start);
    return moved;
  };
  return { element, key, stretch, picture, drag, begin: update };
}

function verdict(question, page) {
  const inner = make("div");
  let editor = null;
  const open = () => {
    editor = EDITORS[question.correct](question, page);
    inner.replaceChildren(editor.element);
    editor.begin?.();
    if (!editor.focus?.()) inner.querySelector("button")?.focus();
  };
  const choices = [
    button("Right", "1", () => page.give({ verdict: "right" })),
    button("Wrong", "2", () => page.give({ verdict: "wrong" })),
    ...(question.correct ? [button("Correct it", "3", open)] : []),
  ];
  const element = make("div", {}, group("Right or wrong", ...choices), inner);
  const key = (e) => {
    if (editor && e.key === "Escape") { editor = null; inner.replaceChildren(); page.redraw(); return true; }
    if (editor) return editor.key(e);
    if (!/^[123]$/.test(e.key) || !choices[e.key - 1]) return false;
    choices[e.key - 1].click();
    return true;
  };
  return {
    element,
    key,
    stretch: () => editor?.stretch?.(),
    picture: () => editor?.picture?.(),
    drag: question.correct === "region" ? (time, side) => editor?.drag(time, side) : undefined,
    begin: () => editor?.begin?.() ?? page.redraw(),
  };
}

export const EDITORS = { classes, text, number, region, verdict };
