// Plots that hold several runs against each other: a line per run, on common axes. Pure.

import * as format from "../format";
import { strings } from "../strings";
import { dashes } from "./palette";
import { latencyOverTime, overTime, percentileCurves, type Line, type Spec } from "./spec";
import type { Series, StepCharts } from "./types";

/** A run's name and the step of it that is compared. */
export interface Compared {
  name: string;
  step: StepCharts;
}

/** The dash of a line: where colours come round again it is another one than that of the first line in this colour. */
const dashOf = (color: number) => dashes[(color + Math.floor(color / dashes.length)) % dashes.length] ?? [];

/** One line per run out of the plot of each; where a run has no value at a place of another, there is a gap to draw over. */
function overlaid(specs: [string, Spec][], title: string): Spec | null {
  const [first] = specs;
  if (!first) return null;
  const x = [...new Set(specs.flatMap(([, spec]) => spec.x))].sort((a, b) => a - b);
  const lines = specs.map(([name, spec], color): Line => {
    const values = spec.lines[0]?.values ?? [];
    const at = new Map(spec.x.map((place, index) => [place, values[index] ?? null]));
    return {
      label: name,
      values: x.map((place) => at.get(place) ?? null),
      color,
      dash: dashOf(color),
      marked: false,
      format: spec.lines[0]?.format ?? format.plain,
    };
  });
  // What is marked on one run's time line, and said of its streams, is not the others'.
  const { group: _, marks: _marks, remark: _remark, ...common } = first[1];
  return { ...common, title, x, lines, shades: [], spanGaps: true };
}

/** IOPS over time of each run. */
export function ratesOf(runs: Compared[], title: string): Spec | null {
  return overlaid(
    runs.map(({ name, step }) => [name, overTime(step, title, "iops")]),
    title,
  );
}

/** Bandwidth over time of each run. */
export function bandwidthsOf(runs: Compared[], title: string): Spec | null {
  return overlaid(
    runs.map(({ name, step }) => [name, overTime(step, title, "bytes_per_s")]),
    title,
  );
}

/** One figure of the response time over time of each run, all streams together. */
function latencyOf(runs: Compared[], title: string, figure: "p50_ns" | "p99_ns"): Spec | null {
  const ofRun = ({ step }: Compared): Spec => {
    const all: Series | undefined = step.series[0];
    const line = { label: "", values: all?.[figure] ?? [], color: 0, dash: [], marked: false, format: format.latency };
    return { ...latencyOverTime(step, title), lines: [line] };
  };
  return overlaid(
    runs.map((run) => [run.name, ofRun(run)]),
    title,
  );
}

/** Latency by share of operations of each run, all kinds together. */
export function percentilesOf(runs: Compared[], title: string): Spec | null {
  return overlaid(
    runs.map(({ name, step }) => [name, percentileCurves(step, title)]),
    title,
  );
}

const hasValues = (spec: Spec | null): spec is Spec =>
  spec !== null && spec.lines.some(({ values }) => values.some((value) => value !== null));

/** All there is to draw of runs over one another, with titles that `titled` makes; what none of them has is left out. */
export function allOf(runs: Compared[], titled: (title: string) => string): Spec[] {
  const { charts } = strings.compare;
  return [
    ratesOf(runs, titled(charts.iops)),
    bandwidthsOf(runs, titled(charts.bandwidth)),
    latencyOf(runs, titled(charts.p50), "p50_ns"),
    latencyOf(runs, titled(charts.p99), "p99_ns"),
    percentilesOf(runs, titled(charts.percentiles)),
  ].filter(hasValues);
}
