/**
 * The page: what is chosen lives in the address, and everything that is shown follows from it and the data.
 * All text from results reaches the document as text nodes and attributes, never as markup.
 */
"use strict";

/**
 * @typedef {{low: number|null, high: number|null, reason?: string}} Ends
 * @typedef {{key: string, title: string, unit?: string, value: (i: number) => number|string|null,
 *   ends?: (i: number) => Ends}} Column of the table; `ends` of one with an interval
 */

const FILTERS = [
  "kind", "scene", "device", "target", "model", "depth_multiplier", "precision", "batch", "power_mode", "scope", "status",
];
/** Labels that other columns say or that are no text for people. */
const INNER = ["id", "key", "history", "trial", "variant", "depth_multiplier", "precision"];
const FIRST = ["device", "result"];
const AXES = /** @type {const} */ (["x", "y"]);
const ROWS = 25;
const HOUR_MS = 3_600_000;

/** @type {Data} */
let data;
/** @type {Sessions|null} */
let sessions = null;
/** @type {Object<string, ResultDetails>} what results/<id>.js brought */
let results = {};
/** @type {Object<string, Promise<void>>} files of this site that were asked for */
let loading = {};
/** @type {Map<string, number>|null} trials by what the address calls them, once that is asked for */
let places = null;
/** What is chosen: what the address says. */
let params = new URLSearchParams();
/** @type {Scatter} */
let scatter;
/** @type {number[]} the trials of the table, in its order */
let listed = [];
/** @type {(i: number) => State} */
let stateFor = () => "pass";
/** The label that colours the points: the precision where all are of one device. */
let colouredBy = "device";
/** @type {Metric[]} what Compare or History can show */
let offered = [];
/** The view that is shown, of the trial and all others, and what had the focus before a trial was opened. */
let shownView = "";
let cameFrom = "";
/** Whether the address has a change that goes on. */
let changing = false;

/**
 * @param {string} id
 * @returns {any}
 */
const byId = (id) => document.getElementById(id);

/**
 * @param {string} tag
 * @param {Object<string, any>} attributes null and false leave one out
 * @param {...(Node|string)} children texts become text nodes
 * @returns {any}
 */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** @param {string} message */
const problem = (message) => Object.assign(byId("problem"), { hidden: !message, textContent: message });

// The choice and the address.

/**
 * The address with some changes; a page of the table and the limits of another axis do not outlive them.
 * @param {Object<string, string|number|null|string[]>} changes
 */
function address(changes) {
  const parts = new URLSearchParams(params);
  const ended = ["x", "y"].filter((axis) => axis in changes).map((axis) => [`${axis}limit`, null]);
  for (const [name, value] of Object.entries({ page: null, ...Object.fromEntries(ended), ...changes })) {
    parts.delete(name);
    for (const text of [value].flat()) if (text !== null && text !== "") parts.append(name, String(text));
  }
  return `#${parts}`;
}

/**
 * @param {Object<string, string|number|null|string[]>} changes
 * @param {boolean} [passing] whether the change goes on: the back button undoes all of it at once
 */
function go(changes, passing = false) {
  const target = address(changes);
  const differs = target !== (location.hash || "#");
  if (differs) history[changing ? "replaceState" : "pushState"](null, "", target);
  changing = passing && (differs || changing);
  render();
}

/** @param {"x"|"y"|"metric"} name */
function chosenMetric(name) {
  const known = data.metrics.find((metric) => metric.name === params.get(name));
  return known ?? ((name === "metric" && offered[0]) || metricOf(data, data.usual[name]));
}

/** @param {string} name */
function chosenNumber(name, unit = 1) {
  const text = params.get(name);
  return text && Number.isFinite(Number(text)) ? Number(text) * unit : null;
}

const chosenProfile = () => data.profiles.find(({ name }) => name === params.get("profile"));

const axisLimits = () => AXES.map((axis) => {
  const metric = chosenMetric(axis);
  return { axis, metric, value: chosenNumber(`${axis}limit`, typedIn(metric)) };
});

const chosenLimits = () => axisLimits().filter(({ value }) => value !== null);

/** Metrics that the table has columns of. */
function chosenColumns() {
  const usual = [chosenMetric("x").name, chosenMetric("y").name, ...data.usual.columns];
  const wanted = params.has("column") ? params.getAll("column") : usual;
  return [...new Set(wanted)].filter((name) => Object.hasOwn(data.figures, name));
}

// What the data files call.

/** @param {Data} loaded */
function edgebenchData(loaded) {
  if (data?.build === loaded.build) return;
  [data, sessions, loading, results, places] = [loaded, null, {}, {}, null];
  if (!scatter) begin();
  fillControls();
  render();
}

