// The form of the compose page and the text of a job: either follows the other. What the form has no field for stays in the
// text as it was written, and is told. Pure.

import { TomlError } from "smol-toml";
import {
  emptyLine,
  filled,
  isPlain,
  lineDefaults,
  linesOf,
  listed,
  needsMix,
  ofLines,
  text,
  workloadTable,
  type AccessLine,
} from "./access";
import { options } from "./limits";
import { joined, released } from "./references";
import { openString } from "./remarks";
import { edited, isTable, parse, same, toToml, type Table } from "./toml";

/** Something that is measured. */
export interface Target {
  /** Of its section. */
  name: string;
  kind: "path" | "tree";
  /** Of the file or device; of a tree, its root. */
  path: string;
  /** Of each file of a tree. */
  size: string;
  remove: boolean;
  /** Of a tree alone: levels of folders, folders in each, and files in each that has some. Null where the field is empty. */
  depth: number | null;
  width: number | null;
  files: number | null;
  /** Whether files lie in all its folders, not in the deepest alone. */
  everywhere: boolean;
}

/**
 * Where a stream goes: to all targets, whichever there are, or to those that its text names, in the order in which it does.
 * A list with all of them is not the same: a target more is not in it.
 */
export type Aims = "all" | string[];

/** Operations and who does them, on which targets. */
export interface Stream {
  /** Of its section. */
  name: string;
  /** Name of the section that has its lines, which may be that of another stream, too. */
  workload: string;
  targets: Aims;
  /** At least one; several are a mix whose shares add up to 100 %. A field that is empty leaves it to the default. */
  lines: AccessLine[];
  /** Whether its only line is written as a mix of one. */
  isMix?: boolean | undefined;
  /** Options of it and of its lines that are swept or written in a way that no field shows: `workload.read`. */
  held?: string[];
  /** What random operations begin at multiples of; empty for the smallest block. */
  align: string;
  /** Null where the field is empty, which is the default. */
  workers: number | null;
  /** One depth, or several, each of which is a step; none for the default. */
  depths: number[];
  /** As fast as it goes when empty; several, separated by commas, are a step each. */
  rate: string;
  /** Whether the page cache is passed by: `true`, `false`, or empty for where it can be. */
  direct: string;
  /** Class of the I/O priority: a word of the option, or empty for that of the process. */
  priorityClass: string;
  /** Level within it, 0 to 7; empty for the class's own. */
  priorityLevel: string;
}

/** A time that a stream has itself, in place of that of its stage. */
export interface OwnTime {
  stream: string;
  value: string;
}

/** How a time of the form stands where streams have it themselves. */
export interface OwnTimes {
  /** All streams have the same: the field is that of each of them. */
  isCommon: boolean;
  /** No stream of the stage is without one of its own: the stage's holds for none. */
  isAll: boolean;
  of: OwnTime[];
}

/** What the form has fields for; values as a job file has them. */
export interface Form {
  title: string;
  /** At least one. */
  targets: Target[];
  /** At least one; all of them run at once. */
  streams: Stream[];
  /** Name of the section of times. */
  stage: string;
  ramp: string;
  time: string;
  /** Times that streams have themselves. */
  own: { ramp?: OwnTimes; time?: OwnTimes };
  /** Whether no stream goes on for the default time where none is given: each ends when its work is done. */
  isBounded: boolean;
  /** Empty for the same sequence every time, `fresh`, or a number. */
  seed: string;
}

export const emptyTarget: Target = {
  name: "disk",
  kind: "path",
  path: "",
  size: "1GiB",
  remove: true,
  depth: 2,
  width: 4,
  files: 10,
  everywhere: false,
};

export const emptyStream: Stream = {
  name: "load",
  workload: "load",
  targets: "all",
  lines: [emptyLine],
  align: "",
  workers: 1,
  depths: [16],
  rate: "",
  direct: "",
  priorityClass: "",
  priorityLevel: "",
};

