// Events → what the live page shows. A pure function, so that a recorded run gives the same view as the run itself; knows
// neither the network nor the page.
//
// A step's intervals lie on a grid of equal cells, as in a report (crates/report/src/charts.rs). Where they become too many,
// cells are doubled: a cell keeps the mean rate, the least and the most, and the slowest percentile, since percentiles of
// several intervals cannot be told from theirs. Those of several streams the server tells, which has their histograms.

import { chosen } from "./choice";
import { levelOfShare } from "../charts/spec";
import type { Busy, Heat, Series, StepCharts, TimeMark, Values } from "../charts/types";
import type {
  DeviceUse,
  FiguresEvent,
  HostEvent,
  IntervalEvent,
  RunEvent,
  Span,
  StreamInfo,
  TargetFigures,
  TargetsEvent,
  TargetSpan,
} from "./events";

/** Cells of a step at most, before they are doubled. */
export const cellsMax = 1200;
/** Columns of a heat map at most. */
const columnsMax = 240;
/** Marks that are drawn of a step. */
const marksMax = 40;
/** Ends of intervals that lie as near to each other are one. */
const sameMoment_s = 1e-6;
/** How a note ends that says on what streams run, where that is simulated (crates/io, `sim`). */
const virtualTime = "(virtual time)";
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
export interface Share {
  busy_s: number;
  covered_s: number;
}

