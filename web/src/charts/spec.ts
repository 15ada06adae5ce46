// What a plot shows, free of how it is drawn: data of a step or sweep to lines, axes and a readout. Pure, and tested so.

import * as format from "../format";
import { strings } from "../strings";
import { dashes } from "./palette";
import type { Curve, Heat, Series, StepCharts, Sweep, Values } from "./types";

const words = strings.chart;

/** One line of a plot. */
export interface Line {
  label: string;
  values: Values;
  /** Drawn as an area around the line, or as whiskers of points; both or none. */
  low?: Values;
  high?: Values;
  /** Index of its colour in the palette. */
  color: number;
  dash: readonly number[];
  /** Whether each value gets a mark: for few values with meaning of their own. */
  marked: boolean;
  /** Points alone, with whiskers, or bars; else a line. */
  shape?: "points" | "bars";
  format: (value: number) => string;
}

/** A value of an axis that means something. */
export interface Mark {
  label: string;
  axis: "x" | "y";
  at: number;
  interval: [number, number] | null;
}

/** A part of the plane that means something. */
export interface Band {
  label: string;
  x: [number, number] | null;
  y: [number, number];
}

export interface Axis {
  label: string;
  format: (value: number) => string;
  scale: "linear" | "log";
  /** Places of the ticks where the plot decides, else as fits. */
  ticks?: (min: number, max: number) => number[];
  /** Whether ticks have names, which take several rows where they would touch. */
  isNamed?: boolean;
  /** Steps a linear axis may take. */
  increments?: number[];
}

/** A plot. */
export interface Spec {
  title: string;
  x: number[];
  lines: Line[];
  xAxis: Axis;
  yAxis: Axis;
  yFromZero: boolean;
  /** The top of the vertical axis, where it is always the same. */
  yMost?: number;
  /** Parts of the x axis drawn behind a shade, since they do not count. */
  shades: [number, number][];
  /** Whether gaps are drawn over: where a value that is missing was never meant to be there. */
  spanGaps: boolean;
  /** Plots of one group share their cursor. */
  group?: string;
  heat?: HeatCells;
  marks?: Mark[];
  bands?: Band[];
  /** Whether values below zero belong to it. */
  isSigned?: boolean;
  /** Whether lines have values at places of their own: one that has none under the cursor is not told. */
  isSparse?: boolean;
  /** What else there is to say below it. */
  remark?: string;
}

/** A heat map with its cells laid out. */
export interface HeatCells {
  columnWidth: number;
  columns: number;
  rows: number;
  /** Lower edges of the rows in nanoseconds, and the upper edge of the last. */
  edges: number[];
  /** Column after column, from the fastest row; 0 or 1 to 9. */
  levels: Uint8Array;
}

const timeIncrements = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400,
  21600, 43200, 86400, 172800, 432000, 864000,
];

const timeAxis: Axis = { label: words.seconds, format: format.clock, scale: "linear", increments: timeIncrements };
const rateAxis: Axis = { label: words.iops, format: format.rate, scale: "linear" };
const bandwidthAxis: Axis = { label: words.bandwidth, format: format.bandwidth, scale: "linear" };
const depthAxis: Axis = { label: words.depth, format: format.plain, scale: "linear" };
const shareAxis: Axis = { label: words.inUse, format: format.share, scale: "linear" };
const latencyAxis: Axis = { label: words.latency, format: format.latency, scale: "log", ticks: latencyTicks };

/** What powers of ten are multiplied by on a logarithmic axis, from the coarsest: so that a narrow one has ticks, too. */
const tickFactors = [[1, 2, 5], [1, 1.5, 2, 3, 5, 7], [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]];

/** Ticks without which an axis tells nothing of its scale. */
const ticksLeast = 2;

