// What the pages share: elements, numbers, tables, charts, tabs and the theme. Text of the data only ever becomes a text
// node or an attribute, so that names of matrices cannot become markup.
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = ["svg", "rect", "text", "title", "g", "line", "circle", "path"];
const make = (tag, attributes = {}, ...children) => {
  const node = SVG.includes(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) node.setAttribute(key, value);
  node.append(...children);
  return node;
};
const grouped = n => n == null ? "–" : Number(n).toLocaleString("en").replaceAll(",", "\u202f");
const short = x => x == null ? "–" : x !== 0 && (Math.abs(x) >= 1e6 || Math.abs(x) < 1e-4) ? Number(x).toExponential(2) : String(Number(Number(x).toPrecision(3)));
const bytes = n => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let u = 0;
  if (n == null) return "–";
  while (n >= 1024 && u < 4) { n /= 1024; ++u; }
  return n.toFixed(u ? 1 : 0) + " " + units[u];
};
const seconds = s => s == null ? "–" : s < 1e-3 ? (s * 1e6).toPrecision(3) + " µs" : s < 1 ? (s * 1e3).toPrecision(3) + " ms" : s.toPrecision(3) + " s";
const percent = x => x == null ? "–" : (100 * x).toPrecision(3) + " %";
const counted = (n, one, more) => `${grouped(n)} ${n === 1 ? one : more}`;
const card = (title, ...children) => make("section", {}, make("h2", {}, title), ...children);
const soft = text => make("p", {class: "soft"}, text);

// A table; numeric columns stand right. With stack, its rows become lists on a narrow screen.
function table(head, rows, numeric = [], stack = false) {
  const cell = (tag, text, i, attributes = {}) => make(tag, {...attributes, ...(numeric.includes(i) ? {class: "n"} : {})}, text instanceof Node ? text : String(text));
  const body = make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map((c, i) =>
    !head && i === 0 ? cell("th", c, i, {scope: "row"}) : cell("td", c, i, stack ? {"data-label": head[i]} : {})))));
  const top = head ? [make("thead", {}, make("tr", {}, ...head.map((h, i) => h === "" ? make("td", {}) : cell("th", h, i, {scope: "col"}))))] : [];
  return make("div", {class: "scroll"}, make("table", stack ? {class: "stack"} : {}, ...top, body));
}

// Bars on a logarithmic scale, for {label, count}; `what` is read to people who do not see them, the numbers are in a table.
function bars(items, what, ends) {
  if (!items.length) return soft("nothing to show");
  const width = 640, most = Math.max(...items.map(i => i.count)), step = Math.min(90, width / items.length);
  const level = n => n > 0 ? Math.max(2, 120 * Math.log1p(n) / Math.log1p(most)) : 0;
  const drawing = make("svg", {viewBox: `0 0 ${width} 176`, role: "img", "aria-label": `${what}: ${counted(items.length, "bar", "bars")}, the highest is ${grouped(most)}`});
  const widest = ends ? 0 : Math.max(...items.map(i => i.label.length)), every = ends ? 0 : Math.max(1, Math.ceil((widest + 1) * 9 / step));
  drawing.append(make("line", {x1: 0, y1: 152.5, x2: width, y2: 152.5}), make("text", {x: 0, y: 14}, `highest: ${grouped(most)}`));
  items.forEach((item, i) => {
    const h = level(item.count), x = i * step;
    drawing.append(make("rect", {x: x + step * .08, y: 152 - h, width: step * .84, height: h, rx: Math.min(2, step / 4)}, make("title", {}, `${item.label}: ${grouped(item.count)}`)));
    const over = x + step / 2 + item.label.length * 4.5 > width;    // half of the text is beyond the end
    if (every && i % every === 0) drawing.append(make("text", {x: over ? width : x + step / 2, y: 170, "text-anchor": over ? "end" : "middle"}, item.label));
  });
  if (ends) drawing.append(make("text", {x: 0, y: 170}, ends[0]), make("text", {x: Math.min(width, step * items.length), y: 170, "text-anchor": items.length > 3 ? "end" : "start"}, items.length > 3 ? ends[1] : ""));
  const numbers = make("details", {}, make("summary", {}, "numbers (bars are logarithmic)"), table(["range", "count"], items.slice(0, 100).map(i => [i.label, grouped(i.count)]), [1]));
  return make("div", {}, drawing, numbers);
}

// Powers of ten that enclose the values.
const decades = values => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)) + 1e-9)];

