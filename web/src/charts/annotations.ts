// What lies over and under the lines of a plot: intervals as whiskers, values that mean something as dashed lines with their
// names, parts of the plane as bands. Owns how they are drawn; what they mean is the drawing's.

import type uPlot from "uplot";
import type { Palette } from "./palette";
import type { Line, Mark, Spec } from "./spec";

/** Pixels of the canvas in one of the page. */
const ratio = () => devicePixelRatio || 1;

/** Draws inside of the axes. */
function inside(plot: uPlot, draw: (ctx: CanvasRenderingContext2D) => void): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw(ctx);
  ctx.restore();
}

/** Parts of the plane, and intervals of marks. */
export function bands(plot: uPlot, spec: Spec, colors: Palette): void {
  const { bbox } = plot;
  inside(plot, (ctx) => {
    const fill = (x: [number, number] | null, y: [number, number] | null, color: string) => {
      const [left, right] = x
        ? [plot.valToPos(x[0], "x", true), plot.valToPos(x[1], "x", true)]
        : [bbox.left, bbox.left + bbox.width];
      const [bottom, top] = y
        ? [plot.valToPos(y[0], "y", true), plot.valToPos(y[1], "y", true)]
        : [bbox.top + bbox.height, bbox.top];
      ctx.fillStyle = color;
      ctx.fillRect(left, top, Math.max(right - left, 1), Math.max(bottom - top, 1));
    };
    for (const band of spec.bands ?? []) fill(band.x, band.y, `${colors.lines[2] ?? colors.text}38`);
    for (const mark of spec.marks ?? []) {
      if (mark.interval)
        fill(mark.axis === "x" ? mark.interval : null, mark.axis === "y" ? mark.interval : null, colors.shade);
    }
  });
}

/** Whether the intervals of a line are whiskers, and no area. */
const hasWhiskers = ({ shape, marked }: Line) => shape !== undefined || marked;

/** Intervals of points. */
export function whiskers(plot: uPlot, spec: Spec, colors: Palette): void {
  inside(plot, (ctx) => {
    const cap = 4 * ratio();
    ctx.lineWidth = 1.5 * ratio();
    spec.lines.forEach((line, index) => {
      const { low, high } = line;
      if (!low || !high || !hasWhiskers(line) || plot.series[index + 1]?.show === false) return;
      ctx.strokeStyle =
        line.shape === "bars" ? colors.text : (colors.lines[line.color % colors.lines.length] ?? colors.text);
      spec.x.forEach((place, at) => {
        const [from, to] = [low[at], high[at]];
        if (typeof from !== "number" || typeof to !== "number" || from === to) return;
        const [x, bottom, top] = [
          plot.valToPos(place, "x", true),
          plot.valToPos(from, "y", true),
          plot.valToPos(to, "y", true),
        ];
        ctx.beginPath();
        ctx.moveTo(x, bottom);
        ctx.lineTo(x, top);
        for (const end of [bottom, top]) {
          ctx.moveTo(x - cap, end);
          ctx.lineTo(x + cap, end);
        }
        ctx.stroke();
      });
    });
  });
}

/**
 * Values of the axes that mean something, with their names: those of places above the plot, those of heights where no point
 * is.
 */
