// Steps between which only the load was changed are one time line.

import { expect, test } from "vitest";
import recorded from "./recorded.fixture.json";
import { chainOf, changesIn, joined } from "./continued";
import type { IntervalEvent, RunEvent } from "./events";
import { cellsMax, initial, position, reduce, toCharts, type RunView } from "./reducer";

const begun = (recorded as unknown as RunEvent[]).find((event) => event.event === "step_started")!;
const oneInterval = (recorded as unknown as RunEvent[]).find((event) => event.event === "interval") as IntervalEvent;
const startedMs = 1_000_000;

/** A run of one stream: each step with its seconds of IOPS, what ended it, and its grid. */
interface Played {
  iops: number[];
  stop: string | null;
  cell_s?: number;
  parameters?: [string, string][];
  stream?: string;
}

function played(steps: Played[]): RunView {
  const events: RunEvent[] = [
    { event: "run_started", run: "x", title: "", description: null, started_ms: startedMs, expected_seconds: null },
  ];
  // As in a run: some milliseconds are between the end of a step and the start of the next.
  let start_s = 0.04;
  steps.forEach(({ iops, stop, cell_s = 1, parameters = [], stream = "s" }, step) => {
    const streams = begun.event === "step_started" ? [{ ...begun.streams[0]!, name: stream }] : [];
    const started_ms = startedMs + Math.round(start_s * 1000);
    events.push({ event: "step_started", step, name: `step ${step}`, parameters, started_ms, streams });
    iops.forEach((rate, at) => {
      const all = { ...oneInterval.all, operations: rate * cell_s, iops: rate, bytes_per_s: rate * 4096 };
      const times = { start_s: at * cell_s, end_s: (at + 1) * cell_s };
      events.push({ ...oneInterval, ...times, step, stream: 0, phase: at === 0 && step === 0 ? "ramp" : "measure", all });
    });
    const elapsed_s = iops.length * cell_s;
    if (stop !== null) events.push({ event: "step_finished", step, stop, elapsed_s });
    start_s += elapsed_s + 0.02;
  });
  return events.reduce((view, event, id) => reduce(view, id, event), initial("x"));
}

const drawn = (view: RunView) => {
  const chain = chainOf(view.steps);
  return toCharts(joined(chain)!, changesIn(chain));
};

test("the time line goes on over changes of the load, with a mark at each", () => {
  const view = played([
    { iops: [9, 10], stop: "complete" },
    { iops: [100, 110, 120], stop: "changed" },
    { iops: [50, 51], stop: "changed", parameters: [["stream.s.rate", "50/s"]] },
    { iops: [70], stop: null, parameters: [["stream.s.rate", "70/s"]] },
  ]);
  const charts = drawn(view);
  expect(charts.series[0]!.iops).toEqual([100, 110, 120, 50, 51, 70]);
  expect(charts.cell_s).toBe(1);
  expect(charts.reduced).toBe(1);
  expect(charts.window_s).toEqual([0, 6]);
  expect(charts.index).toBe(1);
  expect(charts.marks!.map(({ at_s, label }) => [Math.round(at_s), label])).toEqual([
    [3, "stream.s.rate=50/s"],
    [5, "stream.s.rate=70/s"],
  ]);
  expect(charts.heat!.columns).toBe(6);
  // It is the second of the planned steps all along.
  expect(position(view)).toBe(2);
});

test("a step that has just begun keeps what was before it in sight", () => {
  const view = played([
    { iops: [1, 2], stop: "changed" },
    { iops: [], stop: null },
  ]);
  expect(drawn(view).series[0]!.iops).toEqual([1, 2]);
  // The ramp is still one.
  expect(drawn(view).window_s).toEqual([1, 2]);
});

test("steps that ended otherwise, or have other streams, are charts of their own", () => {
  const other = played([
    { iops: [1], stop: "changed", stream: "t" },
    { iops: [2], stop: null },
  ]);
  expect(chainOf(other.steps).map(({ index }) => index)).toEqual([1]);
  expect(joined(chainOf(other.steps))).toBe(other.steps[1]);
  expect(chainOf([])).toEqual([]);
  expect(joined([])).toBeUndefined();
});

test("grids of different cells become the coarser one, and a long chain fits", () => {
  const mixed = played([
    { iops: [10, 20, 30, 40], cell_s: 0.5, stop: "changed" },
    { iops: [7, 8], stop: null },
  ]);
  const charts = drawn(mixed);
  expect(charts.series[0]!.iops).toEqual([15, 35, 7, 8]);
  expect(charts.series[0]!.iops_min).toEqual([10, 30, 7, 8]);
  expect(charts.reduced).toBe(2);

  const long = Array.from({ length: 700 }, () => 5);
  const both = drawn(played([{ iops: long, stop: "changed" }, { iops: long, stop: null }]));
  expect(both.cell_s).toBe(2);
  expect(both.series[0]!.iops.length).toBe(700);
  expect(both.series[0]!.iops.length).toBeLessThanOrEqual(cellsMax);
  expect(both.series[0]!.iops.every((rate) => rate === 5)).toBe(true);
});
