/**
 * What the page draws, by d3 7.9.2 (ISC), whose file is the published d3.min.js as it is. All is SVG but thousands of
 * points, whose pixels this file sets on a canvas below it; saved plots have them as paths, too.
 *
 * Compared under "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:" with 9,000 points,
 * all in Chromium, from disk and over HTTP. In Firefox (ESR 153) only d3, uPlot and Observable Plot were tried, and
 * only from disk; the page's tests run in Chromium alone.
 * d3 7.9.2 (280 kB) breaks no rule: it sets attributes; SVG can be saved, read aloud and styled; drawn in 50 ms.
 * uPlot 1.6.32 (51 kB) and ECharts 6.1.0 (1.1 MB) break none either; the first draws lines on a canvas, which
 * cannot be saved as SVG or styled, the second an element a point, in 480 ms.
 * Observable Plot 0.6.17 and Plotly 4.1.2 (4.8 MB) write style elements, Vega 6.4.0 compiles expressions: refused.
 */
"use strict";

/**
 * Marks of groups, each around 0, 0; seven against six colours, so that 42 groups differ in one of them. Whole numbers
 * of tenths of a pixel are written and read several times as fast as fractions, so marks are drawn at a tenth.
 */
const SHAPES = [
  "m-40,-17v34l23,23h34l23,-23v-34l-23,-23h-34z",
  "m-36,-36h72v72h-72z",
  "m0,-48l46,80h-92z",
  "m0,-52l44,52l-44,52l-44,-52z",
  "m0,48l46,-80h-92z",
  "m-15,-46h30v31h31v30h-31v31h-30v-31h-31v-30h31z",
  "m-42,-42h84l-84,84h84z",
];
const COLOURS = 6;
/** Of more points than these each pixel is set: their paths would take several times as long to draw. */
const MANY = 2_000;
/** What is around the mark of a trial that is not measured, by its kind, and what that is called. */
const KINDS = /** @type {Object<string, string[]>} */ ({
  published: ["m-80,0a80,80 0 1,0 160,0a80,80 0 1,0 -160,0z", "published figure"],
  emulated: ["m0,-95l95,95l-95,95l-95,-95z", "emulated, not measured"],
  replay: ["m-70,-70h140v140h-140z", "replay, not measured"],
});

/**
 * @typedef {{domain: number[], kind: "linear"|"log"|"time", title: string, unit?: string, left?: number,
 *   text?: (value: number) => string}} Axis `left` is the room for texts of a vertical one
 * @typedef {{i: number, x: number, y: number, xLow: number, xHigh: number, yLow: number, yHigh: number,
 *   group: number, state: State, kind: string}} Point with its interval, whose ends are the value without one
 * @typedef {{axis: "x"|"y", value: number, title: string}} Rule a line across
 * @typedef {{x: any, y: any, layer: any, left: number, right: number, top: number, bottom: number}} Frame
 * @typedef {{axis: "x"|"y", metric: Metric, value: number|null}} LimitHandle
 */

/** @param {number} group */
const shape = (group) => SHAPES[group % SHAPES.length];

/** @param {number} pixels */
const tenths = (pixels) => Math.round(pixels * 10);

/** The width that a chart of the overview has. */
const chartWidth = () => Math.max(280, /** @type {HTMLElement} */ (document.getElementById("content")).clientWidth - 26);

/**
 * A domain around some values with room at its ends.
 * @param {number[]} values
 * @param {boolean} log
 */