export function marks(plot: uPlot, spec: Spec, colors: Palette): void {
  const { ctx, bbox } = plot;
  const [right, bottom] = [bbox.left + bbox.width, bbox.top + bbox.height];
  const scale = ratio();
  const all = spec.marks ?? [];
  const at = (mark: Mark) => plot.valToPos(mark.at, mark.axis, true);
  const places = all.filter((mark) => mark.axis === "x" && at(mark) >= bbox.left - 1 && at(mark) <= right + 1);
  const heights = all.filter((mark) => mark.axis === "y" && at(mark) >= bbox.top - 1 && at(mark) <= bottom + 1);
  const lanes = laneCount(spec, plot.width);
  const tags = placed(
    places.map((mark) => ({ at: (at(mark) - bbox.left) / scale, label: mark.label })),
    bbox.width / scale,
    lanes,
  );
  ctx.save();
  ctx.font = `${11 * scale}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.lineWidth = scale;
  ctx.strokeStyle = colors.text;
  ctx.fillStyle = colors.text;
  ctx.setLineDash([3 * scale, 3 * scale]);
  for (const { at, lane, from, text } of tags) {
    const x = bbox.left + at * scale;
    const base = bbox.top - (4 + laneHeight * Math.max(lane, 0)) * scale;
    // A name that goes on over its own line is not struck through by it.
    const isOver = from < at && from + ctx.measureText(text).width / scale > at;
    ctx.beginPath();
    ctx.moveTo(x, lane < 0 ? bbox.top : base + (isOver ? 3 : -9) * scale);
    ctx.lineTo(x, bottom);
    ctx.stroke();
    if (lane >= 0) ctx.fillText(text, bbox.left + from * scale, base);
  }
  const points = pointsOf(plot, spec, scale);
  const taken: [number, number, number][] = [];
  for (const mark of heights) {
    ctx.beginPath();
    ctx.moveTo(bbox.left, at(mark));
    ctx.lineTo(right, at(mark));
    ctx.stroke();
    const text = shortened(mark.label);
    const place = heightPlace(at(mark), ctx.measureText(text).width + 6 * scale, points, taken, plot, scale);
    // Where there is no room beside points and other names, the words below tell it alone.
    if (!place) continue;
    const [x, y, width] = place;
    taken.push(place);
    ctx.fillStyle = `${colors.page}a8`;
    ctx.fillRect(x, y - 11 * scale, width, 14 * scale);
    ctx.fillStyle = colors.text;
    ctx.fillText(text, x + 3 * scale, y);
  }
  ctx.restore();
}

/** Height of a row of names above a plot, CSS pixels. */
export const laneHeight = 15;
/** Rows of names at most; a name that finds no room is told below the plot alone. */
const lanesMax = 4;
/** Characters of a name on the plot; all of it stands below. */
const charsMax = 30;
/** Width of a character of the names, CSS pixels, at most on average. */
const charWidth = 6.2;
/** About what the vertical axis and the room at the right take of a plot's width. */
const axesWidth = 110;
/** By how much they may take more or less. */
const axesOff = 30;

const shortened = (label: string) => (label.length > charsMax ? `${label.slice(0, charsMax - 1)}…` : label);

/** Where the name of a place stands. */
export interface Tag {
  at: number;
  text: string;
  /** Where the text begins. */
  from: number;
  /** Row above the plot, from the lowest; -1 where there is no room. */
  lane: number;
}

/** Rows that the names of a plot of this width take. */
export function laneCount(spec: Spec, width: number): number {
  const inner = Math.max(width - axesWidth, 60);
  const [first, last] = [spec.x[0] ?? 0, spec.x.at(-1) ?? 1];
  const isLog = spec.xAxis.scale === "log" && first > 0;
  const on = (value: number) => (isLog ? Math.log(value) : value);
  const share = (value: number) => (last > first ? (on(value) - on(first)) / (on(last) - on(first)) : 0.5);
  const places = (spec.marks ?? []).filter((mark) => mark.axis === "x");
  // What the axes take is known only once they are drawn: the most rows of all that may be.
  const tags = [-axesOff, 0, axesOff].flatMap((off) =>
    placed(
      places.map((mark) => ({ at: share(mark.at) * (inner + off), label: mark.label })),
      inner + off,
      lanesMax,
    ),
  );
  return Math.max(0, ...tags.map((tag) => tag.lane + 1));
}

/**
 * Names in rows, so that none lies on another, nor on the line of another. Right of its line where there is room for that,
 * which makes stairs going down; else left of it.
 */
export function placed(places: { at: number; label: string }[], width: number, lanes: number): Tag[] {
  const made = places.map(({ at, label }) => {
    const text = shortened(label);
    const long = text.length * charWidth + 6;
    const isRight = at + long <= width;
    return {
      at,
      text,
      from: isRight ? at + 3 : Math.max(at - long + 3, 0),
      // Where it is as long as all there is on the left, it goes on over its line, and so into a row of its own.
      to: isRight ? at + long : Math.max(at - 3, long - 3),
      isRight,
      lane: -1,
    };
  });
  made.sort((a, b) => (a.isRight !== b.isRight ? Number(b.isRight) - Number(a.isRight) : b.at - a.at));
  const done: typeof made = [];
  for (const tag of made) {
    const isFree = (lane: number) =>
      done.every((other) => {
        if (other.lane < 0) return true;
        // The line of one goes through the rows below its own.
        const isOn = other.lane === lane && tag.from < other.to + 4 && other.from < tag.to + 4;
        const crosses = other.lane < lane && tag.at > other.from - 3 && tag.at < other.to + 3;
        const isCrossed = other.lane > lane && other.at > tag.from - 3 && other.at < tag.to + 3;
        const touches = other.lane === lane && other.at > tag.from - 3 && other.at < tag.to + 3;
        return !isOn && !crosses && !isCrossed && !touches;
      });
    const free = Array.from({ length: lanes }, (_, lane) => lane).find(isFree);
    tag.lane = free ?? -1;
    done.push(tag);
  }
  return done.map(({ at, text, from, lane }) => ({ at, text, from, lane }));
}

/** Pixels between two points along what is drawn that a name may not cover: fewer than a name is high. */
const drawnStep = 8;
/** Pixels of the page that are more than any plot is high. */
const bottomMost = 2000;

/** Points along a straight line, with its end and without its beginning. */
function along([fromX, fromY]: [number, number], [toX, toY]: [number, number], step: number): [number, number][] {
  const count = Math.max(1, Math.ceil(Math.max(Math.abs(toX - fromX), Math.abs(toY - fromY)) / step));
  const at = (index: number) => (index + 1) / count;
  return Array.from({ length: count }, (_, index) => [fromX + (toX - fromX) * at(index), fromY + (toY - fromY) * at(index)]);
}

/** The drawn points, and those along what joins them and along their whiskers, canvas pixels. */
export function pointsOf(plot: Pick<uPlot, "valToPos">, spec: Pick<Spec, "lines" | "x">, scale: number): [number, number][] {
  const step = drawnStep * scale;
  // Where an axis ends before a whisker or a line, that goes on out of sight.
  const y = (of: number) => Math.min(Math.max(plot.valToPos(of, "y", true), 0), bottomMost * scale);
  return spec.lines.flatMap((line) => {
    let before: [number, number] | null = null;
    return spec.x.flatMap((place, at): [number, number][] => {
      const [value, low, high] = [line.values[at], line.low?.[at], line.high?.[at]];
      if (typeof value !== "number") return [];
      const point: [number, number] = [plot.valToPos(place, "x", true), y(value)];
      const joined = before && line.shape === undefined ? along(before, point, step) : [point];
      before = point;
      if (!hasWhiskers(line) || typeof low !== "number" || typeof high !== "number") return joined;
      const [top, bottom]: [number, number][] = [
        [point[0], y(high)],
        [point[0], y(low)],
      ];
      return [...joined, top!, ...along(top!, bottom!, step)];
    });
  });
}

/** Places along a line that are tried for its name. */
const placesTried = 13;

/** Where the name of a height stands: over or under its line, where it covers no point and no name; null where it would. */
export function heightPlace(
  at: number,
  width: number,
  points: [number, number][],
  taken: [number, number, number][],
  plot: { bbox: { left: number; top: number; width: number; height: number } },
  scale: number,
): [number, number, number] | null {
  const { bbox } = plot;
  const [from, to] = [bbox.left + 4 * scale, bbox.left + bbox.width - width - 4 * scale];
  // From the right end to the left.
  const starts = Array.from({ length: placesTried }, (_, step) => to - ((to - from) * step) / (placesTried - 1));
  // Close to the line, else as far from it as the points on it reach.
  const rows = [at - 5 * scale, at + 14 * scale, at - 8 * scale, at + 16 * scale].filter(
    (y) => y - 11 * scale >= bbox.top && y + 3 * scale <= bbox.top + bbox.height,
  );
  const candidates = starts.flatMap((x) => rows.map((y): [number, number] => [x, y]));
  const isFree = ([x, y]: [number, number]) =>
    taken.every(([left, base, wide]) => x >= left + wide || left >= x + width || Math.abs(y - base) >= 14 * scale) &&
    points.every(
      ([px, py]) => px <= x - 5 * scale || px >= x + width + 5 * scale || py <= y - 15 * scale || py >= y + 7 * scale,
    );
  const free = candidates.find(isFree);
  return free ? [free[0], free[1], width] : null;
}
