// The reducer on recorded events: two streams, one of which ends early, as `fathom serve` sends them.

import { expect, test } from "vitest";
import recorded from "./recorded.fixture.json";
import type { IntervalEvent, RunEvent } from "./events";
import {
  cellsMax,
  deviceRows,
  gaugesOf,
  hostLast,
  hostSince,
  initial,
  position,
  reduce,
  remaining,
  rows,
  toCharts,
  type RunView,
} from "./reducer";

const events = recorded as unknown as RunEvent[];

function replay(list: RunEvent[], from: RunView = initial("x")): RunView {
  return list.reduce((view, event, id) => reduce(view, id, event), from);
}

/** The first so many events, and what was told of streams together after them. */
function first(count: number): RunEvent[] {
  let left = count;
  const next = events.findIndex(({ event }) => event !== "figures" && (left -= 1) < 0);
  return next < 0 ? events : events.slice(0, next);
}

test("a recorded run gives its view", () => {
  const view = replay(events);
  expect(view.title).toBe("two streams");
  expect(view.state).toBe("complete");
  expect(view.notes.map((note) => note.message)).toEqual(["mark at 2.00 s: half of it"]);
  const [step] = view.steps;
  const charts = toCharts(step!);
  expect(charts.series.map((series) => series.name)).toEqual(["", "reads", "log"]);
  expect(charts.window_s).toEqual([1, 5]);
  expect(charts.series[0]!.iops).toEqual([900, 1500, 1500, 1000, 1000]);
  expect(charts.series[2]!.iops).toEqual([null, 500, 500, null, null]);
  // Of the operations of both streams, not of the slower one.
  expect([charts.series[0]!.p99_ns[1], charts.series[2]!.p99_ns[1]]).toEqual([3_400_000, 4_000_000]);
  // Rows 79 to 90, two streams alike: 1000, 760, 30 and 10 of 1800 in a second.
  const heat = charts.heat!;
  expect([heat.column_s, heat.columns, heat.rows, heat.from_log2_ns]).toEqual([1, 5, 12, 79 / 4]);
  expect(heat.cells.slice(12, 24)).toBe("980006000005");
  expect(heat.share_max).toBeCloseTo(500 / 900, 6);
});

test("a mark is on the time line of its step, and of no other", () => {
  const view = replay(events);
  const begun = events.find((event) => event.event === "step_started")!;
  // Another step began ten seconds after the run, when the first had ended.
  const late = { ...begun, step: 1, started_ms: view.startedMs + 10_000 } as RunEvent;
  const mark = (at_s: number): RunEvent => ({
    event: "note",
    at_s,
    kind: "mark",
    severity: "info",
    message: `mark at ${at_s} s: fan: off`,
  });
  const both = [late, mark(9.75), mark(12)].reduce((view, event, at) => reduce(view, 1000 + at, event), view);
  const marksOf = (at: number) => toCharts(both.steps[at]!, both.marks).marks;
  expect(marksOf(1)).toEqual([{ at_s: 2, label: "fan: off" }]);
  expect(marksOf(0)).toEqual([{ at_s: 1.5, label: "half of it" }]);
});

test("a table tells of one moment", () => {
  const whole = replay(events);
  const step = whole.steps[0]!;
  const was = rows(step, "stream", "last").map(({ figures }) => figures.iops);
  const interval = events.findLast((event) => event.event === "interval") as IntervalEvent;
  const length = interval.end_s - interval.start_s;
  // A stream is ahead: its next interval is shown with the figures that have it, and not before.
  const ahead = {
    ...interval,
    start_s: interval.end_s,
    end_s: interval.end_s + length,
    all: { ...interval.all, iops: 77 },
  };
  const early = reduce(whole, 1000, ahead);
  expect(rows(early.steps[0]!, "stream", "last").map(({ figures }) => figures.iops)).toEqual(was);
  const again = reduce(early, 1001, { ...step.figures! });
  expect(rows(again.steps[0]!, "stream", "last").map(({ figures }) => figures.iops)).toEqual(was);
  const told = reduce(again, 1002, { ...step.figures!, reached_s: ahead.end_s });
  expect(rows(told.steps[0]!, "stream", "last")[interval.stream]!.figures.iops).toBe(77);
  // Where targets are told, the sum waits for them.
  const targets: RunEvent = { event: "targets", step: 0, parts: [], targets: [] };
  const apart = reduce(told, 1003, targets);
  const next = { ...step.figures!, reached_s: ahead.end_s + length };
  const half = reduce(apart, 1004, next);
  expect(half.steps[0]!.figures!.reached_s).toBe(ahead.end_s);
  expect(reduce(half, 1005, targets).steps[0]!.figures!.reached_s).toBe(next.reached_s);
});