/**
 * What the address calls a trial: its result and key, or where it was published.
 * @param {number} i
 */
function nameOf(i) {
  const id = label(data, "id", i);
  const facts = ["source", "trial", ...FILTERS.filter((name) => name !== "kind")];
  return (id ? [id, label(data, "key", i)] : ["published", ...facts.map((name) => label(data, name, i))]).join("/");
}

/** @param {string} name of the parameter that says which @returns {number|null} the place of a trial */
function placeIn(name) {
  if (!params.get(name)) return null;
  places ??= new Map(d3.range(data.n).map((i) => [nameOf(i), i]));
  return places.get(params.get(name) ?? "") ?? null;
}

/** @param {Sessions} loaded */
const edgebenchSessions = (loaded) => (sessions = loaded);

/**
 * @param {string} id
 * @param {ResultDetails} loaded
 */
const edgebenchResult = (id, loaded) => (results[id] = loaded);

/**
 * Runs a file of this site.
 * @param {string} path
 */
function run(path) {
  const script = element("script", { src: path });
  const ended = new Promise((done, failed) => Object.assign(script, { onload: done, onerror: failed }));
  document.body.append(script);
  return ended.finally(() => script.remove());
}

/**
 * Runs a file of this site once, then renders again.
 * @param {string} path
 */
function need(path) {
  loading[path] ??= run(path);
  loading[path].then(render, () => problem(`${path} is not there, or the data were replaced. Reload the page.`));
}

function begin() {
  scatter = new Scatter(byId("scatter"), {
    limit: (axis, value, last) => soon(() => go({ [`${axis}limit`]: value }, !last)),
    open: (i) => go({ view: "trial", trial: nameOf(i) }),
    point: showPoint,
  });
  window.addEventListener("hashchange", render);
  window.addEventListener("resize", () => soon(render));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
  window.addEventListener("beforeprint", () => scatter.redraw(true)); // on paper in its colours, and sharp
  window.addEventListener("afterprint", () => scatter.redraw());
  for (const kind of ["change", "input"]) document.addEventListener(kind, controlled);
  byId("skip").onclick = () => byId("main").focus();
  byId("save-svg").onclick = () => save("edgebench.svg", scatter.file(), "image/svg+xml");
  byId("save-png").onclick = savePng;
  byId("save-csv").onclick = () => save("edgebench.csv", csv(), "text/csv;charset=utf-8");
  byId("save-json").onclick = () => save("edgebench.json", json(), "application/json");
  byId("python").onclick = givePython;
  byId("filters").open = !matchMedia("(max-width: 60rem)").matches;
  // The same data change nothing; a file that is just being replaced is there the next time.
  if (data.refresh_s) setInterval(() => run(`data.js?${Date.now()}`).catch(() => {}), data.refresh_s * 1000);
}

/**
 * What a control shows becomes the choice; of a number that is being typed the back button knows the last alone.
 * @param {Event} event
 */
function controlled({ type: kind, target }) {
  const { type, name, value } = /** @type {HTMLInputElement} */ (target);
  const checked = Array.from(document.querySelectorAll(`input[name="${name}"]:checked`), (/** @type {any} */ box) => box.value);
  if (kind === "change") go({ [name]: type === "checkbox" ? checked : value });
  else if (type === "number") soon(() => go({ [name]: value }, true));
}

let nextFrame = 0;

/**
 * Runs the latest of several wishes in the next frame.
 * @param {() => void} wish
 */
function soon(wish) {
  cancelAnimationFrame(nextFrame);
  nextFrame = requestAnimationFrame(wish);
}

// Controls, whose names are those of the address: what they offer is filled in once, what they show each time.

/**
 * @param {string} name
 * @param {string} value
 * @param {...(Node|string)} texts
 */
function checkbox(name, value, ...texts) {
  return element("label", {}, element("input", { type: "checkbox", name, value, id: `${name}-${value}` }), ...texts);
}

/**
 * @param {string} id of a select
 * @param {string[][]} entries value and text
 */
function options(id, entries) {
  byId(id).replaceChildren(...entries.map(([value, text]) => element("option", { value }, text)));
}

