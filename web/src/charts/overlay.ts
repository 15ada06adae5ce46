// Plots that hold several runs against each other: a line per run, on common axes. Pure.

import * as format from "../format";
import { dashes } from "./palette";
import { overTime, percentileCurves, type Line, type Spec } from "./spec";
import type { StepCharts } from "./types";

/** A run's name and the step of it that is compared. */
export interface Compared {
  name: string;
  step: StepCharts;
}

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
      dash: dashes[color % dashes.length] ?? [],
      marked: false,
      format: spec.lines[0]?.format ?? format.plain,
    };
  });
  const { group: _, ...common } = first[1];
  return { ...common, title, x, lines, shades: [], spanGaps: true };
}

/** IOPS over time of each run. */
export function ratesOf(runs: Compared[], title: string): Spec | null {
  return overlaid(
    runs.map(({ name, step }) => [name, overTime(step, title, "iops")]),
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