export const empty: Form = {
  title: "",
  targets: [emptyTarget],
  streams: [emptyStream],
  stage: "main",
  ramp: "2s",
  time: "30s",
  own: {},
  isBounded: false,
  seed: "",
};

/** The first of `disk`, `disk2`, … that is not taken. */
export function freeName(stem: string, taken: { name: string }[]): string {
  for (let at = 1; ; at += 1) {
    const name = at === 1 ? stem : `${stem}${at}`;
    if (taken.every((one) => one.name !== name)) return name;
  }
}

/** Whether a stream goes to the target of this name. */
export const goesTo = ({ targets }: Pick<Stream, "targets">, name: string): boolean =>
  targets === "all" || targets.includes(name);

/** Where a stream goes when one of all targets is chosen for it or no longer: names stay in the order that they have. */
export function aimed(aims: Aims, name: string, isAimedAt: boolean, all: string[]): string[] {
  const others = (aims === "all" ? all : aims).filter((other) => other !== name);
  if (!isAimedAt) return others;
  const next = others.findIndex((other) => all.indexOf(other) > all.indexOf(name));
  const at = next < 0 ? others.length : next;
  return [...others.slice(0, at), name, ...others.slice(at)];
}

/** Where streams go once there is a target more or less: where each says it does, but for what is gone. */
export const reaimed = (aims: Aims, all: string[]): Aims =>
  aims === "all" ? aims : aims.filter((name) => all.includes(name));

type Values = (string | number)[];

/** The option by which all streams go through the same depths at once: one that names no stream sets it of all. */
const depthOfAll = "stream.queue_depth";

/** Whether several streams go through queue depths together, as Iometer's workers do: each has the same several ones. */
export function cyclesTogether({ streams }: Form): boolean {
  const [first, ...others] = streams;
  return !!first && first.depths.length > 1 && others.length > 0 && others.every(({ depths }) => same(depths, first.depths));
}

/** Whether streams go through queue depths of their own, so that there is a point for every combination of them. */
export const combinesDepths = (form: Form): boolean =>
  !cyclesTogether(form) && form.streams.filter(({ depths }) => depths.length > 1).length > 1;

/** What is swept, outermost first: options and their values. Of one stream alone options need no name. */
function sweeps(form: Form): [string, Values][] {
  const { streams } = form;
  const isTogether = cyclesTogether(form);
  const seen = new Set<string>();
  const dimensions = streams.flatMap((stream): [string, Values][] => {
    const [only, ...others] = stream.lines;
    const [load, flow] =
      streams.length === 1 ? ["workload", "stream"] : [`workload.${stream.workload}`, `stream.${stream.name}`];
    // Lines that several streams share are swept once.
    const isFirst = !seen.has(stream.workload);
    seen.add(stream.workload);
    const single = only && others.length === 0 && isFirst && !needsMix(only) ? only : null;
    return [
      [`${load}.block_size`, single ? listed(single.blockSize) : []],
      [`${load}.read`, single ? listed(single.read) : []],
      [`${flow}.rate`, listed(stream.rate)],
      ...(isTogether ? [] : [[`${flow}.queue_depth`, stream.depths] satisfies [string, Values]]),
    ];
  });
  if (isTogether) dimensions.push([depthOfAll, streams[0]?.depths ?? []]);
  return dimensions.filter(([, values]) => values.length > 1);
}

/** Targets that are none of this machine's, by what the form calls them. */
const builtIns: Record<string, string> = { "null:": "null", "sim:": "sim" };

/** A name for a job without a title: of what it measures. */
export function nameOf(targets: { path: string }[]): string {
  const names = targets.map(({ path }) => builtIns[path] ?? path.replace(/\/+$/, "").split("/").at(-1) ?? "");
  const all = names.filter((name) => name !== "").join(", ");
  return `${all.slice(0, 80) || "job"}.toml`;
}

/** A number where the text is one: options of several types have words beside numbers. */
const number = (text: string) => (/^\d+$/.test(text) ? Number(text) : text);

