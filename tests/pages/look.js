// Looks at a page as a reviewer of accessibility would; gives a list of sentences, empty when all is well.
() => {
  const faults = [];
  const visible = e => { const box = e.getBoundingClientRect(), style = getComputedStyle(e); return box.width > 1 && box.height > 1 && style.visibility !== "hidden" && style.display !== "none" && style.opacity !== "0"; };
  const parse = text => { const n = (text.match(/[\d.]+/g) || []).map(Number); return n.length < 3 ? null : [n[0], n[1], n[2], n[3] ?? 1]; };
  const light = c => { const f = v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }; return .2126 * f(c[0]) + .7152 * f(c[1]) + .0722 * f(c[2]); };
  const behind = e => { for (let at = e; at; at = at.parentElement) { const c = parse(getComputedStyle(at).backgroundColor); if (c && c[3] > .99) return c; } return [255, 255, 255, 1]; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const e = text.parentElement;
    if (!text.data.trim() || seen.has(e) || e.closest("script, style, noscript, title, [aria-hidden=true], .highlight, .visually-hidden") || !visible(e)) continue;
    seen.add(e);
    const style = getComputedStyle(e), ink = parse(e.closest("svg") ? style.fill : style.color), back = behind(e);
    if (!ink || ink[3] < .99) continue;
    const [a, b] = [light(ink), light(back)].sort((p, q) => q - p), ratio = (a + .05) / (b + .05), size = parseFloat(style.fontSize);
    if (ratio < (size >= 24 || size >= 18.6 && style.fontWeight >= 700 ? 3 : 4.5)) faults.push(`contrast ${ratio.toFixed(2)}: ${text.data.trim().slice(0, 40)} <${e.tagName} class="${e.getAttribute("class")}">`);
  }
  const nameOf = e => (e.getAttribute("aria-label") || e.textContent || e.title || "").trim();
  for (const e of document.querySelectorAll("button, a[href], summary")) if (visible(e) && !nameOf(e) && !e.querySelector("img[alt], svg title")) faults.push(`no name: ${e.outerHTML.slice(0, 80)}`);
  for (const e of document.querySelectorAll("input, select")) if (visible(e) && !(e.labels && e.labels.length) && !e.getAttribute("aria-label") && !e.placeholder) faults.push(`no label: ${e.outerHTML.slice(0, 80)}`);
  for (const e of document.querySelectorAll("img")) if (!e.hasAttribute("alt")) faults.push(`no alt text: ${e.src}`);
  for (const e of document.querySelectorAll("svg[role=img], canvas[role]")) if (!nameOf(e)) faults.push(`no description: ${e.outerHTML.slice(0, 60)}`);
  const ids = [...document.querySelectorAll("[id]")].map(e => e.id), twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice) faults.push(`two elements with the id ${twice}`);
  if (!document.documentElement.lang) faults.push("no language");
  if (!document.title) faults.push("no title");
  if (document.querySelectorAll("h1").length !== 1) faults.push(`${document.querySelectorAll("h1").length} headings h1`);
  let level = 1;
  for (const h of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) { const now = Number(h.tagName[1]); if (now > level + 1) faults.push(`heading ${h.tagName} after H${level}: ${h.textContent.slice(0, 40)}`); level = now; }
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push(`scrolls sideways: ${root.scrollWidth} > ${root.clientWidth}: ` + [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest(".scroll, pre, .table-wrapper")).slice(0, 3).map(e => e.outerHTML.slice(0, 80)).join(" | "));
  return faults;
}
