// How each kind of question is answered. An editor is made for a question and gives
//   element    what stands on the page
//   key(e)     whether it has dealt with a single key
//   focus()    whether it has taken the focus (else the question has it)
//   stretch()  what of the sound is played, in seconds of it; all of it where there is none
//   picture()  what is drawn on the sound
// `page` brings settings, give(answer), say(text), redraw() and duration().

import { button, group, make } from "./elements.js";
import { region } from "./region.js";

const MANY = 35; // classes that have a search field
const KEYS = "1234567890qwertyiopasdfghjklzcvbnm"; // u takes back, x refuses

/** Keys of classes: their own letters, else digits and letters. */
function keysOf(names) {
  const own = names.map((name) => name.toLowerCase());
  const single = own.every((name) => name.length === 1 && !"ux/ ".includes(name));
  return single && new Set(own).size === own.length ? own : [...KEYS];
}

function classes(question, page) {
  const names = question.classes ?? page.settings.classes;
  const keys = keysOf(names);
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
  const maxLength = page.settings.longest + before.length; // as the server has it
  const area = make("textarea", { id: "text", rows: 3, dir: "auto", value: before, maxLength, spellcheck: false, autocomplete: "off" });
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
    const typed = field.value.trim();
    if (NUMBER.test(typed) && Number.isFinite(+typed)) return page.give({ label: typed });
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