function fillControls() {
  const lists = FILTERS.filter((name) => data.labels[name]?.differs).map((name) => {
    const { title, values, codes } = data.labels[name];
    const counts = new Uint32Array(values.length);
    for (let i = 0; i < data.n; i++) counts[codes[i] ?? 0]++;
    const order = d3.sort(values, (a, b) => Number(a) - Number(b) || d3.ascending(a, b));
    const count = (/** @type {string} */ text) => element("span", { class: "quiet" }, String(counts[values.indexOf(text)]));
    const boxes = order.map((text) => checkbox(name, text, text || "none", count(text)));
    return element("fieldset", {}, element("legend", {}, title), element("div", { class: "boxes" }, ...boxes));
  });
  byId("filter-lists").replaceChildren(...lists);
  const [first, last] = d3.extent((data.labels.date?.values || []).filter(Boolean));
  byId("dates").hidden = !first;
  for (const name of ["from", "to"]) Object.assign(byId(name), { min: first ?? "", max: last ?? "" });
  const there = Object.keys(data.figures); // the usual ones first
  const axes = new Set([...there, "image_s", "accuracy"]);
  for (const axis of AXES) options(axis, [...axes].map((name) => [name, metricOf(data, name).titled]));
  options("profile", [["", "none"], ...data.profiles.map(({ name, title }) => [name, title])]);
  byId("columns").replaceChildren(...there.map((name) => checkbox("column", name, metricOf(data, name).titled)));
  const items = data.left_out.map(({ result, why }) => element("li", {}, element("b", {}, result), `: ${why}`));
  byId("left-out").replaceChildren(element("summary", {}, `Results that are left out: ${items.length}`), element("ul", {}, ...items));
  byId("made").textContent = `Made ${data.made_utc} by EdgeBench ${data.version}.`;
}

function showControls() {
  const columns = chosenColumns();
  for (const control of /** @type {NodeListOf<any>} */ (document.querySelectorAll("select, input"))) {
    const wanted = control.name === "column" ? columns : params.getAll(control.name);
    if (control === document.activeElement && control.type === "number") continue;
    if (control.type === "checkbox") control.checked = wanted.includes(control.value);
    else if (control.name !== "series") control.value = params.get(control.name) ?? "";
  }
  for (const name of /** @type {const} */ (["x", "y", "metric"])) byId(name).value = chosenMetric(name).name;
  for (const axis of AXES) byId(`${axis}limit-name`).textContent = chosenMetric(axis).limit;
  byId("clear").href = address(Object.fromEntries([...FILTERS, "from", "to"].map((name) => [name, null])));
}

// Rendering.

function render() {
  params = new URLSearchParams(location.hash.slice(1));
  const focused = document.activeElement?.id;
  problem("");
  const view = params.get("view") ?? "";
  for (const link of byId("views").children) {
    link.href = address({ view: link.dataset.view });
    link.setAttribute("aria-current", link.dataset.view === view ? "page" : "false");
  }
  byId("main").dataset.view = view; // the style sheet shows the parts of a view
  if (view === "trial") renderTrial();
  else renderOverview(view);
  const heading = view === "trial" ? "trial-title" : ["compare", "history"].includes(view) ? "view-title" : "chart-title";
  document.title = `${byId(heading).textContent} - EdgeBench results`;
  const changed = view !== shownView && [view, shownView].includes("trial");
  const wanted = changed ? (view === "trial" ? "trial-title" : cameFrom) : focused;
  if (changed) [cameFrom, shownView] = [focused ?? "", view];
  if (wanted && document.activeElement?.id !== wanted) byId(wanted)?.focus();
}

/** @param {string} view */
function renderOverview(view) {
  const withSessions = view === "compare" || view === "history";
  /** @type {[string, Set<string>][]} */
  const filters = FILTERS.filter((name) => params.has(name)).map((name) => [name, new Set(params.getAll(name))]);
  const all = selected(data, new Map(filters), params.get("from") ?? "", params.get("to") ?? "");
  stateFor = judge(data, chosenLimits(), chosenProfile());
  const devices = new Set(all.map((i) => data.labels.device?.codes[i]));
  colouredBy = devices.size > 1 || !data.labels.precision?.differs ? "device" : "precision";
  const states = new Map([["pass", ["pass"]], ["open", ["pass", "so far", "undecided"]]]).get(params.get("only") ?? "");
  const wanted = states ? all.filter((i) => states.includes(stateFor(i))) : all;
  if (withSessions && sessions === null) {
    byId("view-title").textContent = "Loading the sessions";
    need("sessions.js");
  } else if (withSessions && sessions?.build !== data.build) {
    problem("The data were replaced after this page was opened. Reload it.");
  }
  const measured = new Set((sessions?.trials ?? []).flatMap((trial) => Object.keys(trial ?? {})));
  offered = data.metrics.filter(({ name }) => (view === "history" ? sessions?.history?.[name] : measured.has(name)));
  options("metric", offered.map((metric) => [metric.name, metric.titled]));
  showControls();
  const series = view === "history" && sessions ? renderHistory(wanted) : wanted;
  renderTable(series);
  const empty = data.without_sessions ? ` Runs without any session: ${shown(data.without_sessions)}.` : "";
  byId("count").textContent = countText(all) + empty;
  if (view === "compare" && sessions) renderCompare();
  if (!withSessions) renderScatter(wanted); // the last, as it takes the page's layout
}