function targetTable({ kind, path, size, remove, depth, width, files, everywhere }: Target): Table {
  const builtIn = kind === "path" ? builtIns[path] : undefined;
  const what: [string, unknown][] =
    kind === "tree"
      ? [
          ["kind", "tree"],
          ["directory", path],
          ["tree_depth", depth],
          ["tree_width", width],
          ["tree_distribution", everywhere ? "all" : "bottom"],
          ["files", files],
        ]
      : builtIn
        ? [["kind", builtIn]]
        : [];
  const table = filled([...what, ["size", size], ["remove", (remove && !builtIn) || undefined]]);
  return kind === "path" && !builtIn ? { path, ...table } : table;
}

/** The times of a form that stand in its streams, or those that stand in its stage. */
const timesIn = (form: Form, isOwn: boolean): [string, string][] =>
  (["ramp", "time"] as const).flatMap((name): [string, string][] =>
    (form.own[name]?.isCommon ?? false) === isOwn ? [[name, form[name]]] : [],
  );

function streamTable(stream: Stream, isOnly: boolean, isSwept: (option: string) => boolean): Table {
  const { name, workload, targets, workers, depths, rate, direct, priorityClass, priorityLevel } = stream;
  return filled([
    ["workload", workload === name || isOnly ? "" : workload],
    ["targets", targets === "all" ? "" : targets],
    ["workers", workers],
    ["queue_depth", depths.length === 1 ? depths[0] : ""],
    ["rate", isSwept("rate") ? "" : rate],
    ["direct", direct && direct === "true"],
    ["thread_priority_class", priorityClass],
    ["thread_priority_level", number(priorityLevel)],
  ]);
}

/** What a form says, as the table of a job. */
function tableOf(form: Form): Table {
  const swept = sweeps(form);
  const isSwept = (path: string) => swept.some(([option]) => option === path);
  const several = form.streams.length > 1;
  const isOnly = new Set(form.streams.map(({ workload }) => workload)).size === 1;
  const workloads: Table = {};
  const streams: Table = {};
  for (const stream of form.streams) {
    const [load, flow] = several ? [`workload.${stream.workload}`, `stream.${stream.name}`] : ["workload", "stream"];
    workloads[stream.workload] ??= workloadTable(stream, (option) => isSwept(`${load}.${option}`));
    const table = streamTable(stream, isOnly, (option) => isSwept(`${flow}.${option}`));
    streams[stream.name] = { ...table, ...filled(timesIn(form, true)) };
  }
  const times = filled(timesIn(form, false));
  const run = filled([
    ["title", form.title],
    ["seed", number(form.seed)],
  ]);
  return {
    ...(Object.keys(run).length > 0 ? { run } : {}),
    target: Object.fromEntries(form.targets.map((target) => [target.name, targetTable(target)])),
    workload: workloads,
    stream: streams,
    stage: { [form.stage]: swept.length > 0 ? { ...times, sweep: Object.fromEntries(swept) } : times },
  };
}

/** The job that a form says. */
export const toText = (form: Form): string => toToml(tableOf(form));

/** What was read last: the same text is asked for its form, its points and its change, at each key. */
let lastRead: { job: string; table: Table | TomlError } | null = null;

/** What a text says, which is not to be changed, or why it is no TOML. */
function tableIn(job: string): Table | TomlError {
  if (lastRead?.job !== job) {
    try {
      lastRead = { job, table: parse(job) };
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      lastRead = { job, table: error };
    }
  }
  return lastRead.table;
}

/** Sections that another began as, by kind: what no field shows of the one holds for the other, too. */
export type Like = Record<"workload" | "stream", { name: string; from: string }>;

/**
 * The text that follows a form which was changed: what the form does not show stays as it is written, but for what names a
 * section that is gone.
 */
