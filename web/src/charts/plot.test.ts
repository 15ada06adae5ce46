// Drawings of the server as plots: places of all lines on one axis, names of places, what is marked in words.

import { expect, test } from "vitest";
import { setLocale } from "../format";
import { markInWords, plotOf } from "./plot";
import type { PlotData } from "./types";

setLocale("en-GB");

const curve: PlotData = {
  title: "Throughput over load",
  x: { label: "load", unit: "plain", is_log: true, names: [] },
  y: { label: "IOPS", unit: "rate", is_log: false, names: [] },
  lines: [
    { label: "measured", shape: "points", x: [1, 4], y: [1000, 3000], low: [900, 2800], high: [1100, 3200] },
    { label: "law", shape: "line", x: [1, 2, 4], y: [1000, 1800, 3000], low: [], high: [] },
  ],
  marks: [{ label: "knee", is_x: true, at: 3, interval: [2, 4] }],
  bands: [],
};

test("lines with places of their own share one axis", () => {
  const spec = plotOf(curve);
  expect(spec?.x).toEqual([1, 2, 4]);
  expect(spec?.lines[0]).toMatchObject({ values: [1000, null, 3000], low: [900, null, 2800], shape: "points" });
  expect(spec?.lines[1]?.values).toEqual([1000, 1800, 3000]);
  expect(spec?.lines[1]?.low).toBeUndefined();
  expect(spec?.xAxis.scale).toBe("log");
});

test("a mark is told with its interval", () => {
  const spec = plotOf(curve);
  if (!spec) throw new Error("there are points");
  expect(spec.marks?.map((mark) => markInWords(spec, mark))).toEqual(["knee: 3 (2 – 4)"]);
});

test("named places are ticks, and what lies between has the nearest name", () => {
  const names: [number, string][] = [
    [0, "4 KiB"],
    [3, "8 KiB"],
  ];
  const spec = plotOf({ ...curve, x: { label: "", unit: "plain", is_log: false, names } });
  expect(spec?.xAxis.ticks?.(0, 10)).toEqual([0, 3]);
  expect(spec?.xAxis.format(1)).toBe("4 KiB");
  expect(spec?.xAxis.format(2)).toBe("8 KiB");
});

test("without a point there is no plot", () => {
  expect(plotOf({ ...curve, lines: [] })).toBeNull();
});
