// The page of make dashboard: draws the measurements in `data`. What the entries of a run share is stored once, and so are the names of their fields (tools/dashboard.py).
const {fields, rows: stored} = data.entries;
data.entries = stored.map(row => Object.fromEntries(fields.map((field, i) => [field, row[i]]))).map(entry => ({...data.runs[entry.run], ...entry}));
const page = document.getElementById("content");
const unique = list => [...new Set(list)].sort((a, b) => a.localeCompare(b, "en", {numeric: true}));
const mean = list => Math.exp(list.reduce((sum, r) => sum + Math.log(r), 0) / list.length);
const ratioText = r => r == null ? "–" : r >= 100 ? r.toFixed(0) : r >= 10 ? r.toFixed(1) : r.toFixed(2);
const ratioNode = r => r == null ? "–" : make("span", {class: r >= 1 ? "good" : "bad"}, ratioText(r) + (r >= 1 ? "" : " (slower)"));
const micro = us => us == null ? "–" : seconds(us * 1e-6);

// What is chosen stays when another tab is opened.
const state = {operation: "spmv", type: "f64", device: "NVIDIA H200", way: "warm", suite: "all files", baseline: "best", search: "", slower: false, sort: "speedup"};

// The best baseline of an entry, or the one that is chosen: [name, µs].
function baselineOf(entry) {
  const found = Object.entries(entry.baselines).map(([name, us]) => [name, us[state.way]]).filter(([name, us]) => us && (state.baseline === "best" || name === state.baseline));
  return found.length ? found.reduce((a, b) => b[1] < a[1] ? b : a) : [null, null];
}
const of = (...keys) => entry => keys.every(key => entry[key] === state[key]);
const ofSuite = entry => state.suite === "all files" || entry.file === state.suite;
const chosen = () => data.entries.filter(of("operation", "type", "device")).filter(ofSuite).filter(e => e.us[state.way]);

function select(label, key, options, changed) {
  if (!options.includes(state[key])) state[key] = options[0];
  const node = make("select", {"data-filter": key}, ...options.map(o => make("option", {value: o}, o === "best" ? "the best of all" : o)));
  node.value = state[key];
  node.addEventListener("change", () => { state[key] = node.value; changed(); });
  return make("label", {}, label, node);
}

// Filters that depend on each other: operation, then type, device, file, way and baseline among what was measured.
function filters(redraw, withBaseline = true, withSuite = true) {
  const entries = data.entries, box = make("div", {class: "controls", role: "group", "aria-label": "Filters"});
  const changed = key => () => { redraw(); document.querySelector(`[data-filter=${key}]`).focus(); };
  box.append(select("operation", "operation", unique(entries.map(e => e.operation)), changed("operation")));
  box.append(select("type", "type", unique(entries.filter(of("operation")).map(e => e.type)), changed("type")));
  box.append(select("device", "device", unique(entries.filter(of("operation", "type")).map(e => e.device)), changed("device")));
  const all = entries.filter(of("operation", "type", "device"));
  if (withSuite) box.append(select("measured in", "suite", ["all files", ...unique(all.map(e => e.file))], changed("suite")));
  const rest = all.filter(e => !withSuite || ofSuite(e));
  box.append(select("way", "way", ["warm", "graph", "cold"].filter(w => rest.some(e => e.us[w])), changed("way")));
  if (withBaseline) box.append(select("baseline", "baseline", ["best", ...unique(rest.flatMap(e => Object.keys(e.baselines)))], changed("baseline")));
  return box;
}

function speedups() {
  const wanted = state.search.toLowerCase();
  const rows = chosen().filter(e => e.matrix.toLowerCase().includes(wanted))
    .map(e => { const [name, theirs] = baselineOf(e), mine = e.us[state.way]; return {...e, mine, name, theirs, ratio: theirs ? theirs / mine : null}; }).filter(e => !state.slower || e.ratio && e.ratio < 1);
  const order = {speedup: (a, b) => (b.ratio ?? 0) - (a.ratio ?? 0), matrix: (a, b) => a.matrix.localeCompare(b.matrix), nonzeros: (a, b) => b.nonzeros - a.nonzeros, time: (a, b) => b.mine - a.mine};
  return rows.sort(order[state.sort]);
}

