"use strict";
// The page's texts are hostile: they reach the document by textContent and fillText, never as markup.

const graph = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const canvas = element("canvas");
const context = canvas.getContext("2d");

const COLUMN = 172, BOX = 150, BOX_HEIGHT = 32, ORDER_ROW = 42, TIME_ROW = 15, BAR = 12, HEADER = 20, GAP = 8;
const AXIS = 22; // Pixels of the time axis, at the top.
const MIN_BAR = 3; // Pixels: shorter activities stay visible.
const TEXT_SCALE = 0.55; // Below, text cannot be read.
const COLLAPSED = 16;
const LEAST_FIT = 0.25;

const activities = graph.activities;
activities.forEach((activity, index) => {
  activity.index = index;
  activity.parents = [];
  activity.text = [activity.id, ...activity.label, ...activity.details.map(([, value]) => value)]
    .join("\n").toLowerCase();
});
for (const activity of activities) {
  for (const child of activity.children) activities[child].parents.push(activity.index);
}
const hasTime = activities.some((activity) => activity.time !== null);
const criticalNodes = new Set(graph.critical);
const criticalEdges = new Set(graph.critical.slice(1).map((to, i) => `${graph.critical[i]} ${to}`));
const frames = new Map(graph.frames.map((frame) => [frame.id, frame]));

const state = {
  layout: hasTime ? "time" : "order",
  x: 0, y: 0, kx: 1, ky: 1, // Screen = (world - (x, y)) * (kx, ky).
  collapsed: new Set(), hidden: new Set(), matches: [], match: -1, matching: new Set(),
  selected: null, hovered: null, related: null,
};
let bands = [], boxes = new Map(), width = 0, height = 0, pending = false;

// What is shown, and where.

function depthOf(frame) {
  let depth = 0;
  for (let f = frame; frames.has(f.parent ?? -1); f = frames.get(f.parent)) depth += 1;
  return depth;
}

/** The outermost collapsed frame around a frame, itself included, or null. */
function collapsedAround(id) {
  let found = null;
  for (let frame = frames.get(id); frame; frame = frames.get(frame.parent ?? -1)) {
    if (state.collapsed.has(frame.id)) found = frame.id;
  }
  return found;
}

function isShown(activity) {
  return !state.hidden.has(activity.kind) && (element("after").checked || !activity.after) &&
    (state.related === null || state.related.has(activity.index));
}

/** Bands of frames, one below the other, and a box in world coordinates for each activity shown. */
function arrange() {
  const byTime = state.layout === "time";
  const rowHeight = byTime ? TIME_ROW : ORDER_ROW;
  const shown = activities.filter(isShown);
  const rows = new Map();
  for (const activity of shown) {
    const row = activity[state.layout][0];
    if (row >= (rows.get(activity.frame) ?? 0)) rows.set(activity.frame, row + 1);
  }
  bands = [];
  const tops = new Map();
  let y = 0;
  for (const frame of graph.frames) {
    const around = collapsedAround(frame.id);
    if (around !== null && around !== frame.id) continue;
    const collapsed = around !== null;
    const content = collapsed ? COLLAPSED : (rows.get(frame.id) ?? 0) * rowHeight;
    bands.push({ frame, y, height: HEADER + content, collapsed, depth: depthOf(frame), count: 0 });
    tops.set(frame.id, bands[bands.length - 1]);
    y += HEADER + content + GAP;
  }
  boxes = new Map();
  for (const activity of shown) {
    const around = collapsedAround(activity.frame);
    const band = tops.get(around ?? activity.frame);
    const [row, start, end] = activity[state.layout];
    band.count += 1;
    const left = byTime ? start : start * COLUMN;
    const right = byTime ? end : start * COLUMN + BOX;
    const top = band.y + HEADER + (around === null ? row * rowHeight : 3);
    boxes.set(activity.index, {
      left, right, top, bottom: top + (around !== null ? COLLAPSED - 6 : byTime ? BAR : BOX_HEIGHT),
      collapsed: around !== null,
    });
  }
  updateStatus();
  draw();
}

/** Of what is drawn; by time only up to the load event, as timers may go on for a minute. */
function extent() {
  let right = 1, bottom = 1;
  for (const [index, box] of boxes) {
    if (state.layout === "time" && activities[index].after) continue;
    right = Math.max(right, box.right);
  }
  for (const band of bands) bottom = Math.max(bottom, band.y + band.height);
  return { right, bottom };
}

