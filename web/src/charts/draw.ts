// A plot on uPlot: axes, lines, shades and heat in the colours of the page. Owns all that is drawn on the canvas; does not
// know of legends, keys or where the data comes from.

import uPlot from "uplot";
import { hatched } from "./hatch";
import { palette, type Palette } from "./palette";
import { inOne, inRows } from "./labels";
import { bands, laneCount, laneHeight, marks, whiskers } from "./annotations";
import { logRange, tickRank, type Axis, type HeatCells, type Line, type Spec } from "./spec";

const font = "12px system-ui, sans-serif";
/** Height of a row of a tick's name, and width of a character of it at most on average, CSS pixels. */
const rowHeight = 18;
const charWidth = 7;
/** Right of a plot with names at its axis, CSS pixels: half of the longest word that is not broken. */
const namedRoom = 62;
/** A height that is marked is on a linear axis only up to this many times what was measured. */
const markedMost = 2;

/** Whether the interval of a line is drawn as an area around it. */
const isArea = (line: Line) => line.shape === undefined && !line.marked && line.low !== undefined && line.high !== undefined;

/** The data as uPlot wants it: x, the lines, then low and high of those that have a band. */
export function columns(spec: Spec): uPlot.AlignedData {
  const areas = spec.lines.flatMap((line) => (isArea(line) ? [line.low, line.high] : []));
  return [spec.x, ...spec.lines.map((line) => line.values), ...areas] as uPlot.AlignedData;
}

/**
 * Options of a plot of this size. What is drawn is asked for anew each time: data may grow under a plot whose lines and
 * axes stay. `moved` is told of the place of the cursor, null when it has left.
 */
export function options(
  now: () => Spec,
  width: number,
  height: number,
  isDark: boolean,
  moved: (at: number | null, top: number | null) => void,
): uPlot.Options {
  const spec = now();
  const colors = palette(isDark);
  const color = (index: number) => colors.lines[index % colors.lines.length] ?? colors.text;
  const series: uPlot.Series[] = [{}];
  for (const line of spec.lines) {
    series.push({
      stroke: color(line.color),
      width: 1.75,
      dash: [...line.dash],
      spanGaps: spec.spanGaps,
      ...pathsOf(spec, line, color(line.color), colors.page),
    });
  }
  const areas: uPlot.Band[] = [];
  for (const line of spec.lines) {
    if (!isArea(line)) continue;
    const hidden = { paths: () => null, points: { show: false } };
    series.push(hidden, hidden);
    areas.push({ series: [series.length - 1, series.length - 2], fill: `${color(line.color)}33` });
  }
  return {
    width,
    height,
    // Labels stand under their ticks, also under the last, and that of many nines is long.
    // Names of marked places stand above the plot, where they cover no point.
    padding: [10 + laneHeight * laneCount(spec, width), spec.xAxis.isNamed ? namedRoom : spec.xAxis.ticks ? 42 : 24, 0, 0],
    legend: { show: false },
    cursor: {
      points: { show: !spec.heat, size: 7 },
      focus: { prox: -1 },
      drag: { x: true, y: false, setScale: true },
      ...(spec.group ? { sync: { key: spec.group, scales: ["x", null] } } : {}),
    },
    scales: { x: xScale(now), y: yScale(now) },
    axes: [axis(spec.xAxis, colors, false), axis(spec.yAxis, colors, true)],
    series,
    bands: areas,
    hooks: {
      drawClear: [(plot) => shade(plot, now(), colors), (plot) => bands(plot, now(), colors)],
      drawAxes: spec.heat ? [(plot) => heat(plot, now().heat as HeatCells, colors)] : [],
      draw: [(plot) => whiskers(plot, now(), colors), (plot) => marks(plot, now(), colors)],
      setCursor: [(plot) => moved(plot.cursor.idx ?? null, plot.cursor.top ?? null)],
    },
  };
}

