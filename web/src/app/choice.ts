// Which streams have lines of their own, of more than can be told apart. Pure.

/** Lines of their own at once: more cannot be told apart. */
export const streamsMax = 8;

/** What was chosen: the places of those with lines, and how many the words fit. */
export interface Choice {
  shown: number[];
  fitting: number;
}

/** Of streams of these names those that are named, by parts of names separated by commas; without words the first ones. A
 * part that is all of a name means that stream alone. */
export function chosen(names: string[], words: string): Choice {
  const parts = words
    .split(",")
    .map((part) => part.trim().toLowerCase())
    .filter((part) => part !== "");
  if (parts.length === 0) return { shown: [...names.keys()].slice(0, streamsMax), fitting: names.length };
  const lower = names.map((name) => name.toLowerCase());
  const found = parts.flatMap((part) => {
    const whole = lower.indexOf(part);
    return whole >= 0 ? [whole] : lower.flatMap((name, at) => (name.includes(part) ? [at] : []));
  });
  const fitting = [...new Set(found)];
  return { shown: fitting.slice(0, streamsMax), fitting: fitting.length };
}