function fit() {
  const { right, bottom } = extent();
  state.x = 0;
  state.y = 0;
  if (state.layout === "time") {
    state.kx = (width - 20) / right;
    state.ky = 1;
    state.x = -10 / state.kx;
  } else {
    // The whole width of a long chain would be a line.
    state.kx = state.ky = Math.min(1, Math.max(LEAST_FIT, Math.min(width / right, (height - AXIS) / bottom)));
    state.x = -10 / state.kx;
  }
  state.y = -4 / state.ky;
  draw();
}

const screenX = (x) => (x - state.x) * state.kx;
const screenY = (y) => (y - state.y) * state.ky + AXIS;

/** Screen rectangle of an activity that is shown. */
function rectangle(index) {
  const box = boxes.get(index);
  const left = screenX(box.left), top = screenY(box.top);
  const minimum = state.layout === "time" ? MIN_BAR : 1;
  return {
    left, top,
    width: Math.max(screenX(box.right) - left, minimum),
    height: Math.max((box.bottom - box.top) * state.ky, 1),
  };
}

function centre(index) {
  const activity = activities[index];
  for (let frame = frames.get(activity.frame); frame; frame = frames.get(frame.parent ?? -1)) {
    state.collapsed.delete(frame.id);
  }
  arrange();
  const box = boxes.get(index);
  if (!box) return;
  if (state.layout === "order" && state.kx < TEXT_SCALE) state.kx = state.ky = 0.8;
  if (state.layout === "time") {
    // A bar that cannot be seen helps nobody: a fiftieth of the width, at least.
    const duration = Math.max(box.right - box.left, 0.05);
    state.kx = Math.max(state.kx, width / 50 / duration);
    state.kx = Math.min(state.kx, width / 2 / duration);
  }
  state.x = (box.left + box.right) / 2 - width / 2 / state.kx;
  state.y = (box.top + box.bottom) / 2 - (height - AXIS) / 2 / state.ky;
  draw();
}

// Drawing.

function draw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    paint();
  });
}

function paint() {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = "#fff";
  context.fillRect(0, 0, width, height);
  paintBands();
  paintEdges();
  paintActivities();
  paintHeaders();
  paintAxis();
}

function paintBands() {
  for (const band of bands) {
    const top = screenY(band.y), size = band.height * state.ky;
    if (top > height || top + size < 0) continue;
    context.fillStyle = band.depth % 2 ? "#eef1f4" : "#f7f7f7";
    context.fillRect(0, top, width, size);
  }
}

/** Names of the frames stay at the left edge. */
function paintHeaders() {
  context.textBaseline = "middle";
  for (const band of bands) {
    const top = screenY(band.y), size = HEADER * state.ky;
    if (top > height || top + size < AXIS || size < 9) continue;
    context.font = `${Math.min(11, size * 0.6)}px system-ui, 'DejaVu Sans', sans-serif`;
    const text = `${band.collapsed ? "▸" : "▾"} frame ${band.frame.id}  ` +
      `${band.frame.url || "(filled by a script)"}  (${band.count})`;
    context.fillStyle = "#fffc";
    context.fillRect(0, top, Math.min(context.measureText(text).width + 20 + 12 * band.depth, width), size);
    context.fillStyle = "#444";
    context.fillText(text, 8 + 12 * band.depth, top + size / 2, width);
  }
}

function paintEdges() {
  const active = state.hovered ?? state.selected;
  const all = state.layout === "order";
  const plain = new Path2D(), critical = new Path2D(), near = new Path2D();
  for (const [index, box] of boxes) {
    for (const child of activities[index].children) {
      const to = boxes.get(child);
      if (!to) continue;
      const isNear = index === active || child === active;
      const isCritical = element("critical").checked && criticalEdges.has(`${index} ${child}`);
      if (!all && !isNear && !isCritical) continue;
      if (box.collapsed && to.collapsed && !isNear) continue;
      const x1 = screenX(box.right), y1 = screenY((box.top + box.bottom) / 2);
      const x2 = screenX(to.left), y2 = screenY((to.top + to.bottom) / 2);
      if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > width) continue;
      if (Math.max(y1, y2) < 0 || Math.min(y1, y2) > height) continue;
      const path = isNear ? near : isCritical ? critical : plain;
      const bend = Math.max(4, Math.min(Math.abs(x2 - x1) / 2, 60));
      path.moveTo(x1, y1);
      path.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
    }
  }
  context.lineWidth = 1;
  context.strokeStyle = "#0002";
  context.stroke(plain);
  context.lineWidth = 2;
  context.strokeStyle = "#d4a100";
  context.stroke(critical);
  context.strokeStyle = "#c2188f";
  context.stroke(near);
}