/** How a line's points are joined and marked. */
function pathsOf(spec: Spec, line: Line, color: string, page: string): Partial<uPlot.Series> {
  // A heat map shows its own colours; its lines are there for the cursor only.
  if (spec.heat) return { paths: () => null, points: { show: false } };
  if (line.shape === "bars") {
    const paths = uPlot.paths.bars?.({ size: [0.9, 60] });
    return { ...(paths ? { paths } : {}), width: 1, fill: () => hatched(color, page, line.color), points: { show: false } };
  }
  const points = { show: true, size: line.shape === "points" ? 8 : 6, ...(line.shape === "points" ? { fill: color } : {}) };
  if (line.shape === "points") return { paths: () => null, points };
  // A computed line lies on many places; where one has two, their marks would be all there is.
  const few = spec.x.length < 3 && !spec.isSparse;
  return { points: line.marked || few ? points : spec.isSparse ? { show: false } : {} };
}

/** The first and the last place of a plot. */
const ends = (x: ArrayLike<number>): [number, number] => [x[0] ?? 0, x[x.length - 1] ?? 1];

/** Whether less than all of a plot is in view. */
export function isZoomed(plot: uPlot): boolean {
  const { min, max } = plot.scales.x ?? {};
  const [first, last] = ends(plot.data[0]);
  return typeof min === "number" && typeof max === "number" && (min > first || max < last);
}

function xScale(now: () => Spec): uPlot.Scale {
  const isLog = now().xAxis.scale === "log";
  return {
    time: false,
    distr: isLog ? 3 : 1,
    range: (plot, min, max) => {
      const spec = now();
      const [first, last] = ends(spec.x);
      // Zoomed in: as chosen. Else some room, so that the first and last mark are whole.
      if (min > first || max < last) return [min, max];
      if (spec.heat) return [0, spec.heat.columns * spec.heat.columnWidth];
      if (isLog) return first === last ? [first / 2, last * 2] : [first / 1.1, last * 1.1];
      if (spec.lines.some((line) => line.shape === "bars")) return [first - 0.7, last + 0.7];
      // A single place is in the middle; time does not begin before its begin.
      if (first === last) return [first >= 0 ? Math.max(0, first - 1) : first - 1, last + 1];
      const room = (last - first) * (plot.data[0].length < 40 ? 0.02 : 0);
      // What was marked in the last interval lies beyond the middle of it.
      const cell = (last - first) / Math.max(1, spec.x.length - 1);
      const marked = (spec.marks ?? []).filter((mark) => mark.axis === "x" && mark.at <= last + cell);
      return [first - room, Math.max(last + room, ...marked.map((mark) => mark.at))];
    },
  };
}

/** What of a plot its vertical axis has to reach, beside the lines. */
function reached(spec: Spec): { marked: number[]; drawn: number[] } {
  const marked = (spec.marks ?? []).filter((mark) => mark.axis === "y").map((mark) => mark.at);
  const whiskered = spec.lines.flatMap((line) => (isArea(line) ? [] : [...(line.low ?? []), ...(line.high ?? [])]));
  const shaded = (spec.bands ?? []).flatMap((band) => band.y);
  const drawn = [...whiskered, ...shaded].filter((value): value is number => value !== null);
  return { marked, drawn };
}

function yScale(now: () => Spec): uPlot.Scale {
  const spec = now();
  if (spec.heat) {
    return {
      distr: 3,
      range: () => {
        const edges = now().heat?.edges ?? [];
        return [edges[0] ?? 1, edges[edges.length - 1] ?? 10];
      },
    };
  }
  if (spec.yMost !== undefined) return { range: [0, spec.yMost] };
  if (spec.yAxis.scale === "log") {
    // The lowest bar has some height too.
    const base = spec.lines.some((line) => line.shape === "bars") ? 3 : 1;
    return {
      distr: 3,
      range: (_, min, max) => {
        const { marked, drawn } = reached(now());
        const above = [...drawn, ...marked].filter((value) => value > 0);
        const all = [...above, ...[min, max].filter((value) => value !== null && value > 0)];
        if (all.length === 0) return logRange(null, null);
        return logRange(Math.min(...all) / base, Math.max(...all));
      },
    };
  }
  // Rates begin at nothing: an axis that begins elsewhere makes a ripple look like a cliff.
  return {
    range: (_, min, max) => {
      const { marked, drawn } = reached(now());
      const most = Math.max(max, ...drawn);
      const top = Math.max(most, ...marked.filter((at) => at <= markedMost * most));
      if (!spec.isSigned) return [0, top > 0 ? top * 1.08 : 1];
      const bottom = Math.min(min, 0, ...drawn, ...marked);
      const room = Math.max(top - bottom, 0.01) * 0.08;
      return [bottom - room, Math.max(top, 0) + room];
    },
  };
}