test("streams without lines of their own are counted, and can be chosen", () => {
  const step = replay(events).steps[0]!;
  const one = { ...step, streams: Array.from({ length: 64 }, (_, at) => ({ ...step.streams[0]!, name: `s${at}` })) };
  expect(toCharts(one).streams_left_out).toBe(56);
  const chosen = toCharts(one, [], [47, 3]);
  expect(chosen.series.map(({ name }) => name)).toEqual(["", "s47", "s3"]);
  expect(chosen.streams_left_out).toBe(62);
  expect(toCharts(step).streams_left_out).toBe(0);
});

test("how busy the host was is on the cells of the step", () => {
  const step = replay(events).steps[0]!;
  expect(toCharts(step).busy).toEqual([
    { name: "", share: [0.25, 0.25, 0.5, 0.5, 0.5] },
    { name: "nvme0n1", share: [0.9, 0.9, 1, 1, 1] },
    { name: "nvme1n1", share: [0.4, 0.4, 0.2, 0.2, 0.2] },
  ]);
  expect(hostLast(step)).toEqual({ processors: 0.5, device: { name: "nvme0n1", busy: 1 } });
  // From the end of the ramp: one second of the first sample, two and a half of the second.
  const since = hostSince(step);
  expect(since.processors).toBeCloseTo((0.25 + 2.5 * 0.5) / 3.5, 9);
  expect(since.device!.busy).toBeCloseTo((0.9 + 2.5) / 3.5, 9);
  expect(hostSince(replay(events.slice(0, 2)).steps[0]!)).toEqual({ processors: null, device: null });
});

test("devices have rows of what the kernel counted", () => {
  const step = replay(events).steps[0]!;
  const length_s = step.lastHost!.end_s - step.lastHost!.start_s;
  const [first, second] = deviceRows(step, "last");
  expect(first).toMatchObject({ name: "nvme0n1", iops: 3000 / length_s, meanNs: 2e6, depth: 6 / length_s, busy: 1 });
  expect(first!.bytesPerS).toBeCloseTo((3000 * 4096) / length_s, 6);
  expect(second).toMatchObject({ name: "nvme1n1", iops: 600 / length_s });
  // The sample that began in the ramp is no part of what was measured.
  expect(deviceRows(step, "since")).toEqual(deviceRows(step, "last"));
  expect(deviceRows(replay(events.slice(0, 2)).steps[0]!, "last")).toEqual([]);
});

test("rows are streams, or all that go to the same targets", () => {
  const step = replay(first(6)).steps[0]!;
  expect(rows(step, "stream", "last").map(({ names }) => names)).toEqual([["reads"], ["log"]]);
  expect(rows(step, "stream", "last")[1]!.figures).toMatchObject({ iops: 500, depth: 2, p99Ns: 4_000_000 });
  expect(rows(step, "stream", "since")[0]!.figures).toMatchObject({ iops: 1000, depth: 4, p99Ns: 3_000_000 });
  const [reads, log] = step.streams;
  const figures = { ...step.figures!, groups: [{ streams: [0, 1], last: step.figures!.last, since: null }] };
  const shared = { ...step, streams: [{ ...reads!, targets: ["a", "b"], target_count: 20 }, log!], figures };
  expect(rows(shared, "target", "last")).toEqual([
    {
      names: ["a", "b"],
      more: 18,
      targets: null,
      streams: [0, 1],
      without: [],
      withoutCount: 0,
      figures: gaugesOf(step.figures!.last),
    },
  ]);
  expect(rows(shared, "target", "since")[0]!.figures.iops).toBeNull();
});

