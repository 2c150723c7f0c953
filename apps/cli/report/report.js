// The page of tulle report: draws the matrices in `data`.
const PARTS = ["#2563a8", "#d9822b", "#2f8f5b", "#b8405e", "#6f58b5", "#0f8b8d", "#8a6d1f", "#5c6770"];
// Colours of the map from few entries to many, and of empty cells, light and dark.
const MAPS = {light: {few: [150, 195, 232], many: [8, 29, 88], none: [255, 255, 255]}, dark: {few: [38, 84, 124], many: [214, 236, 255], none: [18, 23, 29]}};
const mapColours = () => MAPS[isDark() ? "dark" : "light"];

function paintCells(map, raw) {
  const source = make("canvas", {width: map.width, height: map.height}), paint = source.getContext("2d");
  const image = paint.createImageData(map.width, map.height), {few, many, none} = mapColours();
  const colour = v => [...(v ? few.map((c, i) => Math.round(c + v / 255 * (many[i] - c))) : none), 255];
  for (let c = 0; c < raw.length; ++c) image.data.set(colour(raw.charCodeAt(c)), 4 * c);
  paint.putImageData(image, 0, 0);
  return source;
}

// First rows of the parts for n devices, and the end.
const cutsOf = split => split.parts.reduce((cuts, part) => [...cuts, cuts[cuts.length - 1] + part.rows], [0]);

// The density map: drawn once for each theme, then scaled. Wheel, buttons, keys and two fingers zoom; dragging and arrows move.
function densityMap(m) {
  const map = m.density_map;
  if (!map) return soft("The matrix has no rows or no columns.");
  const raw = atob(map.cells);
  let source = paintCells(map, raw);
  const side = 768, tall = Math.max(96, Math.min(1152, Math.round(side * m.rows / m.cols)));
  const view = make("canvas", {class: "map", width: side, height: tall, tabindex: 0, role: "application", "aria-label": `Density map of ${m.name}: ${grouped(m.nonzeros)} entries in ${grouped(m.rows)} rows and ${grouped(m.cols)} columns. Plus and minus zoom, arrow keys move, 0 shows all.`});
  if (tall > side) view.style.maxWidth = `${Math.round(100 * side / tall)}%`;
  const where = make("p", {class: "soft", "aria-live": "polite"}), cell = make("p", {class: "soft"}, "Point at a cell to see what is in it.");
  let x = 0, y = 0, zoom = 1, cuts = null;                          // the upper left corner as a share, and the magnification
  const rowsAt = share => Math.round(share * m.rows), colsAt = share => Math.round(share * m.cols);
  const most = Math.max(1, Math.max(map.width, map.height) / 8);
  const drawCuts = to => cuts.slice(0, -1).forEach((first, p) => {
    const at = row => (row / m.rows - y) * zoom * tall;
    to.fillStyle = PARTS[p % PARTS.length];
    to.fillRect(0, at(first), 14, at(cuts[p + 1]) - at(first));
    if (p) to.fillRect(0, at(first) - 1, side, 2);
  });
  const draw = () => {
    zoom = Math.min(most, Math.max(1, zoom)); x = Math.min(1 - 1 / zoom, Math.max(0, x)); y = Math.min(1 - 1 / zoom, Math.max(0, y));
    const to = view.getContext("2d"); to.imageSmoothingEnabled = false; to.fillStyle = `rgb(${mapColours().none})`; to.fillRect(0, 0, side, tall);
    to.drawImage(source, x * map.width, y * map.height, map.width / zoom, map.height / zoom, 0, 0, side, tall);
    if (cuts) drawCuts(to);
    view.dataset.zoom = zoom;
    where.textContent = `rows ${grouped(rowsAt(y))} to ${grouped(Math.max(0, rowsAt(y + 1 / zoom) - 1))}, columns ${grouped(colsAt(x))} to ${grouped(Math.max(0, colsAt(x + 1 / zoom) - 1))} (counted from 0)`;
  };
  const zoomAt = (factor, px = .5, py = .5) => { const before = zoom; zoom = Math.min(most, Math.max(1, zoom * factor)); x += px * (1 / before - 1 / zoom); y += py * (1 / before - 1 / zoom); draw(); };
  const share = e => { const box = view.getBoundingClientRect(); return [(e.clientX - box.left) / box.width, (e.clientY - box.top) / box.height]; };
  const tell = ([px, py]) => {
    const col = Math.floor((x + px / zoom) * map.width), row = Math.floor((y + py / zoom) * map.height), v = raw.charCodeAt(row * map.width + col);
    const range = (cell, cells, n) => { const a = Math.floor(cell * n / cells), b = Math.floor((cell + 1) * n / cells) - 1; return a >= b ? grouped(a) : `${grouped(a)}–${grouped(b)}`; };
    cell.textContent = `row ${range(row, map.height, m.rows)}, column ${range(col, map.width, m.cols)}: ${v ? `about ${counted(Math.max(1, Math.round(Math.expm1((v - .5) / 254 * Math.log1p(map.most)))), "entry", "entries")}` : "empty"}`;
  };
  view.addEventListener("wheel", e => { e.preventDefault(); zoomAt(e.deltaY < 0 ? 1.25 : .8, ...share(e)); }, {passive: false});
  const fingers = new Map(), lift = e => fingers.delete(e.pointerId);
  view.addEventListener("pointerdown", e => { view.setPointerCapture(e.pointerId); fingers.set(e.pointerId, share(e)); });
  view.addEventListener("pointerup", lift); view.addEventListener("pointercancel", lift);
  view.addEventListener("pointermove", e => {
    const now = share(e), before = fingers.get(e.pointerId);
    if (!before) return tell(now);
    if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== e.pointerId)[1], far = p => Math.hypot(p[0] - other[0], p[1] - other[1]);
      if (far(before) > 0) zoomAt(far(now) / far(before), other[0], other[1]);
    } else { x -= (now[0] - before[0]) / zoom; y -= (now[1] - before[1]) / zoom; draw(); }
    fingers.set(e.pointerId, now);
  });
  view.addEventListener("keydown", e => {
    const move = {ArrowLeft: [-.1, 0], ArrowRight: [.1, 0], ArrowUp: [0, -.1], ArrowDown: [0, .1]}[e.key];
    if (move) { x += move[0] / zoom; y += move[1] / zoom; draw(); }
    else if (e.key === "+" || e.key === "=") zoomAt(1.5);
    else if (e.key === "-") zoomAt(1 / 1.5);
    else if (e.key === "0") { zoom = 1; draw(); }
    else return;
    e.preventDefault();
  });
  const button = (label, text, action) => { const b = make("button", {type: "button", "aria-label": label}, text); b.addEventListener("click", action); return b; };
  const controls = make("div", {class: "controls"}, button("zoom in", "+", () => zoomAt(1.5)), button("zoom out", "−", () => zoomAt(1 / 1.5)), button("show all", "all", () => { zoom = 1; draw(); }));
  if (m.parts) {
    const choice = make("select", {}, make("option", {value: ""}, "no parts"), ...m.parts.map((p, i) => make("option", {value: i}, `parts for ${p.devices} devices`)));
    choice.addEventListener("change", () => { cuts = choice.value === "" ? null : cutsOf(m.parts[choice.value]); draw(); });
    controls.append(make("label", {}, "show", choice));
  }
  document.addEventListener("theme", () => { if (view.isConnected) { source = paintCells(map, raw); draw(); } });
  draw();
  return make("div", {}, view, controls, where, cell);
}

