// What a tab of the browser remembers of the job that is composed in it, so that a reload or a way back loses nothing: the
// text, what is filled in beside it, the way back from what was last taken away, and the run that the job was taken from.

import type { Filled } from "./draft";
import { empty, type Form } from "./job";
import { isTable } from "./toml";

/** The page at one moment. */
export interface Moment {
  text: string;
  filled: Filled;
  /** What the text says in the form's fields, or has said when it last could be read. */
  inText: Form;
  /** Whether the text was written by someone, and not by the form alone. */
  isByHand: boolean;
}

export interface Composed {
  now: Moment;
  /** What was taken away at once, in words, and how the page was before. */
  undo: { told: string; then: Moment } | null;
}

const place = "fathom.composed";

/** Whether a value has what an example has: another version of the pages may have left something else here. */
function isLike(value: unknown, example: unknown): boolean {
  if (Array.isArray(example)) return Array.isArray(value) && value.every((one) => isLike(one, example[0]));
  if (isTable(example))
    return isTable(value) && Object.keys(example).every((key) => isLike(value[key], example[key]));
  return typeof value === typeof example || (typeof example === "number" && value === null);
}

const moment: Moment = { text: "", filled: { form: empty, depths: [""] }, inText: empty, isByHand: false };

function isWhole(value: unknown): value is Moment {
  if (!isLike(value, moment)) return false;
  const { filled, inText } = value as Moment;
  const { streams, targets } = filled.form;
  const isFilled = [streams, targets, inText.streams, inText.targets].every((all) => all.length > 0);
  return isFilled && streams.length === filled.depths.length;
}

/** What this tab remembers; null where that is nothing. */
export function remembered(): Composed | null {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(place) ?? "null");
    if (!isTable(found) || !isWhole(found.now)) return null;
    const { now, undo } = found;
    const isUndo = isTable(undo) && typeof undo.told === "string" && isWhole(undo.then);
    return { now, undo: isUndo ? (undo as unknown as Composed["undo"]) : null };
  } catch {
    return null;
  }
}

/**
 * Remembers it: where there is no room for all, without the way back. A browser that keeps nothing begins with a blank job.
 */
export function remember(composed: Composed): void {
  for (const one of [composed, { ...composed, undo: null }]) {
    try {
      sessionStorage.setItem(place, JSON.stringify(one));
      return;
    } catch {
      // Tried once more with less.
    }
  }
}