export function rewritten(text: string, form: Form, like?: Like): string {
  const [shown, whole] = [toForm(text), tableIn(text)];
  if (!shown || whole instanceof TomlError) return toText(form);
  // What the form alone has written is written in its order.
  if (text === toText(shown.form)) return toText(form);
  const [before, after] = [tableOf(shown.form), tableOf(form)];
  for (const [kind, { name, from }] of Object.entries(like ?? {})) {
    const [source, known, fresh] = [
      sectionOf(whole, kind, from),
      sectionOf(before, kind, from),
      sectionOf(after, kind, name),
    ];
    const more = Object.entries(source).filter(
      ([option]) => !(option in known) && !(option in fresh) && !["workload", "targets"].includes(option),
    );
    Object.assign(fresh, Object.fromEntries(more));
  }
  const gone = ["target", "workload", "stream"].flatMap((kind) =>
    sections(before, kind).flatMap(([name]) => (isTable(after[kind]) && !(name in after[kind]) ? [{ kind, name }] : [])),
  );
  // A stream that leaves its operations to defaults would take those of another that comes.
  if (form.streams.length !== shown.form.streams.length) {
    const written = sections(whole, "workload").map(([name]) => name);
    before.workload = Object.fromEntries(sections(before, "workload").filter(([name]) => written.includes(name)));
  }
  const left = released(edited(text, before, after), gone, text);
  return like ? joined(left, like.stream.name, like.stream.from) : left;
}

/** Seconds of each unit that a time of a job may have. */
const units: Record<string, number> = {
  ...{ ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, sec: 1, m: 60, min: 60, h: 3600, d: 86400 },
};

/** Seconds that a time of a job says: `2s`, `1h30m`; null when it is none. */
export function secondsOf(text: string): number | null {
  if (/^\s*0+\s*$/.test(text)) return 0;
  const part = /\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*([a-zµ]+)/y;
  let seconds = 0;
  for (let at = 0; at < text.trimEnd().length; at = part.lastIndex) {
    const [, value, unit = ""] = part.exec(text) ?? [];
    if (value === undefined || !Object.hasOwn(units, unit)) return null;
    seconds += Number(value) * (units[unit] ?? 0);
  }
  return text.trim() === "" ? null : seconds;
}

/** How many values an option goes through: a list, or a range of whole numbers; null where it is neither. */
function valuesIn(values: unknown): number | null {
  if (Array.isArray(values)) return values.length;
  if (!isTable(values)) return null;
  const [from, to, factor, step] = ["from", "to", "factor", "step"].map((key) => values[key]);
  if (typeof from !== "number" || typeof to !== "number" || from > to) return null;
  if (typeof step === "number" && step > 0 && factor === undefined) return Math.floor((to - from) / step) + 1;
  if (typeof factor !== "number" || factor < 2 || from < 1 || step !== undefined) return null;
  let count = 0;
  for (let at = from; at <= to; at *= factor) count += 1;
  return count;
}

/** What ends a stream that has no time, in place of the default time. */
const ends = ["passes", "bytes", "operations", "prepare_only", "end_with_io", "trace", "rate_course", "program"];

/** What bounds streams beside or instead of their time. */
const bounds = [...ends, "ramp_bytes", "start_delay", "until_full"];

/**
 * How many points a job goes through, and the seconds they take together, null where that cannot be told; null of a text
 * that cannot be read, or that finds its points itself.
 */
export function pointsOf(job: string): { count: number; seconds: number | null } | null {
  const table = tableIn(job);
  if (table instanceof TomlError) return null;
  const streams = sections(table, "stream");
  const isBounded = streams.some(([, stream]) => bounds.some((option) => option in stream));
  let [points, seconds]: [number, number | null] = [0, isBounded ? null : 0];
  for (const [, stage] of sections(table, "stage")) {
    if (stage.curve !== undefined) return null;
    const counts = Object.values(isTable(stage.sweep) ? stage.sweep : {}).map(valuesIn);
    const known = counts.filter((one) => one !== null);
    if (known.length < counts.length) return null;
    const count = known.reduce((product, one) => product * one, 1);
    const pause = secondsOf(text(stage.pause, "0"));
    const running = runIn(stage, streams).map(([, stream]) => stream);
    const lasting = (running.length > 0 ? running : [{}]).map((stream: Table) => {
      const [ramp, time] = (["ramp", "time"] as const).map((name) =>
        secondsOf(text(stream[name] ?? stage[name], options[`stage.${name}`].default)),
      );
      return ramp === null || ramp === undefined || time === null || time === undefined ? null : ramp + time;
    });
    const known_s = lasting.filter((one) => one !== null);
    // What a stream does beyond the others, the point waits for.
    if (seconds === null || known_s.length < lasting.length || pause === null) seconds = null;
    else seconds += count * Math.max(...known_s) + (count - 1) * pause;
    points += count;
  }
  return points === 0 ? null : { count: points, seconds };
}