function paintActivities() {
  context.textBaseline = "middle";
  const searching = state.matching.size > 0;
  const showCritical = element("critical").checked;
  for (const index of boxes.keys()) {
    const { left, top, width: w, height: h } = rectangle(index);
    if (left > width || left + w < 0 || top > height || top + h < AXIS) continue;
    const activity = activities[index];
    const dim = (searching && !state.matching.has(index)) || activity.after;
    context.globalAlpha = dim ? 0.35 : 1;
    const colour = graph.kinds[activity.kind].colour;
    const isCritical = showCritical && criticalNodes.has(index);
    if (state.layout === "time" || boxes.get(index).collapsed || h < 8) {
      context.fillStyle = colour;
      context.fillRect(left, top, w, h);
      if (isCritical) outline(left, top, w, h, "#f2b800", 2);
      if (w > 40 && h >= 10) {
        paintText(activity.label.slice(1).join("  "), left + 3, top + h / 2, w - 6, "#fff", 10);
      }
    } else {
      context.fillStyle = isCritical ? "#fff3c4" : "#fff";
      context.fillRect(left, top, w, h);
      outline(left, top, w, h, colour, isCritical ? 2.5 : 1);
      if (state.ky >= TEXT_SCALE) {
        const size = 11 * state.ky;
        const [name, ...rest] = activity.label;
        paintText(rest.join("  "), left + 4, top + h * 0.3, w - 8, colour, size);
        paintText(name, left + 4, top + h * 0.72, w - 8, colour, size * 0.9);
      }
    }
    if (state.matching.has(index)) outline(left - 2, top - 2, w + 4, h + 4, "#c2188f", 2);
    if (index === state.selected) outline(left - 3, top - 3, w + 6, h + 6, "#000", 2);
    context.globalAlpha = 1;
  }
}

function outline(left, top, w, h, colour, thickness) {
  context.lineWidth = thickness;
  context.strokeStyle = colour;
  context.strokeRect(left, top, w, h);
}

function paintText(text, x, y, room, colour, size) {
  context.font = `${size}px system-ui, 'DejaVu Sans', sans-serif`;
  context.fillStyle = colour;
  // Half an em is the width of an average letter.
  const fits = Math.floor(room / (size * 0.52));
  if (fits < 2) return;
  context.fillText(text.length > fits ? `${text.slice(0, fits - 1)}…` : text, x, y, room);
}

function paintAxis() {
  context.fillStyle = "#fff";
  context.fillRect(0, 0, width, AXIS);
  if (state.layout !== "time") return;
  const step = niceStep(width / state.kx / 8);
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  context.lineWidth = 1;
  for (let t = Math.max(0, Math.floor(state.x / step)) * step; screenX(t) < width; t += step) {
    const x = screenX(t);
    context.strokeStyle = "#0001";
    line(x, AXIS, x, height);
    context.fillStyle = "#666";
    context.fillText(`${Number(t.toPrecision(8))} ms`, x + 3, AXIS / 2);
  }
  const load = graph.load_event === null ? undefined : activities[graph.load_event];
  if (load) {
    const x = screenX(load.time[1]);
    context.strokeStyle = "#c00";
    line(x, 0, x, height);
    context.fillStyle = "#c00";
    context.textAlign = "right";
    context.fillText("load", x - 3, AXIS / 2);
    context.textAlign = "left";
  }
}

function line(x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
}

// Search, selection, details.

function search(text) {
  const needle = text.trim().toLowerCase();
  state.matches = needle === "" ? [] :
    activities.filter((activity) => isShown(activity) && activity.text.includes(needle))
      .map((activity) => activity.index);
  state.matching = new Set(state.matches);
  state.match = -1;
  element("matches").textContent = needle === "" ? "" : `${state.matches.length} found`;
  updateStatus();
  draw();
}

function nextMatch(step) {
  if (state.matches.length === 0) return;
  const first = state.match < 0 && step < 0 ? 0 : state.match;
  state.match = (first + step + state.matches.length) % state.matches.length;
  element("matches").textContent = `${state.match + 1} of ${state.matches.length}`;
  select(state.matches[state.match]);
  centre(state.selected);
}

function select(index) {
  state.selected = index;
  relate();
  showDetails();
}