/** @param {number[]} all */
function countText(all) {
  if (!data.n) return "There is no trial in these results.";
  const untimed = data.figures.image_s ? "" : " (none of the results has a latency)";
  const start = `${shown(all.length)} of ${shown(data.n)} trials selected${untimed}`;
  if (!all.length) return `${start}: clear a filter to see some.`;
  if (!chosenLimits().length && !chosenProfile()) return `${start}.`;
  const counts = d3.rollup(all, (part) => part.length, stateFor);
  const there = ["pass", "so far", "undecided", "fail"].filter((word) => word === "pass" || counts.has(word));
  return `${start}: ${there.map((word) => `${counts.get(word) ?? 0} ${word}`).join(", ")}.`;
}

/** @param {number[]} all */
function renderScatter(all) {
  const [x, y] = [chosenMetric("x"), chosenMetric("y")];
  byId("chart-title").textContent = `${y.title} against ${x.inside}`;
  /** @type {Point[]} */
  const points = [];
  /** @type {string[]} */
  const missing = [];
  const [ofX, ofY] = [x, y].map(({ name }) => figuresOf(data, name) ?? { value: [], low: null, high: null });
  // Figures of different scenes are of different work: where none is chosen, that of the most measured trials is drawn.
  const scenes = d3.groups(all, (i) => label(data, "scene", i)).map(([, trials]) => trials);
  const measured = (/** @type {number[]} */ trials) => d3.sum(trials, (i) => (label(data, "kind", i) === "measured" ? data.n : 1));
  const drawn = params.has("scene") ? all : d3.greatest(scenes, measured) ?? [];
  for (const i of drawn) {
    const valueX = ofX.value[i] ?? null;
    const valueY = ofY.value[i] ?? null;
    const onX = valueX !== null && (valueX > 0 || !x.log);
    if (onX && valueY !== null && (valueY > 0 || !y.log)) {
      points.push(pointAt(i, valueX, valueY, ofX.low?.[i], ofX.high?.[i], ofY.low?.[i], ofY.high?.[i]));
    } else {
      const { name, inside } = onX ? y : x;
      missing.push(`no ${inside}: ${figure(data, name, i).reason || "no figure above 0"}`);
    }
  }
  const standing = x.better && y.better ? points.filter(({ state, kind }) => state !== "fail" && kind === "measured") : [];
  const families = d3.groups(standing, ({ i }) => `${label(data, "model", i)}, ${label(data, "scene", i)}`);
  const fronts = families.map(([, family]) => paretoFront(family, x, y)).filter(({ length }) => length > 1);
  const width = chartWidth();
  const few = points.length <= 200;
  const [across, down] = AXES.map((axis) => profileRules(axis, chosenMetric(axis)));
  scatter.draw(width, Math.min(Math.max(width * 0.5, 320), 620), {
    x: axisOf(x, few ? points.flatMap(({ xLow, xHigh }) => [xLow, xHigh]) : points.map((point) => point.x), across),
    y: axisOf(y, few ? points.flatMap(({ yLow, yHigh }) => [yLow, yHigh]) : points.map((point) => point.y), down),
    points,
    fronts,
    limits: axisLimits(),
    rules: [...across, ...down],
  });
  renderLegend(points, fronts.length);
  const reasons = d3.rollups(missing, (part) => part.length, (reason) => reason);
  const texts = d3.sort(reasons, ([, n]) => -n).map(([reason, n]) => `${shown(n)} with ${reason}`);
  if (texts.length > 2) texts.splice(2, Infinity, `${texts.length - 2} other reasons`);
  if (drawn.length < all.length) texts.unshift(`${shown(all.length - drawn.length)} of other scenes than ${label(data, "scene", drawn[0])} (choose scenes among the filters)`);
  byId("undrawn").textContent = texts.length ? `Not drawn: ${texts.join("; ")}.` : "";
}

/**
 * A trial as a point in the colour of its device or, where that is the same for all, its precision.
 * @param {number} i
 * @param {number} x
 * @param {number} y
 * @param {number|null} [xLow] ends of its intervals, where it has some
 * @param {number|null} [xHigh]
 * @param {number|null} [yLow]
 * @param {number|null} [yHigh]
 * @returns {Point}
 */
