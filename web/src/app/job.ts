// The form of the compose page and the text of the job: either can be made of the other. What a form cannot say keeps it
// closed; it never loses what somebody wrote. Pure.

import { parse, TomlError } from "smol-toml";

/** What the form has fields for; values as a job file has them. */
export interface Form {
  title: string;
  path: string;
  size: string;
  remove: boolean;
  read: string;
  blockSize: string;
  access: string;
  workers: number;
  /** One depth, or several, each of which is a step. */
  depths: number[];
  rate: string;
  ramp: string;
  time: string;
}

export const empty: Form = {
  title: "",
  path: "",
  size: "1GiB",
  remove: true,
  read: "100%",
  blockSize: "4KiB",
  access: "random",
  workers: 1,
  depths: [16],
  rate: "",
  ramp: "2s",
  time: "30s",
};

/** A basic string (TOML 1.0). JSON's escapes are among its own, but for DEL. */
const quoted = (text: string) => JSON.stringify(text).replaceAll("\u007f", "\\u007f");

/** The job that a form says. */
export function toText(form: Form): string {
  const lines: string[] = [];
  if (form.title) lines.push("[run]", `title = ${quoted(form.title)}`, "");
  lines.push("[target.disk]");
  const builtIn = { "null:": "null", "sim:": "sim" }[form.path];
  lines.push(builtIn ? `kind = ${quoted(builtIn)}` : `path = ${quoted(form.path)}`);
  if (form.size) lines.push(`size = ${quoted(form.size)}`);
  if (form.remove && !builtIn) lines.push("remove = true");
  lines.push("", "[workload.load]");
  lines.push(`block_size = ${quoted(form.blockSize)}`, `read = ${quoted(form.read)}`, `access = ${quoted(form.access)}`);
  lines.push("", "[stream.load]", `workers = ${form.workers}`);
  if (form.depths.length === 1) lines.push(`queue_depth = ${form.depths[0]}`);
  if (form.rate) lines.push(`rate = ${quoted(form.rate)}`);
  lines.push("", "[stage.main]", `ramp = ${quoted(form.ramp)}`, `time = ${quoted(form.time)}`);
  if (form.depths.length > 1) lines.push(`sweep = { "stream.queue_depth" = [${form.depths.join(", ")}] }`);
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
  const sweep = isTable(phase.sweep) ? phase.sweep["stream.queue_depth"] : undefined;
  const depths = Array.isArray(sweep) ? sweep : [flow.queue_depth ?? 1];
  const form: Form = {
    title: isTable(table.run) ? text(table.run.title, "") : "",
    path: of.kind === undefined ? text(of.path, "") : `${text(of.kind, "")}:`,
    size: text(of.size, ""),
    remove: of.remove === true || of.kind !== undefined,
    read: text(load.read, "100%"),
    blockSize: text(load.block_size, "4KiB"),
    access: text(load.access, "sequential"),
    workers: typeof flow.workers === "number" ? flow.workers : 1,
    depths: depths.filter((depth) => typeof depth === "number"),
    rate: text(flow.rate, ""),
    ramp: text(phase.ramp, "0s"),
    time: text(phase.time, "30s"),
  };
  // The form says all that the text says exactly when its own text means the same.
  return same(parse(toText(form)), named(table)) ? form : null;
}

/** The same job under the names, and with the values, that the form writes. */
function named(job: Table): Table {
  const rename = (kind: string, name: string, defaults: Table) => {
    const found = only(job, kind);
    return found ? { [name]: { ...defaults, ...found[1] } } : job[kind];
  };
  const depth = isTable(only(job, "stage")?.[1].sweep) ? {} : { queue_depth: 1 };
  const out: Table = {
    ...job,
    target: rename("target", "disk", {}),
    workload: rename("workload", "load", { block_size: "4KiB", read: "100%", access: "sequential" }),
    stream: rename("stream", "load", { workers: 1, ...depth }),
    stage: rename("stage", "main", { ramp: "0s", time: "30s" }),
  };
  return out;
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