function axis(of: Axis, colors: Palette, isVertical: boolean): uPlot.Axis {
  return {
    label: of.label,
    labelSize: 20,
    labelFont: font,
    font,
    stroke: colors.quiet,
    grid: { stroke: colors.grid, width: 1 },
    ticks: { stroke: colors.grid, width: 1, size: 5 },
    // As wide as the longest label: characters of this font are about 7 pixels wide.
    size: isVertical
      ? (_, values) => 16 + charWidth * Math.max(4, ...(values ?? []).map((value) => value.length))
      : (_, values) => 34 + rowHeight * (Math.max(1, ...(values ?? []).map((value) => value.split("\n").length)) - 1),
    lineGap: rowHeight / 12,
    space: isVertical ? 34 : 64,
    values: (plot, splits) => {
      const named = of.isNamed ? labels(plot, of, splits, !isVertical) : null;
      return splits.map((value) => (value === null ? "" : (named?.get(value) ?? of.format(value))));
    },
    ...(of.increments ? { incrs: of.increments } : {}),
    ...(of.ticks
      ? { splits: (plot, _, min, max) => [...labels(plot, of, of.ticks?.(min, max) ?? [], !isVertical).keys()] }
      : {}),
    ...(of.ticks ? { filter: (_, splits) => splits } : {}),
  };
}

/** Ticks of which no two labels touch, with what stands at each: names in as many rows as they need. */
function labels(plot: uPlot, of: Axis, ticks: number[], isHorizontal: boolean): Map<number, string> {
  const { ctx } = plot;
  const at = (tick: number) => (isHorizontal ? plot.valToPos(tick, "x") : -plot.valToPos(tick, "y"));
  ctx.save();
  ctx.font = font;
  const widthOf = (text: string) => (isHorizontal ? ctx.measureText(text).width : charWidth * 2);
  const isRanked = of.scale === "log" && !of.isNamed;
  const places = ticks.map((tick) => ({ at: at(tick), name: of.format(tick), rank: isRanked ? tickRank(tick) : 0 }));
  const left = plot.bbox.left / devicePixelRatio;
  const drawn = { from: 2 - left, to: plot.width - left - 2 };
  const placed = of.isNamed && isHorizontal ? inRows(places, widthOf, drawn) : inOne(places, widthOf);
  ctx.restore();
  return new Map(ticks.flatMap((tick, index) => (placed[index] ? [[tick, placed[index].join("\n")]] : [])));
}

/** What does not count lies behind a shade. */
function shade(plot: uPlot, spec: Spec, colors: Palette): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = colors.shade;
  for (const [from, to] of spec.shades) {
    const left = Math.max(plot.valToPos(from, "x", true), bbox.left);
    const right = Math.min(plot.valToPos(to, "x", true), bbox.left + bbox.width);
    if (right > left) ctx.fillRect(left, bbox.top, right - left, bbox.height);
  }
  ctx.restore();
}

function heat(plot: uPlot, cells: HeatCells, colors: Palette): void {
  const { ctx, bbox } = plot;
  const rows = cells.edges.map((edge) => Math.round(plot.valToPos(edge, "y", true)));
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (let column = 0; column < cells.columns; column += 1) {
    const left = Math.round(plot.valToPos(column * cells.columnWidth, "x", true));
    const right = Math.round(plot.valToPos((column + 1) * cells.columnWidth, "x", true));
    if (right < bbox.left || left > bbox.left + bbox.width) continue;
    for (let row = 0; row < cells.rows; row += 1) {
      const level = cells.levels[column * cells.rows + row] ?? 0;
      if (level === 0) continue;
      const [bottom, top] = [rows[row] ?? 0, rows[row + 1] ?? 0];
      ctx.fillStyle = colors.heat[level - 1] ?? colors.text;
      ctx.fillRect(left, top, Math.max(right - left, 1), Math.max(bottom - top, 1));
    }
  }
  ctx.restore();
}
