// Events → what the live page shows. A pure function, so that a recorded run gives the same view as the run itself; knows
// neither the network nor the page.
//
// A step's intervals lie on a grid of equal cells, as in a report (crates/report/src/charts.rs). Where they become too many,
// cells are doubled: a cell keeps the mean rate, the least and the most, and the slowest percentile, since percentiles of
// several intervals cannot be told from theirs.

import { levelOfShare } from "../charts/spec";
import type { Busy, Heat, Series, StepCharts, Values } from "../charts/types";
import type { HostEvent, IntervalEvent, RunEvent, StreamInfo } from "./events";

/** Cells of a step at most, before they are doubled. */
export const cellsMax = 1200;
/** Columns of a heat map at most. */
const columnsMax = 240;
/** Streams with lines of their own. */
const streamsMax = 8;
/** Notes that are kept; the record has all. */
const notesMax = 200;

/** One cell of one stream. */
export interface Cell {
  operations: number;
  bytes: number;
  errors: number;
  covered_s: number;
  iopsMin: number;
  iopsMax: number;
  meanNs: number | null;
  p50Ns: number | null;
  p99Ns: number | null;
  p999Ns: number | null;
  maxNs: number | null;
  /** Operations in flight times seconds. */
  inFlight: number;
}

/** Operations by row of their response time; rows are those of the events. */
export type Spread = ReadonlyMap<number, number>;

/** How busy something was in a cell. */
interface Share {
  busy_s: number;
  covered_s: number;
}

/** What counts of a stream since the measure phase began. */
export interface Sum {
  operations: number;
  bytes: number;
  errors: number;
  seconds: number;
  /** Latency times operations. */
  latencyNs: number;
  /** Operations in flight times seconds. */
  inFlight: number;
  maxNs: number;
}

export interface StepView {
  index: number;
  name: string;
  parameters: [string, string][];
  streams: StreamInfo[];
  /** Length of a cell. */
  cell_s: number;
  /** Intervals in a cell. */
  together: number;
  /** Per stream; a cell without an interval is absent. */
  cells: (Cell | undefined)[][];
  /** Per cell, of all streams: operations by row of their response time. */
  spreads: (Spread | undefined)[];
  /** Per device, and without a name for the processors: how busy they were per cell. */
  busy: ReadonlyMap<string, (Share | undefined)[]>;
  /** The newest sample of the host. */
  lastHost: HostEvent | null;
  /** Per stream. */
  sums: Sum[];
  /** Per stream, its newest interval. */
  last: (IntervalEvent | undefined)[];
  measuredFrom_s: number | null;
  reached_s: number;
  stop: string | null;
}

export interface RunView {
  /** Number of the last event taken in: what comes again after a lost connection is left out. */
  seen: number;
  run: string;
  title: string;
  description: string | null;
  startedMs: number;
  expectedSeconds: number | null;
  /** `waiting` before the first event, `running`, else how it ended. */
  state: string;
  reason: string | null;
  finishedMs: number | null;
  steps: StepView[];
  notes: { at_s: number; severity: string; message: string }[];
}

export function initial(run: string): RunView {
  return {
    seen: -1,
    run,
    title: "",
    description: null,
    startedMs: 0,
    expectedSeconds: null,
    state: "waiting",
    reason: null,
    finishedMs: null,
    steps: [],
    notes: [],
  };
}

/** The view after one more event, numbered as the server numbers them. */
export function reduce(view: RunView, id: number, event: RunEvent): RunView {
  if (id <= view.seen) return view;
  return { ...taken(view, event), seen: id };
}

function taken(view: RunView, event: RunEvent): RunView {
  switch (event.event) {
    case "run_started":
      return {
        ...view,
        run: event.run,
        title: event.title,
        description: event.description,
        startedMs: event.started_ms,
        expectedSeconds: event.expected_seconds,
        state: "running",
      };
    case "step_started":
      return { ...view, steps: [...view.steps, begun(event)] };
    case "interval":
      return withStep(view, event.step, (step) => withInterval(step, event));
    case "host":
      return withStep(view, event.step, (step) => withHost(step, event));
    case "note": {
      const { at_s, severity, message } = event;
      return { ...view, notes: [...view.notes, { at_s, severity, message }].slice(-notesMax) };
    }
    case "step_finished":
      return withStep(view, event.step, (step) => ({ ...step, stop: event.stop }));
    case "run_finished":
      return { ...view, state: event.state, reason: event.reason, finishedMs: event.finished_ms };
    default:
      // An event of a newer server.
      return view;
  }
}

