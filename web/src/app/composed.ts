// What a tab of the browser remembers of the job that is composed in it, so that a reload or a way back loses nothing: the
// text, what is filled in beside it, the way back from what was last taken away, and the file that was opened.

import type { Diagnostic } from "./api";
import type { Filled } from "./draft";
import { empty, emptyStream, type Form } from "./job";
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

/** A file that was opened, what was found in it, and whether it became the job. */
export interface OpenedFile {
  name: string;
  text: string;
  faults: Diagnostic[];
  isTaken: boolean;
  /** Whether what it has went to the library. */
  isKept: boolean;
  /** What stood for its targets when it was read. */
  maps: string[];
  /** Bytes of its sectors, where that was said of it. */
  sectorSize: number | null;
}

export interface Composed {
  now: Moment;
  /** The file beside it, and what is typed there for its targets. */
  opened: { file: OpenedFile; given: string } | null;
  /** What was taken away at once, in words, and how the page was before. */
  undo: { told: string; then: Moment } | null;
}

const place = "fathom.composed";

/** Whether a value has what an example has: another version of the pages may have left something else here. */
export function isLike(value: unknown, example: unknown): boolean {
  if (Array.isArray(example)) return Array.isArray(value) && value.every((one) => isLike(one, example[0]));
  if (isTable(example))
    return isTable(value) && Object.keys(example).every((key) => isLike(value[key], example[key]));
  return typeof value === typeof example || (typeof example === "number" && value === null);
}

const fault: Omit<Diagnostic, "help"> = { code: "", severity: "", line: 0, column: 0, message: "" };
const file = { name: "", text: "", faults: [fault], isTaken: false, isKept: false, maps: [""], sectorSize: 0 };
/** Where a stream goes is a word or a list, of which one example says nothing of the other. */
const { targets: _aims, ...stream } = emptyStream;
const form = { ...empty, streams: [stream] };
const moment = { text: "", filled: { form, depths: [""] }, inText: form, isByHand: false };

function isWhole(value: unknown): value is Moment {
  if (!isLike(value, moment)) return false;
  const { filled, inText } = value as Moment;
  const { streams, targets } = filled.form;
  const isFilled = [streams, targets, inText.streams, inText.targets].every((all) => all.length > 0);
  const areAims = [...streams, ...inText.streams].every((one) => one.targets === "all" || isLike(one.targets, [""]));
  return isFilled && areAims && streams.length === filled.depths.length;
}

/** Pause after the last change before it is remembered, which takes as long as to show it: longer than between keys. */
const pause_ms = 400;

/** What was changed and is not remembered yet. */
let waiting: { timer: ReturnType<typeof setTimeout>; keep: () => void } | null = null;

/** Has a change remembered when the typing rests: `keep` says what there is then. */
export function rememberSoon(keep: () => void): void {
  if (waiting) clearTimeout(waiting.timer);
  waiting = { timer: setTimeout(rememberNow, pause_ms), keep };
}

/** Has it remembered before anything is lost: the page is left, or may be. */
export function rememberNow(): void {
  if (!waiting) return;
  const { timer, keep } = waiting;
  clearTimeout(timer);
  waiting = null;
  keep();
}

/** What this tab remembers; null where that is nothing. */
export function remembered(): Composed | null {
  // A page that takes the place of another of its kind asks before that one has gone.
  rememberNow();
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(place) ?? "null");
    if (!isTable(found) || !isWhole(found.now)) return null;
    const { now, undo, opened } = found;
    const isUndo = isTable(undo) && typeof undo.told === "string" && isWhole(undo.then);
    const isOpened = isLike(opened, { file, given: "" });
    return {
      now,
      opened: isOpened ? (opened as unknown as Composed["opened"]) : null,
      undo: isUndo ? (undo as unknown as Composed["undo"]) : null,
    };
  } catch {
    return null;
  }
}

/** How much of it a tab remembers: all, the job and not what is beside it, or nothing. */
export type Remembered = "all" | "job" | "nothing";

/** Remembers it: where there is no room for all, without the file beside it and the way back. */
export function remember(composed: Composed): Remembered {
  for (const part of ["all", "job"] as const) {
    try {
      sessionStorage.setItem(place, JSON.stringify(part === "all" ? composed : { ...composed, opened: null, undo: null }));
      return part;
    } catch {
      // Tried once more with less.
    }
  }
  try {
    // What is there is an earlier job: it would come back as if it were this one.
    sessionStorage.removeItem(place);
  } catch {
    // A browser that keeps nothing has nothing either.
  }
  return "nothing";
}
