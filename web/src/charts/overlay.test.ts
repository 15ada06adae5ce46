// Runs over one another: each has a line that can be told from all others, on axes that hold them all.

import { expect, test } from "vitest";
import { allOf, ratesOf, type Compared } from "./overlay";
import type { Series, StepCharts } from "./types";

function run(name: string, cell_s: number, iops: number[], p99: (number | null)[]): Compared {
  const none = iops.map(() => null);
  const series: Series = {
    name: "",
    iops,
    iops_min: [],
    iops_max: [],
    bytes_per_s: iops.map((rate) => rate * 4096),
    mean_ns: none,
    p50_ns: none,
    p99_ns: p99,
    p999_ns: none,
    max_ns: none,
    depth: none,
    errors: [],
  };
  const step: StepCharts = {
    index: 0,
    name: "main",
    cell_s,
    reduced: 1,
    window_s: [0, 2],
    series: [series],
    streams_left_out: 0,
    curves: [{ kind: "all", latency: "response", count: 9, points: [[0, 10], [1, iops[0]!]] }],
    heat: null,
    busy: [],
    marks: [{ at_s: 1, label: `of ${name}` }],
  };
  return { name, step };
}

test("all runs are drawn over one another, and what none of them has is left out", () => {
  const runs = [run("a", 1, [1, 2], [5, 6]), run("b", 1, [3, 4], [7, 8]), run("c", 2, [9], [null])];
  const specs = allOf(runs, (title) => `${title}!`);
  expect(specs.map(({ title }) => title)).toEqual([
    "IOPS over time!",
    "Bandwidth over time!",
    "p99 response time over time!",
    "Latency by share of operations!",
  ]);
  for (const spec of specs) expect(spec.lines.map(({ label }) => label)).toEqual(["a", "b", "c"]);
  const [rates, , p99] = specs;
  // The long cell of the third run has its middle between those of the others.
  expect(rates!.x).toEqual([0.5, 1, 1.5]);
  expect(rates!.lines.map(({ values }) => values)).toEqual([[1, null, 2], [3, null, 4], [null, 9, null]]);
  expect(p99!.lines[1]!.values).toEqual([7, null, 8]);
  expect(p99!.yAxis.scale).toBe("log");
  // A mark of one run says nothing of the others.
  expect(rates!.marks).toBeUndefined();
});

test("no two of many lines look alike", () => {
  const runs = Array.from({ length: 40 }, (_, at) => run(String(at), 1, [at], [at]));
  const lines = ratesOf(runs, "")!.lines;
  const looks = lines.map(({ color, dash }) => `${color % 9}/${dash.join()}`);
  expect(new Set(looks).size).toBe(40);
});
