// What plots are made of the data that crates/report writes: the fixture is the one that its tests keep.

import { beforeAll, describe, expect, test } from "vitest";
import * as format from "../format";
import fixture from "./charts.fixture.json";
import {
  heatOverTime,
  latencyOverTime,
  latencyTicks,
  logRange,
  ninesTicks,
  overTime,
  percentileCurves,
  shareOfLevel,
  sweepLatencies,
  sweepRates,
  tickRank,
  unpack,
} from "./spec";
import type { Charts, Sweep } from "./types";

// A field that is renamed on either side fails to compile or to be found here.
const charts = fixture as unknown as Charts;
const [step] = charts.steps;
if (!step) throw new Error("the fixture has a step");

beforeAll(() => format.setLocale("en-GB"));

describe("a step", () => {
  test("has a line for all streams and one for each", () => {
    const spec = overTime(step, "IOPS over time", "iops");
    expect(spec.lines.map((line) => line.label)).toEqual(["all streams", "a", "b"]);
    expect(spec.x).toEqual([0.5, 1.5, 2.5, 3.5]);
    expect(spec.lines[0]?.values).toEqual([1500, 1500, 1000, 1000]);
    expect(spec.lines[2]?.values).toEqual([500, 500, null, null]);
    expect(spec.shades).toEqual([]);
  });

  test("has no line for a percentile that no cell has operations for", () => {
    const few = structuredClone(step);
    few.series[0]!.p999_ns = few.series[0]!.p999_ns.map(() => null);
    const labels = (from: typeof step) => latencyOverTime(from, "").lines.map((line) => line.label);
    expect(labels(step)).toEqual(["p50", "p99", "p99.9", "max"]);
    expect(labels(few)).toEqual(["p50", "p99", "max"]);
  });

  test("shades what lies outside of the measure phase", () => {
    const ramped = { ...step, window_s: [2, 4] as [number, number] };
    expect(overTime(ramped, "", "iops").shades).toEqual([[0, 2]]);
  });

  test("has its moments on every chart over time, and a threshold on the one it is about", () => {
    const marked = {
      ...step,
      marks: [{ at_s: 1.5, label: "rebuild\u202e started" }],
      limits: [{ chart: "latency", at: 1e6, label: "p99 < 1.00 ms" }],
    };
    const moment = { label: "rebuild\\u{202e} started", axis: "x", at: 1.5, interval: null };
    expect(overTime(marked, "", "iops").marks).toEqual([moment]);
    expect(latencyOverTime(marked, "").marks).toEqual([
      moment,
      { label: "p99 < 1.00 ms", axis: "y", at: 1e6, interval: null },
    ]);
    expect(overTime({ ...step, marks: undefined, limits: undefined } as typeof step, "", "iops").marks).toEqual([]);
  });

  test("has curves over one axis of nines", () => {
    const spec = percentileCurves(step, "");
    expect(spec.lines.map((line) => line.label)).toEqual(["all", "read", "write"]);
    for (const line of spec.lines) expect(line.values.length).toBe(spec.x.length);
    expect(spec.x).toEqual([...spec.x].sort((a, b) => a - b));
  });

  test("has a heat map whose cells add up", () => {
    const spec = heatOverTime(step, step.heat!, "");
    const cells = spec.heat!;
    expect(cells.levels.length).toBe(cells.rows * cells.columns);
    expect(cells.edges.length).toBe(cells.rows + 1);
    for (let column = 0; column < cells.columns; column += 1) {
      const levels = cells.levels.subarray(column * cells.rows, (column + 1) * cells.rows);
      expect(Math.max(...levels)).toBeGreaterThan(0);
    }
    expect(spec.lines[0]?.values[0]).toBeLessThan(spec.lines[1]?.values[0] ?? 0);
  });

  test("shows the ramp and what is marked in its heat map as in its lines", () => {
    const ramped = { ...step, window_s: [step.cell_s, step.window_s[1]] as [number, number] };
    const [heat, lines] = [heatOverTime(ramped, step.heat!, ""), latencyOverTime(ramped, "")];
    expect(heat.shades).toContainEqual([0, step.cell_s]);
    expect(heat.shades).toEqual(lines.shades);
    expect(heat.marks).toEqual(lines.marks);
    expect(heat.marks?.length).toBeGreaterThan(0);
  });
});

