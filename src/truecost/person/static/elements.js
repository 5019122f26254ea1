// Elements of the page.

export function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** A button, with the key that does the same. */
export function button(name, key, act, properties = {}) {
  const shown = key ? [name, " ", make("kbd", { textContent: key })] : [name];
  return make("button", { type: "button", onclick: act, ...properties }, ...shown);
}

/** Controls that belong together, named for screen readers. */
export const group = (name, ...children) => {
  const made = make("div", { className: "row", role: "group" }, ...children);
  made.setAttribute("aria-label", name);
  return made;
};
