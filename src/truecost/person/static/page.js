// The page on which a person answers: questions come, answers go. An answer is written into the
// browser's storage before it is sent, and sent again until the server has acknowledged it.
import * as activity from "./activity.js";
import { note, session } from "./activity.js";
import { EDITORS } from "./editors.js";
import { button } from "./elements.js";
import { final, pause, post } from "./network.js";
import { turnsOf } from "./region.js";
import * as sound from "./sound.js";
import { ENDED, KEPT, LEARNT, OVER, SKIP, askOf, fault, waitingFor } from "./texts.js";

const $ = (id) => document.getElementById(id);
const WAIT = 15; // seconds that the server may keep a request for a question

let settings = {};
let store = "";
let person = "";
let question = null;
let editor = null;
let heard = null; // the sound of the question, decoded
let unsent = null; // an answer that the server has not acknowledged
let busy = false;
let own = false; // whether answers are taken in this tab
let stopped = false;
let asking = 0; // the latest loop that asks for a question; others end
let shownAt = 0;
let waited = false; // for the system, which was learning

/** Say something, once: a screen reader reads it when it changes. */
const say = (text) => {
  if ($("status").textContent !== text) $("status").textContent = text;
};
const unsentKey = () => `truecost-answer-${store}-${person}`;

// Answers

async function give(answer) {
  if (!question || busy || !own) return;
  busy = true;
  sound.hush();
  const mono = note("answer");
  unsent = { aid: activity.random(16), pid: question.pid, session, mono, wall: Date.now() / 1000, ...answer };
  try {
    localStorage.setItem(unsentKey(), JSON.stringify(unsent));
  } catch {
    // the storage is full or closed: the answer waits in this page
  }
  await send();
}

async function send() {
  for (let wait = 200; unsent; wait = Math.min(2 * wait, 5000)) {
    const mine = unsent.session === session ? activity.waiting() : []; // an earlier page has its own
    const { status, reply } = await post("answer", { ...unsent, events: mine, next: true });
    if (status === 200 || final(status)) {
      unsent = null;
      localStorage.removeItem(unsentKey());
      busy = false;
      if (status === 200 || status === 409) activity.acknowledged(mine);
      return answered(status, reply);
    }
    activity.keep();
    say(`${fault(status, reply)} ${KEPT}`);
    await pause(wait);
  }
}

/** Go on after an answer that the server has, or will never take. */
function answered(status, reply) {
  const over = [200, 404, 409].includes(status); // else the question stays, with what was put in
  say(status === 200 ? "" : over ? (OVER[reply.said] ?? "") : fault(status, reply));
  if (!over) activity.flush(); // in case that an event was refused: those are not sent again
  if (!own) return; // another tab goes on
  if (reply.next) show(reply.next);
  if (!reply.next?.question) ask({ telling: status !== 200, same: over ? null : question });
}

/** Ask until there is a question, or the run has ended. `telling`: what was said last stays.
 *  `same`: a question whose answer was refused, which is not put anew where it comes again. */
async function ask({ telling = false, same = null } = {}) {
  const mine = ++asking;
  for (let wait = 0; own && !stopped && mine === asking; ) {
    const { status, reply } = await post("next", { session, wait });
    if (mine !== asking || !own) return;
    if (status === 200) {
      if (same && alike(same, reply.question)) return present(Object.assign(same, reply.question));
      show(reply, telling);
      if (reply.question || reply.state !== "open") return;
      wait = WAIT;
    } else {
      const lost = " Trying again. If the command has ended, run it again.";
      say(`${fault(status, reply)}${status === 0 ? lost : ""}`);
      await pause(1000);
    }
  }
}

/** Whether two presentations are of the same question. */
const alike = (one, other) => JSON.stringify({ ...one, pid: 0 }) === JSON.stringify({ ...other, pid: 0 });

// What is shown

/** A presentation is in view from now on. */
function present(next) {
  question = next;
  activity.assign(question?.pid ?? null);
  shownAt = performance.now();
  budget();
  if (question) note("shown");
}

/** Show a question, or how things stand; `telling`: what was said last stays. */
function show(reply, telling = false) {
  present(reply.question);
  progress(reply);
  $("item").hidden = $("reasons").hidden = !question;
  $("more").hidden = reply.state !== "open";
  $("refuse").disabled = !question;
  $("again").hidden = true;
  if (!question) {
    editor = null;
    waited = settings.live && !reply.waits;
    if (!telling || reply.state !== "open") say(waitingFor(reply, settings.live));
    return;
  }
  if (waited) say("The system has learnt from your answers.");
  else if (!telling) say("");
  waited = false;
  fill(question);
  if (reply.ahead) setTimeout(() => sound.fetched(reply.ahead).catch(() => null), 30);
}

