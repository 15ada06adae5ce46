// Which steps of runs belong together, and what is told of them.

import { expect, test } from "vitest";
import type { Report } from "./api";
import { distinct, inCommon, loadCurves, numbered, without } from "./compared";

type Step = Report["steps"][number];
const step = (name: string, parameters: Record<string, string> = {}, iops = 1): Step =>
  ({
    name,
    parameters: Object.entries(parameters).map(([name, value]) => ({ name, value })),
    total: { all: { iops, response: { mean_ns: 1e6 / iops } } },
  }) as unknown as Step;
const depth = (of: number, name = `depth ${of}`, iops = of * 100) => step(name, { "stream.queue_depth": String(of) }, iops);

test("steps belong together by name, then by load, then where each run has one", () => {
  const sweep = [1, 2, 4].map((of) => depth(of));
  expect(inCommon([sweep, [depth(4), depth(8), depth(1)]])).toEqual([
    { name: "depth 1", places: [0, 2] },
    { name: "depth 4", places: [2, 0] },
  ]);
  // The same name again is the next of that name.
  expect(inCommon([[depth(1), depth(1)], [depth(1), depth(2), depth(1)]]).map(({ places }) => places)).toEqual([
    [0, 0],
    [1, 2],
  ]);
  const searched = [step("a", { "stream.users.queue_depth": "2" }), step("b", { "stream.users.queue_depth": "9" })];
  expect(inCommon([sweep, searched])).toEqual([{ name: "queue_depth=2", places: [1, 0] }]);
  expect(inCommon([[step("main")], [step("other")]])).toEqual([{ name: "main, other", places: [0, 0] }]);
  expect(inCommon([sweep, [step("main")]])).toEqual([]);
});

test("loads of several runs are drawn over one another, and a load that was measured twice is its mean", () => {
  const runs = [
    { name: "one", steps: [depth(4), depth(1), depth(1, "again", 300)] },
    { name: "two", steps: [depth(1), depth(2)] },
    { name: "other", steps: [step("main")] },
  ];
  const [rates, latencies] = loadCurves(runs);
  expect(rates?.lines.map(({ label, x, y }) => [label, x, y])).toEqual([
    ["one", [1, 4], [200, 400]],
    ["two", [1, 2], [100, 200]],
  ]);
  expect(latencies?.lines[1]?.y).toEqual([1e4, 5e3]);
  expect(loadCurves(runs.slice(1))).toEqual([]);
  const mixed = [step("a", { "x.queue_depth": "1", "x.read": "0%" }), step("b", { "x.queue_depth": "2", "x.read": "1%" })];
  expect(loadCurves([mixed, mixed].map((steps) => ({ name: "", steps })))).toEqual([]);
  const rated = ["1k/s", "2.5k/s"].map((rate) => step(rate, { "stream.rate": rate }));
  expect(loadCurves([rated, rated].map((steps) => ({ name: "", steps })))[0]?.lines[0]?.x).toEqual([1000, 2500]);
});

test("a run is compared once", () => {
  expect(distinct(["a", "a"])).toEqual(["a"]);
  expect(distinct(["a~b~a", "b~c", "b", "d"])).toEqual(["a~b", "c", "d"]);
});

test("runs that are gone are on no side, and a side without runs is none", () => {
  expect(without(["a~b", "c", "d"], ["b", "c"])).toEqual(["a", "d"]);
  expect(without(["a", "b"], [])).toEqual(["a", "b"]);
});

test("replicates of a load are told apart, and what is there once keeps its name", () => {
  expect(numbered(["depth 1", "depth 4", "depth 1", "depth 4", "depth 4", "rest"])).toEqual([
    "depth 1, 1 of 2",
    "depth 4, 1 of 3",
    "depth 1, 2 of 2",
    "depth 4, 2 of 3",
    "depth 4, 3 of 3",
    "rest",
  ]);
});
