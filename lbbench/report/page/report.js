"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const controls = document.getElementById("controls");
const dark = matchMedia("(prefers-color-scheme: dark)");
const coarse = matchMedia("(pointer: coarse)").matches;
const BAND = 0.16;
const ROW = 44; // pixels of a histogram
const DASHES = {solid: "none", dash: "6 4", dashdot: "6 3 2 3", dot: "2 3", longdash: "9 4", longdashdot: "9 3 2 3"};

// Plotly reads a little HTML in texts; those of a trace are to be read as they are.
const escape = text => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const variable = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const ink = colour => colour === "#000000" ? variable("--ink") : colour;
const fade = (colour, alpha) => ink(colour) + Math.round(255 * alpha).toString(16).padStart(2, "0");
const shown = problem => problem.curves.filter(curve => data.series[curve.series].shown);
const steps = (values, named) => named ?? values.map((_, i) => i + 1); // of long runs some steps, which are named

function chosen() {
  const values = new FormData(controls);
  data.series.forEach((series, i) => { series.shown = values.getAll("series").includes(String(i)); });
  return {log: values.get("scale") === "log", median: values.get("centre") === "median", bySeed: values.has("by_seed")};
}

/** A line per curve with its band, and, if asked for, a thin line per seed. */
function regretTraces(problem, options, regret) {
  const curves = shown(problem).map(curve => ({...data.series[curve.series], ...curve, ...curve[regret]}));
  const centre = curve => options.median ? curve.median : curve.mean;
  const positive = curves.flatMap(centre).filter(value => value > 0);
  const floor = options.log ? Math.min(...positive) / 2 : -Infinity; // the end of a band that reaches 0 on a log axis
  const traces = [];
  for (const curve of curves) {
    const middle = centre(curve), t = steps(middle, curve.steps), name = escape(curve.label);
    const error = i => curve.se[i] ?? 0;
    const low = options.median ? curve.lower : middle.map((value, i) => value - error(i));
    const high = options.median ? curve.upper : middle.map((value, i) => value + error(i));
    const band = low.map(value => Math.max(value, floor)).concat(high.map(value => Math.max(value, floor)).reverse());
    const common = {name, mode: "lines"};
    traces.push({...common, x: t.concat([...t].reverse()), y: band, fill: "toself", fillcolor: fade(curve.colour, BAND),
      line: {width: 0}, hoverinfo: "skip"});
    if (options.bySeed) traces.push({...common, ...joined(curve), opacity: 0.45,
      line: {width: 0.8, color: ink(curve.colour)}, hovertemplate: "%{y:.4g}<extra>%{fullData.name}, seed %{customdata}</extra>"});
    traces.push({...common, x: t, y: middle, line: {width: 2, color: ink(curve.colour), dash: curve.dash},
      customdata: low.map((value, i) => options.median ? [value, high[i]] : error(i)),
      hovertemplate: options.median ? "%{y:.4g} (%{customdata[0]:.3g} to %{customdata[1]:.3g})" : "%{y:.4g} ± %{customdata:.2g}"});
  }
  return traces;
}

/** The seeds of a curve as one line with gaps. */
function joined(curve) {
  return {
    x: curve.by_seed.flatMap(values => [...steps(values, curve.steps), null]),
    y: curve.by_seed.flatMap(values => [...values, null]),
    customdata: curve.by_seed.flatMap((values, i) => Array(values.length + 1).fill(curve.seeds[i])),
  };
}

function regretChart(problem, options, regret) {
  return {
    data: regretTraces(problem, options, regret),
    layout: {xaxis: {title: {text: "t"}}, yaxis: {type: options.log ? "log" : "linear", exponentformat: "power"},
      hovermode: options.bySeed ? "closest" : "x unified"},
  };
}