function domainOf(values, log) {
  const [low, high] = d3.extent(values);
  if (low === undefined) return log ? [0.1, 10] : [0, 1];
  const room = log ? Math.max((high / low) ** 0.05, 1.05) : (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
  return log ? [low / room, high * room] : [low - room, high + room];
}

/**
 * @param {Metric} metric
 * @param {number[]} values
 * @param {Rule[]} rules that are to be in sight
 * @returns {Axis}
 */
function axisOf(metric, values, rules) {
  const { log, unit } = metric;
  const inSight = [...values, ...rules.map(({ value }) => value)].filter((value) => value > 0 || !log);
  return { domain: domainOf(inSight, log), kind: log ? "log" : "linear", title: metric.titled, unit };
}

/**
 * Axes with their titles and a grid, in place of those that were there; nothing else of the drawing changes.
 * @param {SVGSVGElement} svg
 * @param {number} width
 * @param {number} height
 * @param {Axis} xAxis
 * @param {Axis} yAxis
 * @returns {Frame}
 */
function frame(svg, width, height, xAxis, yAxis) {
  const [left, right, top, bottom] = [yAxis.left ?? 64, width - 18, 20, height - 44];
  const root = d3.select(svg).attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height);
  const layer = root.selectAll("g.frame").data([0]).join("g").attr("class", "frame");
  layer.selectChildren().remove();
  const scales = [xAxis, yAxis].map((of, k) => {
    const [from, to] = k ? [bottom, top] : [left, right];
    const scale = { linear: d3.scaleLinear, log: d3.scaleLog, time: d3.scaleUtc }[of.kind](of.domain, [from, to]);
    const axis = k ? d3.axisLeft(scale) : d3.axisBottom(scale);
    const count = of.text ? of.domain[0] : Math.max(2, Math.floor(Math.abs(to - from) / (k ? 45 : 100)));
    const text = of.text ?? ((value) => shown(value, of.unit));
    const log = of.kind === "log";
    const spread = scale.ticks(count).filter(log ? scale.tickFormat(count, text) : text);
    const rounded = log && spread.length < 2 ? scale.ticks(99).filter((value) => /^[125]e/.test(value.toExponential())) : spread;
    const ticks = log && rounded.length < 2 ? d3.ticks(of.domain[0], of.domain[1], Math.max(count, 3)) : rounded;
    axis.ticks(count);
    if (of.kind !== "time") axis.tickFormat(text).tickValues(ticks);
    axis.tickSizeInner(k ? left - right : top - bottom).tickSizeOuter(0).tickPadding(6);
    layer.append("g").attr("class", "axis").attr("transform", `translate(${k ? [left, 0] : [0, bottom]})`).call(axis);
    const title = layer.append("text").text(of.title).attr("text-anchor", k ? "start" : "end");
    title.attr("x", k ? 2 : right).attr("y", k ? 11 : height - 6);
    return scale;
  });
  return { x: scales[0], y: scales[1], layer, left, right, top, bottom };
}

/**
 * Points of one look as two paths: their intervals, cut at the frame, and their marks.
 * @param {any} layer
 * @param {Point[]} points
 * @param {Frame} frame
 */
function drawPoints(layer, points, { x, y }) {
  const [[left, right], [bottom, top]] = [x, y].map((scale) => d3.extent(scale.domain()));
  const intervals = points.map((point) => {
    const across = [Math.max(point.xLow, left), Math.min(point.xHigh, right)].map((end) => tenths(x(end)));
    const up = [Math.max(point.yLow, bottom), Math.min(point.yHigh, top)].map((end) => tenths(y(end)));
    return `M${across[0]},${tenths(y(point.y))}H${across[1]}M${tenths(x(point.x))},${up[0]}V${up[1]}`;
  });
  const marks = points.map((point) => `M${tenths(x(point.x))},${tenths(y(point.y))}${shape(point.group)}`);
  layer.append("path").attr("class", "interval").attr("d", intervals.join(""));
  layer.append("path").attr("class", "mark").attr("d", marks.join(""));
}

/**
 * A mark as pixels, row by row: opacity, blue, green and red from the highest byte on. The first, which no mark
 * reaches, is one of its interval.
 * @param {any} layer with the two paths whose style is taken
 * @param {number} group
 * @param {number} size in pixels, across and down
 * @param {number} ratio pixels to one of the drawing
 */
function stamp(layer, group, size, ratio) {
  const [interval, mark] = [".interval", ".mark"].map((name) => getComputedStyle(layer.select(name).node()));
  const canvas = Object.assign(document.createElement("canvas"), { width: size, height: size });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
  const draw = (/** @type {"fill"|"stroke"} */ way, /** @type {string} */ colour, /** @type {string} */ opacity, /** @type {string} */ path) => {
    Object.assign(context, { [`${way}Style`]: colour, globalAlpha: colour === "none" ? 0 : opacity });
    context[way](new Path2D(path));
  };
  draw("fill", interval.stroke, interval.strokeOpacity, "M0,0h1v1h-1z");
  context.setTransform(ratio / 10, 0, 0, ratio / 10, size / 2, size / 2);
  context.lineWidth = parseFloat(mark.strokeWidth);
  draw("fill", mark.fill, mark.fillOpacity, `M0,0${shape(group)}`);
  draw("stroke", mark.stroke, mark.strokeOpacity, `M0,0${shape(group)}`);
  return new Uint32Array(context.getImageData(0, 0, size, size).data.buffer);
}

