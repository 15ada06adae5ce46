// The form of the compose page and the text of the job: either can be made of the other. What a form cannot say keeps it
// closed; it never loses what somebody wrote. Pure.

import { parse, TomlError } from "smol-toml";

/** One line of an access specification. */
export interface AccessLine {
  /** Share of the operations; of a single line all of them. */
  share: string;
  /** Of a single line also several, separated by commas: each is a step. */
  blockSize: string;
  /** As the block size. */
  read: string;
  access: string;
}

/** What the form has fields for; values as a job file has them. */
export interface Form {
  title: string;
  path: string;
  size: string;
  remove: boolean;
  /** At least one; several are a mix whose shares add up to 100 %. */
  lines: AccessLine[];
  workers: number;
  /** What random operations begin at multiples of; empty for the smallest block. */
  align: string;
  /** One depth, or several, each of which is a step. */
  depths: number[];
  /** As fast as it goes when empty; several, separated by commas, are a step each. */
  rate: string;
  /** Whether the page cache is passed by: `true`, `false`, or empty for where it can be. */
  direct: string;
  /** Class of the I/O priority: a word of the option, or empty for that of the process. */
  priorityClass: string;
  /** Level within it, 0 to 7; empty for the class's own. */
  priorityLevel: string;
  ramp: string;
  time: string;
  /** Empty for the same sequence every time, `fresh`, or a number. */
  seed: string;
}

export const emptyLine: AccessLine = { share: "100%", blockSize: "4KiB", read: "100%", access: "random" };

export const empty: Form = {
  title: "",
  path: "",
  size: "1GiB",
  remove: true,
  lines: [emptyLine],
  align: "",
  workers: 1,
  depths: [16],
  rate: "",
  direct: "",
  priorityClass: "",
  priorityLevel: "",
  ramp: "2s",
  time: "30s",
  seed: "",
};

/** A basic string (TOML 1.0). JSON's escapes are among its own, but for DEL. */
const quoted = (text: string) => JSON.stringify(text).replaceAll("\u007f", "\\u007f");

/** Values that are separated by commas. */
const listed = (text: string) => text.split(",").map((one) => one.trim()).filter((one) => one !== "");

/** What is swept, outermost first: options and their values. */
function sweeps(form: Form): [string, (string | number)[]][] {
  const [only, ...others] = form.lines;
  const of: [string, (string | number)[]][] = [
    ["workload.block_size", only && others.length === 0 ? listed(only.blockSize) : []],
    ["workload.read", only && others.length === 0 ? listed(only.read) : []],
    ["stream.rate", listed(form.rate)],
    ["stream.queue_depth", form.depths],
  ];
  return of.filter(([, values]) => values.length > 1);
}

/** Seconds that a time of a job says: `2s`, `10min`; null when it is none. */
export function secondsOf(text: string): number | null {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)\s*$/.exec(text);
  const units: Record<string, number> = { us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400 };
  return found ? Number(found[1]) * (units[found[2] ?? ""] ?? 0) : null;
}

/** How many points a form goes through, and the seconds they take together; null where a time is none. */
export function pointsOf(form: Form): { count: number; seconds: number | null } {
  const count = sweeps(form).reduce((product, [, values]) => product * values.length, 1);
  const [ramp, time] = [secondsOf(form.ramp), secondsOf(form.time)];
  return { count, seconds: ramp === null || time === null ? null : count * (ramp + time) };
}