/** Null where it is no number: what that is the server tells. */
const count = (value: unknown, otherwise: string) =>
  value === undefined ? Number(otherwise) : typeof value === "number" ? value : null;

/** Tables within a kind of section, by name. */
function sections(job: Table, kind: string): [string, Table][] {
  const found = job[kind];
  return isTable(found) ? Object.entries(found).filter((one): one is [string, Table] => isTable(one[1])) : [];
}

/** A section as it is written, or nothing of one that is not. */
function sectionOf(job: Table, kind: string, name: string): Table {
  const of = job[kind];
  const found = isTable(of) && Object.hasOwn(of, name) ? of[name] : undefined;
  return isTable(found) ? found : {};
}

/** The streams that a stage runs: all, or those that it names. */
function runIn(stage: Table, streams: [string, Table][]): [string, Table][] {
  const named = typeof stage.streams === "string" ? [stage.streams] : stage.streams;
  return Array.isArray(named) ? streams.filter(([name]) => named.includes(name)) : streams;
}

/** A time that streams have themselves; undefined where none has it. */
function ownTimes(name: "ramp" | "time", phase: Table, streams: [string, Table][]): OwnTimes | undefined {
  const of = streams.flatMap(([stream, options]) =>
    name in options ? [{ stream, value: text(options[name], "") }] : [],
  );
  const [first] = of;
  if (!first) return undefined;
  return {
    isCommon: of.length === streams.length && of.every(({ value }) => value === first.value),
    isAll: runIn(phase, streams).every(([, options]) => name in options),
    of,
  };
}

/** A target as the form has it. */
function targetOf([name, of]: [string, Table]): Target {
  const isTree = of.kind === "tree";
  const isBuiltIn = Object.hasOwn(builtIns, `${text(of.kind, "")}:`);
  const isPath = !isBuiltIn && (of.kind === undefined || of.kind === "file" || of.path !== undefined);
  const path = isPath ? text(of.path, "") : `${text(of.kind, "")}:`;
  return {
    name,
    kind: isTree ? "tree" : "path",
    path: isTree ? text(of.directory, "") : path,
    size: text(of.size, ""),
    // Of what is no storage nothing is left to remove: such a target is as one begins.
    remove: of.remove === true || isBuiltIn,
    depth: isTree ? count(of.tree_depth, options["target.tree_depth"].default) : emptyTarget.depth,
    width: isTree ? count(of.tree_width, options["target.tree_width"].default) : emptyTarget.width,
    files: isTree ? count(of.files, options["target.files"].default) : emptyTarget.files,
    everywhere: isTree && of.tree_distribution === "all",
  };
}

/** Where a text is no TOML: its line, and whether that is a string without an end. */
export interface Unread {
  line: number;
  isOpen: boolean;
}

/** Why the form has nothing of a text to show: null where it is TOML all the same, and names no target or no stream. */
export function unreadOf(job: string): Unread | null {
  const error = tableIn(job);
  if (!(error instanceof TomlError)) return null;
  // The reader tells of such a string only where it stumbles, which may be lines behind it.
  const open = openString(job);
  return open !== null && open <= error.line ? { line: open, isOpen: true } : { line: error.line, isOpen: false };
}

/** A text in the form's fields. */
export interface Shown {
  form: Form;
  /** Options and sections that the form has no field for, such as `stream.users.engine`. */
  others: string[];
}

