/** One trial's page: its figures, passes by session, power, stages, environment and how to repeat it. */
"use strict";

/**
 * @typedef {{of?: string, n?: number, start_s: number[], duration_s: number[], phase: number[]}} Passes
 * @typedef {{rail?: string, scope?: string, t_s: number[], w: (number|null)[], n?: number}} Power
 * @typedef {{n: number, status: string, passes: Passes|null, power: Power|null, why_no_power?: string,
 *   emulated?: boolean}} TrialSession
 * @typedef {{title: string, figures: string[][], verdicts?: string[][], phases?: string[],
 *   sessions: TrialSession[], stages: (string|number|null)[][], cold?: (string|number|null)[][], warnings: string[],
 *   repeat: string}} TrialDetails
 * @typedef {{name: string, begun_utc: string, environment: [string, string[][]][],
 *   trials: Object<string, TrialDetails>}} ResultDetails results/<id>.js
 */

function renderTrial() {
  const i = placeIn("trial");
  const article = byId("trial");
  const back = element("p", {}, element("a", { href: address({ view: null, trial: null }) }, "Back to all trials"));
  const heading = (/** @type {string} */ text) => element("h2", { id: "trial-title", tabindex: -1 }, text);
  if (i === null) return article.replaceChildren(back, heading("No trial of these results has this address"));
  const id = label(data, "id", i);
  const facts = Object.keys(data.labels).filter((name) => !INNER.slice(0, 4).includes(name) && label(data, name, i));
  const about = pairs(facts.map((name) => [data.labels[name].title, label(data, name, i)]));
  article.replaceChildren(back, heading(trialTitle(i)), about);
  if (!/^[0-9a-f]{16}$/.test(id)) {
    const texts = Object.keys(data.figures).map((name) => [metricOf(data, name).titled, figureText(figure(data, name, i), metricOf(data, name).unit)]);
    return article.append(element("section", {}, element("h3", {}, "Published figures"), pairs(texts)));
  }
  const compare = address({ view: "compare", trial: null, baseline: nameOf(i) });
  const past = address({ view: "history", trial: null, series: nameOf(i) });
  article.append(element("a", { href: compare }, "Compare others with it"), " ", element("a", { href: past }, "Its history"));
  const trials = results[id]?.trials;
  const key = label(data, "key", i);
  if (!trials) need(`results/${id}.js`);
  else if (Object.hasOwn(trials, key)) renderDetails(article, results[id], trials[key]);
  else problem("The file of this result does not have this trial. Reload the page.");
}

/** @param {string[][]} rows label and text */
function pairs(rows) {
  const parts = rows.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]);
  return element("dl", {}, ...parts);
}

/**
 * @param {string[]} heads
 * @param {(string|number|null)[][]} [rows]
 * @returns {Node[]} none without rows
 */
function plainTable(heads, rows = []) {
  const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
  const body = rows.map((row) => {
    const texts = row.map((value) => (typeof value === "string" ? value : shown(value)));
    return element("tr", {}, ...texts.map((text) => element("td", {}, text)));
  });
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
  const about = { class: "scroll", tabindex: 0, role: "region", "aria-label": heads.join(", ") };
  return rows.length ? [element("div", about, table)] : [];
}

/**
 * @param {HTMLElement} article
 * @param {ResultDetails} file
 * @param {TrialDetails} trial
 */
function renderDetails(article, file, trial) {
  const section = (/** @type {string} */ title, /** @type {Node[]} */ ...parts) => {
    if (parts.length) article.append(element("section", {}, element("h3", {}, title), ...parts));
  };
  section("Warnings", ...trial.warnings.map((text) => element("p", {}, text)));
  section("Figures", pairs(trial.figures));
  section("Verdicts", ...plainTable(["Profile", "Requirement", "Verdict", "Reason"], trial.verdicts));
  section("Passes by session", ...strips(trial));
  section("Power over time", ...powerOverTime(trial));
  section("Stages", ...plainTable(["Stage", "Seconds a patch"], trial.stages));
  section("Start", ...plainTable(["Step", "Seconds"], trial.cold));
  section("Repeat it", element("pre", { tabindex: 0 }, trial.repeat));
  section("Environment", ...file.environment.map(([name, rows]) => element("details", {}, element("summary", {}, name), pairs(rows))));
}

/**
 * A drawing as wide as the page in a figure.
 * @param {string} caption
 * @param {number} height
 * @param {Parameters<typeof seriesPlot>[3]} view
 */
function plotFigure(caption, height, view) {
  const svg = d3.create("svg").attr("role", "img").attr("aria-label", caption).node();
  seriesPlot(svg, Math.max(280, byId("trial").clientWidth - 8), height, view);
  return element("figure", {}, element("figcaption", {}, caption), element("div", { class: "chart" }, svg));
}

/**
 * A strip a session, all on one scale.
 * @param {TrialDetails} trial
 * @returns {Node[]}
 */
function strips(trial) {
  const timed = trial.sessions.filter(({ emulated }) => !emulated);
  const durations = timed.flatMap(({ passes }) => passes?.duration_s ?? []);
  const used = d3.sort(new Set(timed.flatMap(({ passes }) => passes?.phase ?? [])));
  const phases = used.map((k) => legendEntry(`c${k % COLOURS}`, "mark", shape(k), trial.phases?.[k] || "unnamed"));
  const figures = trial.sessions.map(({ n, status, passes, emulated }) => {
    const why = emulated ? "emulated: no times of a device" : "no passes";
    if (emulated || !passes?.start_s.length) return element("p", {}, `Session ${n}: ${status}, ${why}`);
    const count = passes.n ?? passes.start_s.length;
    const thinned = count > passes.start_s.length ? `, ${shown(passes.start_s.length)} drawn` : "";
    const points = passes.start_s.map((start, k) => ({ ...pointAt(-1, start, passes.duration_s[k]), state: /** @type {State} */ ("pass"), group: passes.phase[k] ?? 0 }));
    return plotFigure(`Session ${n}: ${status}, ${shown(count)} ${passes.of ?? "passes"}${thinned}`, 150, {
      x: { domain: domainOf(passes.start_s, false), kind: "linear", title: "s since the first pass" },
      y: { domain: domainOf(durations, false), kind: "linear", title: "duration, s" },
      points,
    });
  });
  return [element("ul", { class: "legend" }, ...phases), ...figures];
}

/**
 * @param {TrialDetails} trial
 * @returns {Node[]}
 */
function powerOverTime(trial) {
  const session = trial.sessions.find(({ power }) => power?.t_s.length);
  const power = session?.power;
  if (!session || !power) {
    const reasons = new Set(trial.sessions.map(({ why_no_power }) => why_no_power).filter(Boolean));
    return [element("p", {}, [...reasons].join("; ") || "No power was measured.")];
  }
  const about = [`Session ${session.n}`, power.rail, power.scope, "passes are shaded"].filter(Boolean).join(", ");
  return [plotFigure(about, 260, {
    x: { domain: domainOf(power.t_s, false), kind: "linear", title: "s since the first pass" },
    y: { domain: domainOf(power.w.flatMap((watts) => watts ?? []), false), kind: "linear", title: "power, W" },
    line: power.t_s.map((at, k) => (power.w[k] === null ? null : [at, Number(power.w[k])])),
    bands: session.passes?.start_s.map((at, k) => [at, at + Number(session.passes?.duration_s[k])]) ?? [],
  })];
}