test("streams on several targets have rows for each of them", () => {
  const [run, started] = first(6) as [RunEvent, Extract<RunEvent, { event: "step_started" }>];
  const [reads, log] = started.streams;
  // The first goes to two, the second to the second of these, the third to too many.
  const streams = [
    { ...reads!, targets: ["a", "b"], target_count: 2 },
    { ...log!, targets: ["b"] },
    { ...log!, name: "alone", targets: ["c"] },
    { ...log!, name: "many", targets: ["d", "e"], target_count: 100 },
  ];
  const span = (iops: number) => ({
    start_s: 1,
    end_s: 2,
    operations: iops,
    errors: 3,
    iops,
    bytes_per_s: 4096 * iops,
    mean_ns: 1e6,
    max_ns: 5e6,
  });
  const of = (target: string, streams: number[], last: number | null, since: number) => ({
    target,
    streams,
    without: [],
    without_count: 0,
    last: last === null ? null : span(last),
    since: span(since),
  });
  const [known] = events.filter((event) => event.event === "figures").slice(-1);
  const wholes = [[0], [1], [2], [3]].map((of) => ({ streams: of, last: known!.last, since: known!.since }));
  const told: RunEvent[] = [
    run,
    { ...started, streams },
    { ...known!, groups: wholes, streams: [known!.since, known!.since, known!.since, known!.since] },
    { event: "targets", step: 0, parts: [of("a", [0], 9, 9)], targets: [] },
    {
      event: "targets",
      step: 0,
      parts: [of("a", [0], 700, 600), of("b", [0], 300, 250)],
      targets: [
        of("a", [0], 700, 600),
        { ...of("b", [0, 1], 800, 750), without: [3], without_count: 500 },
        of("c", [2], null, 5),
      ],
    },
  ];
  const step = replay(told).steps[0]!;
  const shown = (by: "part" | "target", window: "last" | "since") =>
    rows(step, by, window).map(({ names, targets, figures }) => [...names, ...(targets?.names ?? []), figures.iops]);
  const whole = { last: known!.last!.all.iops, since: known!.since!.all.iops };
  // Of those that go to one target alone all is known; those on too many have one row.
  expect(shown("target", "last")).toEqual([["a", 700], ["b", 800], ["c", whole.last], ["d", "e", whole.last]]);
  expect(shown("target", "since")).toEqual([["a", 600], ["b", 750], ["c", whole.since], ["d", "e", whole.since]]);
  expect(shown("part", "since")).toEqual([
    ["reads", "a", 600],
    ["reads", "b", 250],
    ["log", "b", whole.since],
    ["alone", "c", whole.since],
    ["many", "d", "e", whole.since],
  ]);
  expect(rows(step, "part", "last").at(-1)!.targets!.more).toBe(98);
  expect(rows(step, "target", "last")[1]).toEqual({
    names: ["b"],
    more: 0,
    targets: null,
    streams: [0, 1],
    without: ["many"],
    withoutCount: 500,
    figures: {
      iops: 800,
      bytesPerS: 800 * 4096,
      meanNs: 1e6,
      maxNs: 5e6,
      errors: 3,
      p50Ns: null,
      p99Ns: null,
      depth: null,
    },
  });
});

test("what comes again after a lost connection changes nothing", () => {
  const whole = replay(events);
  const twice = events.slice(3).reduce((view, event, at) => reduce(view, at + 3, event), whole);
  expect(twice).toBe(whole);
});

test("nothing that went in is changed by what comes later", () => {
  const half = replay(first(5));
  const kept = structuredClone(half);
  replay(events, half);
  events.slice(first(5).length).forEach((event, at) => reduce(half, at + first(5).length, event));
  expect(half).toEqual(kept);
});

