// Which steps of runs are held against each other, and the loads that their steps went through, run over run. Pure.

import type { PlotData, PlotLine } from "../charts/types";
import { strings } from "../strings";
import type { Report } from "./api";

type Step = Report["steps"][number];

/** A step that all runs have: what it is called, and its place among the steps of each run. */
export interface Choice {
  name: string;
  places: number[];
}

/** `stream.users.queue_depth` is a load as `stream.queue_depth` is. */
const optionOf = (path: string) => path.split(".").at(-1) ?? "";

const loadOf = ({ parameters }: Step) => parameters.map(({ name, value }) => `${optionOf(name)}=${value}`).join(", ");

/** Steps by their names, and those of one name by how many of them were before. */
function keyed(steps: Step[], of: (step: Step) => string): Map<string, number> {
  const found = new Map<string, number>();
  const seen = new Map<string, number>();
  for (const [at, step] of steps.entries()) {
    const name = of(step);
    const turn = (seen.get(name) ?? 0) + 1;
    seen.set(name, turn);
    if (name !== "") found.set(turn === 1 ? name : strings.compare.turn(name, turn), at);
  }
  return found;
}

/** Steps that all runs have: of one name, else of one load, else the only one of each. */
export function inCommon(runs: Step[][]): Choice[] {
  for (const of of [(step: Step) => step.name, loadOf]) {
    const [first, ...others] = runs.map((steps) => keyed(steps, of));
    const names = [...(first ?? [])].filter(([name]) => others.every((other) => other.has(name)));
    if (names.length > 0)
      return names.map(([name, at]) => ({ name, places: [at, ...others.map((other) => other.get(name) ?? 0)] }));
  }
  if (runs.length === 0 || runs.some((steps) => steps.length !== 1)) return [];
  const names = [...new Set(runs.map(([only]) => only?.name ?? ""))];
  return [{ name: names.join(", "), places: runs.map(() => 0) }];
}

/** A load as a number: a depth, or a rate such as `5k/s`; null where it is none. */
function numberOf(value: string): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*([kM]?)(?:\/s)?$/.exec(value.trim());
  return found ? Number(found[1]) * ({ k: 1e3, M: 1e6 }[found[2] ?? ""] ?? 1) : null;
}

interface Loads {
  option: string;
  /** Steps by their load, least first. */
  points: [number, Step[]][];
}

/** The one option that the steps of a run go through, where that is a load; null where it is none or there are several. */
function loadsOf(steps: Step[]): Loads | null {
  const [first, ...others] = steps;
  const names = first?.parameters.map(({ name }) => name) ?? [];
  const valueOf = (step: Step, name: string) => step.parameters.find((one) => one.name === name)?.value ?? "";
  const swept = names.filter((name) => others.some((step) => first && valueOf(step, name) !== valueOf(first, name)));
  const [path, ...more] = swept;
  if (path === undefined || more.length > 0 || !Object.hasOwn(strings.compare.loads, optionOf(path))) return null;
  const points = new Map<number, Step[]>();
  for (const step of steps) {
    const load = numberOf(valueOf(step, path));
    if (load === null) return null;
    points.set(load, [...(points.get(load) ?? []), step]);
  }
  return { option: optionOf(path), points: [...points].sort(([a], [b]) => a - b) };
}

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Throughput and response time over load of the runs that went through the same loads: none where fewer than two did. */
export function loadCurves(runs: { name: string; steps: Step[] }[]): PlotData[] {
  const words = strings.compare;
  const all = runs.flatMap(({ name, steps }) => {
    const found = loadsOf(steps);
    return found ? [{ name, ...found }] : [];
  });
  const option = all[0]?.option ?? "";
  const alike = all.filter((one) => one.option === option);
  if (alike.length < 2) return [];
  const x: PlotData["x"] = {
    label: words.loads[option] ?? option,
    unit: option === "rate" ? "rate" : "plain",
    is_log: true,
    names: [],
  };
  // Where a load was measured several times, the mean of them.
  const lines = (of: (step: Step) => number) =>
    alike.map(({ name, points }): PlotLine => {
      const y = points.map(([, steps]) => mean(steps.map(of)));
      return { label: name, shape: "joined", x: points.map(([load]) => load), y, low: [], high: [] };
    });
  const plot = (title: string, y: PlotData["y"], of: (step: Step) => number): PlotData => ({
    title,
    x,
    y,
    lines: lines(of),
    marks: [],
    bands: [],
  });
  return [
    plot(
      words.charts.throughput,
      { label: strings.chart.iops, unit: "rate", is_log: false, names: [] },
      ({ total }) => total.all.iops,
    ),
    plot(
      words.charts.response,
      { label: strings.chart.latency, unit: "latency", is_log: true, names: [] },
      ({ total }) => total.all.response.mean_ns,
    ),
  ];
}

/** Sides without runs that were named before: a run is held against others, never against itself. */
export function distinct(sides: string[]): string[] {
  const seen = new Set<string>();
  const isNew = (run: string) => run !== "" && !seen.has(run) && seen.add(run).has(run);
  return sides.map((side) => side.split("~").filter(isNew).join("~")).filter((side) => side !== "");
}

/** Sides without the runs that are gone. */
export function without(sides: string[], gone: string[]): string[] {
  const left = sides.map((side) => side.split("~").filter((run) => !gone.includes(run)));
  return left.filter((side) => side.length > 0).map((side) => side.join("~"));
}

/** Names of steps, of which those that are there several times are numbered: they are replicates of one load. */
export function numbered(names: string[]): string[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const seen = new Map<string, number>();
  return names.map((name) => {
    const number = (seen.get(name) ?? 0) + 1;
    const count = counts.get(name) ?? 1;
    seen.set(name, number);
    return count === 1 ? name : strings.run.replicate(name, number, count);
  });
}