// Bars from the line "as fast" upwards or downwards, on a logarithmic scale.
function speedupChart(rows) {
  const shown = rows.filter(r => r.ratio), width = 960, left = 40, top = 10, bottom = 220;
  if (!shown.length) return soft("No baseline was measured for these.");
  const most = Math.max(2, ...shown.map(r => r.ratio)), least = Math.min(.5, ...shown.map(r => r.ratio));
  const y = r => bottom - (Math.log(r) - Math.log(least)) / (Math.log(most) - Math.log(least)) * (bottom - top), step = (width - left) / shown.length, names = shown.length <= 24;
  const drawing = make("svg", {viewBox: `0 0 ${width} ${names ? 320 : 232}`, role: "img", "aria-label": `Speedup of ${shown.length} matrices, ${ratioText(Math.min(...shown.map(r => r.ratio)))} to ${ratioText(Math.max(...shown.map(r => r.ratio)))}`});
  for (const tick of [.1, .25, .5, 1, 2, 4, 10, 25, 50, 100, 200].filter(t => t >= least * .99 && t <= most * 1.01))
    drawing.append(make("line", {x1: left, x2: width, y1: y(tick), y2: y(tick), class: tick === 1 ? "roof" : ""}), make("text", {x: left - 5, y: y(tick) + 4, "text-anchor": "end"}, String(tick)));
  shown.forEach((r, i) => {
    const x = left + i * step, [a, b] = [y(Math.max(1, r.ratio)), y(Math.min(1, r.ratio))];
    drawing.append(make("rect", {x: x + step * .1, y: a, width: step * .8, height: Math.max(1, b - a), class: r.ratio < 1 ? "other" : ""}, make("title", {}, `${r.matrix}: ${ratioText(r.ratio)} times as fast as ${r.name}`)));
    if (names) drawing.append(make("text", {x: x + step / 2, y: 232, transform: `rotate(45 ${x + step / 2} 232)`}, r.matrix.slice(0, 16)));
  });
  return drawing;
}

function speed() {
  document.title = "Speedups – tulle";
  const result = make("div"), redraw = () => { speed(); };
  const search = make("input", {type: "search", placeholder: "part of its name", "data-filter": "search", value: state.search});
  const slower = make("input", {type: "checkbox", "data-filter": "slower"});
  slower.checked = state.slower;
  const show = () => {
    const rows = speedups(), ratios = rows.map(r => r.ratio).filter(Boolean);
    const words = ratios.length ? `${counted(ratios.length, "matrix", "matrices")}: ${ratioText(mean(ratios))} times as fast (geometric mean), worst ${ratioText(Math.min(...ratios))}, best ${ratioText(Math.max(...ratios))}; slower on ${ratios.filter(r => r < 1).length}.` : `${counted(rows.length, "matrix", "matrices")}, without a baseline.`;
    const commits = unique(rows.map(r => `${r.commit} (${r.date})`)).join(", ");
    result.replaceChildren(make("p", {id: "summary", "aria-live": "polite"}, words), speedupChart(rows),
      table(["matrix", "nonzeros", "chosen", "tulle", "baseline", "its time", "speedup"], rows.map(r => [r.matrix, grouped(r.nonzeros), r.policy, micro(r.mine), r.name ?? "–", micro(r.theirs), ratioNode(r.ratio)]), [1, 3, 5, 6], true),
      soft(`Measured at ${commits || "–"}; files ${unique(rows.map(r => r.file)).join(", ") || "–"}.`));
  };
  const controls = filters(redraw);
  controls.append(make("label", {}, "matrix", search), make("label", {}, slower, "only slower"), select("sort by", "sort", ["speedup", "matrix", "nonzeros", "time"], () => show()));
  search.addEventListener("input", () => { state.search = search.value; show(); });
  slower.addEventListener("change", () => { state.slower = slower.checked; show(); });
  page.replaceChildren(make("h1", {}, "Speedup by matrix"), soft("Time of the baseline divided by that of tulle: above 1, tulle is faster. Warm: again and again; graph: in a CUDA graph; cold: after the caches were emptied."), make("section", {}, controls, result));
  show();
}

function overview() {
  document.title = "Speed of tulle";
  page.replaceChildren(make("h1", {}, "Speed of tulle"), soft("Geometric means over all matrices of a suite, beside the best baseline of each matrix. These are the figures of the README."),
    make("section", {}, make("h2", {}, "Summary"), table(["operation", "where", "baseline", "matrices", "speedup", "worst", "best", "command"],
      data.headlines.map(h => [h.what, h.where, h.against, h.matrices, ratioNode(h.mean), ratioNode(h.worst), ratioNode(h.best), make("code", {}, h.command)]), [3, 4, 5, 6], true)));
}