function pointAt(i, x, y, xLow, xHigh, yLow, yHigh) {
  const group = data.labels[colouredBy]?.codes[i] ?? 0;
  const ends = { xLow: xLow ?? x, xHigh: xHigh ?? x, yLow: yLow ?? y, yHigh: yHigh ?? y };
  return { i, x, y, ...ends, group, state: stateFor(i), kind: label(data, "kind", i) };
}

/**
 * Limits of the chosen profile that can be drawn on an axis: those on what is drawn there.
 * @param {"x"|"y"} axis
 * @param {Metric} metric
 * @returns {Rule[]}
 */
function profileRules(axis, metric) {
  const limits = chosenProfile()?.limits.filter((limit) => limit.metric === metric.name) ?? [];
  return limits.flatMap(({ most, least, title = metric.title, statistic = "median" }) => {
    const value = most ?? least;
    return value === undefined || !(metric.statistics?.length === 1 || statistic === "median") ? [] : [{ axis, value, title }];
  });
}

/**
 * @param {Point[]} points
 * @param {number} fronts
 */
function renderLegend(points, fronts) {
  const groups = d3.sort(new Set(points.map(({ group }) => group)));
  const values = data.labels[colouredBy]?.values ?? [];
  const entries = groups.map((group) => legendEntry(`c${group % COLOURS}`, "mark", shape(group), values[group] || `no ${colouredBy}`));
  /** @type {Set<string>} */
  const present = new Set(points.map(({ state }) => state));
  const states = [["so far", "passes so far"], ["undecided", "undecided"], ["fail", "fails"]];
  for (const [state, text] of states) if (present.has(state)) entries.push(legendEntry(`c5 ${state}`, "mark", shape(0), text));
  for (const [kind, [path, text]] of Object.entries(KINDS)) if (points.some((point) => point.kind === kind)) entries.push(legendEntry("", "kind", path, text));
  if (fronts) entries.push(legendEntry("", "front", "m-80,0h160", `Pareto front of measured trials${fronts > 1 ? ", for each model family and scene" : ""}`));
  byId("legend").replaceChildren(...entries);
}

/**
 * @param {number} i
 * @param {string[]} more labels besides those of every result
 */
function trialTitle(i, more = ["result"]) {
  const parts = ["trial", "device", "target", "power_mode", ...more].map((name) => label(data, name, i));
  return [...new Set(parts)].filter(Boolean).join(", ") || nameOf(i);
}

/**
 * @param {Point|null} point
 * @param {number[]} at its place in the drawing
 * @param {boolean} byKey
 */
function showPoint(point, at, byKey) {
  const tip = byId("tip");
  tip.hidden = !point;
  if (!point) return;
  const figureOf = (/** @type {Metric} */ { name, titled, unit }) => `${titled}: ${figureText(figure(data, name, point.i), unit)}`;
  const judged = chosenLimits().length || chosenProfile();
  const lines = [trialTitle(point.i), ...AXES.map(chosenMetric).map(figureOf), ...(judged ? [`by the limits: ${point.state}`] : [])];
  tip.replaceChildren(...lines.map((line) => element("div", {}, line)));
  tip.style.left = `${Math.max(Math.min(at[0] + 24, byId("chart").clientWidth - 260), 0)}px`;
  tip.style.top = `${at[1] + 24}px`;
  if (byKey) byId("point").textContent = lines.join(". ");
}

// The table.

/**
 * The trial, what is chosen and judged, then labels that differ and say what no other column says.
 * @returns {Column[]}
 */
function columns() {
  /** @type {Column[]} */
  const made = [{ key: "trial", title: "Trial", value: (i) => label(data, "trial", i) || label(data, "variant", i) }];
  const labels = Object.keys(data.labels).filter((name) => !INNER.includes(name) && data.labels[name].differs);
  /** @type {Column[]} */
  const labelled = labels.map((key) => ({ key, title: data.labels[key].title, value: (i) => label(data, key, i) }));
  if (params.get("view") === "compare" && sessions) {
    made.push({ key: "baseline", title: "Baseline", value: (i) => (i === baseline() ? "baseline" : "") });
    const title = `Ratio of ${chosenMetric("metric").inside}`;
    if (baseline() !== null) made.push({ key: "ratio", title, value: (i) => ratio(i).value, ends: ratio });
  }
  made.push(...labelled.filter(({ key }) => FIRST.includes(key)));
  const profile = chosenProfile();
  if (profile) made.push({ key: "verdict", title: `Verdict: ${profile.title}`, value: (i) => textOf(profile.verdicts, i) });
  if (chosenLimits().length) made.push({ key: "limits", title: "Limits", value: stateFor });
  for (const key of chosenColumns()) {
    const metric = metricOf(data, key);
    const ends = (/** @type {number} */ i) => figure(data, key, i);
    made.push({ key, title: metric.titled, unit: metric.unit, value: (i) => ends(i).value, ends });
  }
  return [...made, ...labelled.filter(({ key }) => !FIRST.includes(key))];
}

