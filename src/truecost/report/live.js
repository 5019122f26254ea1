// What the page can do where scripts run: hover, zoom, systems on and off, sliders, sorted tables,
// downloads. Everything that it needs is on the page; without it every picture and table is there.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (query, from = document) => [...from.querySelectorAll(query)];
  const data = JSON.parse(document.getElementById("numbers").textContent);
  const off = new Set();
  root.classList.add("live");

  // Scales: as in pictures/scales.py
  const horner = (factors, x) => factors.reduce((sum, factor) => sum * x + factor, 0);
  const [A, B, C, D] = data.normal;
  const probit = (rate) => {
    const p = Math.min(Math.max(rate, 1e-10), 1 - 1e-10), q = p - 0.5;
    if (Math.abs(q) <= 0.47575) return (q * horner(A, q * q)) / horner(B, q * q);
    const edge = Math.sqrt(-2 * Math.log(Math.min(p, 1 - p)));
    return (-Math.sign(q) * horner(C, edge)) / horner(D, edge);
  };
  const bisect = (f, value) => {
    let low = 1e-10, high = 1 - 1e-10;
    for (let k = 0; k < 50; k += 1) {
      const middle = (low + high) / 2;
      if (f(middle) < value) low = middle; else high = middle;
    }
    return (low + high) / 2;
  };
  const forward = { linear: (x) => x, log: Math.log10, asinh: Math.asinh, probit };
  const back = { linear: (x) => x, log: (x) => 10 ** x, asinh: Math.sinh, probit: (x) => bisect(probit, x) };
  const scale = (text) => {
    const [kind, ...rest] = text.split(","), [low, high, start, end] = rest.map(Number);
    const f = forward[kind], a = f(low), b = f(high);
    const place = (value) => start + ((f(value) - a) / (b - a)) * (end - start);
    place.value = (at) => back[kind](a + ((at - start) / (end - start)) * (b - a));
    return Object.assign(place, { kind, low, high, start, end, shown: rest[4], factor: Number(rest[5] || 0) });
  };
  const percent = (share) => `${Number((100 * share).toPrecision(3))}%`;
  const short = (name) => (name.length > 40 ? `${name.slice(0, 19)}…${name.slice(-19)}` : name);

  // Hover: a title becomes the tip; small pictures take theirs from the wide ones
  const tip = Object.assign(document.createElement("div"), { id: "tip", hidden: true });
  document.body.append(tip);
  all("figure").forEach((figure) => {
    const full = all("svg.full title", figure);
    all("svg.small title", figure).forEach((title, k) => { title.textContent = full[k].textContent; });
  });
  all("svg title").forEach((title) => {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  });
  const show = (event, text) => {
    tip.textContent = text;
    tip.hidden = !text;
    tip.style.left = `${Math.min(event.pageX + 14, root.clientWidth - tip.offsetWidth - 6)}px`;
    tip.style.top = `${event.pageY + 14}px`;
  };
  document.addEventListener("pointermove", (event) => {
    const mark = event.target.closest?.("[data-tip]");
    if (mark) show(event, mark.dataset.tip); else tip.hidden = true;
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });

  // Systems on and off; those beyond the coloured ones are grey until they are picked
  const ofSeries = (name, from = document) => all("[data-series]", from).filter((n) => n.dataset.series === name);
  all(".systems input").forEach((box) => box.addEventListener("change", () => {
    const grey = "grey" in box.dataset;
    if (box.checked || grey) off.delete(box.value); else off.add(box.value);
    ofSeries(box.value).forEach((mark) => mark.classList.toggle(grey ? "picked" : "off", grey === box.checked));
    move();
  }));

  // Sliders: threshold and prior move a point on each curve and say what it means
  const sliders = data.sliders, T = document.getElementById("threshold"), P = document.getElementById("prior");
  const cost = (own, step, prior) => {
    const { miss, fa } = sliders;
    const naive = Math.min(prior * miss, (1 - prior) * fa);
    return (prior * miss * own.miss[step] + (1 - prior) * fa * own.fa[step]) / naive;
  };
  const words = (own, step, prior) =>
    `${short(own.system)}: cost ${cost(own, step, prior).toFixed(3)}, ` +
    `${percent(own.miss[step])} missed (${(100 * own.miss[step]).toFixed(0)} in 100 targets), ` +
    `${percent(own.fa[step])} false alarms` +
    (sliders.per_hour ? ` (${Number((sliders.per_hour * own.fa[step]).toPrecision(3))} an hour)` : "");
  const diamond = (x, y) => `M${x} ${y - 7}L${x + 7} ${y}L${x} ${y + 7}L${x - 7} ${y}Z`;
  const probe = (svg, own) => {
    const known = all(".probe", svg).find((n) => n.dataset.series === own.system);
    if (known) return known;
    const dot = all("[data-live]", svg).find((n) => n.dataset.series === own.system);
    const look = dot ? dot.getAttribute("class").replace(/dot|far/, "probe") : "probe";
    const made = element(svg, "path", { class: look, "data-series": own.system });
    all(".marks", svg)[0].append(made);
    return made;
  };
  const staircase = (own, prior, sx, sy) => own.miss.map((_, k) => {
    const x = sx(sliders.thresholds[k]).toFixed(1), y = sy(cost(own, k, prior)).toFixed(1);
    return k ? `V${y}H${x}` : `M${x} ${y}`;
  }).join("");
  const lines = new Map();
  const moveIn = (svg, step, prior, asked) => {
    const home = asked && step === sliders.start;  // there the dot says it
    const det = svg.closest("figure").dataset.sliders === "det";
    const [sx, sy] = [scale(svg.dataset.x), scale(svg.dataset.y)];
    sliders.systems.forEach((own) => {
      const x = det ? own.fa[step] : sliders.thresholds[step];
      const y = det ? own.miss[step] : cost(own, step, prior);
      const mark = probe(svg, own), a = sx(x), b = sy(y);
      const inside = a >= sx.start - 1 && a <= sx.end + 1 && b <= sy.start + 1 && b >= sy.end - 1;
      mark.setAttribute("d", inside && !home ? diamond(a, b) : "");
      mark.classList.toggle("off", off.has(own.system));
      mark.dataset.tip = words(own, step, prior);
      if (det) return;
      const line = ofSeries(own.system, svg).find((n) => n.classList.contains("line"));
      if (!line) return;
      if (!lines.has(line)) lines.set(line, line.getAttribute("d"));
      line.setAttribute("d", asked ? lines.get(line) : staircase(own, prior, sx, sy));
      ofSeries(own.system, svg).forEach((n) => {
        if (/dot|hollow|band/.test(n.getAttribute("class"))) n.classList.toggle("faded", !asked);
      });
    });
    all('.rule[data-live="threshold"]', svg).forEach((rule) => rule.classList.toggle("faded", !asked));
  };
  const move = () => {
    if (!sliders) return;
    const step = Number(T.value), prior = Number(P.value), asked = Math.abs(prior - sliders.prior) < 1e-9;
    document.getElementById("threshold-value").value = sliders.thresholds[step].toFixed(3);
    document.getElementById("prior-value").value = prior.toPrecision(2);
    all("figure[data-sliders] svg").forEach((svg) => moveIn(svg, step, prior, asked));
    const said = sliders.systems.filter((own) => !off.has(own.system)).map((own) => words(own, step, prior));
    if (!asked) said.push("Bands hold for the prior of the evaluation only.");
    document.getElementById("reading").textContent = said.join("\n");
  };
  if (sliders) {
    const nearest = (value) => sliders.thresholds.reduce(
      (best, at, k) => (Math.abs(at - value) < Math.abs(sliders.thresholds[best] - value) ? k : best), 0);
    T.addEventListener("input", move);
    P.addEventListener("input", () => {
      const prior = Number(P.value);
      if (sliders.bayes) T.value = nearest(Math.log((sliders.fa * (1 - prior)) / (sliders.miss * prior)));
      move();
    });
  }

  // Zoom: a box that is drawn becomes the picture; marks move inside their clip, ticks stay round
  const powers = [0, 1, 2, 3, 4, 5, 6].flatMap((e) => [10 ** e, 2 * 10 ** e, 5 * 10 ** e]);
  const bothWays = [...powers.map((v) => -v).reverse(), 0, ...powers];
  const steps = (low, high) => {
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough), found = [];
    for (let k = Math.ceil(low / step); k * step <= high; k += 1) found.push(Number((k * step).toPrecision(12)));
    return found;
  };
  const ticks = (place) => {
    let found = ({ probit: data.rates, asinh: bothWays }[place.kind] || []).filter((r) => r >= place.low && r <= place.high);
    if (found.length < 3) found = steps(place.low, place.high);
    let last = -Infinity;
    return found.filter((value) => {
      const at = Math.abs(place(value) - place.start), kept = at - last >= 40;
      if (kept) last = at;
      return kept;
    });
  };
  const tickText = (value, place) => {
    const shown = place.shown ? Number((100 * value).toPrecision(4)) : Number(value.toPrecision(6));
    return `${shown}`.replace("-", "\u2212") + (place.shown === "%" ? "%" : "");
  };
  const element = (svg, tag, attributes, text = "") => {
    const made = document.createElementNS(svg.namespaceURI, tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    made.textContent = text;
    return made;
  };
  const axes = (svg, sx, sy) => [
    ...ticks(sx).flatMap((v) => [
      element(svg, "path", { class: "grid", d: `M${sx(v)} ${sy.end}V${sy.start}` }),
      element(svg, "text", { class: "tick", "text-anchor": "middle", x: sx(v), y: sy.start + 16 }, tickText(v, sx)),
      ...(sx.factor ? [element(svg, "text", { class: "tick", "text-anchor": "middle", x: sx(v), y: sy.start + 30 },
        `${Number((sx.factor * v).toPrecision(2))}`)] : []),
    ]),
    ...ticks(sy).flatMap((v) => [
      element(svg, "path", { class: "grid", d: `M${sx.start} ${sy(v)}H${sx.end}` }),
      element(svg, "text", { class: "tick", "text-anchor": "end", x: sx.start - 6, y: sy(v) + 4 }, tickText(v, sy)),
    ]),
  ];
  const zoomable = (svg) => {
    const home = [svg.dataset.x, svg.dataset.y], group = all(".axes", svg)[0], first = [...group.childNodes];
    const place = (event) => {
      const box = svg.getBoundingClientRect(), k = box.width / svg.viewBox.baseVal.width;
      return [(event.clientX - box.left) / k, (event.clientY - box.top) / k];
    };
    const put = (texts) => {
      const own = home.map(scale), now = texts.map(scale), whole = texts.every((t, k) => t === home[k]);
      [svg.dataset.x, svg.dataset.y] = texts;
      group.replaceChildren(...(whole ? first : axes(svg, ...now)));
      const [m, n] = own.map((from, k) => {
        const a = now[k](from.low), b = now[k](from.high), factor = (b - a) / (from.end - from.start);
        return [factor, a - factor * from.start];
      });
      all(".data path, .marks path:not(.probe)", svg).forEach((path) => {
        path.setAttribute("transform", `matrix(${m[0]} 0 0 ${n[0]} ${m[1]} ${n[1]})`);
        path.setAttribute("vector-effect", "non-scaling-stroke");
      });
      all("circle[data-x]", svg).forEach((dot) => {
        dot.setAttribute("cx", now[0](Number(dot.dataset.x)));
        dot.setAttribute("cy", now[1](Number(dot.dataset.y)));
      });
      if (svg.closest("figure").dataset.sliders) move();
    };
    let from = null, box = null;
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button) return;
      tip.hidden = true;
      event.preventDefault();
      svg.setPointerCapture(event.pointerId);
      from = place(event);
      box = element(svg, "rect", { fill: "currentColor", "fill-opacity": "0.1" });
      svg.append(box);
    });
    const sides = (a, b) => ({ x: Math.min(a[0], b[0]), y: Math.min(a[1], b[1]), width: Math.abs(a[0] - b[0]), height: Math.abs(a[1] - b[1]) });
    svg.addEventListener("pointermove", (event) => {
      if (from) Object.entries(sides(place(event), from)).forEach(([name, value]) => box.setAttribute(name, value));
    });
    svg.addEventListener("pointerup", (event) => {
      if (!from) return;
      const drawn = sides(place(event), from);
      from = null;
      box.remove();
      if (drawn.width < 12 || drawn.height < 12) return;
      const now = [svg.dataset.x, svg.dataset.y].map(scale);
      const ends = [[drawn.x, drawn.x + drawn.width], [drawn.y + drawn.height, drawn.y]];
      put(now.map((s, k) => {
        const inside = ends[k].map((at) => Math.min(Math.max(at, Math.min(s.start, s.end)), Math.max(s.start, s.end)));
        return [s.kind, s.value(inside[0]), s.value(inside[1]), s.start, s.end, s.shown, s.factor].join();
      }));
    });
    const whole = () => put(home);
    svg.addEventListener("dblclick", whole);
    all("[data-do=whole]", svg.closest("figure")).forEach((button) => button.addEventListener("click", whole));
  };
  all("figure svg[data-x]").forEach(zoomable);

  // Downloads: the picture as it looks, its numbers as they stand
  const LOOKS = ["fill", "stroke", "stroke-width", "stroke-dasharray", "fill-opacity", "opacity", "font-size", "font-weight", "display"];
  const resolved = (svg) => {
    const copy = svg.cloneNode(true), own = all("*", svg);
    all("*", copy).forEach((node, k) => {
      const style = getComputedStyle(own[k]);
      LOOKS.forEach((name) => node.setAttribute(name, style.getPropertyValue(name)));
      Object.keys(node.dataset ?? {}).forEach((name) => delete node.dataset[name]);
    });
    copy.setAttribute("font-family", "DejaVu Sans, Helvetica, Arial, sans-serif");
    return new XMLSerializer().serializeToString(copy);
  };
  const give = (content, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const asPng = (svg, text, name) => {
    const image = new Image(), { width, height } = svg.viewBox.baseVal;
    image.onload = () => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 3 * width, height: 3 * height });
      const paint = canvas.getContext("2d");
      paint.fillStyle = getComputedStyle(document.body).getPropertyValue("--paper") || "#ffffff";
      paint.fillRect(0, 0, canvas.width, canvas.height);
      paint.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((made) => give(made, name));
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  };
  all(".tools button").forEach((button) => button.addEventListener("click", () => {
    const figure = button.closest("figure"), svg = all("svg.full", figure)[0];
    const kind = button.dataset.do, name = `${figure.id}.${kind}`;
    if (kind === "svg") give(new Blob([resolved(svg)], { type: "image/svg+xml" }), name);
    if (kind === "png") asPng(svg, resolved(svg), name);
    if (button.dataset.text) give(new Blob([button.dataset.text], { type: "text/plain" }), name);
  }));

  // Tables sort by the column whose head is pressed
  const key = (cell) => {
    const number = parseFloat(cell.textContent.replace(/\u2212/g, "-").replace(/,/g, ""));
    return Number.isNaN(number) ? cell.textContent : /^\S+(%| pp)/.test(cell.textContent) ? number / 100 : number;
  };
  const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  all("thead th").forEach((head) => {
    const button = Object.assign(document.createElement("button"), { className: "sort", textContent: head.textContent });
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const table = head.closest("table"), up = head.getAttribute("aria-sort") !== "ascending", body = table.tBodies[0];
      all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const keyed = [...body.rows].map((row) => [key(row.cells[head.cellIndex]), row]);
      keyed.sort((a, b) => order(a[0], b[0]) * (up ? 1 : -1)).forEach(([, row]) => body.append(row));
    });
  });
  move();
})();