function roof() {
  document.title = "Roofline – tulle";
  const controls = filters(roof, false), rows = chosen().filter(e => e.flops && e.memory_gbps);
  const points = rows.map(e => ({name: e.matrix, intensity: e.flops / e.bytes, speed: e.flops / e.us[state.way] / 1e3, label: `${e.matrix}: ${short(e.flops / e.us[state.way] / 1e3)} GFLOP/s, ${percent(e.bytes / e.us[state.way] / 1e3 / e.memory_gbps)} of the memory's speed`}));
  const box = make("section", {}, controls);
  page.replaceChildren(make("h1", {}, "Roofline"), soft("The line is what the memory allows: operations for each byte that must be moved, times its bandwidth. Points above it are matrices that stay in a cache."), box);
  if (!points.length) return box.append(soft("The number of operations of this one does not follow from the nonzeros; choose SpMV, SpMM, SDDMM or SpTRSV."));
  const bandwidth = rows[0].memory_gbps;
  box.append(make("p", {id: "summary", "aria-live": "polite"}, `${counted(points.length, "matrix", "matrices")}, memory read at ${short(bandwidth)} GB/s.`), roofline(points, bandwidth, `Roofline of ${state.operation} on ${state.device} with ${points.length} matrices`),
    table(["matrix", "nonzeros", "chosen", "time", "GFLOP/s", "GB/s", "of the memory's speed"], rows.map((e, i) => [e.matrix, grouped(e.nonzeros), e.policy, micro(e.us[state.way]), short(points[i].speed), short(e.bytes / e.us[state.way] / 1e3), percent(e.bytes / e.us[state.way] / 1e3 / e.memory_gbps)]), [1, 3, 4, 5, 6], true));
}

// The mean speedup of each file of results, version after version.
function history() {
  document.title = "History – tulle";
  const controls = filters(history, false, false), box = make("section", {}, controls), points = data.history.filter(of("operation", "type", "device", "way"));
  page.replaceChildren(make("h1", {}, "History by commit"), soft("Geometric mean of the speedup beside the best baseline, for every commit that changed a file of results, with the number of matrices: points over other matrices do not compare."), box);
  if (!points.length) return box.append(soft("git has no earlier version of these measurements."));
  for (const file of unique(points.map(p => p.file))) {
    const line = points.filter(p => p.file === file), most = Math.max(...line.map(p => p.mean), 1), width = 640, x = i => 50 + (line.length > 1 ? i / (line.length - 1) : .5) * (width - 120), y = v => 118 - v / (most * 1.1) * 100;
    const drawing = make("svg", {class: "chart", viewBox: `0 0 ${width} 150`, role: "img", "aria-label": `${file}: ${line.map(p => `${p.commit} ${ratioText(p.mean)}`).join(", ")}`});
    drawing.append(make("line", {x1: 40, x2: width, y1: y(1), y2: y(1)}), make("text", {x: 34, y: y(1) + 4, "text-anchor": "end"}, "1"));
    if (line.length > 1) drawing.append(make("path", {class: "graph", d: line.map((p, i) => `${i ? "L" : "M"}${x(i)} ${y(p.mean)}`).join(" ")}));
    line.forEach((p, i) => {
      drawing.append(make("circle", {cx: x(i), cy: y(p.mean), r: 5}, make("title", {}, `${p.commit}, ${p.date.slice(0, 10)}: ${ratioText(p.mean)} over ${p.matrices}`)));
      if (line.length <= 8) drawing.append(make("text", {class: "name", x: x(i), y: y(p.mean) - 9, "text-anchor": "middle"}, `${ratioText(p.mean)} (${p.matrices})`), make("text", {x: x(i), y: 142, "text-anchor": "middle"}, p.commit));
    });
    box.append(make("h2", {}, file), drawing, make("details", {}, make("summary", {}, "numbers"), table(["commit", "date", "matrices", "speedup"], line.map(p => [p.commit, p.date.slice(0, 10), p.matrices, ratioNode(p.mean)]), [2, 3])));
  }
}

document.getElementById("foot").textContent = `${grouped(data.entries.length)} measurements in bench/results${data.commit ? ` at commit ${data.commit}` : ""}`;
tabs([{name: "Overview", show: overview}, {name: "Speedups", show: speed}, {name: "Roofline", show: roof}, {name: "History", show: history}]);
