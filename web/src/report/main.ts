// The script of a report file: finds the places of charts, draws those that come into view and then the first of the
// others, and opens for print what a reader may want on paper. The page is whole without it.

import { flushSync, mount } from "svelte";
import Plot from "../charts/Plot.svelte";
import { plotOf } from "../charts/plot";
import {
  busyOverTime,
  heatOverTime,
  latencyOverTime,
  overTime,
  percentileCurves,
  sweepLatencies,
  sweepRates,
  type Spec,
} from "../charts/spec";
import type { Charts, StepCharts } from "../charts/types";
import "../page.css";

/** The plot of one place; nothing where there is nothing to draw. */
function specOf(kind: string, title: string, step: StepCharts | undefined, charts: Charts): Spec | null {
  if (charts.sweep && kind === "sweep-iops") return sweepRates(charts.sweep, title);
  if (charts.sweep && kind === "sweep-latency") return sweepLatencies(charts.sweep, title);
  if (!step) return null;
  switch (kind) {
    case "iops":
      return overTime(step, title, "iops");
    case "bandwidth":
      return overTime(step, title, "bytes_per_s");
    case "depth":
      return overTime(step, title, "depth");
    case "busy":
      return busyOverTime(step, title);
    case "latency":
      return latencyOverTime(step, title);
    case "percentiles":
      return percentileCurves(step, title);
    case "heat":
      return step.heat ? heatOverTime(step, step.heat, title) : null;
    default:
      return null;
  }
}

/** Charts that are drawn though nobody has come to them yet. */
const AHEAD_MAX = 48;

/** Draws what is open, from the top, whenever there is nothing else to do: who takes a picture of the page has all of it. */
function drawAhead(specs: Map<Element, Spec>, draw: (figure: Element) => void): void {
  let left = AHEAD_MAX;
  const next = () => {
    const figure = [...specs.keys()].find((one) => one.closest("details:not([open])") === null);
    if (!figure || left-- === 0) return;
    draw(figure);
    later(next);
  };
  later(next);
}

/** When the browser has time, where it can tell. */
function later(todo: () => void): void {
  if ("requestIdleCallback" in globalThis) requestIdleCallback(todo);
  else setTimeout(todo);
}

function place(figure: HTMLElement, charts: Charts, watch: IntersectionObserver, specs: Map<Element, Spec>): void {
  const { chart = "", step: index, plot } = figure.dataset;
  const step = charts.steps.find((other) => String(other.index) === index);
  const title = figure.querySelector("figcaption")?.firstChild?.textContent ?? "";
  const drawing = plot === undefined ? undefined : charts.plots?.[Number(plot)];
  const spec = drawing ? plotOf(drawing) : specOf(chart, title, step, charts);
  if (!spec || spec.lines.length === 0) return;
  figure.hidden = false;
  specs.set(figure, spec);
  watch.observe(figure);
}

function start(): void {
  const data = document.getElementById("fathom-charts")?.textContent;
  if (!data) return;
  const charts = JSON.parse(data) as Charts;
  const specs = new Map<Element, Spec>();
  const draw = (figure: Element) => {
    const spec = specs.get(figure);
    if (!spec) return;
    specs.delete(figure);
    watch.unobserve(figure);
    mount(Plot, { target: figure, props: { spec } });
  };
  // A report of a hundred steps has six hundred charts; those behind the first that nobody looks at cost nothing.
  const watch = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
    { rootMargin: "400px" },
  );
  for (const figure of document.querySelectorAll<HTMLElement>("figure[data-chart]")) place(figure, charts, watch, specs);
  drawAhead(specs, draw);
  addEventListener("beforeprint", () => {
    for (const figure of [...specs.keys()]) if (figure.closest("details:not([open])") === null) draw(figure);
    flushSync();
  });
}

start();