/** The job that a form says. */
export function toText(form: Form): string {
  const lines: string[] = [];
  if (form.title || form.seed) lines.push("[run]");
  if (form.title) lines.push(`title = ${quoted(form.title)}`);
  if (form.seed) lines.push(`seed = ${/^\d+$/.test(form.seed) ? form.seed : quoted(form.seed)}`);
  if (form.title || form.seed) lines.push("");
  lines.push("[target.disk]");
  const builtIn = { "null:": "null", "sim:": "sim" }[form.path];
  lines.push(builtIn ? `kind = ${quoted(builtIn)}` : `path = ${quoted(form.path)}`);
  if (form.size) lines.push(`size = ${quoted(form.size)}`);
  if (form.remove && !builtIn) lines.push("remove = true");
  lines.push("", "[workload.load]");
  const [first = emptyLine, ...others] = form.lines;
  const swept = sweeps(form);
  const isSwept = (option: string) => swept.some(([name]) => name === option);
  if (others.length === 0) {
    if (!isSwept("workload.block_size")) lines.push(`block_size = ${quoted(first.blockSize)}`);
    if (!isSwept("workload.read")) lines.push(`read = ${quoted(first.read)}`);
    lines.push(`access = ${quoted(first.access)}`);
  } else {
    lines.push("mix = [");
    for (const { share, blockSize, read, access } of form.lines) {
      lines.push(`    { share = ${quoted(share)}, block_size = ${quoted(blockSize)}, read = ${quoted(read)}, access = ${quoted(access)} },`);
    }
    lines.push("]");
  }
  if (form.align) lines.push(`align = ${quoted(form.align)}`);
  lines.push("", "[stream.load]", `workers = ${form.workers}`);
  if (form.depths.length === 1) lines.push(`queue_depth = ${form.depths[0]}`);
  if (form.rate && !isSwept("stream.rate")) lines.push(`rate = ${quoted(form.rate)}`);
  if (form.direct) lines.push(`direct = ${form.direct}`);
  if (form.priorityClass) lines.push(`thread_priority_class = ${quoted(form.priorityClass)}`);
  if (form.priorityLevel) {
    const { priorityLevel: level } = form;
    lines.push(`thread_priority_level = ${/^\d+$/.test(level) ? level : quoted(level)}`);
  }
  lines.push("", "[stage.main]", `ramp = ${quoted(form.ramp)}`, `time = ${quoted(form.time)}`);
  const value = (one: string | number) => (typeof one === "number" ? String(one) : quoted(one));
  const dimensions = swept.map(([option, values]) => `${quoted(option)} = [${values.map(value).join(", ")}]`);
  if (dimensions.length > 0) lines.push(`sweep = { ${dimensions.join(", ")} }`);
  return `${lines.join("\n")}\n`;
}

type Table = Record<string, unknown>;

const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);

/** The one table of a kind of section, and its name. */
function only(job: Table, kind: string): [string, Table] | null {
  const sections = job[kind];
  if (!isTable(sections)) return null;
  const [[name, section] = [], ...others] = Object.entries(sections);
  return name !== undefined && isTable(section) && others.length === 0 ? [name, section] : null;
}

const text = (value: unknown, otherwise: string) =>
  typeof value === "string" || typeof value === "number" ? String(value) : otherwise;

/** What a text says in the form's fields: null when it says anything else, or is no TOML (yet). */
export function toForm(job: string): Form | null {
  let table: Table;
  try {
    table = parse(job);
  } catch (error) {
    if (error instanceof TomlError) return null;
    throw error;
  }
  const [target, workload, stream, stage] = ["target", "workload", "stream", "stage"].map((kind) => only(table, kind));
  if (!target || !workload || !stream || !stage || !(table.run === undefined || isTable(table.run))) return null;
  const [of, load, flow, phase] = [target[1], workload[1], stream[1], stage[1]];
  const sweep = isTable(phase.sweep) ? phase.sweep : {};
  const depthList = doubled(sweep["stream.queue_depth"]);
  const depths = Array.isArray(depthList) ? depthList : [flow.queue_depth ?? 1];
  /** A value, or the several that it is swept over. */
  const several = (option: string, value: unknown, otherwise: string) => {
    const values = sweep[option];
    return Array.isArray(values) ? values.map((one) => text(one, "")).join(", ") : text(value, otherwise);
  };
  const mix = Array.isArray(load.mix) ? load.mix.filter(isTable) : [load];
  const form: Form = {
    title: isTable(table.run) ? text(table.run.title, "") : "",
    path: of.kind === undefined ? text(of.path, "") : `${text(of.kind, "")}:`,
    size: text(of.size, ""),
    remove: of.remove === true || of.kind !== undefined,
    lines: mix.map((line) => ({
      share: text(line.share, "100%"),
      blockSize: several("workload.block_size", line.block_size, "4KiB"),
      read: several("workload.read", line.read, "100%"),
      access: text(line.access, "sequential"),
    })),
    align: text(load.align, ""),
    workers: typeof flow.workers === "number" ? flow.workers : 1,
    depths: depths.filter((depth) => typeof depth === "number"),
    rate: several("stream.rate", flow.rate, ""),
    direct: typeof flow.direct === "boolean" ? String(flow.direct) : "",
    priorityClass: text(flow.thread_priority_class, ""),
    priorityLevel: text(flow.thread_priority_level, ""),
    ramp: text(phase.ramp, "0s"),
    time: text(phase.time, "30s"),
    seed: isTable(table.run) ? text(table.run.seed, "") : "",
  };
  // The form says all that the text says exactly when its own text means the same. Points come in the order in which what
  // is swept is written.
  const order = sweeps(form).map(([option]) => option);
  const isInOrder = Object.keys(sweep).every((option, at) => option === order[at]);
  return isInOrder && same(parse(toText(form)), named(table)) ? form : null;
}