function begun(event: Extract<RunEvent, { event: "step_started" }>): StepView {
  return {
    index: event.step,
    name: event.name,
    parameters: event.parameters,
    streams: event.streams,
    cell_s: 0,
    together: 1,
    cells: event.streams.map(() => []),
    spreads: [],
    busy: new Map(),
    lastHost: null,
    sums: event.streams.map(() => ({ operations: 0, bytes: 0, errors: 0, seconds: 0, latencyNs: 0, inFlight: 0, maxNs: 0 })),
    last: event.streams.map(() => undefined),
    measuredFrom_s: null,
    reached_s: 0,
    stop: null,
  };
}

function withStep(view: RunView, index: number, change: (step: StepView) => StepView): RunView {
  const at = view.steps.findLastIndex((step) => step.index === index);
  const step = view.steps[at];
  if (!step) return view;
  const steps = [...view.steps];
  steps[at] = change(step);
  return { ...view, steps };
}

function replaced<T>(values: readonly T[], at: number, value: T): T[] {
  const copy = [...values];
  copy[at] = value;
  return copy;
}

function withInterval(before: StepView, interval: IntervalEvent): StepView {
  const { stream, all } = interval;
  const length = interval.end_s - interval.start_s;
  if (!before.streams[stream] || !(length > 0)) return before;
  // The first interval says how long they are; it is late, or the last, at worst.
  let step = before.cell_s > 0 ? before : { ...before, cell_s: Math.max(Math.round(length * 1000) / 1000, 0.001) };
  while (interval.start_s / step.cell_s >= cellsMax) step = doubled(step);
  const at = Math.floor((interval.start_s + interval.end_s) / 2 / step.cell_s);
  const bytes = all.bytes_per_s * length;
  const cell: Cell = {
    operations: all.operations,
    bytes,
    errors: all.errors,
    covered_s: length,
    iopsMin: all.iops,
    iopsMax: all.iops,
    meanNs: all.mean_ns,
    p50Ns: all.p50_ns,
    p99Ns: all.p99_ns,
    p999Ns: all.p999_ns,
    maxNs: all.max_ns,
    inFlight: interval.queue_depth_held * length,
  };
  const row = step.cells[stream] ?? [];
  const counts = interval.phase === "measure";
  const sum = step.sums[stream];
  return {
    ...step,
    cells: replaced(step.cells, stream, replaced(row, at, merged(row[at], cell))),
    spreads: replaced(step.spreads, at, summed([step.spreads[at], new Map(interval.spread ?? [])])),
    sums: counts && sum ? replaced(step.sums, stream, added(sum, cell)) : step.sums,
    last: replaced(step.last, stream, interval),
    measuredFrom_s: counts ? Math.min(step.measuredFrom_s ?? Infinity, interval.start_s) : step.measuredFrom_s,
    reached_s: Math.max(step.reached_s, interval.end_s),
  };
}

/** A sample neither begins nor ends with a cell: each has its part of it. */
function withHost(step: StepView, sample: HostEvent): StepView {
  if (!(step.cell_s > 0) || !(sample.end_s > sample.start_s)) return step;
  const shares: [string, number | null][] = [["", sample.processors], ...sample.devices.map(({ name, busy }): [string, number] => [name, busy])];
  const busy = new Map(step.busy);
  const last = Math.min(Math.ceil(sample.end_s / step.cell_s), cellsMax);
  for (const [name, share] of shares) {
    if (share === null) continue;
    const row = [...(busy.get(name) ?? [])];
    for (let at = Math.floor(sample.start_s / step.cell_s); at < last; at += 1) {
      const part = Math.min(sample.end_s, (at + 1) * step.cell_s) - Math.max(sample.start_s, at * step.cell_s);
      if (part > 0) row[at] = both(row[at], { busy_s: share * part, covered_s: part });
    }
    busy.set(name, row);
  }
  return { ...step, busy, lastHost: sample };
}