const symmetryOf = m => m.rows !== m.cols ? "not square" : m.value_symmetry === 1 ? "symmetric" : m.skew_symmetric ? "skew-symmetric" : m.pattern_symmetry === 1 ? "pattern symmetric" : "unsymmetric";
const commentOf = text => (text || "").split("\n").filter(line => /[\p{L}\p{N}]/u.test(line)).join("\n").slice(0, 600);

function overview(m) {
  const rows = [["shape", `${grouped(m.rows)} × ${grouped(m.cols)}`], ["nonzeros", `${grouped(m.nonzeros)} (${percent(m.density)} of all positions)`],
    ["row lengths", `${grouped(m.row_length.shortest)} to ${grouped(m.row_length.longest)}, mean ${short(m.row_length.mean)}, deviation ${short(m.row_length.deviation)}`],
    ["empty", `${counted(m.empty_rows, "row", "rows")}, ${counted(m.empty_cols, "column", "columns")}`],
    ["bandwidth", `${grouped(m.lower_bandwidth)} below, ${grouped(m.upper_bandwidth)} above the diagonal`], ["memory", `${bytes(m.bytes)} as CSR in double`]];
  if (m.rows === m.cols) rows.push(["symmetry", `${symmetryOf(m)}: pattern ${percent(m.pattern_symmetry)}, values ${percent(m.value_symmetry)}`], ["diagonal", `${grouped(m.diagonal)} of ${counted(m.rows, "place", "places")}`]);
  if (m.components) rows.push(["components", m.components.count === 1 ? "1: every row is connected with every other" : `${grouped(m.components.count)}; the largest has ${counted(m.components.largest, "row", "rows")}; ${grouped(m.components.single)} have one row`]);
  if (m.lower_levels != null) rows.push(["levels", `${grouped(m.lower_levels)} of the lower triangle`]);
  if (m.products != null) rows.push(["A times A", counted(m.products, "product", "products")]);
  if (m.file) {
    rows.push(["file", `${m.file.format}, ${bytes(m.file.bytes)}, ${grouped(m.file.stored)} stored`]);
    if (commentOf(m.file.comment)) rows.push(["comment", make("pre", {}, commentOf(m.file.comment))]);
  }
  rows.push(["fingerprint", m.fingerprint]);
  return card("Overview", table(null, rows));
}