function progress(reply) {
  $("progress").textContent = settings.live ? `${reply.mine} answered` : `${reply.done} of ${reply.total} answered`;
  $("bar").hidden = settings.live;
  $("bar").value = reply.total ? reply.done / reply.total : 0;
}

/** Put a question on the page. */
function fill(now) {
  $("ask").textContent = now.ask ?? (settings.ask || askOf(now));
  place($("source"), now.source);
  $("image").hidden = !now.image;
  if (now.image) $("image").src = now.image;
  else $("image").removeAttribute("src");
  const guess = ["classes", "number", "verdict"].includes(now.kind) && now.output !== undefined;
  $("guess").hidden = !guess;
  if (guess) $("output").textContent = now.correct === "region" ? lines(now) : now.output || "(nothing)";
  $("reasons").hidden = true;
  $("refuse").setAttribute("aria-expanded", "false");
  heard = null;
  editor = EDITORS[now.kind](now, page);
  $("editor").replaceChildren(editor.element);
  editor.begin?.();
  $("play").querySelector("kbd").textContent = ["text", "number"].includes(now.kind) ? "Ctrl Space" : "Space";
  $("play-all").hidden = !editor.drag;
  $("sound").hidden = !now.sound;
  if (now.sound) listen(now);
  else painted();
  if (!editor.focus?.()) $("ask").focus({ preventScroll: true });
}

function place(element, text) {
  element.hidden = !text;
  element.textContent = text ?? "";
}

/** A diarization in words, a turn a line. */
function lines(of) {
  const base = of.base ?? 0;
  const turns = turnsOf(of.output, [base, base + of.length]);
  const words = turns.map((t) => `${t.start.toFixed(2)} to ${t.end.toFixed(2)} s: ${t.speaker}`);
  return words.join("\n") || "Nobody speaks";
}

/** Leave a mark when the question is on the screen. */
function painted() {
  const pid = question?.pid;
  requestAnimationFrame(() => setTimeout(() => {
    performance.clearMarks("painted");
    performance.mark("painted", { detail: pid });
  }));
}

const page = {
  get settings() { return settings; },
  give,
  say,
  redraw: (head = sound.at()) => {
    if (heard) sound.draw($("wave"), heard, { head, ...editor?.picture?.() });
  },
  duration: () => heard?.buffer.duration ?? 0,
};

// Sound

async function listen(now) {
  $("play").disabled = $("play-all").disabled = true;
  $("time").textContent = "";
  $("wave").getContext("2d").clearRect(0, 0, $("wave").width, $("wave").height);
  try {
    const found = await sound.fetched(now.sound);
    if (question !== now) return;
    heard = found;
  } catch {
    if (question === now) say(`The sound cannot be played. ${SKIP}`);
    painted();
    return;
  }
  $("play").disabled = $("play-all").disabled = false;
  const seconds = heard.buffer.duration.toFixed(1);
  $("time").textContent = `${seconds} s`;
  $("wave").setAttribute("aria-label", `Waveform and spectrogram of ${seconds} seconds of sound`);
  if (editor.begin) editor.begin();
  else page.redraw();
  painted();
}

function play(all = false) {
  if (!heard || sound.hush()) return page.redraw();
  const whole = [0, heard.buffer.duration];
  const [from, to] = (!all && editor.stretch?.()) || whole;
  sound.play(heard, Math.max(0, from), Math.min(whole[1], to), () => page.redraw());
}

$("wave").addEventListener("pointerdown", (e) => {
  if (!heard || !editor) return;
  const box = $("wave").getBoundingClientRect();
  const time = (x) => ((x - box.left) / box.width) * heard.buffer.duration;
  const side = editor.drag?.(time(e.clientX));
  if (side === undefined) return play();
  $("wave").setPointerCapture(e.pointerId);
  $("wave").onpointermove = (moved) => editor.drag(time(moved.clientX), side);
  $("wave").onpointerup = $("wave").onpointercancel = () => { $("wave").onpointermove = null; };
});

// Taking back, refusing, stopping

async function undo() {
  if (busy || !own) return;
  busy = true;
  if (question) note("left");
  const { status, reply } = await post("undo", { session });
  busy = false;
  if (status !== 200) return say(`${fault(status, reply)} Nothing was undone.`);
  stopped = false;
  sound.hush();
  show(reply.next);
  say({ undone: "Answer undone.", nothing: "There is no answer to undo.", taken: LEARNT }[reply.said]);
  if (!question) ask({ telling: true });
}

function refuse(open = $("reasons").hidden) {
  $("reasons").hidden = !open;
  $("refuse").setAttribute("aria-expanded", String(open));
  (open ? $("reasons").firstElementChild : $("refuse")).focus();
}