/** 1, 2 and 5 times powers of ten; only the powers where those would be too many, and more where they would be too few. */
export function latencyTicks(min: number, max: number): number[] {
  const isIn = (tick: number) => tick >= min * 0.999 && tick <= max * 1.001;
  const [from, to] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
  const powers = Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at));
  if (Math.log10(max / min) > 3) return powers.filter(isIn);
  for (const factors of tickFactors) {
    const ticks = powers.flatMap((power) => factors.map((factor) => factor * power)).filter(isIn);
    if (ticks.length >= ticksLeast) return ticks;
  }
  // So narrow, as where someone zooms in, that it is as good as linear: with round steps, of which three at most fit.
  const power = 10 ** Math.floor(Math.log10((max - min) / ticksLeast));
  const step = power * ([5, 2].find((factor) => (max - min) / (factor * power) >= ticksLeast) ?? 1);
  const first = Math.ceil(min / step);
  return Array.from({ length: Math.floor(max / step) - first + 1 }, (_, at) => (first + at) * step);
}

/** Which ticks of a logarithmic axis have their names first: powers of ten, then 2 and 5 times these, then the others. */
export function tickRank(tick: number): number {
  const factor = tick / 10 ** Math.floor(Math.log10(tick) + 1e-9);
  const isNear = (other: number) => Math.abs(factor - other) < 1e-6;
  return isNear(1) ? 0 : isNear(2) || isNear(5) ? 1 : 2;
}

/** Range of a logarithmic axis around values: some room, and never less than half a decade. */
export function logRange(min: number | null, max: number | null): [number, number] {
  if (min === null || max === null || !(min > 0) || !(max > 0)) return [1, 10];
  const [low, high] = [min / 1.15, max * 1.15];
  const lacking = Math.sqrt(3 / (high / low));
  return lacking > 1 ? [low / lacking, high * lacking] : [low, high];
}

/** Middles of the cells of a step. */
function cellMiddles(step: StepCharts): number[] {
  const count = step.series[0]?.iops.length ?? 0;
  return Array.from({ length: count }, (_, at) => (at + 0.5) * step.cell_s);
}

/** Times outside of the measure phase. */
function ramps(step: StepCharts): [number, number][] {
  const end = (step.series[0]?.iops.length ?? 0) * step.cell_s;
  const [from, to] = step.window_s;
  if (to <= from) return [];
  const parts: [number, number][] = [];
  if (from > 0) parts.push([0, from]);
  // A last cell that is not full is no phase of its own.
  if (end - to > step.cell_s) parts.push([to, end]);
  return parts;
}

/** What is marked on the time line of a step, and the thresholds that this chart shows. */
function marksOf(step: StepCharts, chart: string): Mark[] {
  const moments = (step.marks ?? []).map(({ at_s, label }): Mark => ({
    label: format.visible(label),
    axis: "x",
    at: at_s,
    interval: null,
  }));
  const limits = (step.limits ?? []).filter((limit) => limit.chart === chart);
  return moments.concat(limits.map(({ at, label }): Mark => ({ label, axis: "y", at, interval: null })));
}

function line(label: string, values: Values, color: number, formatted: (value: number) => string): Line {
  return { label, values, color, dash: dashes[color % dashes.length] ?? [], marked: false, format: formatted };
}

function seriesName(series: Series): string {
  return series.name || words.all;
}

type StreamFigure = "iops" | "bytes_per_s" | "depth";

/** A figure over time: all streams together, and each where there are several. */
export function overTime(step: StepCharts, title: string, figure: StreamFigure): Spec {
  const axis = { iops: rateAxis, bytes_per_s: bandwidthAxis, depth: depthAxis }[figure];
  const lines = step.series.map((series, at) => {
    const shown = figure === "depth" ? format.inFlight : axis.format;
    const made = line(step.series.length > 1 ? seriesName(series) : axis.label, series[figure], at, shown);
    const hasRange = figure === "iops" && at === 0 && series.iops_min.length > 0;
    return hasRange ? { ...made, low: series.iops_min, high: series.iops_max } : made;
  });
  return {
    title,
    x: cellMiddles(step),
    lines,
    xAxis: timeAxis,
    yAxis: axis,
    yFromZero: true,
    shades: ramps(step),
    spanGaps: false,
    group: `step-${step.index}`,
    marks: marksOf(step, { iops: "iops", bytes_per_s: "bandwidth", depth: "depth" }[figure]),
    // Said once, and not under each of the charts that have lines of streams.
    ...(figure === "iops" && step.streams_left_out > 0 ? { remark: words.streamsLeftOut(step.streams_left_out) } : {}),
  };
}

