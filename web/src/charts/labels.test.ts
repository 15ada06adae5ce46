// Names of ticks in the room that there is.

import { expect, test } from "vitest";
import { inOne, inRows } from "./labels";
import { tickRank } from "./spec";

/** Names at equal distances, each character 7 pixels wide. */
const every = (distance: number, names: string[]) => names.map((name, index) => ({ at: index * distance, name }));
const widthOf = (text: string) => text.length * 7;
const sizes = ["1024 KiB", "128 KiB", "64 KiB", "4 KiB"];

test("names are broken where they have blanks, so that none is left out", () => {
  expect(inRows(every(70, sizes), widthOf)).toEqual(sizes.map((name) => [name]));
  // One row each would leave some out, as it did with the bars of a PTS test.
  expect(inOne(every(50, sizes), widthOf)).toEqual([["1024 KiB"], null, ["64 KiB"], ["4 KiB"]]);
  expect(inRows(every(50, sizes), widthOf)).toEqual([["1024", "KiB"], ["128", "KiB"], ["64 KiB"], ["4 KiB"]]);
  const steps = ["curve, queue depth 1", "curve, queue depth 256"];
  expect(inRows(every(80, steps), widthOf)).toEqual([["curve,", "queue", "depth 1"], ["curve,", "queue", "depth 256"]]);
  // Three rows are enough to tell one from another.
  const long = inRows(every(80, ["read 70%, block size 64 KiB", "stream.users.queue_depth"]), widthOf);
  expect(long).toEqual([["read 70%,", "block size", "64 KiB"], null]);
  expect(inRows(every(19, ["a b c d e f", "g"]), widthOf)).toEqual([["a", "b", "c…"], ["g"]]);
});

test("names of two rows that touch even so stand in turns, so that none is left out", () => {
  // The bars of a PTS test on a phone: a word of four digits is wider than the room.
  const found = inRows(every(28, ["1024 KiB", "128 KiB", "64 KiB", "4 KiB"]), widthOf);
  expect(found).toEqual([["1024", "KiB"], ["", "", "128", "KiB"], ["64", "KiB"], ["", "", "4", "KiB"]]);
});

test("names at the ends are as narrow as there is room to the edge", () => {
  const steps = ["512 B; 100% Read; 0% random", "4 KiB; 50% Read; 100% random", "64 KiB; 0% Read; 0% random"];
  const drawn = { from: -60, to: 860 };
  const found = inRows(every(400, steps), widthOf, drawn);
  expect(found).toEqual([["512 B; 100% Read;", "0% random"], [steps[1]], ["64 KiB; 0% Read;", "0% random"]]);
  for (const [index, rows] of found.entries())
    for (const row of rows ?? []) {
      expect(400 * index - widthOf(row) / 2).toBeGreaterThanOrEqual(drawn.from);
      expect(400 * index + widthOf(row) / 2).toBeLessThanOrEqual(drawn.to);
    }
});

test("single words that touch stand in turns, and those that touch even so are left out", () => {
  const figures = ["IOPS", "bandwidth", "mean", "p50", "p90", "p99.9", "p99.99"];
  const found = inRows(every(36, figures), widthOf);
  const shown = figures.map((name, index) => (index % 2 === 0 ? [name] : ["", name]));
  expect(found).toEqual(shown);
  expect(inRows(every(10, figures), widthOf).filter((rows) => rows === null).length).toBeGreaterThan(2);
  expect(inRows(every(10, ["one"]), widthOf)).toEqual([["one"]]);
});

test("powers of ten have their names before what lies between them", () => {
  const names = ["50 µs", "100 µs", "200 µs", "500 µs", "1 ms", "2 ms", "5 ms", "10 ms"];
  const values = [50, 100, 200, 500, 1000, 2000, 5000, 10_000];
  const shown = (decade: number) => {
    const places = values.map((value, index) => ({
      at: decade * Math.log10(value),
      name: names[index]!,
      rank: tickRank(value * 1000),
    }));
    return inOne(places, () => 14).flatMap((rows) => rows ?? []);
  };
  expect(shown(70)).toEqual(names);
  // Where not all have room: it was 50 µs, 200 µs, 500 µs, 2 ms and 5 ms.
  expect(shown(50)).toEqual(["100 µs", "1 ms", "10 ms"]);
  // Where not even the powers have, every other.
  expect(shown(15)).toEqual(["100 µs", "10 ms"]);
});
