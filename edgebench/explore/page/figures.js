/**
 * What the page computes: trials that are selected, what limits say of them, Pareto fronts and ratios. Nothing
 * here touches the document.
 */
"use strict";

/**
 * @typedef {{values: string[], codes: number[]}} Coded a text of each trial by its code; without codes all have the first
 * @typedef {Coded & {title: string, differs: boolean}} Label
 * @typedef {{name: string, title: string, titled: string, inside: string, limit: string, unit: string, better: "lower"|"higher"|null,
 *   log: boolean, statistics?: string[], columns?: string[]}} Metric `titled` with its unit, `inside` a
 *   sentence, `limit` the name of one on it: `Latency per image, s`, `latency per image`, `Most latency per image, s`
 * @typedef {{value: (number|null)[], low: (number|null)[]|null, high: (number|null)[]|null,
 *   reasons?: Coded}} Figures of a metric, one entry a trial
 * @typedef {{metric: string, statistic?: string, title?: string, most?: number, least?: number}} Limit
 * @typedef {{name: string, title: string, limits: Limit[], verdicts: Coded}} Profile
 * @typedef {{schema: number, build: string, made_utc: string, version: string, n: number, refresh_s?: number, target_names?: boolean,
 *   labels: Object<string, Label>, metrics: Metric[], figures: Object<string, Figures|string>, profiles: Profile[],
 *   usual: {x: string, y: string, metric: string, columns: string[]}, python: {table: string, rows: string},
 *   left_out: {result: string, why: string}[], without_sessions?: number}} Data data.js
 * @typedef {{trials: number[], changes: {at: number, ratio: number}[], reason?: string}} Series one trial over dates
 * @typedef {{build: string, level: number, trials: (Object<string, number[]>|null)[],
 *   history?: Object<string, Series[]>, begun_utc?: string[]}} Sessions sessions.js
 * @typedef {{ratio: number, low: number|null, high: number|null}} Ratio
 * @typedef {"pass"|"so far"|"undecided"|"fail"} State; so far: what was measured passes, the rest is unknown
 */

/** From the worst on, in which order points are drawn, too. */
const STATES = /** @type {const} */ (["fail", "undecided", "so far", "pass"]);
/** Sessions a side that an interval of a ratio takes. */
const LEAST_SESSIONS = 3;

/** @param {Coded|undefined} coded @param {number} i @returns {string} empty where there is none */
const textOf = (coded, i) => String(coded?.values[coded.codes[i] ?? 0] ?? "");

/** @param {Data} data @param {string} name @param {number} i */
const label = (data, name, i) => textOf(data.labels[name], i);

/** @param {Data} data @param {string} metric @returns {Figures|undefined} read when it is first asked for */
function figuresOf(data, metric) {
  const told = data.figures[metric];
  return typeof told === "string" ? (data.figures[metric] = JSON.parse(told)) : told;
}

/**
 * @param {Data} data @param {string} metric @param {number} i
 * @returns {{value: number|null, low: number|null, high: number|null, reason: string}}
 */
function figure(data, metric, i) {
  const column = figuresOf(data, metric);
  if (!column) return { value: null, low: null, high: null, reason: "no trial has this figure" };
  return {
    value: column.value[i] ?? null,
    low: column.low?.[i] ?? null,
    high: column.high?.[i] ?? null,
    reason: textOf(column.reasons, i),
  };
}

/** @param {Data} data @param {string} name @returns {Metric} of the catalogue, or one of that name */
function metricOf(data, name) {
  const known = data.metrics.find((metric) => metric.name === name);
  return known ?? { name, title: name, titled: name, inside: name, limit: name, unit: "", better: null, log: false };
}

/**
 * Which trials some filters leave.
 * @param {Data} data
 * @param {Map<string, Set<string>>} filters wanted texts by label; those of one label are alternatives
 * @param {string} from first date, empty for all @param {string} to last date, empty for all
 * @returns {number[]} indices, in the order of the data
 */
function selected(data, filters, from, to) {
  const keep = new Uint8Array(data.n).fill(1);
  /** @param {Label|undefined} column @param {(text: string) => boolean} wanted */
  const narrow = (column, wanted) => {
    if (!column) return;
    const allowed = column.values.map((text) => wanted(String(text)));
    for (let i = 0; i < data.n; i++) if (!allowed[column.codes[i] ?? 0]) keep[i] = 0;
  };
  for (const [name, texts] of filters) if (texts.size) narrow(data.labels[name], (text) => texts.has(text));
  if (from || to) narrow(data.labels.date, (text) => text !== "" && (!from || text >= from) && (!to || text <= to));
  return d3.range(data.n).filter((i) => keep[i]);
}