export interface StepView {
  index: number;
  name: string;
  parameters: [string, string][];
  /** When it began, since the run's start. */
  start_s: number;
  streams: StreamInfo[];
  /** Length of a cell. */
  cell_s: number;
  /** Intervals in a cell. */
  together: number;
  /** Per stream; a cell without an interval is absent. */
  cells: (Cell | undefined)[][];
  /** Of all streams together; a cell of which nothing was told is absent. */
  all: (Cell | undefined)[];
  /** Per cell, of all streams: operations by row of their response time. */
  spreads: (Spread | undefined)[];
  /** Per device, and without a name for the processors: how busy they were per cell. */
  busy: ReadonlyMap<string, (Share | undefined)[]>;
  /** The newest sample of the host. */
  lastHost: HostEvent | null;
  /** What devices did in the samples since the measuring began. */
  devices: ReadonlyMap<string, DeviceSum>;
  /** What streams do together, as it was told last. */
  figures: FiguresEvent | null;
  /** The same, newer, until what was done on each target comes, too: a table tells of one moment. */
  coming: FiguresEvent | null;
  /** What was done on each target, as it was told last; of a step with a stream on several. */
  targets: TargetsEvent | null;
  /** Per stream, its newest interval, and the one before it. */
  last: (IntervalEvent | undefined)[];
  before: (IntervalEvent | undefined)[];
  /** Per stream, the interval that is in the figures. */
  told: (IntervalEvent | undefined)[];
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
  /** Whether all that ran so far was in the time of simulated devices; null as long as nothing is known of it. */
  isSimulated: boolean | null;
  /** Those of the notes that are marks, without the words that say when they were made. */
  marks: TimeMark[];
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
    isSimulated: null,
    marks: [],
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
      return { ...view, steps: [...view.steps, begun(event, view)] };
    case "interval":
      return withStep(view, event.step, (step) => withInterval(step, event));
    case "figures":
      return withStep(view, event.step, (step) => withFigures(step, event));
    case "targets":
      return withStep(view, event.step, (step) => withTargets(step, event));
    case "host":
      return withStep(view, event.step, (step) => withHost(step, event));
    case "note": {
      const { at_s, kind, severity, message } = event;
      const notes = [...view.notes, { at_s, severity, message }].slice(-notesMax);
      if (kind === "engine") {
        const isSimulated = (view.isSimulated ?? true) && message.endsWith(virtualTime);
        return { ...view, notes, isSimulated };
      }
      if (kind !== "mark") return { ...view, notes };
      const mark = { at_s, label: message.slice(message.indexOf(": ") + 2) };
      return { ...view, notes, marks: [...view.marks, mark].slice(-notesMax) };
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

function begun(event: Extract<RunEvent, { event: "step_started" }>, { startedMs }: RunView): StepView {
  const none = event.streams.map(() => undefined);
  return {
    index: event.step,
    name: event.name,
    parameters: event.parameters,
    start_s: (event.started_ms - startedMs) / 1000,
    streams: event.streams,
    cell_s: 0,
    together: 1,
    cells: event.streams.map(() => []),
    all: [],
    spreads: [],
    busy: new Map(),
    lastHost: null,
    devices: new Map(),
    figures: null,
    coming: null,
    targets: null,
    last: none,
    before: none,
    told: none,
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
  const { stream } = interval;
  const length = interval.end_s - interval.start_s;
  if (!before.streams[stream] || !(length > 0)) return before;
  // The first interval says how long they are; it is late, or the last, at worst.
  let step = before.cell_s > 0 ? before : { ...before, cell_s: Math.max(Math.round(length * 1000) / 1000, 0.001) };
  while (interval.start_s / step.cell_s >= cellsMax) step = doubled(step);
  const at = Math.floor((interval.start_s + interval.end_s) / 2 / step.cell_s);
  const row = step.cells[stream] ?? [];
  const counts = interval.phase === "measure";
  return {
    ...step,
    cells: replaced(step.cells, stream, replaced(row, at, merged(row[at], cellOf(interval)))),
    spreads: replaced(step.spreads, at, summed([step.spreads[at], new Map(interval.spread ?? [])])),
    last: replaced(step.last, stream, interval),
    before: replaced(step.before, stream, step.last[stream]),
    measuredFrom_s: counts ? Math.min(step.measuredFrom_s ?? Infinity, interval.start_s) : step.measuredFrom_s,
    reached_s: Math.max(step.reached_s, interval.end_s),
  };
}

function cellOf({ start_s, end_s, queue_depth_held, all }: Span): Cell {
  const length = end_s - start_s;
  return {
    operations: all.operations,
    bytes: all.bytes_per_s * length,
    errors: all.errors,
    covered_s: length,
    iopsMin: all.iops,
    iopsMax: all.iops,
    meanNs: all.mean_ns,
    p50Ns: all.p50_ns,
    p99Ns: all.p99_ns,
    p999Ns: all.p999_ns,
    maxNs: all.max_ns,
    inFlight: queue_depth_held * length,
  };
}

function withFigures(step: StepView, figures: FiguresEvent): StepView {
  const { last } = figures;
  // Where targets are told apart they are told next.
  const next = step.targets ? { ...step, coming: figures } : shownFigures(step, figures);
  if (!last || !(step.cell_s > 0) || !(last.end_s > last.start_s)) return next;
  const at = Math.floor((last.start_s + last.end_s) / 2 / step.cell_s);
  if (at >= cellsMax) return next;
  // What is told once more, since a stream was late, is in place of what was told before.
  const before = step.together > 1 ? step.all[at] : undefined;
  return { ...next, all: replaced(step.all, at, merged(before, cellOf(last))) };
}

/** The figures with the intervals that are in them: a stream that is ahead of the others may have told of its next one. */
function shownFigures(step: StepView, figures: FiguresEvent): StepView {
  const isIn = (interval: IntervalEvent | undefined) => !!interval && interval.end_s <= figures.reached_s + sameMoment_s;
  const told = step.last.map((last, at) => (isIn(last) ? last : step.before[at]));
  return { ...step, figures, coming: null, told };
}

function withTargets(step: StepView, targets: TargetsEvent): StepView {
  const next = { ...step, targets };
  return step.coming ? shownFigures(next, step.coming) : next;
}

/** A sample neither begins nor ends with a cell: each has its part of it. */
function withHost(step: StepView, sample: HostEvent): StepView {
  if (!(step.cell_s > 0) || !(sample.end_s > sample.start_s)) return step;
  const shares: [string, number | null][] = [
    ["", sample.processors],
    ...sample.devices.map(({ name, busy }): [string, number] => [name, busy]),
  ];
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
  // What began in the ramp is no part of it.
  const counts = step.measuredFrom_s !== null && sample.start_s >= step.measuredFrom_s;
  const sums = sample.devices.map((use) => [use.name, addedUp(step.devices.get(use.name), sample, use)] as const);
  const devices = counts ? new Map([...step.devices, ...sums]) : step.devices;
  return { ...step, busy, devices, lastHost: sample };
}

export function both(a: Share | undefined, b: Share | undefined): Share | undefined {
  return a && b ? { busy_s: a.busy_s + b.busy_s, covered_s: a.covered_s + b.covered_s } : (a ?? b);
}

const slowest = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : Math.max(a, b));

export function merged(a: Cell | undefined, b: Cell | undefined): Cell | undefined {
  if (!a || !b) return a ?? b;
  const operations = a.operations + b.operations;
  const meanNs = operations > 0 ? ((a.meanNs ?? 0) * a.operations + (b.meanNs ?? 0) * b.operations) / operations : null;
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
    all: halves<Cell | undefined>(step.all, merged),
    spreads: halves(step.spreads, (a, b) => summed([a, b])),
    busy: new Map([...step.busy].map(([name, row]) => [name, halves<Share | undefined>(row, both)])),
  };
}

/** What the gauges show; null where nothing is told. */
export interface Gauges {
  iops: number | null;
  bytesPerS: number | null;
  p50Ns: number | null;
  p99Ns: number | null;
  meanNs: number | null;
  maxNs: number | null;
  depth: number | null;
  errors: number | null;
}

/** Figures over the last interval, or since the measuring began. */
export type Window = "last" | "since";

export function gaugesOf(span: Span | null | undefined): Gauges {
  return {
    iops: span?.all.iops ?? null,
    bytesPerS: span?.all.bytes_per_s ?? null,
    p50Ns: span?.all.p50_ns ?? null,
    p99Ns: span?.all.p99_ns ?? null,
    meanNs: span?.all.mean_ns ?? null,
    maxNs: span?.all.max_ns ?? null,
    depth: span?.queue_depth_held ?? null,
    errors: span?.all.errors ?? null,
  };
}

/** The same of a target, which has neither percentiles nor a queue of its own. */
function gaugesOnTarget(span: TargetSpan | null): Gauges {
  return {
    ...gaugesOf(null),
    iops: span?.iops ?? null,
    bytesPerS: span?.bytes_per_s ?? null,
    meanNs: span?.mean_ns ?? null,
    maxNs: span?.max_ns ?? null,
    errors: span?.errors ?? null,
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
  const shares = (lastHost?.devices ?? []).map(({ name, busy }) => ({ name, busy }));
  return { processors: lastHost?.processors ?? null, device: busiest(shares) };
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

/** What a device did in a time, as the kernel counts it. */
interface DeviceSum {
  operations: number;
  bytes: number;
  waited_s: number;
  busy_s: number;
  covered_s: number;
}

function addedUp(sum: DeviceSum | undefined, { start_s, end_s }: HostEvent, use: DeviceUse): DeviceSum {
  const covered_s = end_s - start_s;
  return {
    operations: (sum?.operations ?? 0) + use.operations,
    bytes: (sum?.bytes ?? 0) + use.bytes,
    waited_s: (sum?.waited_s ?? 0) + use.waited_s,
    busy_s: (sum?.busy_s ?? 0) + use.busy * covered_s,
    covered_s: (sum?.covered_s ?? 0) + covered_s,
  };
}

/** A row per device: rates per second, the mean time of a request, the mean number in flight (both as whole milliseconds are
 * counted), and the share of the time with any. */
export interface DeviceRow {
  name: string;
  iops: number;
  bytesPerS: number;
  meanNs: number | null;
  depth: number;
  busy: number;
}

export function deviceRows(step: StepView, window: Window): DeviceRow[] {
  const { lastHost } = step;
  const sums =
    window === "since"
      ? [...step.devices]
      : (lastHost?.devices ?? []).map((use) => [use.name, addedUp(undefined, lastHost!, use)] as const);
  return sums
    .filter(([, sum]) => sum.covered_s > 0)
    .map(([name, { operations, bytes, waited_s, busy_s, covered_s }]) => ({
      name,
      iops: operations / covered_s,
      bytesPerS: bytes / covered_s,
      meanNs: operations > 0 ? (waited_s * 1e9) / operations : null,
      depth: waited_s / covered_s,
      busy: busy_s / covered_s,
    }));
}

/** What the rows of the table are: streams, streams that go to several targets on each of them, or targets. */
export type By = "stream" | "part" | "target";

/** A row of the table. */
export interface Row {
  /** Targets by name; of a row that a stream has for itself, the stream's. */
  names: string[];
  /** Names that are not told. */
  more: number;
  /** Of a stream's row: the target it is about, or all that it goes to where it has no row for each. */
  targets: { names: string[]; more: number } | null;
  streams: number[];
  /** Of a target's row: streams that go there, too, and whose part its figures lack: the first, and how many. */
  without: string[];
  withoutCount: number;
  figures: Gauges;
}

export function rows(step: StepView, by: By, window: Window): Row[] {
  if (by === "target") return targetRows(step, window);
  const streams = step.streams.map((_, at) => streamRow(step, at, window));
  if (by === "stream") return streams;
  const partOf = (row: Row, { target, [window]: span }: TargetFigures) => ({
    ...row,
    targets: { names: [target], more: 0 },
    figures: gaugesOnTarget(span),
  });
  return streams.flatMap((row, at) => {
    const parts = step.targets?.parts.filter((part) => part.streams.includes(at)) ?? [];
    if (parts.length > 0) return parts.map((part) => partOf(row, part));
    const { targets, target_count } = step.streams[at]!;
    return [{ ...row, targets: { names: targets, more: target_count - targets.length } }];
  });
}

function streamRow(step: StepView, at: number, window: Window): Row {
  const last = step.told[at];
  const reached_s = step.figures?.reached_s ?? 0;
  // A stream that has ended a while ago has no part in what happens now.
  const isNow = last && last.end_s > reached_s - 1.5 * (last.end_s - last.start_s);
  const span = window === "since" ? step.figures?.streams[at] : isNow ? last : null;
  const names = [step.streams[at]!.name];
  return { names, more: 0, targets: null, streams: [at], without: [], withoutCount: 0, figures: gaugesOf(span) };
}

/** A row per target; streams that are not told apart by target have one with those that go to the same ones. */
function targetRows({ streams, figures, targets }: StepView, window: Window): Row[] {
  const groups = figures?.groups ?? [];
  const isAlone = (at: number) => streams[at]?.target_count === 1;
  const told = (targets?.targets ?? []).map((target): Row => {
    // Of streams that go there and nowhere else, all is known.
    const same = (group: { streams: number[] }) => String(group.streams) === String(target.streams);
    const whole = target.streams.every(isAlone) ? groups.find(same) : undefined;
    return {
      names: [target.target],
      more: 0,
      targets: null,
      streams: target.streams,
      without: target.without.flatMap((at) => streams[at]?.name ?? []),
      withoutCount: target.without_count,
      figures: whole ? gaugesOf(whole[window]) : gaugesOnTarget(target[window]),
    };
  });
  const known = new Set(told.flatMap((row) => row.streams));
  const others = groups.filter((group) => !group.streams.some((at) => known.has(at)));
  return [
    ...told,
    ...others.map((group): Row => {
      const { targets = [], target_count = 0 } = streams[group.streams[0] ?? 0] ?? {};
      const more = target_count - targets.length;
      const figures = gaugesOf(group[window]);
      return { names: targets, more, targets: null, streams: group.streams, without: [], withoutCount: 0, figures };
    }),
  ];
}

/** The step as charts. Of several streams together rates add up, and the server has told the latencies. */
export function toCharts(step: StepView, marks: TimeMark[] = [], shown = chosen(namesOf(step), "").shown): StepCharts {
  const count = Math.max(0, ...step.cells.map((row) => row.length));
  const all = Array.from({ length: count }, (_, at) => {
    const sum = step.cells.reduce<Cell | undefined>((sum, row) => together(sum, row[at]), undefined);
    return sum && step.streams.length > 1 ? { ...sum, ...latenciesOf(step.all[at]) } : sum;
  });
  const series = [seriesOf("", all, step)];
  if (step.streams.length > 1) {
    for (const at of shown) {
      const [stream, row] = [step.streams[at], step.cells[at] ?? []];
      if (!stream) continue;
      series.push(
        seriesOf(
          stream.name,
          Array.from({ length: count }, (_, i) => row[i]),
          step,
        ),
      );
    }
  }
  return {
    index: step.index,
    name: step.name,
    cell_s: step.cell_s,
    reduced: step.together,
    window_s: [step.measuredFrom_s ?? 0, step.measuredFrom_s === null ? 0 : step.reached_s],
    series,
    streams_left_out: step.streams.length > 1 ? step.streams.length - (series.length - 1) : 0,
    curves: [],
    heat: heatOf(step.spreads, step.cell_s),
    busy: [...step.busy].map(([name, row]) => busyOf(name, row, count, step)),
    marks: marks
      .map(({ at_s, label }) => ({ at_s: at_s - step.start_s, label }))
      .filter(({ at_s }) => at_s >= 0 && (step.stop === null || at_s <= step.reached_s))
      .slice(-marksMax),
  };
}

export const namesOf = ({ streams }: StepView): string[] => streams.map(({ name }) => name);

function busyOf(name: string, row: (Share | undefined)[], count: number, step: StepView): Busy {
  const share = Array.from({ length: count }, (_, at) => {
    const of = row[at];
    return of && of.covered_s >= coveredMin * step.cell_s ? of.busy_s / of.covered_s : null;
  });
  return { name, share };
}

export function summed(spreads: Iterable<Spread | undefined>): Spread {
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

const latenciesOf = (cell: Cell | undefined) => ({
  meanNs: cell?.meanNs ?? null,
  p50Ns: cell?.p50Ns ?? null,
  p99Ns: cell?.p99Ns ?? null,
  p999Ns: cell?.p999Ns ?? null,
  maxNs: cell?.maxNs ?? null,
});

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

/** Which of the planned steps goes on, from 1: one that goes on with another load is the same. 0 before the first. */
export function position({ steps }: RunView): number {
  const changes = steps.slice(0, -1).filter(({ stop }) => stop === "changed").length;
  return (steps.at(-1)?.index ?? -1) + 1 - changes;
}

/** Seconds that the run may still take; null when nobody knows. */
export function remaining(view: RunView, nowMs: number): number | null {
  if (view.expectedSeconds === null || view.state !== "running") return null;
  const step = view.steps.at(-1);
  // Simulated time goes by as fast as it is computed, and no clock tells it.
  const gone = view.isSimulated ? (step ? step.start_s + step.reached_s : 0) : (nowMs - view.startedMs) / 1000;
  const left = view.expectedSeconds - gone;
  // A search may take longer than was thought; how much longer nobody knows then.
  return left > 0 ? left : null;
}