/** With the box ticked: only ancestors and descendants of the selected activity. */
function relate() {
  const before = state.related;
  state.related = null;
  if (element("related").checked && state.selected !== null) {
    state.related = new Set([state.selected]);
    for (const edges of ["parents", "children"]) {
      const pendingOnes = [state.selected];
      const seen = new Set(pendingOnes);
      while (pendingOnes.length) {
        for (const next of activities[pendingOnes.pop()][edges]) {
          if (!seen.has(next)) {
            seen.add(next);
            pendingOnes.push(next);
            state.related.add(next);
          }
        }
      }
    }
  }
  if (before !== null || state.related !== null) arrange();
  else draw();
}

function make(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function title(activity) {
  return `${graph.kinds[activity.kind].name} ${activity.id}`;
}

function showDetails() {
  const aside = element("details");
  const wasHidden = aside.hidden;
  aside.hidden = state.selected === null;
  aside.replaceChildren();
  if (wasHidden !== aside.hidden) resize();
  if (state.selected === null) return;
  const activity = activities[state.selected];
  aside.append(make("h2", title(activity)));
  const list = make("dl");
  const marks = [];
  if (criticalNodes.has(activity.index)) marks.push(["critical path", "yes"]);
  if (activity.after) marks.push(["after load", "yes"]);
  for (const [name, value] of [...activity.details, ["frame", String(activity.frame)], ...marks]) {
    list.append(make("dt", name), make("dd", value));
  }
  aside.append(list);
  for (const [heading, edges] of [["Waits for", "parents"], ["Awaited by", "children"]]) {
    if (activity[edges].length === 0) continue;
    aside.append(make("h3", `${heading} (${activity[edges].length})`));
    for (const index of activity[edges]) {
      const other = activities[index];
      const button = make("button", `${title(other)}  ${other.label[1]}`, "link");
      button.addEventListener("click", () => {
        select(index);
        centre(index);
      });
      aside.append(button);
    }
  }
}

function showTip(event) {
  const tip = element("tip");
  tip.hidden = state.hovered === null;
  if (state.hovered === null) return;
  const activity = activities[state.hovered];
  tip.textContent = [title(activity), ...activity.details.map((pair) => pair.join(": "))].join("\n");
  tip.style.left = `${Math.min(event.offsetX + 14, Math.max(0, width - 470))}px`;
  const below = event.offsetY + 14;
  tip.style.top = `${below + tip.offsetHeight > height ? Math.max(0, event.offsetY - tip.offsetHeight - 8) : below}px`;
}

function updateStatus() {
  const collapsed = bands.filter((band) => band.collapsed).length;
  element("status").textContent =
    `${boxes.size} of ${activities.length} activities, ${bands.length} of ${graph.frames.length} frames` +
    ` (${collapsed} collapsed), critical path ${criticalNodes.size} activities, ` +
    `${graph.critical_ms.toFixed(1)} ms recorded` +
    `${state.matches.length ? `, ${state.matches.length} found` : ""}. ` +
    "Drag to move, wheel to zoom, click for details, click a frame's name to collapse it.";
}

// Input.

function hit(x, y) {
  let found = null;
  if (y < AXIS) return null;
  for (const index of boxes.keys()) {
    const box = rectangle(index);
    // A few pixels of grace for short bars.
    if (x >= box.left - 2 && x <= box.left + box.width + 2 && y >= box.top && y <= box.top + box.height) {
      found = index;
    }
  }
  return found;
}

function bandHeaderAt(y) {
  return bands.find((band) => y >= screenY(band.y) && y < screenY(band.y) + Math.max(HEADER * state.ky, 4));
}

function zoom(factor, x, y) {
  const byTime = state.layout === "time";
  const at = { x: x / state.kx + state.x, y: (y - AXIS) / state.ky + state.y };
  state.kx = Math.min(Math.max(state.kx * factor, 1e-5), byTime ? 1e5 : 4);
  state.x = at.x - x / state.kx;
  if (!byTime) {
    state.kx = Math.max(state.kx, 0.01);
    state.ky = state.kx;
    state.x = at.x - x / state.kx;
    state.y = at.y - (y - AXIS) / state.ky;
  }
  draw();
}

let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  drag = { x: event.offsetX, y: event.offsetY, moved: false };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (drag) {
    const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
    if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
    drag = { x: event.offsetX, y: event.offsetY, moved: true };
    state.x -= dx / state.kx;
    state.y -= dy / state.ky;
    draw();
    return;
  }
  const found = hit(event.offsetX, event.offsetY);
  if (found !== state.hovered) {
    state.hovered = found;
    draw();
  }
  showTip(event);
});
canvas.addEventListener("pointerleave", () => {
  state.hovered = null;
  element("tip").hidden = true;
  draw();
});
canvas.addEventListener("pointerup", (event) => {
  const clicked = drag && !drag.moved;
  drag = null;
  if (!clicked) return;
  const found = hit(event.offsetX, event.offsetY);
  const band = found === null ? bandHeaderAt(event.offsetY) : undefined;
  if (band) toggle(band.frame.id);
  else select(found);
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (event.shiftKey) {
    state.y += (event.deltaY || event.deltaX) / state.ky;
    draw();
  } else {
    zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  }
}, { passive: false });
canvas.addEventListener("keydown", (event) => {
  const step = 60;
  const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
  if (event.key in moves) {
    state.x += moves[event.key][0] / state.kx;
    state.y += moves[event.key][1] / state.ky;
    draw();
  } else if (event.key === "+" || event.key === "-") {
    zoom(event.key === "+" ? 1.3 : 1 / 1.3, width / 2, height / 2);
  } else if (event.key === "Escape") {
    select(null);
  }
});
document.addEventListener("keydown", (event) => {
  if (event.target instanceof HTMLInputElement) return;
  if (event.key === "/") {
    event.preventDefault();
    element("search").focus();
  } else if (event.key === "f") fit();
});