/**
 * What a limit says of a figure: its whole interval decides; without one only an exact number does.
 * @param {Metric} metric @param {{value: number|null, low: number|null, high: number|null}} of
 * @param {number} limit the most of a metric whose lower values are wanted, else the least
 * @returns {State}
 */
function stateOf(metric, of, limit) {
  const exact = (metric.statistics || []).some((text) => text === "declared" || text === "recorded");
  const [low, high] = [of.low, of.high].map((end) => end ?? (exact ? of.value : null) ?? NaN); // NaN is on no side
  const higher = metric.better === "higher";
  if (higher ? low >= limit : high <= limit) return "pass";
  return (higher ? high < limit : low > limit) ? "fail" : "undecided";
}

/**
 * What limits and a profile say of each trial together: one failure fails, else one doubt leaves undecided,
 * and what was not measured leaves a pass so far.
 * @param {Data} data @param {{metric: Metric, value: number|null}[]} limits @param {Profile|undefined} profile
 * @returns {(i: number) => State}
 */
function judge(data, limits, profile) {
  if (!limits.length && !profile) return () => "pass";
  return (i) => {
    /** @type {string[]} */
    const states = limits.map(({ metric, value }) => stateOf(metric, figure(data, metric.name, i), Number(value)));
    if (profile) states.push(textOf(profile.verdicts, i));
    const known = states.map((state) => STATES.find((word) => word === state) ?? "undecided");
    return STATES.find((word) => known.includes(word)) ?? "undecided";
  };
}

/**
 * The Pareto front: points that none is at least as good as on both axes and better on one.
 * @param {Point[]} points
 * @param {Metric} x
 * @param {Metric} y
 * @returns {Point[]} from the best x on; equal points once
 */
function paretoFront(points, x, y) {
  const [signX, signY] = [x, y].map(({ better }) => (better === "higher" ? -1 : 1));
  /** @type {Point[]} */
  let front = [];
  for (const point of points) {
    const atX = signX * point.x;
    const atY = signY * point.y;
    if (front.some((other) => signX * other.x <= atX && signY * other.y <= atY)) continue;
    front = front.filter((other) => signX * other.x < atX || signY * other.y < atY);
    front.push(point);
  }
  return front.sort((a, b) => signX * (a.x - b.x));
}

/**
 * Natural logarithm of the gamma function from 0.5 on (Lanczos, g = 7, nine terms).
 * @param {number} x
 */
function logGamma(x) {
  const terms = [
    676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
    -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
  ];
  const sum = terms.reduce((total, term, k) => total + term / (x + k), 0.9999999999998099);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/**
 * The regularised incomplete beta function, by the power series of the half in which that converges fast
 * (Abramowitz and Stegun, 26.5.4).
 * @param {number} x @param {number} y 1 - x, given for its digits @param {number} a @param {number} b
 * @returns {number}
 */
function betaShare(x, y, a, b) {
  if (x > (a + 1) / (a + b + 2)) return 1 - betaShare(y, x, b, a);
  let sum = 0;
  let term = 1 / a;
  for (let n = 0; sum + term > sum; n++) {
    sum += term;
    term *= (x * (a + b + n)) / (a + 1 + n);
  }
  return sum * Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(y));
}

/**
 * How many standard errors a two-sided interval reaches: Student's t by Newton's steps from 0, which
 * stay below it as the share outside is convex.
 * @param {number} level such as 0.95 @param {number} degrees above 0, need not be whole @returns {number}
 */
function tQuantile(level, degrees) {
  /** @param {number} t */
  const outside = (t) => betaShare(degrees / (degrees + t * t), (t * t) / (degrees + t * t), degrees / 2, 0.5);
  const scale = logGamma((degrees + 1) / 2) - logGamma(degrees / 2) - 0.5 * Math.log(degrees * Math.PI);
  let t = 0;
  for (let step = 0; step < 200; step++) {
    const density = Math.exp(scale - ((degrees + 1) / 2) * Math.log1p((t * t) / degrees));
    const next = t + (outside(t) - (1 - level)) / (2 * density);
    if (!(next > t * (1 + 1e-15))) return next;
    t = next;
  }
  return t;
}

/**
 * How many times as wide an interval is whose sessions resemble the one before them, squared, at least 1, as
 * `edgebench.stats.intervals.widening` has it: by a von Neumann ratio test and the correlation of neighbours.
 * @param {number[]} deviations of the sessions from their mean, in order
 */