/**
 * @param {number[]} indices
 * @param {Column[]} shownColumns
 */
function sorted(indices, shownColumns) {
  const wanted = params.get("sort") ?? "";
  const column = shownColumns.find(({ key }) => key === wanted.replace(/^-/, ""));
  if (!column) return indices;
  const compare = wanted.startsWith("-") ? d3.descending : d3.ascending;
  const keyed = indices.map((i) => ({ i, value: column.value(i) }));
  const missing = (/** @type {{value: unknown}} */ { value }) => Number(value === null || value === "");
  keyed.sort((a, b) => missing(a) - missing(b) || compare(a.value, b.value) || a.i - b.i);
  return keyed.map(({ i }) => i);
}

/** The place in the table of the first row that is shown: a page beyond the last is the last. */
const firstRow = () => Math.min(Math.max(Math.floor(chosenNumber("page") ?? 1), 1), Math.ceil(listed.length / ROWS) || 1) * ROWS - ROWS;

/** @param {number[]} indices */
function renderTable(indices) {
  const shownColumns = columns();
  listed = sorted(indices, shownColumns);
  const first = firstRow();
  const sort = params.get("sort") ?? "";
  const heads = shownColumns.map(({ key, title }) => {
    const way = sort === key ? "ascending" : sort === `-${key}` ? "descending" : null;
    const href = address({ sort: way === "ascending" ? `-${key}` : way ? null : key });
    const mark = way === "ascending" ? " ▲" : way ? " ▼" : "";
    return element("th", { scope: "col", "aria-sort": way }, element("a", { href, id: `sort-${key}` }, title + mark));
  });
  const rows = listed.slice(first, first + ROWS).map((i) => {
    const [trial, ...others] = shownColumns.map((column) => cell(column, i));
    const cells = others.map((content, k) => element("td", { class: shownColumns[k + 1].ends ? "number" : null }, content));
    return element("tr", { class: stateFor(i) }, element("th", { scope: "row" }, trial), ...cells);
  });
  if (!rows.length) rows.push(element("tr", {}, element("td", { colspan: shownColumns.length }, "No trial is selected.")));
  const body = element("tbody", {}, ...rows);
  byId("table").replaceChildren(element("thead", {}, element("tr", {}, ...heads)), body);
  const link = (/** @type {string} */ text, /** @type {number} */ to) => element("a", { href: address({ page: to }), class: "button", id: text }, text);
  const range = `${first + 1} to ${Math.min(first + ROWS, listed.length)} of ${shown(listed.length)}`;
  byId("pages").replaceChildren(first ? link("Previous", first / ROWS) : "", listed.length ? range : "", first + ROWS < listed.length ? link("Next", first / ROWS + 2) : "");
}

/**
 * @param {Column} column
 * @param {number} i
 * @returns {Node|string}
 */
function cell({ key, value, ends, unit }, i) {
  const text = value(i);
  if (key === "trial") {
    const href = address({ view: "trial", trial: nameOf(i) });
    return element("a", { href, id: `open-${i}` }, String(text || nameOf(i)));
  }
  if (key === "baseline") {
    const use = { href: address({ baseline: nameOf(i) }), "aria-label": `Use ${trialTitle(i)}` };
    return element("a", { id: `use-${i}`, ...(text ? { tabindex: -1 } : use) }, String(text || "Use"));
  }
  if (!ends) return String(text ?? "");
  const of = { value: /** @type {number|null} */ (text), ...ends(i) };
  const missing = of.value === null && of.low === null && of.high === null;
  return missing ? element("small", { title: of.reason ?? null }, "missing") : figureText(of, unit);
}

// Downloads and texts to take along.

/**
 * The table's rows with titles as names, the ends of intervals as columns of their own.
 * @param {(value: unknown) => unknown} [written] how a value is written
 */
function tableRows(written = (value) => value) {
  const flat = columns().flatMap(({ title, value, ends }) => (ends ? [
    { title, value },
    { title: `${title} (low)`, value: (/** @type {number} */ i) => ends(i).low },
    { title: `${title} (high)`, value: (/** @type {number} */ i) => ends(i).high },
  ] : [{ title, value }]));
  const rows = listed.map((i) => Object.fromEntries(flat.map(({ title, value }) => [written(title), written(value(i))])));
  return Object.assign(rows, { columns: flat.map(({ title }) => written(title)) });
}

const json = () => JSON.stringify({ made_utc: data.made_utc, selection: location.hash, rows: tableRows() }, null, 1);