function both(a: Share | undefined, b: Share | undefined): Share | undefined {
  return a && b ? { busy_s: a.busy_s + b.busy_s, covered_s: a.covered_s + b.covered_s } : (a ?? b);
}

function added(sum: Sum, cell: Cell): Sum {
  return {
    operations: sum.operations + cell.operations,
    bytes: sum.bytes + cell.bytes,
    errors: sum.errors + cell.errors,
    seconds: sum.seconds + cell.covered_s,
    latencyNs: sum.latencyNs + (cell.meanNs ?? 0) * cell.operations,
    inFlight: sum.inFlight + cell.inFlight,
    maxNs: Math.max(sum.maxNs, cell.maxNs ?? 0),
  };
}

const slowest = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : Math.max(a, b));

function merged(a: Cell | undefined, b: Cell | undefined): Cell | undefined {
  if (!a || !b) return a ?? b;
  const operations = a.operations + b.operations;
  const meanNs =
    operations > 0 ? ((a.meanNs ?? 0) * a.operations + (b.meanNs ?? 0) * b.operations) / operations : null;
  return {
    operations,
    bytes: a.bytes + b.bytes,
    errors: a.errors + b.errors,
    covered_s: a.covered_s + b.covered_s,
    iopsMin: Math.min(a.iopsMin, b.iopsMin),
    iopsMax: Math.max(a.iopsMax, b.iopsMax),
    meanNs,
    p50Ns: slowest(a.p50Ns, b.p50Ns),
    p99Ns: slowest(a.p99Ns, b.p99Ns),
    p999Ns: slowest(a.p999Ns, b.p999Ns),
    maxNs: slowest(a.maxNs, b.maxNs),
    inFlight: a.inFlight + b.inFlight,
  };
}

/** The same step with cells twice as long. */
function doubled(step: StepView): StepView {
  const halves = <T>(row: T[], both: (a: T | undefined, b: T | undefined) => T) =>
    Array.from({ length: Math.ceil(row.length / 2) }, (_, at) => both(row[2 * at], row[2 * at + 1]));
  return {
    ...step,
    cell_s: step.cell_s * 2,
    together: step.together * 2,
    cells: step.cells.map((row) => halves<Cell | undefined>(row, merged)),
    spreads: halves(step.spreads, (a, b) => summed([a, b])),
    busy: new Map([...step.busy].map(([name, row]) => [name, halves<Share | undefined>(row, both)])),
  };
}

/** What the gauges show: figures over the last interval of streams, or since the measure phase began. */
export interface Gauges {
  iops: number;
  bytesPerS: number;
  /** Of the last interval only. */
  p50Ns: number | null;
  p99Ns: number | null;
  meanNs: number | null;
  maxNs: number | null;
  depth: number | null;
  errors: number;
}

/** Figures over the last interval of these streams, or of all. */
export function gaugesLast(step: StepView, streams: number[] = [...step.streams.keys()]): Gauges {
  // A stream that has ended a while ago has no part in what happens now.
  const now = streams.flatMap((at) => {
    const one = step.last[at];
    return one && one.end_s > step.reached_s - 1.5 * (one.end_s - one.start_s) ? [one] : [];
  });
  const sum = (of: (interval: IntervalEvent) => number) => now.reduce((total, one) => total + of(one), 0);
  const worst = (of: (interval: IntervalEvent) => number | null) =>
    now.reduce<number | null>((most, one) => slowest(most, of(one)), null);
  const operations = sum((one) => one.all.operations);
  return {
    iops: sum((one) => one.all.iops),
    bytesPerS: sum((one) => one.all.bytes_per_s),
    p50Ns: worst((one) => one.all.p50_ns),
    p99Ns: worst((one) => one.all.p99_ns),
    meanNs: operations > 0 ? sum((one) => (one.all.mean_ns ?? 0) * one.all.operations) / operations : null,
    maxNs: worst((one) => one.all.max_ns),
    depth: sum((one) => one.queue_depth_held),
    errors: sum((one) => one.all.errors),
  };
}