describe("a sweep", () => {
  const values = [1000, 2000, 2100];
  const line = {
    iops: values,
    bytes_per_s: values,
    mean_ns: values,
    p50_ns: values,
    p99_ns: values,
    p999_ns: [null, null, null],
  };
  const sweep: Sweep = {
    option: "stream.queue_depth",
    labels: ["1", "4", "64"],
    positions: [1, 4, 64],
    axis: "log",
    lines_left_out: 0,
    lines: [{ name: "", ...line }],
  };

  test("has its values as ticks", () => {
    const spec = sweepRates(sweep, "");
    expect(spec.xAxis.ticks?.(1, 64)).toEqual([1, 4, 64]);
    expect(spec.xAxis.format(64)).toBe("64");
    expect(spec.xAxis.scale).toBe("log");
    expect(spec.yFromZero).toBe(true);
  });

  test("of one line shows its percentiles, of several their p99", () => {
    expect(sweepLatencies(sweep, "").lines.map((one) => one.label)).toEqual(["p50", "p99"]);
    const two = {
      ...sweep,
      lines: [
        { name: "read 0%", ...line },
        { name: "read 70%", ...line },
      ],
      lines_left_out: 3,
    };
    const spec = sweepLatencies(two, "");
    expect(spec.lines.map((one) => one.label)).toEqual(["read 0%, p99", "read 70%, p99"]);
    expect(spec.remark).toContain("3");
  });
});

test("packed levels come apart as they went in", () => {
  expect([...unpack("0c5a", 6)]).toEqual([0, 0, 0, 0, 5, 5]);
  expect([...unpack("123", 3)]).toEqual([1, 2, 3]);
  expect(shareOfLevel(9)).toBe(1);
  expect(shareOfLevel(1)).toBeCloseTo(1e-5, 12);
});

test("ticks are where people look for them", () => {
  expect(latencyTicks(100_000, 1_000_000)).toEqual([100_000, 200_000, 500_000, 1_000_000]);
  expect(latencyTicks(1_000, 100_000_000)).toEqual([1e3, 1e4, 1e5, 1e6, 1e7, 1e8]);
  // A narrow axis has two at least, wherever it is.
  expect(latencyTicks(30_000, 90_000)).toEqual([30_000, 50_000, 70_000]);
  for (const ratio of [3, 2, 1.3, 1.05, 1.001])
    for (let min = 1; min < 11; min *= 1.037) {
      const ticks = latencyTicks(min, min * ratio);
      expect(ticks.length, `${min} × ${ratio}`).toBeGreaterThan(1);
      expect(ticks.length, `${min} × ${ratio}`).toBeLessThan(9);
      for (const tick of ticks) expect(tick >= min * 0.999 && tick <= min * ratio * 1.001).toBe(true);
    }
  expect([1e6, 5e-3, 2e4, 3e4, 1e-4].map(tickRank)).toEqual([0, 1, 1, 2, 0]);
  expect(ninesTicks(0, 3.4).map(format.nines)).toEqual(["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
  const [low, high] = logRange(100, 110);
  expect(high / low).toBeCloseTo(3, 6);
  expect(logRange(null, null)).toEqual([1, 10]);
});

test("numbers read as people write them", () => {
  for (const [found, expected] of [
    [format.rate(57_960), "58k"],
    [format.rate(999_999), "1M"],
    [format.rate(0), "0"],
    [format.bandwidth(475_000_000), "475 MB/s"],
    [format.bytes(8192), "8 KiB"],
    [format.latency(257_300), "257 µs"],
    [format.latency(999_900), "1 ms"],
    [format.latency(73), "73 ns"],
    [format.clock(45), "45 s"],
    [format.clock(90), "1:30 min"],
    [format.clock(120), "2 min"],
    [format.clock(7200), "2 h"],
    [format.clock(7500), "2:05 h"],
    [format.clock(7510), "2:05:10 h"],
    [format.nines(4), "99.99 %"],
    [format.share(0.125), "13 %"],
    [format.duration(7.25), "7.3 s"],
    [format.duration(750), "12 min 30 s"],
    [format.duration(7500), "2 h 5 min"],
    [format.change(116, 100), "+16 %"],
    [format.change(97.5, 100), "-2.5 %"],
    [format.visible("a\u202eb\nc"), "a\\u{202e}b\\u{a}c"],
    [format.visible("größe اختبار"), "größe اختبار"],
  ]) {
    expect(found).toBe(expected);
  }
});