function widening(deviations) {
  const n = deviations.length;
  const sum = (/** @type {(value: number, k: number) => number} */ part) => deviations.reduce((all, value, k) => all + part(value, k), 0);
  const squares = sum((value) => value ** 2);
  const steps = sum((value, k) => (k ? (value - deviations[k - 1]) ** 2 : 0));
  const shape = ((n * n - 1) / (n - 2) - 1) / 2;
  // A quarter of the ratio of independent sessions is beta distributed, and below its twentieth in 5 %.
  if (n < 8 || !(steps < 2 * squares) || betaShare(steps / squares / 4, 1 - steps / squares / 4, shape, shape) >= 0.05) return 1;
  const correlation = sum((value, k) => (k ? value * deviations[k - 1] : 0)) / squares;
  const r = Math.min(0.9, Math.max(0, correlation + (1 + 3 * correlation) / n));
  return (1 + r) / (1 - r);
}

/** @param {number[]} values @returns {{mean: number, error: number}} and the variance of the mean as a share */
function meanAndError(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value / mean - 1) ** 2, 0);
  const wider = widening(values.map((value) => value - mean));
  return { mean, error: (squares / (values.length - 1) / values.length) * wider };
}

/**
 * The other trial over the baseline with the unadjusted interval over sessions, as `edgebench.stats.compare`
 * has it: Welch's on the logarithm of the ratio.
 * @param {number[]} baseline one number a session, above 0 @param {number[]} other
 * @param {number} level of the interval @returns {Ratio} without ends below three sessions a side
 */
function ratioOf(baseline, other, level) {
  const a = meanAndError(baseline);
  const b = meanAndError(other);
  const ratio = b.mean / a.mean;
  if (Math.min(baseline.length, other.length) < LEAST_SESSIONS) return { ratio, low: null, high: null };
  const error = a.error + b.error;
  if (error <= 1e-30) return { ratio, low: ratio, high: ratio };
  const parts = a.error ** 2 / (baseline.length - 1) + b.error ** 2 / (other.length - 1);
  const factor = Math.exp(tQuantile(level, error ** 2 / parts) * Math.sqrt(error));
  return { ratio, low: ratio / factor, high: ratio * factor };
}

/**
 * A number as people read it: four digits; bytes in MB.
 * @param {number|null} value
 * @param {string} [unit]
 */
function shown(value, unit) {
  if (value === null) return "-";
  if (unit === "bytes") return `${shown(value / 1e6)} MB`;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return d3.format(".4~g")(value);
  return Number.isInteger(value) ? d3.format(",d")(value) : d3.format(",.4~r")(value);
}

/**
 * A figure with its interval, a bound, or why it is missing.
 * @param {{value: number|null, low: number|null, high: number|null, reason?: string}} of
 * @param {string} [unit]
 */
function figureText({ value, low, high, reason }, unit) {
  if (value === null && low !== null) return `above ${shown(low, unit)}`;
  if (value === null && high !== null) return `below ${shown(high, unit)}`;
  if (value === null) return reason ? `missing: ${reason}` : "missing";
  const ends = low === null || high === null ? "" : ` [${shown(low, unit)}; ${shown(high, unit)}]`;
  return shown(value, unit) + ends;
}

/**
 * The unit that a limit is typed in, as its name and the axis have it.
 * @param {Metric} metric
 */
const typedIn = ({ unit }) => (unit === "bytes" ? 1e6 : 1);

/**
 * What a cell of CSV holds: text that a spreadsheet would run as a formula gets an apostrophe.
 * @param {unknown} value
 */
const csvCell = (value) => (typeof value === "string" && /^\s*[=+\-@\t\r\n]/.test(value) ? `'${value}` : value);

/**
 * A text as one word of a POSIX shell.
 * @param {string} text
 */
const shellWord = (text) => (/^[A-Za-z0-9_.,:/@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/**
 * A folder's name as one word that is no option.
 * @param {string} name
 */
const folderWord = (name) => shellWord(name.startsWith("-") ? `./${name}` : name);

/**
 * A number, text or list of texts as a literal of Python, in ASCII.
 * @param {unknown} value
 */
function pythonLiteral(value) {
  const escaped = (/** @type {string} */ sign) => `\\U${Number(sign.codePointAt(0)).toString(16).padStart(8, "0")}`;
  return JSON.stringify(value).replace(/[\u007f-\u{10ffff}]/gu, escaped);
}