// A chart with two logarithmic axes: axes(…) gives the drawing and where a point goes.
function logAxes(xs, ys, xName, yName, what, width = 640, height = 330) {
  const [x0, x1] = decades(xs), [y0, y1] = decades(ys), left = 58, right = width - 12, top = 12, bottom = height - 42;
  const x = v => left + (Math.log10(v) - x0) / Math.max(1, x1 - x0) * (right - left), y = v => bottom - (Math.log10(v) - y0) / Math.max(1, y1 - y0) * (bottom - top);
  const drawing = make("svg", {class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": what});
  const tick = e => e >= -3 && e <= 4 ? String(Number((10 ** e).toPrecision(1))) : `1e${e}`;
  for (let e = x0; e <= x1; ++e) drawing.append(make("line", {x1: x(10 ** e), y1: top, x2: x(10 ** e), y2: bottom}), make("text", {x: x(10 ** e), y: bottom + 16, "text-anchor": "middle"}, tick(e)));
  for (let e = y0; e <= y1; ++e) drawing.append(make("line", {x1: left, y1: y(10 ** e), x2: right, y2: y(10 ** e)}), make("text", {x: left - 6, y: y(10 ** e) + 4, "text-anchor": "end"}, tick(e)));
  drawing.append(make("text", {x: (left + right) / 2, y: height - 6, "text-anchor": "middle"}, xName), make("text", {x: 14, y: (top + bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(top + bottom) / 2})`}, yName));
  return {drawing, x, y, range: {x0: 10 ** x0, x1: 10 ** x1, y0: 10 ** y0, y1: 10 ** y1}};
}

// The roofline: points {name, intensity, speed, label} below the line that the memory's speed draws. Speeds in GFLOP/s, bandwidth in GB/s.
function roofline(points, bandwidth, what) {
  if (!points.length) return soft("nothing was measured");
  const chart = logAxes(points.map(p => p.intensity), [...points.map(p => p.speed), ...points.map(p => p.intensity * bandwidth)], "operations for each byte that must be moved", "GFLOP/s", what);
  const {x0, x1, y0, y1} = chart.range, from = Math.max(x0, y0 / bandwidth), to = Math.min(x1, y1 / bandwidth);
  chart.drawing.append(make("line", {class: "roof", x1: chart.x(from), y1: chart.y(from * bandwidth), x2: chart.x(to), y2: chart.y(to * bandwidth)}, make("title", {}, `memory read at ${short(bandwidth)} GB/s`)));
  const taken = [];                                               // where names stand already
  for (const p of points) {
    chart.drawing.append(make("circle", {cx: chart.x(p.intensity), cy: chart.y(p.speed), r: points.length > 30 ? 4 : 6, class: "other"}, make("title", {}, p.label)));
    if (points.length <= 8) {
      const late = chart.x(p.intensity) > 480, x = chart.x(p.intensity) + (late ? -10 : 10), y = chart.y(p.speed) + 4;
      const free = at => taken.every(([u, v]) => Math.abs(u - x) > 70 || Math.abs(v - at) > 20), below = [0, 22, -22, 44, -44].map(d => y + d).find(free) ?? y;
      taken.push([x, below]);
      chart.drawing.append(make("text", {class: "name", x, y: below, "text-anchor": late ? "end" : "start"}, p.name));
    }
  }
  return chart.drawing;
}

// Tabs with arrow keys; each opens a page of the list {name, show}. The tab panel is #content.
function tabs(pages) {
  const list = document.getElementById("tabs"), panel = document.getElementById("content");
  if (pages.length < 2) { list.remove(); document.querySelector("header").prepend(make("span")); return pages[0].show(); }
  panel.setAttribute("role", "tabpanel");
  const buttons = pages.map((page, i) => make("button", {type: "button", role: "tab", id: `tab-${i}`, "aria-controls": "content"}, page.name));
  const open = (i, focus) => {
    buttons.forEach((b, k) => { b.setAttribute("aria-selected", k === i); b.tabIndex = k === i ? 0 : -1; });
    panel.setAttribute("aria-labelledby", `tab-${i}`);
    if (focus) buttons[i].focus();
    pages[i].show();
  };
  buttons.forEach((b, i) => {
    b.addEventListener("click", () => open(i));
    b.addEventListener("keydown", e => {
      const to = {ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: pages.length - 1}[e.key];
      if (to !== undefined) { e.preventDefault(); open((to + pages.length) % pages.length, true); }
    });
    list.append(b, " ");
  });
  open(0);
}

const theme = document.getElementById("theme");
const setTheme = dark => { document.documentElement.dataset.theme = dark ? "dark" : "light"; theme.textContent = dark ? "Light" : "Dark"; theme.setAttribute("aria-label", dark ? "light theme" : "dark theme"); document.dispatchEvent(new Event("theme")); };
const isDark = () => document.documentElement.dataset.theme === "dark";
theme.addEventListener("click", () => setTheme(!isDark()));
setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