/** What a text says in the form's fields: null when it is no TOML (yet), or has nothing that the form shows. */
export function toForm(job: string): Shown | null {
  const table = tableIn(job);
  if (table instanceof TomlError) return null;
  const targets = sections(table, "target").map(targetOf);
  const workloads = new Map(sections(table, "workload"));
  const flows = sections(table, "stream");
  const [[stage, phase] = ["main", {} as Table]] = sections(table, "stage");
  if (targets.length === 0 || flows.length === 0) return null;
  const sweep = isTable(phase.sweep) ? phase.sweep : {};
  /** The several values that an option is swept over, of a section by name or, where there is one stream, of all. */
  const sweptOver = (kind: string, name: string, option: string): unknown =>
    sweep[`${kind}.${name}.${option}`] ??
    (flows.length === 1 || `${kind}.${option}` === depthOfAll ? sweep[`${kind}.${option}`] : undefined);
  const allSweeps = sections(table, "stage").flatMap(([, { sweep }], at) =>
    Object.entries(isTable(sweep) ? sweep : {}).map(([path, values]) => ({ path, at, values: doubled(values) })),
  );
  const streams = flows.map(([name, flow]): Stream => {
    const named = text(flow.workload, workloads.has(name) || workloads.size !== 1 ? name : [...workloads.keys()][0]!);
    const load = workloads.get(named) ?? {};
    /** What a field says of an option that may be swept: where it is in a way of its own, nothing. */
    const several = (kind: string, of: string, option: string, single: string) => {
      const values = sweptOver(kind, of, option);
      return values === undefined ? single : isList(values) ? values.map(String).join(", ") : "";
    };
    const lines = linesOf(load);
    const [only, ...more] = lines ?? linesOf({ ...load, mix: undefined }) ?? [emptyLine];
    const hasOne = only !== undefined && more.length === 0 && !needsMix(only);
    if (hasOne) {
      only.blockSize = several("workload", named, "block_size", only.blockSize);
      only.read = several("workload", named, "read", only.read);
    }
    const depthList = doubled(sweptOver("stream", name, "queue_depth"));
    const depths = depthList === undefined ? [flow.queue_depth ?? Number(options["stream.queue_depth"].default)] : depthList;
    /** Whether fields show all that is said of how an option is swept. */
    const isHeld = (kind: string, of: string, option: string, hasField: boolean) => {
      const paths = [`${kind}.${of}.${option}`, `${kind}.${option}`];
      const found = allSweeps.filter(({ path }) => paths.includes(path));
      return found.some(({ at, values }) => at > 0 || !hasField || !isList(values) || values.length < 2);
    };
    const held = [
      ...(lines ? [] : ["workload.mix"]),
      ...[...ofLines, "mix"]
        .filter((one) => isHeld("workload", named, one, hasOne && ["block_size", "read"].includes(one)))
        .map((one) => `workload.${one}`),
      ...["rate", "queue_depth"].filter((one) => isHeld("stream", name, one, true)).map((one) => `stream.${one}`),
    ];
    const aims = typeof flow.targets === "string" ? [flow.targets] : flow.targets;
    const all = targets.map((target) => target.name);
    return {
      name,
      workload: named,
      targets: Array.isArray(aims) ? [...new Set(aims)].filter((aim) => all.includes(aim)) : "all",
      lines: [...(only ? [only] : []), ...more],
      ...(lines?.length === 1 && load.mix !== undefined ? { isMix: true } : {}),
      ...(held.length > 0 ? { held: [...new Set(held)] } : {}),
      align: text(load.align, ""),
      workers: count(flow.workers, options["stream.workers"].default),
      depths: Array.isArray(depths) ? depths.filter((depth) => typeof depth === "number") : [],
      rate: several("stream", name, "rate", text(flow.rate, "")),
      direct: typeof flow.direct === "boolean" ? String(flow.direct) : "",
      priorityClass: text(flow.thread_priority_class, ""),
      priorityLevel: text(flow.thread_priority_level, ""),
    };
  });
  const run = isTable(table.run) ? table.run : {};
  const [ownRamp, ownTime] = [ownTimes("ramp", phase, flows), ownTimes("time", phase, flows)];
  const untimed = runIn(phase, flows).filter(([, flow]) => !("time" in flow));
  const isBounded = untimed.length > 0 && untimed.every(([, flow]) => ends.some((option) => option in flow));
  /** What the field of a time says: of the streams, or of the stage where that holds for any of them. */
  const timeIn = (name: "ramp" | "time", own: OwnTimes | undefined, otherwise: string): string => {
    if (own?.isCommon) return own.of[0]?.value ?? "";
    return text(phase[name], name in phase || own?.isAll ? "" : otherwise);
  };
  const form: Form = {
    title: text(run.title, ""),
    targets,
    streams,
    stage,
    ramp: timeIn("ramp", ownRamp, options["stage.ramp"].default),
    time: timeIn("time", ownTime, isBounded ? "" : options["stage.time"].default),
    own: { ...(ownRamp ? { ramp: ownRamp } : {}), ...(ownTime ? { time: ownTime } : {}) },
    isBounded,
    seed: text(run.seed, ""),
  };
  return { form, others: others(table, form) };
}

