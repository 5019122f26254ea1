// What happens on the page, as raw events: seconds are measured from them later, on the server.
// An event says that a key was pressed, never which. Events wait in the browser's storage until the
// server has them, so that a browser that is killed loses a second of them at most.
import { final, post } from "./network.js";

const BEAT = 5000; // milliseconds between two signs of life
const MOST = 800; // events of one request
const LEAVING = 250; // of the last one of a page: browsers allow it 64 KiB
const KEPT = 1500; // in the browser's storage

export const session = random(9);
let events = [];
let seq = 0;
let latest = 0; // events come by the time of their dispatch; their own times may lie before it
let presentation = null;
let place = ""; // in the browser's storage
let owns = () => false;
let playing = () => null;

export function random(bytes) {
  const numbers = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(numbers, (n) => n.toString(16).padStart(2, "0")).join("");
}

/** Note an event; `stamp`: its own time in milliseconds, `at`: where in a sound, in seconds. */
export function note(kind, { at = null, stamp = performance.now() } = {}) {
  latest = Math.max(latest, stamp / 1000);
  const pid = presentation;
  events.push({ seq: seq++, kind, mono: latest, wall: Date.now() / 1000, pid, at });
  return latest;
}

/** Which presentation the events belong to from now on, or none. */
export function assign(pid) {
  presentation = pid;
}

/** The first events that wait. */
export const waiting = () => events.slice(0, MOST);

/** The server has the events of a request. */
export function acknowledged(sent) {
  const last = sent.length ? sent[sent.length - 1].seq : -1;
  events = events.filter((event) => event.seq > last);
  keep();
}

export function keep() {
  try {
    if (events.length) localStorage.setItem(place, JSON.stringify(events.slice(-KEPT)));
    else localStorage.removeItem(place);
  } catch {
    // the storage is full or closed: events that are not sent are lost with the page
  }
}

export async function flush(leaving = false) {
  const sent = events.slice(0, leaving ? LEAVING : MOST);
  if (!sent.length) return;
  const reply = await post("events", { session, events: sent }, leaving ? { keepalive: true } : {});
  if (reply.status === 200 || final(reply.status)) acknowledged(sent); // else they are sent again
  else keep();
}

/** Send what pages of this store left behind that were killed. */
async function recover(prefix) {
  for (const key of Object.keys(localStorage).filter((k) => k.startsWith(prefix) && k !== place)) {
    const left = JSON.parse(localStorage.getItem(key) ?? "[]");
    const body = { session: key.slice(prefix.length), events: left };
    const { status } = await post("events", body);
    if (status === 200 || final(status)) localStorage.removeItem(key);
  }
}

let saw = { visible: null, focus: null };

/** Note whether the page is visible and has the focus, where that has changed. */
export function look() {
  const visible = document.visibilityState === "visible" && owns();
  const focus = document.hasFocus() && owns();
  if (visible !== saw.visible) note(visible ? "visible" : "hidden");
  if (focus !== saw.focus) note(focus ? "focus" : "blur");
  saw = { visible, focus };
}

/** Begin; of a person at a store. `tab.owns()` tells whether answers are taken here, `tab.at()` where a sound plays. */
export async function begin(store, person, tab) {
  const prefix = `truecost-events-${store}/${encodeURIComponent(person)}/`; // no name begins another
  place = prefix + session;
  owns = tab.owns;
  playing = tab.at;
  let moved = -1e9, held = -1e9;
  const pressed = (e) => {
    if (e.repeat && e.timeStamp - held < 1000) return; // a key that is held: once a second
    held = e.timeStamp;
    note("key", { stamp: e.timeStamp });
  };
  document.addEventListener("keydown", pressed, true);
  for (const kind of ["pointerdown", "pointermove", "wheel", "touchstart", "scroll"]) {
    const seen = (e) => {
      if (e.timeStamp - moved < 1000) return; // once a second
      moved = e.timeStamp;
      note("pointer", { stamp: e.timeStamp });
    };
    addEventListener(kind, seen, { passive: true, capture: true });
  }
  document.addEventListener("visibilitychange", () => {
    look();
    if (document.visibilityState === "hidden") leave();
  });
  addEventListener("focus", look);
  addEventListener("blur", () => setTimeout(look, 0));
  document.addEventListener("freeze", () => { note("freeze"); keep(); });
  document.addEventListener("resume", () => note("resume"));
  addEventListener("pagehide", () => { note("gone"); leave(); });
  setInterval(() => {
    if (!owns()) return;
    note("beat", { at: playing() });
    look();
    flush();
  }, BEAT);
  setInterval(keep, 1000);
  await recover(prefix);
}

function leave() {
  keep();
  flush(true);
}
