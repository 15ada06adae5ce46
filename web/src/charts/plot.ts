// A drawing that the server or a report has made, as a plot: its places brought onto one axis, its units to words. Pure.

import * as format from "../format";
import { dashes } from "./palette";
import { latencyTicks, ninesTicks, type Axis, type Line, type Spec } from "./spec";
import type { PlotAxis, PlotData, PlotLine, Unit } from "./types";

const formats: Record<Unit, (value: number) => string> = {
  plain: format.plain,
  rate: format.rate,
  bandwidth: format.bandwidth,
  latency: format.latency,
  clock: format.clock,
  bytes: format.bytes,
  nines: format.nines,
  change: format.changed,
};

const clockIncrements = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

/** Powers of two, so that an axis of bytes has round sizes. */
const byteIncrements = Array.from({ length: 60 }, (_, power) => 2 ** power);

/** The name of a place, or of the one nearest to it. */
function nameAt(names: [number, string][], value: number): string {
  let nearest = names[0];
  for (const name of names) if (Math.abs(name[0] - value) < Math.abs((nearest?.[0] ?? Infinity) - value)) nearest = name;
  return nearest?.[1] ?? "";
}

function axis(of: PlotAxis): Axis {
  const made: Axis = { label: of.label, format: formats[of.unit], scale: of.is_log ? "log" : "linear" };
  if (of.names.length > 0) {
    const within = (min: number, max: number) => of.names.map(([at]) => at).filter((at) => at >= min && at <= max);
    return { ...made, format: (value) => nameAt(of.names, value), ticks: within, isNamed: true };
  }
  if (of.unit === "nines") return { ...made, ticks: ninesTicks };
  if (of.is_log) return { ...made, ticks: latencyTicks };
  if (of.unit === "clock") return { ...made, increments: clockIncrements };
  if (of.unit === "bytes") return { ...made, increments: byteIncrements };
  return made;
}

/** A line on the places of all. */
function line(of: PlotLine, at: number, x: number[], shown: (value: number) => string): Line {
  const places = new Map(of.x.map((place, index) => [place, index]));
  const values = (from: number[]) =>
    x.map((place) => {
      const index = places.get(place);
      return index === undefined ? null : (from[index] ?? null);
    });
  const shape = of.shape === "points" || of.shape === "bars" ? of.shape : undefined;
  return {
    label: format.inLocale(of.label),
    values: values(of.y),
    ...(of.low.length > 0 ? { low: values(of.low), high: values(of.high) } : {}),
    color: at,
    dash: of.shape === "bars" || of.shape === "points" ? [] : (dashes[at % dashes.length] ?? []),
    marked: of.shape === "joined" || of.shape === "points",
    ...(shape ? { shape } : {}),
    format: shown,
  };
}

/** The plot of a drawing; null where it has no point. */
export function plotOf(data: PlotData): Spec | null {
  const x = [...new Set(data.lines.flatMap((one) => one.x))].sort((a, b) => a - b);
  if (x.length === 0) return null;
  const shown = formats[data.y.unit];
  return {
    title: format.inLocale(data.title),
    x,
    lines: data.lines.map((one, at) => line(one, at, x, shown)),
    xAxis: axis(data.x),
    yAxis: axis(data.y),
    yFromZero: !data.y.is_log,
    shades: [],
    spanGaps: true,
    marks: data.marks.map(({ label, is_x, at, interval }) => ({
      label: format.inLocale(label),
      axis: is_x ? "x" : "y",
      at,
      interval,
    })),
    bands: data.bands.map((band) => ({ ...band, label: format.inLocale(band.label) })),
    isSigned: data.y.unit === "change",
    isSparse: true,
  };
}

/** A mark in words: what it is, where, and its interval. */
export function markInWords(spec: Spec, mark: NonNullable<Spec["marks"]>[number]): string {
  const shown = mark.axis === "x" ? spec.xAxis.format : spec.yAxis.format;
  const range = mark.interval ? ` (${shown(mark.interval[0])} – ${shown(mark.interval[1])})` : "";
  return `${mark.label}: ${shown(mark.at)}${range}`;
}