/** Figures of these streams, or of all, since the measure phase began. */
export function gaugesSince(step: StepView, streams: number[] = [...step.streams.keys()]): Gauges {
  const sums = streams.flatMap((at) => step.sums[at] ?? []);
  const sum = (of: (sum: Sum) => number) => sums.reduce((total, one) => total + of(one), 0);
  const operations = sum((one) => one.operations);
  return {
    iops: sum((one) => (one.seconds > 0 ? one.operations / one.seconds : 0)),
    bytesPerS: sum((one) => (one.seconds > 0 ? one.bytes / one.seconds : 0)),
    p50Ns: null,
    p99Ns: null,
    meanNs: operations > 0 ? sum((one) => one.latencyNs) / operations : null,
    maxNs: operations > 0 ? Math.max(...sums.map((one) => one.maxNs)) : null,
    depth: sums.some((one) => one.seconds > 0) ? sum((one) => (one.seconds > 0 ? one.inFlight / one.seconds : 0)) : null,
    errors: sum((one) => one.errors),
  };
}

/** How busy the processors were, and the busiest of the devices. */
export interface HostGauges {
  processors: number | null;
  device: { name: string; busy: number } | null;
}

function busiest(devices: Iterable<{ name: string; busy: number }>): HostGauges["device"] {
  return [...devices].reduce<HostGauges["device"]>((most, one) => (most && most.busy >= one.busy ? most : one), null);
}

export function hostLast({ lastHost }: StepView): HostGauges {
  return { processors: lastHost?.processors ?? null, device: busiest(lastHost?.devices ?? []) };
}

export function hostSince(step: StepView): HostGauges {
  const from = step.measuredFrom_s;
  if (from === null) return { processors: null, device: null };
  const shares = [...step.busy].flatMap(([name, row]) => {
    const sum = row.slice(Math.floor(from / step.cell_s)).reduce<Share | undefined>(both, undefined);
    return sum && sum.covered_s > 0 ? [{ name, busy: sum.busy_s / sum.covered_s }] : [];
  });
  return {
    processors: shares.find(({ name }) => name === "")?.busy ?? null,
    device: busiest(shares.filter(({ name }) => name !== "")),
  };
}

/** Streams that have a row of the table together. */
export interface Group {
  /** Targets by name; of streams that each have a row of their own, the stream's. */
  names: string[];
  /** Names that are not told. */
  more: number;
  streams: number[];
}

/** The rows of the table: a stream each, or all streams that go to the same targets. */
export function groups(streams: StreamInfo[], by: "stream" | "target"): Group[] {
  if (by === "stream") return streams.map(({ name }, at) => ({ names: [name], more: 0, streams: [at] }));
  const found = new Map<string, Group>();
  for (const [at, { targets, target_count }] of streams.entries()) {
    const key = JSON.stringify([targets, target_count]);
    const group = found.get(key) ?? { names: targets, more: target_count - targets.length, streams: [] };
    group.streams.push(at);
    found.set(key, group);
  }
  return [...found.values()];
}

/** The step as charts. Latencies of all streams together are those of the slowest. */
export function toCharts(step: StepView): StepCharts {
  const count = Math.max(0, ...step.cells.map((row) => row.length));
  const all = Array.from({ length: count }, (_, at) =>
    step.cells.reduce<Cell | undefined>((sum, row) => together(sum, row[at]), undefined),
  );
  const series = [seriesOf("", all, step)];
  if (step.streams.length > 1) {
    for (const [at, stream] of step.streams.slice(0, streamsMax).entries()) {
      const row = step.cells[at] ?? [];
      series.push(seriesOf(stream.name, Array.from({ length: count }, (_, i) => row[i]), step));
    }
  }
  return {
    index: step.index,
    name: step.name,
    cell_s: step.cell_s,
    reduced: step.together,
    window_s: [step.measuredFrom_s ?? 0, step.measuredFrom_s === null ? 0 : step.reached_s],
    series,
    curves: [],
    heat: heatOf(step.spreads, step.cell_s),
    busy: [...step.busy].map(([name, row]) => busyOf(name, row, count, step)),
  };
}

