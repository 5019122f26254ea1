// What the browser tests measure on a report. The value of this file is an object of functions;
// tests/browser.py evaluates it in the page, also where the page itself may run no script.
(() => {
  const all = (within, selector) => [...within.querySelectorAll(selector)];
  const squeeze = (element) => element.textContent.replace(/\s+/g, " ").trim();
  const onScreen = ([x, y], m) => [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f];
  const bounds = (element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return { left, right, top, bottom };
  };

  // Red, green, blue and opacity of a computed colour; nothing for "none".
  const paint = (colour) => {
    const parts = (colour.match(/[\d.]+/g) ?? []).map(Number);
    return parts.length < 3 ? [0, 0, 0, 0] : [...parts.slice(0, 3), parts[3] ?? 1];
  };
  const over = (upper, lower, opacity) => lower.map((v, k) => v + opacity * (upper[k] - v));
  const luminance = (colour) => {
    const [r, g, b] = colour.map((v) =>
      v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  // WCAG 2 contrast ratio, 1 to 21.
  const contrast = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const paper = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, opacity] = paint(getComputedStyle(at).backgroundColor);
      if (opacity > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  // The colour of text on its paper: what it lies in may be see-through.
  const inked = (element) => {
    let [r, g, b, opacity] = paint(getComputedStyle(element).color);
    for (let at = element; at; at = at.parentElement) opacity *= getComputedStyle(at).opacity;
    return over([r, g, b], paper(element), opacity);
  };
  // What is drawn in a picture, in its order, each with its fill and the way from the screen to it.
  const filled = (svg) =>
    all(svg, "path, rect, circle, ellipse, polygon")
      .filter((shape) => !shape.closest("defs, clipPath"))
      .map((shape) => ({ shape, style: getComputedStyle(shape) }))
      .map(({ shape, style }) => ({ shape, style, fill: paint(style.fill) }))
      .filter(({ fill }) => fill[3] !== 0)
      .map((one) => ({ ...one, box: bounds(one.shape) }))
      .map((one) => ({ ...one, inward: one.shape.getScreenCTM().inverse() }));
  // The colour below a point of the screen: the paper and every shape that was drawn on it before.
  const ground = (text, svg, shapes, [x, y]) => {
    let colour = paper(svg);
    for (const { shape, style, fill, box, inward } of shapes) {
      if (x < box.left || x > box.right || y < box.top || y > box.bottom) continue;
      if (!(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
      if (!shape.isPointInFill(new DOMPoint(x, y).matrixTransform(inward))) continue;
      colour = over(fill.slice(0, 3), colour, fill[3] * style.fillOpacity * style.opacity);
    }
    return colour;
  };

  const word = (text, svg, shapes, picture) => {
    const m = text.getScreenCTM();
    const { x, y, width, height } = text.getBBox();
    const at = (u, v) => onScreen([x + u * width, y + v * height], m);
    const ink = paint(getComputedStyle(text).fill).slice(0, 3);
    return {
      picture,
      text: squeeze(text),
      size: parseFloat(getComputedStyle(text).fontSize) * Math.hypot(m.a, m.b),
      box: [at(0, 0), at(1, 0), at(1, 1), at(0, 1)],
      // what is drawn is lower than its box: accents above and tails below are mostly empty
      core: [at(0.01, 0.18), at(0.99, 0.18), at(0.99, 0.82), at(0.01, 0.82)],
      frame: bounds(svg),
      contrast: Math.min(
        ...[0.1, 0.5, 0.9].map((u) => contrast(ink, ground(text, svg, shapes, at(u, 0.5))))
      ),
    };
  };
  // The visible pictures, and the texts that are seen in one.
  const shown = () => all(document, "svg").filter((svg) => svg.checkVisibility());
  const written = (svg) =>
    all(svg, "text").filter((text) => squeeze(text) && text.checkVisibility());

  const cells = (row) => all(row, "th, td").map((cell) => cell.localName);
  const numbers = (table) => ({
    name: table.caption ? squeeze(table.caption) : "",
    visible: table.checkVisibility() && table.getBoundingClientRect().height > 0,
    hiddenByPicture: table.closest("[role=img], [aria-hidden=true]") !== null,
    columns: all(table, "thead th[scope=col]").length,
    rows: all(table, "tbody tr").map((row) => ({
      width: all(row, "th, td").reduce((sum, cell) => sum + cell.colSpan, 0),
      named: row.querySelector("th[scope=row]") !== null,
    })),
    digits: /\d/.test(table.tBodies[0]?.textContent ?? ""),
    cut: cutOf(table),
    cells: all(table, "tr").map(cells).flat().length,
  });
  // How many pixels of a table lie outside the page or a box that does not show what overflows.
  const cutOf = (table) => {
    let cut = table.getBoundingClientRect().right - innerWidth;
    for (let at = table.parentElement; at; at = at.parentElement) {
      if (getComputedStyle(at).overflowX !== "visible")
        cut = Math.max(cut, at.scrollWidth - at.clientWidth);
    }
    return Math.max(0, cut);
  };

  return {
    // Open everything that can be opened.
    open() {
      for (const details of all(document, "details")) details.open = true;
    },
    widths() {
      return { content: document.scrollingElement.scrollWidth, window: innerWidth };
    },
    words() {
      return shown().flatMap((svg, picture) => {
        const shapes = filled(svg);
        return written(svg).map((text) => word(text, svg, shapes, picture));
      });
    },
    // What these words say, without measuring how they look.
    said() {
      return shown().flatMap((svg) => written(svg).map(squeeze));
    },
    pictures() {
      return shown()
        .map((svg) => {
          const image = svg.closest("[role=img]");
          const label = image?.getAttribute("aria-label") ?? "";
          const by = (image?.getAttribute("aria-labelledby") ?? "").split(" ");
          const named = by.map((id) => (id && document.getElementById(id)?.textContent) || "");
          return { ...bounds(svg), name: (label + named.join(" ")).trim() };
        });
    },
    // The visible figures, each with the tables between it and the next figure or heading.
    figures() {
      const found = [];
      let open = null;
      for (const element of all(document, "figure, table, h1, h2, h3, h4")) {
        if (element.localName === "table") open?.tables.push(numbers(element));
        else if (element.localName !== "figure") open = element.closest("figure") ? open : null;
        else if (element.checkVisibility()) {
          open = { name: element.getAttribute("aria-label") ?? squeeze(element), tables: [] };
          found.push(open);
        }
      }
      return found;
    },
    tables() {
      return all(document, "table").map(numbers);
    },
    text() {
      return document.body.innerText;
    },
    // What is written outside pictures, with its size and its contrast with the paper behind it.
    texts() {
      const own = (element) => [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
      return all(document.body, "*")
        .filter((element) => own(element) && element.checkVisibility() && !element.closest("svg"))
        .map((element) => ({
          text: squeeze(element),
          size: parseFloat(getComputedStyle(element).fontSize),
          contrast: contrast(inked(element), paper(element)),
        }));
    },
    // Controls that a finger would miss: less than 24 CSS pixels wide or high (WCAG 2.2, 2.5.8).
    small() {
      return all(document, "button, input, textarea, canvas")
        .filter((element) => element.checkVisibility())
        .filter((element) => {
          const { width, height } = (element.closest("label") ?? element).getBoundingClientRect();
          return width < 24 || height < 24;
        })
        .map((element) => element.outerHTML.slice(0, 80));
    },
    // What the page says whether scripts run or not: without the controls that need them.
    plain() {
      const controls = all(document, ".js");
      const hidden = controls.map((element) => element.hidden);
      for (const element of controls) element.style.setProperty("display", "none", "important");
      const said = document.body.innerText;
      controls.forEach((element, k) => {
        element.style.removeProperty("display");
        element.hidden = hidden[k];
      });
      return said;
    },
    controls() {
      return all(document, "button, input, output")
        .filter((element) => element.checkVisibility())
        .map((element) => element.outerHTML.slice(0, 80));
    },
  };
})()