/**
 * What `drawPoints` draws, as pixels: thousands of points take a fraction of the time of their paths. A pixel keeps
 * what covers it more than what comes later. The loop calls little, as it runs before it is compiled.
 * @param {any} layer with the two paths, empty, whose style is taken
 * @param {Point[]} points of one look
 * @param {Frame} frame
 * @param {ImageData} image
 * @param {number} ratio pixels of the image to one of the drawing
 */
function paintPoints(layer, points, frame, { width, data }, ratio) {
  const pixels = new Uint32Array(data.buffer);
  const size = 2 * Math.ceil(7 * ratio);
  const sign = stamp(layer, points[0].group, size, ratio);
  const inked = d3.range(1, size * size).filter((k) => sign[k]);
  const places = inked.map((k) => (Math.floor(k / size) - size / 2) * width + (k % size) - size / 2);
  const colours = inked.map((k) => sign[k]);
  const line = sign[0];
  const [[left, right], [bottom, top]] = [frame.x, frame.y].map((scale) => d3.extent(scale.domain()));
  const [across, down] = [straight(frame.x, ratio), straight(frame.y, ratio)];
  for (const { x, y, xLow, xHigh, yLow, yHigh } of points) {
    const column = Math.round(across.start + across.slope * across.of(x));
    const row = Math.round(down.start + down.slope * down.of(y));
    const to = across.start + across.slope * across.of(Math.min(xHigh, right));
    const end = down.start + down.slope * down.of(Math.max(yLow, bottom));
    let k = Math.round(across.start + across.slope * across.of(Math.max(xLow, left)));
    for (; k < to; k++) if (pixels[row * width + k] >>> 24 <= line >>> 24) pixels[row * width + k] = line;
    k = Math.round(down.start + down.slope * down.of(Math.min(yHigh, top)));
    for (; k < end; k++) if (pixels[k * width + column] >>> 24 <= line >>> 24) pixels[k * width + column] = line;
    const middle = row * width + column;
    for (k = 0; k < places.length; k++) {
      if (pixels[middle + places[k]] >>> 24 <= colours[k] >>> 24) pixels[middle + places[k]] = colours[k];
    }
  }
}

/**
 * A scale of numbers, linear or logarithmic, as a straight line.
 * @param {any} scale
 * @param {number} ratio
 */
function straight(scale, ratio) {
  const of = scale.base ? Math.log : Number;
  const [[from, to], [start, end]] = [scale.domain().map(of), scale.range()];
  const slope = (ratio * (end - start)) / (to - from);
  return { of, slope, start: ratio * start - slope * from };
}

/**
 * @param {any} layer
 * @param {Rule[]} rules
 * @param {Frame} frame
 */
function drawRules(layer, rules, { x, y, left, right, top, bottom }) {
  for (const { axis, value, title } of rules) {
    const at = axis === "x" ? x(value) : y(value);
    if (axis === "x" ? !(at >= left && at <= right) : !(at >= top && at <= bottom)) continue;
    const after = axis === "x" && at - left < right - at;
    layer.append("path").attr("class", "rule").attr("d", axis === "x" ? `M${at},${top}V${bottom}` : `M${left},${at}H${right}`);
    const text = layer.append("text").text(title).attr("text-anchor", after ? "start" : "end");
    text.attr("x", axis === "x" ? at + (after ? 5 : -5) : right - 4).attr("y", axis === "x" ? top + 12 : at - 5);
  }
}

/** The scatter plot with its two limits, which pointer and keys move. */
class Scatter {
  /**
   * @param {SVGSVGElement} svg
   * @param {{limit: (axis: string, value: number|null, last: boolean) => void, open: (i: number) => void,
   *   point: (point: Point|null, at: number[], byKey: boolean) => void}} told what is done with the plot
   */
  constructor(svg, told) {
    this.svg = svg;
    this.told = told;
    /** @type {HTMLCanvasElement} */
    this.canvas = document.createElement("canvas");
    svg.before(this.canvas);
    /** @type {(paths?: boolean) => void} */
    this.redraw = () => {};
    /** @type {Point[]} */
    this.points = [];
    this.at = -1;
    /** @type {any[]} */
    this.scales = [];
    /** @type {Metric[]} */
    this.metrics = [];
    this.marks = d3.select("#marks");
    this.plane = d3.select("#plane");
    this.cursor = d3.select(".cursor");
    this.plane.on("pointermove", (event) => this.show(this.under(event), false));
    this.plane.on("pointerleave blur", () => this.show(null, false));
    this.plane.on("click", (event) => {
      const point = this.under(event);
      if (point) told.open(point.i);
    });
    this.plane.on("keydown", (event) => this.byKey(event));
    this.handles = ["x", "y"].map((axis, k) => this.handle(axis, k));
  }