/** Options that have a field, whose faults stand there. */
const withField: Record<string, string[]> = {
  run: ["title", "seed"],
  target: ["path", "kind", "size", "remove", "directory", "tree_depth", "tree_width", "tree_distribution", "files"],
  workload: ["mix", "block_size", "read", "access", "align"],
  stream: [
    ...["targets", "workers", "queue_depth", "rate", "direct", "thread_priority_class", "thread_priority_level"],
    ...["ramp", "time"],
  ],
  stage: ["ramp", "time"],
};

/** Whether an option has a field, by its path. */
export function hasField(path: string): boolean {
  const [kind = "", ...names] = path.split(".");
  return withField[kind]?.includes(names.at(-1) ?? "") ?? false;
}

/** What a job says that the table of its form does not. */
function others(job: Table, form: Form): string[] {
  const shown = tableOf(form);
  const swept = sweeps(form).map(([option]) => option);
  const found: string[] = [];
  for (const [kind, names] of Object.entries(job)) {
    const of = shown[kind];
    if (!isTable(names)) {
      found.push(kind);
      continue;
    }
    for (const [name, options] of Object.entries(names)) {
      const known = isTable(of) ? of[name] : undefined;
      const path = `${kind}.${name}`;
      if (kind === "run" || !isTable(options) || !isTable(known)) {
        if (!same(plain(known), plain(options))) found.push(path);
        continue;
      }
      for (const [option, value] of Object.entries(options)) {
        // What is swept is not what stands in its section.
        const ofAll = `${kind}.${option}`;
        const isSwept =
          swept.includes(`${path}.${option}`) ||
          swept.includes(shortPath(`${path}.${option}`, form)) ||
          (ofAll === depthOfAll && swept.includes(ofAll));
        if (!isSwept && !isShown(option, value, known[option], name, form)) found.push(`${path}.${option}`);
      }
    }
  }
  for (const { workload, lines } of form.streams) {
    const keys = lines.flatMap(({ more = {}, written = {} }) => [...Object.keys(more), ...Object.keys(written)]);
    const path = `workload.${workload}${"mix" in sectionOf(job, "workload", workload) ? ".mix" : ""}`;
    found.push(...keys.map((key) => `${path}.${key}`));
  }
  return [...new Set(found)];
}

/** Whether the form says what an option of a job says. */
function isShown(option: string, value: unknown, known: unknown, name: string, form: Form): boolean {
  if (option === "sweep") {
    // Points come in the order in which what is swept is written.
    const written = isTable(value) ? Object.entries(value) : [];
    return same(
      written.map(([path, values]) => [shortPath(path, form), plain(doubled(values))]),
      Object.entries(isTable(known) ? known : {}).map(([path, values]) => [path, plain(values)]),
    );
  }
  if (option === "mix" && Array.isArray(value) && Array.isArray(known)) {
    const isLine = (one: unknown, at: number) => isTable(one) && same({ ...lineDefaults, ...one }, known[at]);
    return value.length === known.length && value.every(isLine);
  }
  const stream = ["workload", "targets"].includes(option) ? form.streams.find((one) => one.name === name) : undefined;
  if (option === "workload" && typeof value === "string" && stream) return value === stream.workload;
  if (option === "targets" && stream) {
    const aims = Array.isArray(value) ? value : [value];
    return same(aims, stream.targets);
  }
  // What means nothing is no loss, such as a file that stays.
  if (value === false && (option === "remove" || known === false)) return true;
  return same(plain(value), plain(known)) || (option === "kind" && value === "file");
}

