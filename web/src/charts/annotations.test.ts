// Names of marked places above a plot: none on another, none on the line of another, and as many as there is room for.

import { expect, test } from "vitest";
import { heightPlace, placed, pointsOf } from "./annotations";
import type { Line } from "./spec";

const spread = (ats: number[], label: string) => ats.map((at) => ({ at, label }));

test("a single name stands beside its line, on the side where there is room", () => {
  expect(placed(spread([10], "knee"), 400, 4)).toEqual([{ at: 10, text: "knee", from: 13, lane: 0 }]);
  const [tag] = placed(spread([395], "peak"), 400, 4);
  expect(tag?.lane).toBe(0);
  expect((tag?.from ?? 0) + 4 * 6.2).toBeLessThan(395);
});

test("names that would lie on one another go up like stairs", () => {
  const lanes = placed(spread([10, 30, 50], "a long name"), 400, 4);
  expect(lanes.map(({ at, lane }) => [at, lane])).toEqual([
    [50, 0],
    [30, 1],
    [10, 2],
  ]);
});

test("no name lies on another or on the line of another, however many there are", () => {
  for (let seed = 1; seed < 200; seed += 1) {
    const count = 1 + (seed % 9);
    const ats = Array.from({ length: count }, (_, i) => (seed * 7919 * (i + 3)) % 400);
    const tags = placed(
      ats.map((at, i) => ({ at, label: "x".repeat(1 + ((seed * (i + 5)) % 20)) })),
      400,
      4,
    );
    const shown = tags.filter((tag) => tag.lane >= 0).map((tag) => ({ ...tag, to: tag.from + tag.text.length * 6.2 }));
    expect(shown.length).toBeGreaterThan(0);
    for (const one of shown) {
      for (const other of shown) {
        if (one === other) continue;
        if (one.lane === other.lane) expect(one.to <= other.from || other.to <= one.from).toBe(true);
        // A line goes from its own row down to the plot.
        if (other.lane >= one.lane) expect(other.at <= one.from || other.at >= one.to).toBe(true);
      }
    }
  }
});

test("a long name is cut, and one without room is left to the words below", () => {
  expect(placed(spread([0], "n".repeat(60)), 400, 4)[0]?.text).toBe(`${"n".repeat(29)}…`);
  const lanes = placed(spread([1, 2, 3, 4, 5, 6], "all at one place"), 400, 4).map((tag) => tag.lane);
  expect(lanes.filter((lane) => lane >= 0).length).toBe(4);
});

test("the name of a height covers no point and no other name, or is not drawn", () => {
  const plot = { bbox: { left: 0, top: 0, width: 400, height: 200 } };
  // Points along the line but for a gap, over and under it.
  const points = [...Array(80).keys()].map((step) => step * 5).filter((x) => x < 150 || x > 260);
  const beside = (y: number) => points.map((x): [number, number] => [x, y]);
  const found = heightPlace(100, 60, [...beside(95), ...beside(108)], [], plot, 1);
  expect(found && found[0] >= 150 && found[0] + 60 <= 260).toBe(true);
  expect(heightPlace(100, 60, [...beside(95), ...beside(108)], [[120, 95, 150], [120, 114, 150]], plot, 1)).toBe(null);
  // At the upper edge it stands under its line.
  expect(heightPlace(4, 60, [], [], plot, 1)?.[1]).toBe(18);
});

test("a name stands over or under points that lie on its line", () => {
  const plot = { bbox: { left: 0, top: 0, width: 200, height: 200 } };
  const along = [...Array(40).keys()].map((step): [number, number] => [step * 5, 100]);
  const found = heightPlace(100, 180, along, [], plot, 1);
  expect(found && (found[1] < 100 ? found[1] <= 93 : found[1] >= 115)).toBe(true);
});

test("a name that is as long as the plot goes into a row above that of its neighbour", () => {
  const [first, second] = ["highest that keeps the limits", "lowest does not"];
  const tags = placed([{ at: 130, label: first }, { at: 135, label: second }], 265, 4);
  const of = (label: string) => tags.find(({ text }) => text === label);
  const [long, short] = [of(first), of(second)];
  expect([long?.lane, short?.lane].every((lane) => (lane ?? -1) >= 0)).toBe(true);
  const isApart = (long?.from ?? 0) + first.length * 6.2 <= (short?.from ?? 0);
  expect(long?.lane !== short?.lane || isApart).toBe(true);
});

test("the name of a height covers no whisker either", () => {
  const plot = { bbox: { left: 0, top: 0, width: 400, height: 200 }, valToPos: (value: number) => value };
  const line: Line = {
    ...{ label: "a", color: 0, dash: [], marked: false, shape: "points", format: String },
    // Points far above the line, whose whiskers cross it: low is further down on a canvas.
    ...{ values: [10, 10, 10], low: [180, 180, 180], high: [5, 5, 5] },
  };
  const spec = { x: [200, 300, 390], lines: [line] };
  const points = pointsOf(plot, spec, 1);
  expect(points.filter(([x]) => x === 300).length).toBeGreaterThan(20);
  const found = heightPlace(100, 80, points, [], plot, 1);
  expect(found).not.toBeNull();
  for (const x of spec.x) expect(x < found![0] - 4 || x > found![0] + 84).toBe(true);
  // An area around a line is no whisker; what joins two points is in the way as they are.
  const { shape: _, ...joined } = line;
  const falls = pointsOf(plot, { x: [200, 210], lines: [{ ...joined, values: [10, 180] }] }, 1);
  expect(falls.some(([x, y]) => x > 200 && x < 210 && Math.abs(y - 100) < 8)).toBe(true);
  expect(falls.every(([, y]) => y >= 10 && y <= 180)).toBe(true);
});
