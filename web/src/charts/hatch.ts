// Hatches of bars, which tell them apart without any colour, as dashes do lines.

/** Width and height of the tile that a hatch repeats, CSS pixels. */
export const tile = 8;

/** Strokes on a tile as the path data of SVG, none first: as many as a PTS test has mixes of reads and writes. */
export const hatches: readonly string[] = [
  "",
  "M-2,2 L2,-2 M-1,9 L9,-1 M6,10 L10,6",
  "M0,4 L8,4",
  "M-2,6 L2,10 M-1,-1 L9,9 M6,-2 L10,2",
  "M4,0 L4,8",
  "M-1,9 L9,-1 M-1,-1 L9,9",
  "M3,4 L5,4",
];

/** Width of the strokes, CSS pixels. */
export const strokeWidth = 1.6;

/** The hatch of a bar. */
export const hatchOf = (at: number): string => hatches[at % hatches.length] ?? "";

/** What fills a bar: its colour with its hatch in that of the page; the colour alone where nothing can be drawn. */
export function hatched(color: string, page: string, at: number): CanvasPattern | string {
  const hatch = hatchOf(at);
  const ratio = window.devicePixelRatio;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.round(tile * ratio);
  const context = canvas.getContext("2d");
  if (!context || hatch === "") return color;
  context.fillStyle = color;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(canvas.width / tile, canvas.height / tile);
  context.strokeStyle = page;
  context.lineWidth = strokeWidth;
  context.stroke(new Path2D(hatch));
  return context.createPattern(canvas, "repeat") ?? color;
}