/** The same job under the names, and with the values, that the form writes. */
function named(job: Table): Table {
  const rename = (kind: string, name: string, defaults: Table, instead: Table = {}) => {
    const found = only(job, kind);
    return found ? { [name]: { ...defaults, ...found[1], ...instead } } : job[kind];
  };
  const sweep = only(job, "stage")?.[1].sweep;
  const isSwept = (option: string) => isTable(sweep) && option in sweep;
  const depth = isSwept("stream.queue_depth") ? {} : { queue_depth: 1 };
  const line: Table = { block_size: "4KiB", read: "100%", access: "sequential" };
  for (const name of ["block_size", "read"]) if (isSwept(`workload.${name}`)) delete line[name];
  const mix = only(job, "workload")?.[1].mix;
  const filled = Array.isArray(mix) ? mix.map((one) => (isTable(one) ? { ...line, ...one } : one)) : null;
  const out: Table = {
    ...job,
    target: rename("target", "disk", {}),
    workload: filled ? rename("workload", "load", {}, { mix: filled }) : rename("workload", "load", line),
    stream: rename("stream", "load", { workers: 1, ...depth }),
    stage: rename("stage", "main", { ramp: "0s", time: "30s" }, isTable(sweep) ? { sweep: listedSweep(sweep) } : {}),
  };
  return out;
}

/** A sweep whose depths are listed. */
function listedSweep(sweep: Table): Table {
  const depths = sweep["stream.queue_depth"];
  return depths === undefined ? sweep : { ...sweep, "stream.queue_depth": doubled(depths) };
}

/** `{ from = 1, to = 8, factor = 2 }` as the list that it stands for; anything else as it is. */
function doubled(depths: unknown): unknown {
  if (!isTable(depths) || depths.factor !== 2 || Object.keys(depths).length !== 3) return depths;
  const { from, to } = depths;
  return typeof from === "number" && typeof to === "number" ? (depthsOf(`${from}..${to}`) ?? depths) : depths;
}

/** What the shares of lines add up to, per cent; null where one is none. */
export function shareOf(lines: AccessLine[]): number | null {
  const shares = lines.map((line) => (/^\d+(\.\d+)?%$/.test(line.share.trim()) ? Number.parseFloat(line.share) : Number.NaN));
  const sum = shares.reduce((all, share) => all + share, 0);
  return Number.isNaN(sum) ? null : Math.round(sum * 1e6) / 1e6;
}

function same(a: unknown, b: unknown): boolean {
  if (isTable(a) && isTable(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => key in b && same(a[key], b[key]));
  }
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => same(item, b[at]));
  return a === b;
}

/** Depths written as `1, 2, 4` or `1..256` (doubling); null when they are neither. */
export function depthsOf(written: string): number[] | null {
  const range = /^\s*(\d+)\s*\.\.\s*(\d+)\s*$/.exec(written);
  if (range) {
    const [from, to] = [Number(range[1]), Number(range[2])];
    if (from < 1 || to < from || to > 65536) return null;
    const depths = [];
    for (let depth = from; depth <= to; depth *= 2) depths.push(depth);
    return depths;
  }
  const depths = written.split(",").map((part) => Number(part.trim()));
  return depths.every((depth) => Number.isInteger(depth) && depth >= 1 && depth <= 65536) ? depths : null;
}

/** The access specifications that a job has: each workload whose lines the form can show. */
export function specsOf(job: string): AccessLine[][] {
  let table: Table;
  try {
    table = parse(job);
  } catch {
    return [];
  }
  if (!isTable(table.workload)) return [];
  return Object.values(table.workload).flatMap((workload) => {
    if (!isTable(workload)) return [];
    const known = ["mix", "block_size", "read", "access"];
    if (Object.keys(workload).some((name) => !known.includes(name))) return [];
    const lines = Array.isArray(workload.mix) ? workload.mix.filter(isTable) : [workload];
    const line = (of: Table): AccessLine => ({
      share: text(of.share, "100%"),
      blockSize: text(of.block_size, "4KiB"),
      read: text(of.read, "100%"),
      access: text(of.access, "sequential"),
    });
    return [lines.map(line)];
  });
}
