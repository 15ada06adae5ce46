// What lies over and under the lines of a plot: intervals as whiskers, values that mean something as dashed lines with their
// names, parts of the plane as bands. Owns how they are drawn; what they mean is the drawing's.

import type uPlot from "uplot";
import type { Palette } from "./palette";
import type { Mark, Spec } from "./spec";

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
      const [left, right] = x ? [plot.valToPos(x[0], "x", true), plot.valToPos(x[1], "x", true)] : [bbox.left, bbox.left + bbox.width];
      const [bottom, top] = y ? [plot.valToPos(y[0], "y", true), plot.valToPos(y[1], "y", true)] : [bbox.top + bbox.height, bbox.top];
      ctx.fillStyle = color;
      ctx.fillRect(left, top, Math.max(right - left, 1), Math.max(bottom - top, 1));
    };
    for (const band of spec.bands ?? []) fill(band.x, band.y, `${colors.lines[2] ?? colors.text}38`);
    for (const mark of spec.marks ?? []) {
      if (mark.interval) fill(mark.axis === "x" ? mark.interval : null, mark.axis === "y" ? mark.interval : null, colors.shade);
    }
  });
}

/** Intervals of points. */
export function whiskers(plot: uPlot, spec: Spec, colors: Palette): void {
  inside(plot, (ctx) => {
    const cap = 4 * ratio();
    ctx.lineWidth = 1.5 * ratio();
    spec.lines.forEach((line, index) => {
      const { low, high } = line;
      if (!low || !high || !(line.shape || line.marked) || plot.series[index + 1]?.show === false) return;
      ctx.strokeStyle = line.shape === "bars" ? colors.text : (colors.lines[line.color % colors.lines.length] ?? colors.text);
      spec.x.forEach((place, at) => {
        const [from, to] = [low[at], high[at]];
        if (typeof from !== "number" || typeof to !== "number" || from === to) return;
        const [x, bottom, top] = [plot.valToPos(place, "x", true), plot.valToPos(from, "y", true), plot.valToPos(to, "y", true)];
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

/** Values of the axes that mean something, with their names. */
export function marks(plot: uPlot, spec: Spec, colors: Palette): void {
  const { bbox } = plot;
  const [right, bottom] = [bbox.left + bbox.width, bbox.top + bbox.height];
  const scale = ratio();
  const places = (spec.marks ?? []).map((mark) => ({ mark, at: plot.valToPos(mark.at, mark.axis, true) }));
  const seen = places.filter(({ mark, at }) => (mark.axis === "x" ? at >= bbox.left - 1 && at <= right + 1 : at >= bbox.top - 1 && at <= bottom + 1));
  // From left to right, so that names go down like stairs and none lies on another.
  seen.sort((a, b) => a.at - b.at);
  inside(plot, (ctx) => {
    ctx.font = `${11 * scale}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    ctx.lineWidth = scale;
    ctx.strokeStyle = colors.text;
    ctx.setLineDash([3 * scale, 3 * scale]);
    let step = 0;
    let height = 0;
    for (const { mark, at } of seen) {
      ctx.beginPath();
      if (mark.axis === "x") {
        ctx.moveTo(at, bbox.top);
        ctx.lineTo(at, bottom);
      } else {
        ctx.moveTo(bbox.left, at);
        ctx.lineTo(right, at);
      }
      ctx.stroke();
      const width = ctx.measureText(mark.label).width + 6 * scale;
      const [x, y] = labelPlace(mark, at, width, mark.axis === "x" ? step : height, plot, scale);
      if (mark.axis === "x") step += 1;
      else height += 1;
      ctx.fillStyle = `${colors.page}a8`;
      ctx.fillRect(x, y - 11 * scale, width, 14 * scale);
      ctx.fillStyle = colors.text;
      ctx.fillText(mark.label, x + 3 * scale, y);
    }
  });
}

/** Where the name of a mark stands: beside its line, on the side where there is room. */
function labelPlace(mark: Mark, at: number, width: number, step: number, plot: uPlot, scale: number): [number, number] {
  const { bbox } = plot;
  if (mark.axis === "y") {
    const above = at - 5 * scale;
    // Heights may lie close together: their names stand at the right and at the left in turn.
    const x = step % 2 === 0 ? bbox.left + bbox.width - width - 4 * scale : bbox.left + 4 * scale;
    return [x, above - 11 * scale < bbox.top ? at + 14 * scale : above];
  }
  const y = bbox.top + (13 + 15 * step) * scale;
  const isNearEnd = at + width + 4 * scale > bbox.left + bbox.width;
  return [isNearEnd ? at - width - 3 * scale : at + 3 * scale, y];
}
