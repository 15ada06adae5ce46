// The library of access specifications: those that are passed around with Iometer, and those that someone kept in this
// browser. Specifications that a ready-made job of the server has are not repeated here.

import type { AccessLine } from "./access";
import type { Spec } from "./job";
import { isTable } from "./toml";

/** Some are defined together with a queue depth, which Iometer has beside its specifications. */
export interface KnownSpec extends Spec {
  depth?: number;
}

const single = (name: string, blockSize: string, read: number, random: number): KnownSpec => {
  const access = random === 100 ? "random" : random === 0 ? "sequential" : `${random}% random`;
  return { name, lines: [{ share: "100%", blockSize, read: `${read}%`, access }] };
};

/**
 * Of one line each; sources are in docs: the files `iometer.icf` that users have shared since 2000, the specifications that
 * Iometer 1.1 begins with, and the tests by which disks of clouds are held against what is promised of them.
 */
export const library: readonly KnownSpec[] = [
  single("Database", "8KiB", 67, 100),
  single("Workstation", "8KiB", 80, 80),
  single("Exchange", "4KiB", 67, 100),
  single("Decision support", "1MiB", 100, 100),
  single("Media streaming", "64KiB", 98, 0),
  single("Video on demand", "512KiB", 100, 100),
  single("SQL log", "64KiB", 0, 0),
  single("Web log", "8KiB", 0, 0),
  single("OS paging", "64KiB", 90, 0),
  ...[100, 50, 0].map((read) => ({
    ...single(`4 KiB aligned; ${read}% read; 100% random`, "4KiB", read, 100),
    align: "4KiB",
  })),
  { ...single("Cloud disk: 4 KiB random read, queue depth 8", "4KiB", 100, 100), depth: 8 },
  { ...single("Cloud disk: 4 KiB random write, queue depth 32", "4KiB", 0, 100), depth: 32 },
  { ...single("Cloud disk: 4 KiB aligned random write, queue depth 64", "4KiB", 0, 100), align: "4KiB", depth: 64 },
  { ...single("Cloud disk: 256 KiB sequential read, queue depth 64", "256KiB", 100, 0), depth: 64 },
  { ...single("Cloud disk: 512 KiB sequential write, queue depth 64", "512KiB", 0, 0), depth: 64 },
];

/** What this browser remembers them by. */
export const place = "fathom.specifications";

const isLine = (line: unknown): line is AccessLine =>
  typeof line === "object" &&
  line !== null &&
  ["share", "blockSize", "read", "access"].every((name) => typeof (line as Record<string, unknown>)[name] === "string") &&
  ["string", "undefined"].includes(typeof (line as Partial<AccessLine>).align) &&
  (["more", "written"] as const).every((name) => {
    const of = (line as Partial<AccessLine>)[name];
    return of === undefined || isTable(of);
  });

/** Those that were kept here; none where the browser keeps nothing or something else is there. */
export function kept(): Spec[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(place) ?? "[]");
    if (!Array.isArray(found)) return [];
    return found.filter((one: Partial<Spec> | null): one is Spec => {
      const hasAlign = one?.align === undefined || typeof one.align === "string";
      return (
        hasAlign &&
        typeof one?.name === "string" &&
        Array.isArray(one.lines) &&
        one.lines.length > 0 &&
        one.lines.every(isLine)
      );
    });
  } catch {
    return [];
  }
}

/** Keeps these, in place of all that were kept; false where the browser does not. */
export function keep(specs: Spec[]): boolean {
  try {
    localStorage.setItem(place, JSON.stringify(specs));
    return true;
  } catch {
    return false;
  }
}