const whyOf = o => (o.describe.match(/^ *why: *(.*)$/m) || [, ""])[1];
const nameOf = o => `${o.operation} on ${o.device}`;

function operations(m) {
  const box = card("Operations"), times = m.operations.some(o => o.seconds);
  const head = ["operation", "device", "chosen", "why", "memory beside A", "predicted"].concat(times ? ["measured", "GB/s"] : []);
  box.append(table(head, m.operations.map(o => [`${o.operation}: ${o.what}`, o.device, o.not ? `not possible: ${o.not}` : o.chosen, o.not ? "–" : whyOf(o), o.not ? "–" : bytes(o.memory_bytes), o.bound_seconds ? `${o.predicted_by === "model" ? "" : "≥ "}${seconds(o.predicted_seconds)}` : "–"]
    .concat(times ? [seconds(o.seconds), o.bytes_per_second ? (o.bytes_per_second / 1e9).toFixed(1) : "–"] : [])), [4, 5, 6, 7], true));
  box.append(soft("Memory: vectors, result, plan and workspace. Predicted: by the cost model of the operation where it has one; else (≥) the bytes that must be moved at the speed of the memory" +
    `${data.bandwidth ? ` (${(data.bandwidth / 1e9).toFixed(1)} GB/s on this CPU)` : ""}.${times ? "" : " Run tulle report with --run to measure times."}`));
  for (const o of m.operations) if (o.describe) box.append(make("details", {}, make("summary", {}, `${nameOf(o)}: details`), make("pre", {}, o.describe)));
  return box;
}

function rooflines(m) {
  return [...new Set(m.operations.map(o => o.device))].flatMap(device => {
    const timed = m.operations.filter(o => o.device === device && o.seconds && o.bandwidth && o.flops);
    if (!timed.length) return [];
    const points = timed.map(o => ({name: o.operation, intensity: o.flops / o.moved_bytes, speed: o.flops / o.seconds / 1e9, label: `${o.operation}: ${short(o.flops / o.seconds / 1e9)} GFLOP/s, ${percent(o.bound_seconds / o.seconds)} of the memory's speed`}));
    return [card(`Roofline of ${device}`, roofline(points, timed[0].bandwidth / 1e9, `Roofline of ${device}: ${points.map(p => p.label).join("; ")}`),
      soft("The line is what the memory allows when all comes from it; a matrix that fits into a cache may stand above."),
      table(["operation", "measured", "predicted", "of the memory's speed"], timed.map(o => [o.operation, seconds(o.seconds), seconds(o.predicted_seconds), percent(o.bound_seconds / o.seconds)]), [1, 2, 3]))];
  });
}

function partsCard(m) {
  const box = card("Parts for several devices"), body = make("div");
  const choice = make("select", {}, ...m.parts.map((p, i) => make("option", {value: i}, `${p.devices} devices`)));
  const show = () => {
    const split = m.parts[choice.value], all = Math.max(1, m.nonzeros);
    let at = 0;
    const drawing = make("svg", {viewBox: "0 0 640 28", role: "img", "aria-label": `Share of the nonzeros of each of ${split.devices} devices`});
    split.parts.forEach((p, i) => { const w = 640 * p.nonzeros / all; drawing.append(make("rect", {x: at, y: 2, width: Math.max(0, w - 1), height: 24, style: `fill:${PARTS[i % PARTS.length]}`}, make("title", {}, `device ${i}: ${grouped(p.nonzeros)} nonzeros`))); at += w; });
    body.replaceChildren(drawing, table(["device", "rows", "nonzeros", "x from others"], split.parts.map((p, i) => [make("span", {}, make("span", {class: "swatch", style: `background:${PARTS[i % PARTS.length]}`}), String(i)), grouped(p.rows), grouped(p.nonzeros), grouped(p.halo)]), [1, 2, 3]),
      soft(`Imbalance ${split.imbalance.toFixed(3)}: nonzeros of the largest part beside the mean. "x from others": entries of x that are exchanged before a product.`));
  };
  choice.addEventListener("change", show);
  show();
  box.append(make("div", {class: "controls"}, make("label", {}, "for", choice)), body);
  return box;
}