  /**
   * @param {string} axis
   * @param {number} k which of x and y
   */
  handle(axis, k) {
    const group = d3.select(`#handle-${axis}`);
    const drag = d3.drag().on("start", () => group.node().focus({ preventScroll: true }));
    group.call(drag.on("drag end", (event) => this.moveTo(k, event[axis], event.type === "end")));
    group.on("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
      const [from, to] = this.scales[k].range();
      if (event.key in steps) this.moveTo(k, Number(group.attr("data-at")) + (steps[event.key] * (to - from)) / 100, true);
      else if (["Home", "End", "Delete"].includes(event.key)) this.told.limit(axis, null, true);
      else return;
      event.preventDefault();
    });
    return group;
  }

  /**
   * A limit at a place of the drawing; none at the end where it lets everything pass.
   * @param {number} k
   * @param {number} place
   * @param {boolean} last
   */
  moveTo(k, place, last) {
    const scale = this.scales[k];
    const [from, to] = scale.range();
    const share = Math.min(Math.max((place - from) / (to - from), 0), 1);
    const none = this.metrics[k].better === "higher" ? share < 0.005 : share > 0.995;
    this.told.limit("xy"[k], none ? null : Number((scale.invert(from + share * (to - from)) / typedIn(this.metrics[k])).toPrecision(3)), last);
  }

  /**
   * @param {number} width
   * @param {number} height
   * @param {{x: Axis, y: Axis, points: Point[], fronts: Point[][], limits: LimitHandle[], rules: Rule[]}} view
   * @param {boolean} [asPaths] else their pixels are set
   */
  draw(width, height, view, asPaths = view.points.length <= MANY) {
    const of = frame(this.svg, width, height, view.x, view.y);
    const { x, y, left, right, top, bottom } = of;
    this.redraw = (/** @type {boolean|undefined} */ paths) => this.draw(width, height, view, paths);
    this.points = view.points;
    this.scales = [x, y];
    this.metrics = view.limits.map(({ metric }) => metric);
    this.tree = null;
    this.plane.attr("x", left).attr("y", top).attr("width", right - left).attr("height", bottom - top);
    this.marks.selectChildren().remove();
    const order = d3.groups(view.points, ({ group, state }) => 1e4 * STATES.indexOf(state) + group);
    const looks = d3.sort(order, ([key]) => key).map(([, points]) => points);
    const layers = looks.map(([{ group, state }]) => this.marks.append("g").attr("class", `c${group % COLOURS} ${state}`));
    layers.forEach((layer, k) => drawPoints(layer, asPaths ? looks[k] : [], of));
    const ratio = asPaths ? 0 : Math.min(devicePixelRatio, 2);
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
    this.canvas.style.width = `${width}px`;
    if (!asPaths) {
      const image = new ImageData(this.canvas.width, this.canvas.height);
      layers.forEach((layer, k) => paintPoints(layer, looks[k], of, image, ratio));
      this.canvas.getContext("2d")?.putImageData(image, 0, 0);
    }
    const around = (/** @type {Point} */ { x: atX, y: atY, kind }) => (kind in KINDS ? `M${tenths(x(atX))},${tenths(y(atY))}${KINDS[kind][0]}` : "");
    this.marks.append("path").attr("class", "kind").attr("d", view.points.map(around).join(""));
    const line = d3.line((point) => tenths(x(point.x)), (point) => tenths(y(point.y))).curve(d3.curveStepAfter);
    this.marks.append("path").attr("class", "front").attr("d", view.fronts.map(line).join(""));
    drawRules(of.layer, view.rules, of);
    view.limits.forEach((limit, k) => this.place(this.handles[k], limit, of));
    this.show(null, false);
  }

  /**
   * @param {any} group
   * @param {LimitHandle} limit
   * @param {Frame} frame
   */
  place(group, { axis, metric, value }, { x, y, left, right, top, bottom }) {
    const scale = axis === "x" ? x : y;
    const [low, high] = scale.domain();
    const open = metric.better === "higher" ? low : high;
    const wished = scale(Math.min(Math.max(value ?? open, low), high));
    const at = Number.isFinite(wished) ? wished : scale(open);
    const ends = axis === "x" ? [at, at, top, bottom] : [left, right, at, at];
    ["x1", "x2", "y1", "y2"].forEach((name, k) => group.selectAll("line").attr(name, ends[k]));
    group.select(".arrow").attr("d", axis === "x" ? `M${at},${top}m-7,-12h14l-7,12z` : `M${right},${at}m12,-7v14l-12,-7z`);
    group.classed("set", value !== null).attr("data-at", at).attr("aria-label", metric.limit);
    group.attr("aria-valuemin", low).attr("aria-valuemax", high).attr("aria-valuenow", value ?? open);
    group.attr("aria-valuetext", value === null ? "no limit" : shown(value, metric.unit));
  }

  /** The drawing as a file of its own, all of it paths. */
  file() {
    this.redraw(true);
    const text = standaloneSvg(this.svg);
    this.redraw();
    return text;
  }

  /** @param {PointerEvent} event */
  under(event) {
    const [x, y] = this.scales;
    this.tree ??= d3.quadtree(this.points, (point) => x(point.x), (point) => y(point.y));
    return this.tree.find(...d3.pointer(event, this.svg), 14) ?? null;
  }

  /** @param {KeyboardEvent} event */
  byKey(event) {
    const order = d3.sort(this.points, (point) => point.x);
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageDown: 50, PageUp: -50, Home: -Infinity, End: Infinity };
    if (event.key in steps && order.length) {
      this.at = Math.min(Math.max(this.at + steps[event.key], 0), order.length - 1);
      this.show(order[this.at], true);
    } else if (event.key === "Enter" && order[this.at]) this.told.open(order[this.at].i);
    else return;
    event.preventDefault();
  }

  /**
   * @param {Point|null} point
   * @param {boolean} byKey
   */
  show(point, byKey) {
    const at = point ? [this.scales[0](point.x), this.scales[1](point.y)] : [0, 0];
    this.cursor.attr("visibility", point ? "visible" : "hidden").attr("cx", at[0]).attr("cy", at[1]);
    this.told.point(point, at, byKey);
  }
}