const csv = (rows = tableRows(csvCell)) => d3.csvFormat(rows, rows.columns);

/**
 * @param {string} download the file's name
 * @param {string|Blob} content
 * @param {string} type
 */
function save(download, content, type) {
  const href = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href, download }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

async function savePng() {
  const image = element("img", { src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(scatter.file())}` });
  await image.decode();
  const canvas = element("canvas", { width: image.width * 2, height: image.height * 2 });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => save("edgebench.png", blob, "image/png"));
}

/** Shows the lines, too, as some browsers refuse to copy. */
function givePython() {
  const area = byId("given");
  Object.assign(area, { hidden: false, value: python() });
  area.select();
  navigator.clipboard?.writeText(area.value).catch(() => document.execCommand("copy"));
}

// The title says what is shown, once something is.
window.addEventListener("load", () => document.title.includes(" - ") || problem("A file of this page, such as data.js, is missing, incomplete or of another version. Run `edgebench explore` again."));

/** Lines of Python that give the measured rows of the table, in its order; rows that no condition says are listed. */
function python() {
  const filters = FILTERS.filter((name) => params.has(name));
  const [, down, sort] = /^(-?)(.*)$/.exec(params.get("sort") ?? "") ?? [];
  const columnsBy = metricOf(data, sort).columns ?? [];
  const [by] = columnsBy;
  const narrowed = params.getAll("view").includes("history") || ["from", "to", "only"].some((name) => params.has(name));
  const direct = filters.every((name) => ["device", "precision", "status"].includes(name) && params.getAll(name).every(Boolean));
  const said = direct && !narrowed && (!sort || by);
  const measured = listed.filter((i) => label(data, "id", i));
  const rows = measured.map((i) => [label(data, "result", i), label(data, "key", i)]);
  const masked = rows.some(([name]) => name.includes("(target)")) ? "  # (target): explore --target-names has the names" : "";
  const condition = (/** @type {string} */ name) => `trials = trials[trials["${name}"].isin(${pythonLiteral(params.getAll(name))})]`;
  const wanted = chosenColumns().flatMap((name) => metricOf(data, name).columns ?? []).concat(by || []);
  const parts = {
    chosen: said ? filters.map(condition).join("\n") : data.python.rows.replace("{rows}", () => pythonLiteral(rows) + masked),
    columns: pythonLiteral([...new Set(wanted)]),
    order: said && by ? `table = table.sort_values("${by}", ascending=${down ? "False" : "True"}, kind="stable")` : "",
  };
  return data.python.table.replace(/\{(chosen|columns|order)\}/g, (_, name) => parts[name]);
}

// Compare and history, which need the sessions.

const baseline = () => placeIn("baseline");

/**
 * A trial over the baseline by the chosen metric.
 * @param {number} i
 * @returns {Ends & {value: number|null}}
 */
function ratio(i) {
  const { trials, level } = /** @type {Sessions} */ (sessions);
  const metric = chosenMetric("metric").name;
  const [a, b] = [baseline() ?? -1, i].map((trial) => trials[trial]?.[metric] ?? []);
  const isOther = !params.has("scene") && label(data, "scene", i) !== label(data, "scene", baseline() ?? i);
  const reason = isOther ? "another scene than the baseline's" : !a.length || !b.length ? "no session has a value" : "a session's value is not above 0";
  if (isOther || !a.length || !b.length || Math.min(...a, ...b) <= 0) return { value: null, low: null, high: null, reason };
  const { ratio: value, low, high } = ratioOf(a, b, level);
  return { value, low, high };
}

/**
 * What is above the table in Compare and History, with a drawing where there is one.
 * @param {{title: string, text: string, changes?: string[], words?: string, command?: string}} of
 * @param {{name: string, height: number, view: Parameters<typeof seriesPlot>[3]}} [drawing] with its name
 */
function showView({ title, text, changes = [], words = "", command = "" }, drawing) {
  const texts = { "view-title": title, "view-text": text, "command-text": words, command };
  for (const [id, content] of Object.entries(texts)) byId(id).textContent = content;
  byId("changes").replaceChildren(...changes.map((line) => element("li", {}, line)));
  byId("view-chart").parentNode.hidden = !drawing;
  if (!drawing) return;
  byId("view-chart").setAttribute("aria-label", drawing.name);
  seriesPlot(byId("view-chart"), chartWidth(), drawing.height, drawing.view);
}

function renderCompare() {
  const base = baseline();
  const title = `Ratio of ${chosenMetric("metric").inside} to a baseline`;
  if (base === null) return showView({ title, text: "Press “Use” in the row of the trial to compare others with." });
  const rows = listed.slice(firstRow(), firstRow() + ROWS).filter((i) => i !== base && ratio(i).value !== null);
  const others = rows.filter((i) => label(data, "model", i) !== label(data, "model", base)).length;
  const warning = others ? ` ${others} of the rows ran another model family: their ratio is one of different work.` : "";
  const about = { title, text: `Baseline: ${trialTitle(base)}.${warning}`, ...compareCommand(base, rows) };
  if (!rows.length) return showView(about);
  const points = rows.map((i, k) => pointAt(i, Number(ratio(i).value), k, ratio(i).low, ratio(i).high));
  const xs = points.flatMap(({ xLow, xHigh }) => [xLow, xHigh]);
  const name = `${points.length} ratios with their intervals; the table has them`;
  showView(about, { name, height: Math.max(140, 64 + 14 * points.length), view: {
    x: { domain: domainOf([1, ...xs], true), kind: "log", title: "ratio to the baseline" },
    y: { domain: [rows.length, -1], kind: "linear", title: "", left: 240, text: (row) => (row in rows ? `${label(data, "result", rows[row])}: ${trialTitle(rows[row], [])}`.slice(0, 38) : "") },
    points,
    rules: [{ axis: "x", value: 1, title: "as the baseline" }],
  } });
}

/**
 * The call of `edgebench compare` that judges some rows, as far as it pairs them with the baseline.
 * @param {number} base
 * @param {number[]} rows
 */
function compareCommand(base, rows) {
  const [result, target, variant] = ["result", "target", "variant"].map((name) => label(data, name, base));
  const pairable = rows.filter((i) => label(data, "id", i) && label(data, "variant", i) === variant);
  if (!pairable.length) return { words: "edgebench compare pairs trials of one variant: no row has the baseline's." };
  const [results, targets] = ["result", "target"].map((name) => new Set(pairable.map((i) => label(data, name, i))));
  const others = [...targets].filter((other) => data.target_names && other !== target);
  const pairs = others.flatMap((other) => ["--pair", `${target}=${other}`]);
  const command = ["edgebench", "compare", ...[result, ...results].map(folderWord), "--metric", chosenMetric("metric").name, ...pairs.map(shellWord)];
  return { words: "This judges the differences, corrected for how many are compared:", command: command.join(" ") };
}

/**
 * @param {number[]} all
 * @returns {number[]} the trials of the series that is drawn
 */
function renderHistory(all) {
  const metric = chosenMetric("metric");
  const chosen = new Set(all);
  const known = (sessions?.history?.[metric.name] ?? []).filter(({ trials }) => trials.some((i) => chosen.has(i)));
  const title = `${metric.title} over dates`;
  if (!known.length) {
    showView({ title, text: "No selected trial was measured at two dates or more." });
    return [];
  }
  const place = placeIn("series") ?? -1;
  const ordered = d3.sort(known, ({ trials }) => -trials.length);
  const { trials, changes, reason } = ordered.find((of) => of.trials.includes(place)) ?? ordered[0];
  const titles = ordered.map((of) => [nameOf(of.trials[0]), `${trialTitle(of.trials[0], [])} (${of.trials.length})`]);
  options("series", titles.slice(0, 500));
  byId("series").value = nameOf(trials[0]);
  const day = (/** @type {number} */ i) => Date.parse(sessions?.begun_utc?.[i] || label(data, "date", i));
  const there = trials.filter((i) => figure(data, metric.name, i).value !== null && Number.isFinite(day(i)));
  const points = there.map((i) => {
    const of = figure(data, metric.name, i);
    return pointAt(i, day(i), Number(of.value), null, null, of.low, of.high);
  });
  const whenAndWhere = (/** @type {number} */ i) => `${label(data, "date", i)}, ${label(data, "result", i)}`;
  const texts = changes.map(({ at, ratio }) => `Change point before ${whenAndWhere(trials[at])}: ${shown(ratio)} times what it was`);
  const text = texts.length ? "" : reason || "No change point was found.";
  const ys = points.flatMap(({ yLow, yHigh }) => [yLow, yHigh]);
  const name = `${points.length} dates, ${texts.length} change points; the table has the figures`;
  showView({ title, text, changes: texts }, { name, height: 340, view: {
    x: { domain: domainOf(points.flatMap(({ x }) => [x - HOUR_MS, x + HOUR_MS]), false), kind: "time", title: "date (UTC)" },
    y: { domain: domainOf(ys, false), kind: "linear", title: metric.titled, unit: metric.unit },
    points,
    line: points.map(({ x, y }) => [x, y]),
    rules: changes.map(({ at, ratio }) => ({ axis: "x", value: day(trials[at]), title: `${shown(ratio)} times` })),
  } });
  return trials;
}