function valuesCard(m) {
  const v = m.values, narrow = (count, what) => count ? [`${counted(count, "value", "values")} ${what}`] : [];
  const lost = [...narrow(v.too_large_for_f16, "too large for f16"), ...narrow(v.too_small_for_f16, "become 0 in f16"), ...narrow(v.too_large_for_f32, "too large for f32"), ...narrow(v.too_small_for_f32, "become 0 in f32")];
  const all = v.decades.length ? Array.from({length: v.decades.at(-1).exponent - v.decades[0].exponent + 1}, (_, i) => v.decades[0].exponent + i) : [];
  const count = new Map(v.decades.map(d => [d.exponent, d.count]));
  return card("Values", bars(all.map(e => ({label: `1e${e}`, count: count.get(e) || 0})), "Histogram of magnitudes by powers of ten"),
    make("p", {}, `Magnitudes ${short(v.least)} to ${short(v.most)}; ${grouped(v.negative)} negative, ${grouped(v.zeros)} stored zeros, ${grouped(v.not_finite)} not finite. In narrower types: ${lost.join(", ") || "none overflows or becomes 0"}.`));
}

function show(m) {
  document.title = `${m.name} – tulle report`;
  const page = document.getElementById("content"), range = b => b.from === b.to ? grouped(b.from) : `${grouped(b.from)}–${grouped(b.to)}`;
  page.replaceChildren(make("h1", {}, m.name), soft(`${grouped(m.rows)} × ${grouped(m.cols)}, ${counted(m.nonzeros, "nonzero", "nonzeros")}, ${symmetryOf(m)}`));
  if (m.warnings.length) page.append(make("section", {class: "warn"}, make("h2", {}, "Warnings"), make("ul", {}, ...m.warnings.map(w => make("li", {}, w)))));
  page.append(make("div", {class: "two"}, card("Density map", densityMap(m)), overview(m)), operations(m));
  const two = make("div", {class: "two"}, ...rooflines(m), valuesCard(m), card("Row lengths", bars(m.row_length.histogram.map(b => ({label: range(b), count: b.rows})), "Histogram of row lengths")));
  if (m.column_lengths) two.append(card("Column lengths", bars(m.column_lengths.map(b => ({label: range(b), count: b.count})), "Histogram of column lengths")));
  if (m.levels) for (const side of ["lower", "upper"]) {
    const l = m.levels[side], n = l.bars.length, first = i => Math.floor(i * l.levels / n);
    two.append(card(`Levels of the ${side} triangle`, make("p", {}, `${counted(l.levels, "level", "levels")}; the widest has ${counted(l.widest, "row", "rows")}. Rows of one level can be solved at the same time.`),
      bars(l.bars.map((count, i) => ({label: first(i + 1) - first(i) === 1 ? `level ${first(i)}` : `levels ${first(i)}–${first(i + 1) - 1}`, count})), `Rows of each level of the ${side} triangle`, ["level 0", `level ${l.levels - 1}`])));
  }
  if (m.parts) two.append(partsCard(m));
  page.append(two);
}

// Two matrices beside each other: the maps, and what differs.
function compare(a, b) {
  document.title = `${a.name} and ${b.name} – tulle report`;
  const page = document.getElementById("content"), line = (label, f) => { const [p, q] = [f(a, b), f(b, a)]; return [label, p, q, p === q ? "" : "differs"]; };
  const time = (m, name) => { const o = m.operations.find(o => o.operation === name); return o && o.seconds ? seconds(o.seconds) : "–"; };
  page.replaceChildren(make("h1", {}, `${a.name} and ${b.name}`), make("div", {class: "two"}, card(a.name, densityMap(a)), card(b.name, densityMap(b))),
    card("Comparison", table(["", a.name, b.name, "differs"], [line("shape", m => `${grouped(m.rows)} × ${grouped(m.cols)}`), line("nonzeros", m => grouped(m.nonzeros)), line("mean row", m => short(m.row_length.mean)),
      line("longest row", m => grouped(m.row_length.longest)), line("bandwidth", m => grouped(Math.max(m.lower_bandwidth, m.upper_bandwidth))), line("symmetry", symmetryOf), line("components", m => m.components ? grouped(m.components.count) : "–"),
      line("levels", m => grouped(m.lower_levels)), line("magnitudes", m => `${short(m.values.least)} to ${short(m.values.most)}`), line("memory", m => bytes(m.bytes)), line("pattern", m => m.fingerprint), line("warnings", m => grouped(m.warnings.length)),
      ...["SpMV", "SpMM", "SpGEMM", "SpTRSV"].filter(name => data.matrices.some(m => time(m, name) !== "–")).map(name => line(name, m => time(m, name)))])));
}

document.getElementById("foot").textContent = `tulle ${data.version} on ${data.cpu}, ${counted(data.threads, "thread", "threads")}, ${data.date}`;
const [a, b] = data.matrices;
tabs([...(b ? [{name: "Comparison", show: () => compare(a, b)}] : []), ...data.matrices.map(m => ({name: m.name, show: () => show(m)}))]);