/** The path of a swept option as the form writes it. */
function shortPath(path: string, { streams }: Form): string {
  const parts = path.split(".");
  return streams.length === 1 && parts.length === 3 ? `${parts[0]}.${parts[2]}` : path;
}

/** Scalars by how they are written, so that 0 and "0" are the same. */
const plain = (value: unknown): unknown =>
  Array.isArray(value) ? value.map(plain) : typeof value === "number" || typeof value === "bigint" ? String(value) : value;

/** Values that a field can show, separated by commas. */
const isList = (values: unknown): values is (string | number | bigint)[] => Array.isArray(values) && values.every(isPlain);

/** `{ from = 1, to = 8, factor = 2 }` as the list that it stands for; anything else as it is. */
function doubled(depths: unknown): unknown {
  if (!isTable(depths) || depths.factor !== 2 || Object.keys(depths).length !== 3) return depths;
  const { from, to } = depths;
  return typeof from === "number" && typeof to === "number" ? (depthsOf(`${from}..${to}`) ?? depths) : depths;
}

/** The most that a depth may be. */
export const depthMax = options["stream.queue_depth"].max;

/** Depths written as `1, 2, 4` or `1..256` (doubling), none for the default; null when they are neither. */
export function depthsOf(written: string): number[] | null {
  if (written.trim() === "") return [];
  const range = /^\s*(\d+)\s*\.\.\s*(\d+)\s*$/.exec(written);
  if (range) {
    const [from, to] = [Number(range[1]), Number(range[2])];
    if (from < 1 || to < from || to > depthMax) return null;
    const depths = [];
    for (let depth = from; depth <= to; depth *= 2) depths.push(depth);
    return depths;
  }
  const depths = written.split(",").map((part) => Number(part.trim()));
  return depths.every((depth) => Number.isInteger(depth) && depth >= 1 && depth <= depthMax) ? depths : null;
}

/** Whether a text is rates, as the server reads them: none, one, or several separated by commas. */
export function isRates(text: string): boolean {
  return listed(text).every((one) => {
    if (one === "max") return true;
    const found = /^(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?\s*(.*)$/.exec(one);
    if (!found || !(Number(`${found[1]?.replaceAll("_", "")}${found[2] ?? ""}`) > 0)) return false;
    const unit = found[3] ?? "";
    return unit === "%" || /^[kKM]?\s*(\/s|IOPS)?$/.test(unit) || /^([kKMGTPE]i?)?B\/s$/.test(unit);
  });
}

/** Whether a number field has a whole number of its range, or is empty, which is the default. */
export const isWhole = (value: number | null | undefined, most: number): boolean =>
  value === null || value === undefined || (Number.isInteger(value) && value >= 1 && value <= most);

/** An access specification. */
export interface Spec {
  name: string;
  lines: AccessLine[];
  /** What random operations of all lines begin at multiples of; absent for the smallest block. */
  align?: string;
}

/** The access specifications that a job has: each workload whose lines the form can show. */
export function specsOf(job: string): Spec[] {
  const table = tableIn(job);
  if (table instanceof TomlError) return [];
  return sections(table, "workload").flatMap(([name, workload]) => {
    const known = ["mix", ...ofLines, "align"];
    const lines = linesOf(workload);
    if (!lines || Object.keys(workload).some((name) => !known.includes(name))) return [];
    const align = text(workload.align, "");
    return [{ name, lines, ...(align ? { align } : {}) }];
  });
}