function toggle(frame) {
  if (!state.collapsed.delete(frame)) state.collapsed.add(frame);
  arrange();
}

function collapseAll() {
  state.collapsed = new Set(graph.frames.filter((frame) => frame.parent !== null).map((frame) => frame.id));
  // A page with one frame has no other to collapse.
  if (state.collapsed.size === 0) state.collapsed = new Set(frames.keys());
  arrange();
}

element("search").addEventListener("input", (event) => search(event.target.value));
element("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") nextMatch(event.shiftKey ? -1 : 1);
});
element("critical").addEventListener("change", draw);
element("after").addEventListener("change", arrange);
element("related").addEventListener("change", relate);
element("fit").addEventListener("click", fit);
element("collapse").addEventListener("click", collapseAll);
element("expand").addEventListener("click", () => {
  state.collapsed.clear();
  arrange();
});

function resize() {
  width = canvas.clientWidth;
  height = canvas.clientHeight;
  draw();
}

function setLayout(layout) {
  state.layout = layout;
  for (const input of element("layouts").querySelectorAll("input")) input.checked = input.value === layout;
  arrange();
  fit();
}

function buildControls() {
  element("name").textContent = graph.name;
  element("name").title = graph.url;
  for (const layout of hasTime ? ["time", "order"] : ["order"]) {
    const label = make("label"), input = make("input");
    input.type = "radio";
    input.name = "layout";
    input.value = layout;
    input.addEventListener("change", () => setLayout(layout));
    label.append(input, ` by ${layout}`);
    element("layouts").append(label);
  }
  graph.kinds.forEach((kind, index) => {
    const count = activities.filter((activity) => activity.kind === index).length;
    if (count === 0) return;
    const label = make("label"), input = make("input"), swatch = make("span", undefined, "swatch");
    input.type = "checkbox";
    input.checked = true;
    input.dataset.kind = String(index);
    input.addEventListener("change", () => {
      if (input.checked) state.hidden.delete(index);
      else state.hidden.add(index);
      arrange();
    });
    swatch.style.background = kind.colour;
    label.append(input, swatch, `${kind.name} (${count})`);
    element("legend").append(label);
  });
}

/** What the part of the address behind "#" asks for. */
function applyAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  element("critical").checked = wanted.get("critical") !== "off";
  element("after").checked = wanted.get("after") !== "off";
  for (const input of element("legend").querySelectorAll("input")) {
    const kind = Number(input.dataset.kind);
    input.checked = !(wanted.get("hide") ?? "").split(",").includes(graph.kinds[kind].name);
    if (!input.checked) state.hidden.add(kind);
    else state.hidden.delete(kind);
  }
  if (wanted.get("collapse") === "all") collapseAll();
  else {
    const ids = (wanted.get("collapse") ?? "").split(",").filter(Boolean).map(Number);
    state.collapsed = new Set(ids.filter((id) => frames.has(id)));
  }
  setLayout(wanted.get("layout") === "order" || !hasTime ? "order" : "time");
  element("search").value = wanted.get("search") ?? "";
  search(element("search").value);
  const selected = activities.find((activity) => activity.id === wanted.get("select"));
  if (selected) {
    select(selected.index);
    centre(selected.index);
  } else if (state.matches.length) nextMatch(1);
}

buildControls();
resize();
applyAddress();
addEventListener("resize", resize);
addEventListener("hashchange", applyAddress);