/** How busy processors and devices were over time. */
export function busyOverTime(step: StepCharts, title: string): Spec {
  return {
    title,
    x: cellMiddles(step),
    lines: step.busy.map(({ name, share }, at) => line(name || words.processors, share, at, format.share)),
    xAxis: timeAxis,
    yAxis: shareAxis,
    yFromZero: true,
    // A processor that is half idle looks it.
    yMost: 1.05,
    shades: ramps(step),
    spanGaps: false,
    group: `step-${step.index}`,
  };
}

/** Response time over time, of all streams together. */
export function latencyOverTime(step: StepCharts, title: string): Spec {
  const all = step.series[0];
  const named: [string, Values, number][] = all
    ? [
        [words.p50, all.p50_ns, 0],
        [words.p99, all.p99_ns, 1],
        [words.p999, all.p999_ns, 2],
        [words.max, all.max_ns, 3],
      ]
    : [];
  return {
    title,
    x: cellMiddles(step),
    // A percentile that no cell has enough operations for is no line.
    lines: named
      .filter(([, values]) => values.some((value) => value !== null))
      .map(([label, values, color]) => line(label, values, color, format.latency)),
    xAxis: timeAxis,
    yAxis: latencyAxis,
    yFromZero: false,
    shades: ramps(step),
    spanGaps: false,
    group: `step-${step.index}`,
    marks: marksOf(step, "latency"),
  };
}

function curveName(curve: Curve, all: Curve[]): string {
  const hasService = all.some((other) => other.latency === "service");
  return hasService ? `${curve.kind}, ${curve.latency === "service" ? words.service : words.latency}` : curve.kind;
}

/** Ticks of nines: 50 %, 90 %, 99 % and so on. */
export function ninesTicks(min: number, max: number): number[] {
  const ticks = [0, Math.log10(2)];
  for (let nines = 1; nines <= max + 0.001; nines += 1) ticks.push(nines);
  return ticks.filter((tick) => tick >= min - 0.001 && tick <= max + 0.001);
}

/** Latency by share of operations, with the nines as the axis. */
export function percentileCurves(step: StepCharts, title: string): Spec {
  const x = [...new Set(step.curves.flatMap((curve) => curve.points.map(([nines]) => nines)))].sort((a, b) => a - b);
  const lines = step.curves.map((curve, at) => {
    const known = new Map(curve.points);
    return line(
      curveName(curve, step.curves),
      x.map((nines) => known.get(nines) ?? null),
      at,
      format.latency,
    );
  });
  return {
    title,
    x,
    lines,
    xAxis: { label: words.share, format: format.nines, scale: "linear", ticks: ninesTicks },
    yAxis: latencyAxis,
    yFromZero: false,
    shades: [],
    spanGaps: true,
  };
}

/** The levels that the packed text of a heat map stands for. */
export function unpack(cells: string, length: number): Uint8Array {
  const levels = new Uint8Array(length);
  let at = 0;
  for (const sign of cells) {
    const code = sign.charCodeAt(0);
    if (code >= 97) {
      const last = levels[at - 1] ?? 0;
      levels.fill(last, at, at + code - 96);
      at += code - 96;
    } else {
      levels[at] = code - 48;
      at += 1;
    }
  }
  return levels;
}

/** Share of a column's operations that a level of the heat map stands for. */
export function shareOfLevel(level: number): number {
  return 10 ** (-5 * (1 - (level - 1) / 8));
}

