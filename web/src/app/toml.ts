// Changes in a TOML text that leave all else in it as somebody wrote it: order, remarks, and what they did not touch.
// Remarks go with the option or the item of an array that they stand behind, and with a text of another form, which is
// written anew; `lostRemarks` tells which. Knows sections `[run]` and `[kind.name]` with their options, not what these
// mean. Pure.

import { parse as read, stringify } from "smol-toml";
import { itemsOf, type Items, type Place } from "./remarks";

export type Table = Record<string, unknown>;

export const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);

/** Whether values are the same, whatever the order of keys. */
export function same(a: unknown, b: unknown): boolean {
  if (isTable(a) && isTable(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => key in b && same(a[key], b[key]));
  }
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => same(item, b[at]));
  return a === b;
}

/** Reads TOML; numbers beyond what a script counts exactly, which Iometer's jobs have, are big ones. */
export const parse = (toml: string): Table => read(toml, { integersAsBigInt: "asNeeded" });

/** Sections in the order in which a job has them. */
const kinds = ["run", "target", "workload", "stream", "stage"];
const orderOf = (kind = "") => (kinds.includes(kind) ? kinds.indexOf(kind) : kinds.length);

/** A basic string (TOML 1.0). JSON's escapes are among its own, but for DEL. */
const quoted = (text: string) => JSON.stringify(text).replaceAll("\u007f", "\\u007f");

const keyText = (key: string) => (/^[\w-]+$/.test(key) ? key : quoted(key));

function valueText(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) {
    if (value.length === 0 || !value.every(isTable)) return `[${value.map(valueText).join(", ")}]`;
    return `[\n${value.map((one) => `    ${valueText(one)},\n`).join("")}]`;
  }
  if (!isTable(value)) return String(value);
  const pairs = Object.entries(value).map(([key, one]) => `${keyText(key)} = ${valueText(one)}`);
  return pairs.length > 0 ? `{ ${pairs.join(", ")} }` : "{}";
}

/** Lines of a text that belong together: from the first to before the last. */
interface Span {
  from: number;
  to: number;
}

interface Section extends Span {
  path: string[];
}

interface Option extends Span {
  /** Sections and option. */
  path: string[];
}

/** Keys, one within the other, of `a."b c".d`. */
function pathOf(keys: string): string[] {
  const path = [];
  for (let at: unknown = parse(`${keys} = 0`); isTable(at); ) {
    const [key = ""] = Object.keys(at);
    path.push(key);
    at = at[key];
  }
  return path;
}

/** The key of an option, up to its value. */
const keyOf = /^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=\s*/;