function busyOf(name: string, row: (Share | undefined)[], count: number, step: StepView): Busy {
  const share = Array.from({ length: count }, (_, at) => {
    const of = row[at];
    return of && of.covered_s >= coveredMin * step.cell_s ? of.busy_s / of.covered_s : null;
  });
  return { name, share };
}

function summed(spreads: Iterable<Spread | undefined>): Spread {
  const sum = new Map<number, number>();
  for (const spread of spreads) {
    for (const [row, count] of spread ?? []) sum.set(row, (sum.get(row) ?? 0) + count);
  }
  return sum;
}

/** The heat map of a step's cells, on the scale of a stored run's (crates/report/src/charts/distribution.rs). */
function heatOf(spreads: (Spread | undefined)[], cell_s: number): Heat | null {
  const together = Math.max(1, Math.ceil(spreads.length / columnsMax));
  const columns = Array.from({ length: Math.ceil(spreads.length / together) }, (_, at) =>
    summed(spreads.slice(at * together, (at + 1) * together)),
  );
  const filled = columns.flatMap((column) => [...column.keys()]);
  if (filled.length === 0) return null;
  const first = filled.reduce((a, b) => Math.min(a, b));
  const rows = filled.reduce((a, b) => Math.max(a, b)) - first + 1;
  let share_max = 0;
  let cells = "";
  for (const column of columns) {
    const total = [...column.values()].reduce((sum, count) => sum + count, 0);
    for (let row = first; row < first + rows; row += 1) {
      const share = (column.get(row) ?? 0) / total;
      share_max = Math.max(share_max, share || 0);
      cells += share > 0 ? levelOfShare(share) : 0;
    }
  }
  return { column_s: cell_s * together, columns: columns.length, rows, from_log2_ns: first / 4, share_max, cells };
}

/** Two streams in one cell: rates add up, times do not. */
function together(a: Cell | undefined, b: Cell | undefined): Cell | undefined {
  const sum = merged(a, b);
  if (!a || !b || !sum) return sum;
  return {
    ...sum,
    covered_s: Math.max(a.covered_s, b.covered_s),
    iopsMin: a.iopsMin + b.iopsMin,
    iopsMax: a.iopsMax + b.iopsMax,
  };
}

/** A cell of which less than this share was covered says nothing of a rate. */
const coveredMin = 0.1;

function seriesOf(name: string, cells: (Cell | undefined)[], step: StepView): Series {
  const covered = (cell: Cell | undefined) => cell && cell.covered_s >= coveredMin * step.cell_s;
  const rate = (of: (cell: Cell) => number): Values => cells.map((cell) => (cell && covered(cell) ? of(cell) : null));
  const latency = (of: (cell: Cell) => number | null): Values => cells.map((cell) => (cell ? of(cell) : null));
  const several = step.together > 1;
  return {
    name,
    iops: rate((cell) => cell.operations / cell.covered_s),
    iops_min: several ? rate((cell) => cell.iopsMin) : [],
    iops_max: several ? rate((cell) => cell.iopsMax) : [],
    bytes_per_s: rate((cell) => cell.bytes / cell.covered_s),
    mean_ns: latency((cell) => cell.meanNs),
    p50_ns: latency((cell) => cell.p50Ns),
    p99_ns: latency((cell) => cell.p99Ns),
    p999_ns: latency((cell) => cell.p999Ns),
    max_ns: latency((cell) => cell.maxNs),
    depth: rate((cell) => cell.inFlight / cell.covered_s),
    errors: cells.map((cell) => cell?.errors ?? 0),
  };
}

/** Seconds that the run may still take; null when nobody knows. */
export function remaining(view: RunView, nowMs: number): number | null {
  if (view.expectedSeconds === null || view.state !== "running") return null;
  return Math.max(0, view.expectedSeconds - (nowMs - view.startedMs) / 1000);
}