/** The level, 1 to 9, that stands for a share of a column's operations. */
export function levelOfShare(share: number): number {
  return Math.round(1 + 8 * Math.min(1, Math.max(0, 1 + Math.log10(share) / 5)));
}

export function heatCells(heat: Heat): HeatCells {
  const edges = Array.from({ length: heat.rows + 1 }, (_, row) => 2 ** (heat.from_log2_ns + row / 4));
  const levels = unpack(heat.cells, heat.columns * heat.rows);
  return { columnWidth: heat.column_s, columns: heat.columns, rows: heat.rows, edges, levels };
}

/** The heat map of a step: its line is the most common latency of each column, which the cursor follows. */
export function heatOverTime(step: StepCharts, heat: Heat, title: string): Spec {
  const cells = heatCells(heat);
  const x = Array.from({ length: cells.columns }, (_, at) => (at + 0.5) * cells.columnWidth);
  const edge = (row: number) => cells.edges[row] ?? 1;
  const low: Values = [];
  const high: Values = [];
  for (let column = 0; column < cells.columns; column += 1) {
    const levels = cells.levels.subarray(column * cells.rows, (column + 1) * cells.rows);
    const first = levels.findIndex((level) => level > 0);
    const last = levels.findLastIndex((level) => level > 0);
    low.push(first < 0 ? null : edge(first));
    high.push(first < 0 ? null : edge(last + 1));
  }
  return {
    title,
    x,
    lines: [line(words.fastest, low, 0, format.latency), line(words.slowest, high, 1, format.latency)],
    xAxis: timeAxis,
    yAxis: latencyAxis,
    yFromZero: false,
    shades: ramps(step),
    spanGaps: false,
    group: `step-${step.index}`,
    marks: marksOf(step, "latency"),
    heat: cells,
  };
}

/** Axis of what is swept. */
function sweepAxis(sweep: Sweep): Axis {
  const labels = new Map(sweep.positions.map((position, at) => [position, sweep.labels[at] ?? ""]));
  const label = sweep.option || words.inOrder;
  return {
    label,
    format: (value) => labels.get(value) ?? format.plain(value),
    scale: sweep.axis === "log" ? "log" : "linear",
    ticks: (min, max) => sweep.positions.filter((position) => position >= min && position <= max),
    isNamed: true,
  };
}

function sweepSpec(sweep: Sweep, title: string, lines: Line[], yAxis: Axis): Spec {
  const remark = sweep.lines_left_out > 0 ? { remark: words.leftOut(sweep.lines_left_out) } : {};
  return {
    title,
    x: sweep.positions,
    lines: lines.map((made) => ({ ...made, marked: true })),
    xAxis: sweepAxis(sweep),
    yAxis,
    yFromZero: yAxis.scale === "linear",
    shades: [],
    spanGaps: true,
    group: "sweep",
    ...remark,
  };
}

/** IOPS over what is swept. */
export function sweepRates(sweep: Sweep, title: string): Spec {
  const lines = sweep.lines.map((of, at) => line(of.name || words.iops, of.iops, at, format.rate));
  return sweepSpec(sweep, title, lines, rateAxis);
}

/** Latency over what is swept: of a single line its percentiles, of several their p99. */
export function sweepLatencies(sweep: Sweep, title: string): Spec {
  const [only] = sweep.lines;
  const lines =
    sweep.lines.length === 1 && only
      ? (
          [
            [words.p50, only.p50_ns],
            [words.p99, only.p99_ns],
            [words.p999, only.p999_ns],
          ] as [string, Values][]
        )
          .filter(([, values]) => values.some((value) => value !== null))
          .map(([label, values], at) => line(label, values, at, format.latency))
      : sweep.lines.map((of, at) => line(`${of.name}, ${words.p99}`, of.p99_ns, at, format.latency));
  return sweepSpec(sweep, title, lines, latencyAxis);
}
