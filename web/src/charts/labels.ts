// Names of ticks: broken into rows as narrow as the room between ticks, in turns a row lower where they touch all the same,
// and of those that touch even then only as many as fit. Is told how wide a text is. Pure.

/** Characters of a single word at most; the words of the cursor have all of it. */
const wordMax = 16;
/** Rows of a name at most. */
const rowsMax = 3;
/** Pixels between two names at least. */
const gap = 5;

/** A name at its place on the axis, pixels. */
export interface Place {
  at: number;
  name: string;
  /** Those of the lowest rank take their room first; absent is 0. */
  rank?: number;
}

type Width = (text: string) => number;

/** From where to where on the axis anything can be drawn, pixels: a name that goes beyond loses its end. */
export interface Drawn {
  from: number;
  to: number;
}

/** How wide a name around a place can be. */
const roomAt = (at: number, { from, to }: Drawn) => 2 * Math.min(at - from, to - at);

/** A name in rows no wider than there is room, broken where it has blanks. */
function broken(name: string, room: number, widthOf: Width): string[] {
  const rows: string[] = [];
  for (const word of name.split(" ").map((one) => (one.length > wordMax ? `${one.slice(0, wordMax - 1)}…` : one))) {
    const last = rows.at(-1);
    if (last !== undefined && widthOf(`${last} ${word}`) <= room) rows[rows.length - 1] = `${last} ${word}`;
    else rows.push(word);
  }
  return rows.length <= rowsMax ? rows : [...rows.slice(0, rowsMax - 1), `${rows[rowsMax - 1] ?? ""}…`];
}

/** The rows of those names, from the first on, that touch no other; null of the others. */
function thinned(places: { at: number; rows: string[] }[], widthOf: Width): (string[] | null)[] {
  let end = Number.NEGATIVE_INFINITY;
  return places.map(({ at, rows }) => {
    const half = Math.max(...rows.map(widthOf)) / 2;
    if (at - half < end + gap) return null;
    end = at + half;
    return rows;
  });
}

/** Names in one row each: null of those that would touch another of a lower rank, or one before it of the same. */
export function inOne(places: Place[], widthOf: Width): (string[] | null)[] {
  const shown = new Map<Place, number>();
  for (const rank of new Set(places.map(({ rank = 0 }) => rank).sort((a, b) => a - b)))
    for (const place of places.filter((one) => (one.rank ?? 0) === rank)) {
      const half = widthOf(place.name) / 2;
      const isFree = [...shown].every(([other, wide]) => Math.abs(place.at - other.at) >= half + wide + gap);
      if (isFree) shown.set(place, half);
    }
  return places.map((place) => (shown.has(place) ? [place.name] : null));
}

/** Names in as many rows as they need: null of those that would touch another all the same. */
export function inRows(
  places: Place[],
  widthOf: Width,
  drawn: Drawn = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY },
): (string[] | null)[] {
  const room = Math.min(...places.slice(1).map(({ at }, index) => at - (places[index]?.at ?? 0))) - gap;
  const made = places.map(({ at, name }) => ({ at, rows: broken(name, Math.min(room, roomAt(at, drawn)), widthOf) }));
  const level = thinned(made, widthOf);
  // Words cannot be broken: every other name stands below its neighbours, where that makes no more than four rows.
  const deep = Math.max(...made.map(({ rows }) => rows.length));
  if (level.every((rows) => rows !== null) || deep > 2) return level;
  const turn = (odd: number) => thinned(made.filter((_, index) => index % 2 === odd), widthOf);
  const [upper, lower] = [turn(0), turn(1)];
  const found = made.map((_, index) => (index % 2 === 0 ? upper : lower)[Math.floor(index / 2)] ?? null);
  const above = Array.from({ length: deep }, () => "");
  return found.map((rows, index) => (rows && index % 2 === 1 ? [...above, ...rows] : rows));
}