/** A row per curve: its histogram of length scales, the first at the top. */
function lengthscaleChart(problem) {
  const curves = shown(problem).filter(curve => curve.lengthscales.length);
  const edges = problem.edges, middles = edges.slice(1).map((edge, i) => Math.sqrt(edge * edges[i]));
  const traces = curves.flatMap((curve, i) => {
    const series = data.series[curve.series], base = curves.length - 1 - i, most = Math.max(...curve.lengthscales);
    const line = {color: ink(series.colour), width: 1.2, shape: "hvh"};
    const common = {x: middles, mode: "lines", name: escape(series.label)};
    return [
      {...common, y: middles.map(() => base), line: {...line, width: 0}, hoverinfo: "skip"},
      {...common, y: curve.lengthscales.map(share => base + 0.85 * share / most), line, fill: "tonexty",
        fillcolor: fade(series.colour, 0.35), customdata: curve.lengthscales,
        hovertemplate: "θ ≈ %{x:.3g}: %{customdata:.1%} of steps"},
    ];
  });
  const layout = {
    height: 60 + ROW * Math.max(curves.length, 1), hovermode: "closest", xaxis: {type: "log", title: {text: "θ"}},
    yaxis: {tickvals: curves.map((_, i) => curves.length - 1 - i), ticktext: curves.map(c => escape(data.series[c.series].label)),
      range: [-0.05, Math.max(curves.length, 1)], fixedrange: true, showgrid: false},
  };
  if (problem.optimum !== null) {
    layout.shapes = [{type: "line", x0: problem.optimum, x1: problem.optimum, yref: "paper", y0: 0, y1: 1,
      line: {color: variable("--ink"), width: 1.2, dash: "dot"}}];
    layout.annotations = [{x: Math.log10(problem.optimum), y: 1, yref: "paper", yanchor: "bottom", showarrow: false,
      text: `θ̂* = ${problem.optimum.toPrecision(3)}`}];
  }
  return {data: traces, layout};
}

function secondsChart(problem) {
  return {
    data: shown(problem).map(curve => {
      const {label, colour, dash} = data.series[curve.series];
      return {x: steps(curve.seconds, curve.steps), y: curve.seconds, name: escape(label), mode: "lines",
        line: {color: ink(colour), dash, width: 1.4}, hovertemplate: "%{y:.3g} s"};
    }),
    layout: {xaxis: {title: {text: "t"}}, yaxis: {type: "log", exponentformat: "power"}, hovermode: "x unified"},
  };
}

const CHARTS = {regret: regretChart, lengthscales: lengthscaleChart, seconds: secondsChart};
const axis = () => ({gridcolor: variable("--grid"), linecolor: variable("--line"), zeroline: false, automargin: true,
  nticks: 5, title: {standoff: 4}});
const spike = () => ({spikecolor: variable("--soft"), spikethickness: -1, spikedash: "solid",
  unifiedhovertitle: {text: "t = %{x}"}});

function draw(div, options, width) {
  const problem = data.problems[div.dataset.problem];
  const {data: traces, layout} = CHARTS[div.dataset.kind](problem, options, div.dataset.regret);
  return Plotly.react(div, traces, {
    height: 250, margin: {l: 40, r: 8, t: 18, b: 34}, showlegend: false, width,
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: coarse ? false : "zoom",
    font: {family: variable("--sans"), size: 11, color: variable("--soft")},
    hoverlabel: {bgcolor: variable("--paper"), bordercolor: variable("--line"), font: {color: variable("--ink"), size: 11}},
    ...layout, xaxis: {...axis(), ...spike(), ...layout.xaxis}, yaxis: {...axis(), ...layout.yaxis},
  }, {responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
    toImageButtonOptions: {format: "svg", filename: `lbbench-${problem.name}-${div.dataset.regret || div.dataset.kind}`}});
}

function drawAll(widthOf = () => undefined) {
  const options = chosen();
  for (const line of controls.querySelectorAll("line")) {
    line.setAttribute("stroke", ink(line.dataset.colour));
    line.setAttribute("stroke-width", "2.5");
    line.setAttribute("stroke-dasharray", DASHES[line.dataset.dash]);
  }
  for (const div of document.querySelectorAll(".chart")) draw(div, options, widthOf(div));
}

controls.addEventListener("change", () => drawAll());
controls.addEventListener("click", event => {
  if (event.target.dataset.all === undefined) return;
  for (const box of controls.querySelectorAll("[name=series]")) box.checked = Boolean(event.target.dataset.all);
  drawAll();
});
dark.addEventListener("change", () => drawAll());
addEventListener("beforeprint", () => {
  document.documentElement.dataset.print = ""; // a print is light
  drawAll(div => div.dataset.kind === "regret" ? 225 : 340); // pixels, on the width of A4
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.print;
  drawAll();
});
drawAll();