test("gauges tell the last interval, or all that counts", () => {
  const view = replay(first(6));
  const step = view.steps[0]!;
  const { last, since } = step.figures!;
  expect(gaugesOf(last)).toMatchObject({ iops: 1500, bytesPerS: 6_144_000, p99Ns: 3_400_000, depth: 6 });
  expect(gaugesOf(since)).toMatchObject({ iops: 1500, errors: 0, p99Ns: 3_400_000 });
  expect(gaugesOf(replay(events).steps[0]!.figures!.since).errors).toBe(2);
  expect(remaining(view, view.startedMs + 2000)).toBe(3);
});

test("what is simulated is left in its own time, and only where all of it is", () => {
  const note = (message: string): RunEvent => ({ event: "note", at_s: 0, kind: "engine", severity: "info", message });
  const [run, step_started] = events as [RunEvent, RunEvent];
  const simulated = 'stream "s" runs on sim (virtual time)';
  const of = (...messages: string[]) => replay([run, ...messages.map(note), step_started]);
  expect(replay([run]).isSimulated).toBeNull();
  expect(of(simulated).isSimulated).toBe(true);
  expect(of(simulated, 'stream "t" runs on io_uring').isSimulated).toBe(false);
  expect(of('stream "virtual time" runs on io_uring').isSimulated).toBe(false);
  // Three seconds of five have been simulated, whatever a clock says.
  const view = of(simulated);
  const step = { ...view.steps[0]!, start_s: 1, reached_s: 2 };
  const reached = { ...view, expectedSeconds: 5, steps: [step] };
  expect(remaining(reached, view.startedMs + 100)).toBe(2);
  expect(remaining({ ...reached, isSimulated: false }, view.startedMs + 1000)).toBe(4);
});

test("the step that goes on is told by its number, from one", () => {
  const begun = events.find((event) => event.event === "step_started")!;
  expect(position(initial("x"))).toBe(0);
  const third = replay([events[0]!, { ...begun, step: 2 } as RunEvent]);
  expect(position(third)).toBe(3);
});

test("days of a run stay as small as minutes, and keep every operation", () => {
  const interval = (at: number): IntervalEvent => ({
    event: "interval",
    step: 0,
    stream: 0,
    start_s: at,
    end_s: at + 1,
    phase: "measure",
    late: false,
    queue_depth_held: 4,
    all: {
      kind: "all",
      operations: at % 2 === 0 ? 100 : 300,
      errors: 0,
      iops: at % 2 === 0 ? 100 : 300,
      bytes_per_s: 4096,
      mean_ns: 1000,
      p50_ns: 900,
      p99_ns: at === 777 ? 9_000_000 : 5000,
      p999_ns: null,
      max_ns: 6000,
    },
    spread: [[40, 10]],
  });
  const [run, step_started] = events as [RunEvent, Extract<RunEvent, { event: "step_started" }>];
  let view = replay([run, { ...step_started, streams: step_started.streams.slice(0, 1) }]);
  const seconds = 5000;
  for (let at = 0; at < seconds; at += 1) {
    view = reduce(view, 100 + 2 * at, interval(at));
    const host = { event: "host", step: 0, start_s: at, end_s: at + 1, processors: at % 2, devices: [] } as const;
    view = reduce(view, 101 + 2 * at, { ...host, devices: [] });
  }
  const step = view.steps[0]!;
  expect(step.cells[0]!.length).toBeLessThanOrEqual(cellsMax);
  expect(step.together).toBe(8);
  const charts = toCharts(step);
  const all = charts.series[0]!;
  expect(all.iops.reduce<number>((sum, iops) => sum + (iops ?? 0) * charts.cell_s, 0)).toBeCloseTo(seconds * 200, 3);
  expect([all.iops_min[0], all.iops_max[0]]).toEqual([100, 300]);
  expect(Math.max(...all.p99_ns.map((ns) => ns ?? 0))).toBe(9_000_000);
  expect(new Set(charts.busy[0]!.share)).toEqual(new Set([0.5]));
  expect(charts.heat!.columns).toBeLessThanOrEqual(240);
  expect([...step.spreads].flatMap((spread) => [...(spread ?? [])])).toEqual(
    [...step.spreads].map(() => [40, expect.any(Number)]),
  );
  expect(step.spreads.reduce((sum, spread) => sum + (spread?.get(40) ?? 0), 0)).toBe(seconds * 10);
});