/**
 * A plot of points with their intervals, a line and shaded bands; rules go across.
 * @param {SVGSVGElement} svg
 * @param {number} width
 * @param {number} height
 * @param {{x: Axis, y: Axis, points?: Point[], line?: (number[]|null)[], bands?: number[][], rules?: Rule[]}} view
 */
function seriesPlot(svg, width, height, { x, y, points = [], line = [], bands = [], rules = [] }) {
  const of = frame(svg, width, height, x, y);
  const sides = bands.map((band) => band.map((at) => Math.min(Math.max(of.x(at), of.left), of.right).toFixed(1)));
  const boxes = sides.map(([from, to]) => `M${from},${of.top}H${to}V${of.bottom}H${from}Z`);
  of.layer.append("path").attr("class", "band").attr("d", boxes.join(""));
  const path = d3.line(([at]) => of.x(at), ([, at]) => of.y(at)).defined((place) => place !== null);
  of.layer.append("path").attr("class", "series").attr("d", path(line));
  for (const [group, members] of d3.groups(points, (point) => point.group)) {
    drawPoints(of.layer.append("g").attr("class", `c${group % COLOURS}`).attr("transform", "scale(.1)"), members, of);
  }
  drawRules(of.layer, rules, of);
}

/**
 * @param {string} group classes of the sign's group
 * @param {string} mark class of its path
 * @param {string} path
 * @param {string} text
 */
function legendEntry(group, mark, path, text) {
  const item = d3.create("li");
  const svg = item.append("svg").attr("viewBox", "-90 -90 180 180").attr("aria-hidden", "true");
  svg.append("g").attr("class", group).append("path").attr("class", mark).attr("d", `M0,0${path}`);
  return item.append(() => document.createTextNode(text)) && item.node();
}

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family", "visibility"];

/**
 * The drawing as a file of its own: what the style sheet gives its elements is written onto them.
 * @param {SVGSVGElement} svg
 */
function standaloneSvg(svg) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, k) => {
    const style = getComputedStyle(originals[k]);
    for (const name of STYLES) element.setAttribute(name, style.getPropertyValue(name));
  });
  copy.querySelectorAll(".plane, .cursor, .limit:not(.set)").forEach((element) => element.remove());
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const ground = d3.select(copy).insert("rect", "*").attr("width", "100%").attr("height", "100%");
  ground.attr("fill", getComputedStyle(document.body).backgroundColor);
  return new XMLSerializer().serializeToString(copy);
}
