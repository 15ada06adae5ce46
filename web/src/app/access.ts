// Lines of an access specification: as tables of a job and as the form has them, one more and one less. A value that no
// field can say, such as a list of block sizes with shares, stays in its line as it is written. Pure.

import { options } from "./limits";
import { isTable, type Table } from "./toml";

/** One line of an access specification. */
export interface AccessLine {
  /** Share of the operations; of a single line all of them. */
  share: string;
  /** Of a single line also several, separated by commas: each is a step. */
  blockSize: string;
  /** As the block size. */
  read: string;
  access: string;
  /** What the places of this line are multiples of; absent for what holds for all. */
  align?: string;
  /** Values of the options above that are no plain text, by option: the field is empty, and they hold until it is not. */
  written?: Table;
  /** What a line has that the form has no field for. */
  more?: Table;
}

/** What a stream does, as far as lines are concerned. */
interface Load {
  lines: AccessLine[];
  align: string;
  /** Whether its only line is written as a mix of one. */
  isMix?: boolean | undefined;
  /** Options that are swept or written in a way that no field shows: `workload.read`, `stream.rate`. */
  held?: string[];
}

export const emptyLine: AccessLine = { share: "100%", blockSize: "4KiB", read: "100%", access: "random" };

/** What a line of a job says that does not say it. */
export const lineDefaults = {
  block_size: options["workload.block_size"].default,
  read: options["workload.read"].default,
  access: options["workload.access"].default,
};

/** Options of a workload that a mix has in its lines instead. */
export const ofLines = ["block_size", "read", "trim", "access"] as const;

const fields = ["share", "block_size", "read", "access", "align"];

/** Whether a field can have a value as its text. */
export const isPlain = (value: unknown): value is string | number | bigint =>
  typeof value === "string" || typeof value === "number" || typeof value === "bigint";

export const text = (value: unknown, otherwise: string) => (isPlain(value) ? String(value) : otherwise);

/** Values that are separated by commas. */
export const listed = (text: string) =>
  text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");

/** A table without what says nothing. */
export function filled(entries: [string, unknown][]): Table {
  return Object.fromEntries(entries.filter(([, value]) => value !== "" && value !== undefined && value !== null));
}

/** The lines of a workload; null where its mix is none that can be shown. */
export function linesOf(workload: Table): AccessLine[] | null {
  const { mix } = workload;
  if (mix === undefined) {
    const own = Object.entries(workload).filter(([option]) => ofLines.some((one) => one === option));
    return [lineOf(Object.fromEntries(own), "100%")];
  }
  if (!Array.isArray(mix) || mix.length === 0 || !mix.every(isTable)) return null;
  return mix.map((line) => lineOf(line, mix.length > 1 ? "" : "100%"));
}

function lineOf(of: Table, share: string): AccessLine {
  const own = Object.entries(of);
  const written = own.filter(([option, value]) => fields.includes(option) && !isPlain(value));
  const more = own.filter(([option]) => !fields.includes(option));
  /** What holds where nothing is said does not hold where something is said that is no text. */
  const said = (option: string, otherwise: string) => text(of[option], option in of ? "" : otherwise);
  return {
    share: said("share", share),
    blockSize: said("block_size", lineDefaults.block_size),
    read: said("read", lineDefaults.read),
    access: said("access", lineDefaults.access),
    ...(isPlain(of.align) ? { align: String(of.align) } : {}),
    ...(written.length > 0 ? { written: Object.fromEntries(written) } : {}),
    ...(more.length > 0 ? { more: Object.fromEntries(more) } : {}),
  };
}

function lineTable({ share, blockSize, read, access, align, written = {}, more }: AccessLine): Table {
  const said = { share, block_size: blockSize, read, access, align };
  return { ...filled(Object.entries(said).map(([option, value]) => [option, value || written[option]])), ...more };
}

/** Whether a line says what options of a workload outside of a mix cannot. */
export const needsMix = ({ more = {} }: AccessLine): boolean =>
  Object.keys(more).some((option) => !ofLines.some((one) => one === option));

/** Lines as the options of their workload. A mix has one value each: what is swept over is no mix. */
export function workloadTable({ lines, align, isMix }: Load, isSwept: (option: string) => boolean): Table {
  const [first = emptyLine, ...others] = lines;
  const isSweptOver = isSwept("block_size") || isSwept("read");
  if (others.length > 0 || needsMix(first) || (isMix && !isSweptOver)) {
    return filled([
      ["mix", lines.map(lineTable)],
      ["align", align],
    ]);
  }
  const { share: _share, align: own, ...line } = lineTable(first);
  // The alignment of the only line is then that of all.
  return filled([...Object.entries(line).filter(([option]) => !isSwept(option)), ["align", align || own]]);
}

/** Options of a stream for which its lines cannot become several: those that are cycled, or written otherwise. */
export function againstMix({ lines, held = [] }: Load): string[] {
  const [only, ...others] = lines;
  const cycled = only && others.length === 0 ? ([["block_size", only.blockSize], ["read", only.read]] as const) : [];
  const found = cycled.filter(([, values]) => listed(values).length > 1).map(([option]) => `workload.${option}`);
  return [...new Set([...found, ...heldLines({ held })])];
}

/** Those of them that no field shows: lines without them are not what the job does. */
export const heldLines = ({ held = [] }: Pick<Load, "held">): string[] =>
  held.filter((option) => option.startsWith("workload."));

/** A line more, with what the others leave. */
export function addLine(load: Load): void {
  const rest = Math.max(0, 100 - (shareOf(load.lines) ?? 100));
  load.lines.push({ ...emptyLine, share: `${rest}%` });
}

export function dropLine(load: Load, at: number): void {
  load.lines.splice(at, 1);
  const [only] = load.lines;
  if (!only || load.lines.length > 1) return;
  only.share = "100%";
  retyped(only, "share");
  load.isMix = undefined;
  if (only.align === undefined) return;
  // Of one line, what holds for it holds for all.
  load.align = only.align;
  only.align = undefined;
}

/** A field was typed in: what it could not show holds no longer. */
export function retyped(line: AccessLine, option: string): void {
  if (!line.written || !(option in line.written)) return;
  const { [option]: _gone, ...rest } = line.written;
  if (Object.keys(rest).length > 0) line.written = rest;
  else delete line.written;
}

/** What the shares of lines add up to, per cent; null where one is none. */
export function shareOf(lines: AccessLine[]): number | null {
  const shares = lines.map((line) =>
    /^\d+(\.\d+)?%$/.test(line.share.trim()) ? Number.parseFloat(line.share) : Number.NaN,
  );
  const sum = shares.reduce((all, share) => all + share, 0);
  return Number.isNaN(sum) ? null : Math.round(sum * 1e6) / 1e6;
}