/** Where the sections and options of a text are; throws where it cannot tell. */
function scanned(lines: string[]): { sections: Section[]; options: Option[] } {
  const sections: Section[] = [];
  const options: Option[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = (lines[at] ?? "").trim();
    if (line === "" || line.startsWith("#")) {
      at += 1;
      continue;
    }
    const header = /^\[([^[].*?)\]\s*(?:#.*)?$/.exec(line);
    if (header) {
      sections.push({ path: pathOf(header[1] ?? ""), from: at, to: at + 1 });
      at += 1;
      continue;
    }
    const key = keyOf.exec(line);
    if (!key) throw new Error("a line of another form");
    let to = at + 1;
    for (; !isWhole(lines.slice(at, to)); to += 1) if (to >= lines.length) throw new Error("a value without an end");
    const section = sections.at(-1);
    options.push({ path: [...(section?.path ?? []), ...pathOf(key[1] ?? "")], from: at, to });
    if (section) section.to = to;
    at = to;
  }
  return { sections, options };
}

/** What a text says, or null where it is no TOML. */
function readable(text: string): Table | null {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

const isWhole = (lines: string[]): boolean => readable(lines.join("\n")) !== null;

/** The text, where it says this; else one that is written anew: nothing of it is lost but remarks. */
function saying(job: Table, text: string): string {
  const found = readable(text);
  return found && same(pruned(found), pruned(job)) ? text : stringify(job);
}

/** The remark behind an option, with the blanks before it. */
function remarkOf(line: string): string {
  const value = parse(line);
  for (let at = line.indexOf("#"); at >= 0; at = line.indexOf("#", at + 1)) {
    const before = line.slice(0, at);
    if (isWhole([before]) && same(parse(before), value)) return before.slice(before.trimEnd().length) + line.slice(at);
  }
  return "";
}

const isPath = (path: string[], other: string[]) => same(path, other);

/** A section as it is written. */
const blockOf = (path: string[], options: Table): string[] => [
  `[${path.map(keyText).join(".")}]`,
  ...Object.entries(options).flatMap(([option, value]) => `${keyText(option)} = ${valueText(value)}`.split("\n")),
];

/**
 * An option whose value is a table within its line (`stream.a = { workers = 2 }`), with what is at this path beneath it set
 * to another value, or taken out: it stays within its line. Null where no such option holds the path.
 */
function withinTable(lines: string[], path: string[], value: unknown): string[] | null {
  const { options } = scanned(lines);
  const isAbove = ({ path: other }: Option) => other.length < path.length && isPath(path.slice(0, other.length), other);
  const holder = options.findLast(isAbove);
  if (!holder) return null;
  const source = lines.slice(holder.from, holder.to).join("\n");
  const keys = keyOf.exec(source)?.[1] ?? "";
  let table: unknown = parse(source);
  for (const key of pathOf(keys)) table = isTable(table) ? table[key] : undefined;
  if (!isTable(table)) return null;
  let at = table;
  const beneath = path.slice(holder.path.length);
  for (const key of beneath.slice(0, -1)) at = (at[key] ??= {}) as Table;
  const last = beneath.at(-1) ?? "";
  if (value === undefined) delete at[last];
  else at[last] = value;
  const remark = holder.to === holder.from + 1 ? remarkOf(source) : "";
  const text = `${/^\s*/.exec(source)?.[0] ?? ""}${keys} = ${valueText(table)}${remark}`.split("\n");
  return [...lines.slice(0, holder.from), ...text, ...lines.slice(holder.to)];
}

/** Puts a section after those that come before it in a job, with a blank line around it. */
function withSection(lines: string[], path: string[], options: Table): string[] {
  const inLine = withinTable(lines, path, options);
  if (inLine) return inLine;
  const { sections } = scanned(lines);
  const before = sections.findLast((section) => orderOf(section.path[0]) <= orderOf(path[0]));
  let at = before?.to ?? sections[0]?.from ?? lines.length;
  // What is remarked right above a section is about it.
  if (!before) while (at > 0 && lines[at - 1]?.startsWith("#")) at -= 1;
  const [above, below] = [lines.slice(0, at), lines.slice(at)];
  const isOpen = above.length > 0 && above.at(-1)?.trim() !== "";
  const isClosed = below.length > 0 && below[0]?.trim() !== "";
  return [...above, ...(isOpen ? [""] : []), ...blockOf(path, options), ...(isClosed ? [""] : []), ...below];
}

function withoutSection(lines: string[], path: string[]): string[] {
  const inLine = withinTable(lines, path, undefined);
  if (inLine) return inLine;
  const { sections, options } = scanned(lines);
  const isWithin = (other: string[]) => isPath(other.slice(0, path.length), path);
  const gone = [...sections, ...options].filter((one) => isWithin(one.path));
  const isGone = (at: number) => gone.some(({ from, to }) => at >= from && at < to);
  // With a section goes the blank line before it.
  const blank = (at: number) =>
    lines[at]?.trim() === "" && sections.some((one) => isWithin(one.path) && one.from === at + 1);
  return lines.filter((_, at) => !isGone(at) && !blank(at));
}

/** How many items two lists have in common at their beginnings, and then at their ends. */
function common(before: unknown[], after: unknown[]): [number, number] {
  const least = Math.min(before.length, after.length);
  let head = 0;
  while (head < least && same(before[head], after[head])) head += 1;
  let tail = 0;
  while (tail < least - head && same(before.at(-1 - tail), after.at(-1 - tail))) tail += 1;
  return [head, tail];
}

/** A list that was changed in the form, with items as they are written where they were not. */
function merged(written: unknown, before: unknown, after: unknown): unknown {
  if (![written, before, after].every(Array.isArray)) return after;
  const [all, old, fresh] = [written as unknown[], before as unknown[], after as unknown[]];
  if (all.length !== old.length) return after;
  const [head, tail] = common(old, fresh);
  return [...all.slice(0, head), ...fresh.slice(head, fresh.length - tail), ...all.slice(all.length - tail)];
}

/** What stands where in a text is to be something else. */
interface Change extends Place {
  text: string;
}

/** An item goes: with its line and the remark behind it, where it has one of its own. */
function without(text: string, { from, to, comma }: Items["items"][number]): Change {
  const end = comma === null ? to : comma + 1;
  const begin = text.lastIndexOf("\n", from) + 1;
  const next = text.indexOf("\n", end);
  const isAlone = begin > 0 && text.slice(begin, from).trim() === "" && /^\s*(#.*)?$/.test(text.slice(end, next));
  return next >= 0 && isAlone ? { from: begin, to: next + 1, text: "" } : { from, to: end, text: "" };
}

/** Items come behind another: in lines of their own, where it ends its line. */
function behind(text: string, { items, close }: Items, at: number, more: unknown[]): Change[] {
  const item = items[at];
  if (more.length === 0 || !item) return [];
  const { from, to, comma } = item;
  const end = comma === null ? to : comma + 1;
  const line = text.indexOf("\n", end);
  const comma_ = comma === null ? [{ from: to, to, text: "," }] : [];
  if (line >= 0 && line < (items[at + 1]?.from ?? close)) {
    const indent = /^\s*/.exec(text.slice(text.lastIndexOf("\n", from) + 1, from))?.[0] ?? "";
    const added = more.map((one) => `\n${indent || "    "}${valueText(one)},`).join("");
    return [...comma_, { from: line, to: line, text: added }];
  }
  return [...comma_, { from: end, to: end, text: more.map((one) => ` ${valueText(one)},`).join("") }];
}

/** An array over several lines with other items: those that stay are not touched, nor are remarks. Null where it is none. */
function withItems(source: string, written: unknown, value: unknown): string | null {
  const open = keyOf.exec(source)?.[0].length ?? 0;
  if (!Array.isArray(written) || !Array.isArray(value) || value.length === 0 || source[open] !== "[") return null;
  const found = itemsOf(source, open);
  const first = found?.items[0];
  if (!first || found.items.length !== written.length) return null;
  const [head, tail] = common(written, value);
  const [old, fresh] = [found.items.slice(head, written.length - tail), value.slice(head, value.length - tail)];
  const both = Math.min(old.length, fresh.length);
  const changes: Change[] = [
    ...old.slice(0, both).map(({ from, to }, at) => ({ from, to, text: valueText(fresh[at]) })),
    ...old.slice(both).map((item) => without(source, item)),
    ...(head + both > 0
      ? behind(source, found, head + both - 1, fresh.slice(both))
      : [{ from: first.from, to: first.from, text: fresh.slice(both).map((one) => `${valueText(one)},\n    `).join("") }]),
  ];
  // From the end, so that places before stay what they are; of two at one place the later one is behind.
  const ordered = changes.map((change, at) => ({ ...change, at })).sort((a, b) => b.from - a.from || b.at - a.at);
  let text = source;
  for (const { from, to, text: other } of ordered) text = text.slice(0, from) + other + text.slice(to);
  return isWhole([text]) && same(Object.values(parse(text))[0], value) ? text : null;
}

function withOption(lines: string[], path: string[], value: unknown, written?: unknown): string[] {
  const { sections, options } = scanned(lines);
  const [section, key = ""] = [path.slice(0, -1), path.at(-1)];
  const found = options.find((option) => isPath(option.path, path));
  const keysOf = (option: Option) => keyOf.exec(lines[option.from] ?? "")?.[0].replace(/\s*=\s*$/, "") ?? keyText(key);
  if (found) {
    const source = lines.slice(found.from, found.to).join("\n");
    const items = found.to > found.from + 1 ? withItems(source, written, value) : null;
    if (items !== null) return [...lines.slice(0, found.from), ...items.split("\n"), ...lines.slice(found.to)];
    const line = found.to === found.from + 1 ? (lines[found.from] ?? "") : "";
    const remark = line ? remarkOf(line) : "";
    const text = value === undefined ? [] : `${keysOf(found)} = ${valueText(value)}${remark}`.split("\n");
    return [...lines.slice(0, found.from), ...text, ...lines.slice(found.to)];
  }
  const isBeneath = ({ path: other }: Option) => other.length > path.length && isPath(other.slice(0, path.length), path);
  if (options.some(isBeneath)) return withKeys(lines, path, value, written);
  const inLine = withinTable(lines, path, value);
  if (inLine) return inLine;
  if (value === undefined) return lines;
  const place = sections.findLast((one) => isPath(one.path, section));
  // A table of keys such as `load.rate` gets one more of them: with a header it would be there twice.
  const dotted = options.findLast((option) => isPath(option.path.slice(0, -1), section));
  if (!place && dotted) {
    const prefix = keysOf(dotted).replace(/\s*(?:"[^"]*"|'[^']*'|[\w-]+)$/, "");
    const text = `${prefix}${keyText(key)} = ${valueText(value)}`.split("\n");
    return [...lines.slice(0, dotted.to), ...text, ...lines.slice(dotted.to)];
  }
  if (!place) return withSection(lines, section, { [key]: value });
  const text = `${keyText(key)} = ${valueText(value)}`.split("\n");
  return [...lines.slice(0, place.to), ...text, ...lines.slice(place.to)];
}

/** A table whose keys stand in lines of their own, with other values: in those lines where their order is the same. */
function withKeys(lines: string[], path: string[], value: unknown, written: unknown): string[] {
  if (isTable(value) && isTable(written)) {
    const stay = Object.keys(written).filter((key) => key in value);
    const come = Object.keys(value).filter((key) => !stay.includes(key));
    if (same([...stay, ...come], Object.keys(value))) {
      const all = [...Object.keys(written), ...come].filter((key) => !same(written[key], value[key]));
      return all.reduce((text, key) => withOption(text, [...path, key], value[key], written[key]), lines);
    }
  }
  return withOption(withoutSection(lines, path), path, value);
}

/**
 * The option that stands at a place, line and column from 1: `stream.load.workers`, and of what is swept the option that is.
 * Null where none does, or nobody can tell.
 */
export function optionAt(text: string, line: number, column: number): string | null {
  const lines = text.split("\n");
  try {
    const path = scanned(lines).options.find(({ from, to }) => line > from && line <= to)?.path;
    const [kind, , option, swept] = path ?? [];
    if (kind !== "stage" || option !== "sweep") return path?.join(".") ?? null;
    if (swept !== undefined) return swept;
  } catch {
    return null;
  }
  const keys = [...(lines[line - 1] ?? "").matchAll(/"([^"]*)"|'([^']*)'/g)];
  const at = keys.find(({ index, 0: key }) => column > index && column <= index + key.length);
  return at ? (at[1] ?? at[2] ?? null) : null;
}

/** Sections of a job by their paths. */
function sectionsOf(job: Table): Map<string, Table> {
  const found = new Map<string, Table>();
  for (const kind of kinds) {
    const names = job[kind];
    if (!isTable(names)) continue;
    if (kind === "run") found.set(JSON.stringify([kind]), names);
    else for (const [name, options] of Object.entries(names)) found.set(JSON.stringify([kind, name]), options as Table);
  }
  return found;
}

/** What is swept beyond what was shown of it stays, behind what is shown. */
function sweep(written: unknown, before: unknown, after: unknown): unknown {
  const ends = (path: string) => [path.split(".")[0], path.split(".").at(-1)].join(".");
  const shown = new Set(Object.keys(isTable(before) ? before : {}).flatMap((path) => [path, ends(path)]));
  const rest = Object.entries(isTable(written) ? written : {}).filter(
    ([path]) => !shown.has(path) && !shown.has(ends(path)),
  );
  const all = { ...(isTable(after) ? after : {}), ...Object.fromEntries(rest) };
  return Object.keys(all).length > 0 ? all : undefined;
}

/** A job as a text of its own: its sections in their order, a blank line between them. */
export function toToml(job: Table): string {
  const blocks = [...sectionsOf(job)].map(([key, options]) => blockOf(JSON.parse(key) as string[], options).join("\n"));
  return saying(job, `${blocks.join("\n\n")}\n`);
}

/**
 * The text with what differs between two jobs: sections and options that are in the one and not in the other come or go,
 * and those with other values are given them.
 */
export function edited(text: string, before: Table, after: Table): string {
  const whole = parse(text);
  const [old, fresh] = [sectionsOf(before), sectionsOf(after)];
  let lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  const wanted = structuredClone(whole);
  let isKept = true;
  const does = (change: (lines: string[]) => string[]) => {
    try {
      if (isKept) lines = change(lines);
    } catch {
      isKept = false;
    }
  };
  const within = ([kind = "", name]: string[]): Table => {
    const of = (wanted[kind] ??= {}) as Table;
    return name === undefined ? of : ((of[name] ??= {}) as Table);
  };
  for (const key of old.keys()) {
    const path = JSON.parse(key) as string[];
    if (fresh.has(key)) continue;
    does((lines) => withoutSection(lines, path));
    const [kind = "", name] = path;
    if (name === undefined) delete wanted[kind];
    else delete (wanted[kind] as Table | undefined)?.[name];
  }
  for (const [key, options] of fresh) {
    const path = JSON.parse(key) as string[];
    const had = old.get(key);
    if (!had) {
      does((lines) => withSection(lines, path, options));
      Object.assign(within(path), options);
      continue;
    }
    for (const option of new Set([...Object.keys(had), ...Object.keys(options)])) {
      if (same(had[option], options[option])) continue;
      const written = (whole[path[0] ?? ""] as Table | undefined)?.[path[1] ?? ""] as Table | undefined;
      const value =
        option === "sweep"
          ? sweep(written?.sweep, had.sweep, options.sweep)
          : merged(written?.[option], had[option], options[option]);
      does((lines) => withOption(lines, [...path, option], value, written?.[option]));
      if (value === undefined) delete within(path)[option];
      else within(path)[option] = value;
    }
  }
  // A text of another form, such as one with tables within a line, is written anew.
  return isKept ? saying(wanted, `${lines.join("\n")}\n`) : stringify(wanted);
}

/** The text with one option of another value, or without it. */
export function replaced(text: string, path: [string, string, string], value: unknown): string {
  const wanted = parse(text);
  const [kind, name, option] = path;
  const section = isTable(wanted[kind]) ? wanted[kind][name] : undefined;
  if (!isTable(section)) return text;
  const written = section[option];
  if (value === undefined) delete section[option];
  else section[option] = value;
  try {
    const found = `${withOption(text.replace(/\n$/, "").split("\n"), path, value, written).join("\n")}\n`;
    if (isWhole([found]) && same(parse(found), wanted)) return found;
  } catch {
    // A text of another form: it is written anew.
  }
  return stringify(wanted);
}

/** Without kinds of sections that have none. */
const pruned = (job: Table): Table =>
  Object.fromEntries(Object.entries(job).filter(([, value]) => !isTable(value) || Object.keys(value).length > 0));