async function stop() {
  if (busy) return say("An answer is on its way: wait until it is sent.");
  if (question) note("left");
  sound.hush();
  await activity.flush();
  const { status, reply } = await post("stop", { session });
  if (status !== 200) return say(`${fault(status, reply)} Try again.`);
  stopped = true;
  asking++;
  present(null);
  $("item").hidden = $("more").hidden = $("reasons").hidden = true;
  $("again").hidden = reply.state !== "open"; // else the server ends: nobody else answers
  if (reply.state === "open") $("go-on").focus();
  say(ENDED[reply.state] ?? "Stopped. Your answers are kept.");
}

$("image").onerror = () => { if (question?.image) say(`The picture cannot be shown. ${SKIP}`); };
$("play").onclick = () => play();
$("play-all").onclick = () => play(true);
$("undo").onclick = undo;
$("refuse").onclick = () => refuse();
$("stop").onclick = stop;
$("go-on").onclick = () => { stopped = false; ask(); };
$("claim").onclick = () => claim(true);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.redraw());
$("keys").onchange = () => localStorage.setItem("truecost-keys", $("keys").checked ? "" : "off");

// Keys

const TYPING = "textarea, input[type=search], input[type=text]";

document.addEventListener("keydown", (e) => {
  if (!own || stopped || e.isComposing || e.defaultPrevented) return;
  if (e.key === " " && e.ctrlKey) { e.preventDefault(); return play(); }
  const typing = e.target.matches(TYPING);
  if (typing || !$("keys").checked || e.altKey) return;
  if (e.ctrlKey || e.metaKey) {
    if (e.key.toLowerCase() === "z" && !e.repeat) { e.preventDefault(); undo(); }
    return;
  }
  const arrow = e.key.startsWith("Arrow");
  if ((e.repeat && !arrow) || (arrow && e.target.matches("input"))) return;
  if (e.target.matches("button, input[type=checkbox]") && (e.key === " " || e.key === "Enter")) return;
  if (single(e)) e.preventDefault();
});

/** Whether a single key has a meaning. */
function single(e) {
  if (!$("reasons").hidden) {
    if (e.key === "Escape") { refuse(false); return true; }
    const reason = /^[1-9]$/.test(e.key) && $("reasons").children[e.key - 1];
    if (reason) { reason.click(); return true; }
  }
  if (question && e.key === " ") { play(e.shiftKey); return true; }
  if (question && editor.key(e)) return true;
  if (e.key.toLowerCase() === "u") { undo(); return true; }
  if (question && e.key.toLowerCase() === "x") { refuse(); return true; }
  return false;
}

// One tab of a browser at a time

function claim(steal) {
  if (!navigator.locks) return take(); // an address that the browser does not trust
  const how = steal ? { steal: true } : { ifAvailable: true };
  const held = (lock) => {
    if (!lock) return leave();
    take();
    return new Promise(() => {}); // until this page ends, or another tab takes it
  };
  return navigator.locks.request(`truecost-${store}`, how, held).catch(leave);
}

function leave() {
  if (question) note("left");
  own = false;
  asking++;
  activity.look();
  activity.flush();
  sound.hush();
  present(null);
  $("item").hidden = $("more").hidden = $("reasons").hidden = $("again").hidden = true;
  $("elsewhere").hidden = false;
  say("");
}

async function take() {
  own = true;
  stopped = false;
  $("elsewhere").hidden = true;
  activity.look();
  const left = localStorage.getItem(unsentKey());
  if (left) {
    unsent = JSON.parse(left);
    busy = true;
    await send();
  } else await ask();
}

async function begin() {
  const response = await fetch("/api/state").catch(() => null);
  const reply = await response?.json().catch(() => ({}));
  if (!response?.ok) {
    const status = response?.status ?? 0;
    say(fault(status, reply) + (status === 401 ? "" : " Trying again."));
    if (status !== 401) setTimeout(begin, 1000);
    return;
  }
  ({ settings, store, person } = reply);
  document.title = $("title").textContent = settings.title;
  $("keys").checked = localStorage.getItem("truecost-keys") !== "off";
  const reasons = settings.refusals.map((reason, k) => button(reason, String(k + 1), () => give({ refusal: reason })));
  $("reasons").replaceChildren(...reasons);
  setInterval(budget, 500);
  await activity.begin(store, person, { owns: () => own, at: sound.at });
  claim(false);
}

/** Seconds that were measured of this batch, and those on this question: for the eye, they are not
 *  the ones that count. */
function budget() {
  $("budget").hidden = !question?.budget;
  if (!question?.budget) return;
  const [spent, most] = question.budget;
  const here = document.visibilityState === "visible" ? (performance.now() - shownAt) / 1000 : 0;
  $("budget").textContent = `${Math.round(spent + here)} of ${Math.round(most)} s used on this batch`;
}

begin();
