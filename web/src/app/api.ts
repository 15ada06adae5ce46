// The one way to the server: every page asks through here. Owns addresses, forms of answers and how an answer that is none
// is told; does not know what pages do with it.

import type { Answered, Charts } from "../charts/types";
import { strings } from "../strings";

/** Who may do what: look; run, name and mark; delete and invite. */
export type Role = "viewer" | "operator" | "admin";

/** A run in the list. */
export interface RunRow {
  run: string;
  title: string;
  tags: string[];
  state: string;
  unreadable: string | null;
  started_ms: number | null;
  duration_s: number;
  steps: number;
}

/** Whether a run in this state goes on, here or in another process. */
export const goesOn = (state: string): boolean => state === "running" || state === "elsewhere";

/** A fault of a job's text, with its place. */
export interface Diagnostic {
  code: string;
  severity: string;
  line: number | null;
  column: number | null;
  message: string;
  help: string | null;
}

/** What a target would suffer. */
export interface Intent {
  path: string;
  reads: boolean;
  writes: boolean;
  trims: boolean;
  deletes: boolean;
  creates: boolean;
  lays_out_bytes: number;
  removes: boolean;
}

/** Why a job may not run as it stands. */
export interface Refusal {
  code: string;
  path: string;
  reason: string;
  remedy: string;
  /** What may be typed to have it done all the same; none where nothing helps. */
  answers: string[];
}

/** What has to be typed before a job may run. */
export interface Question {
  code: string;
  path: string;
  device: string;
  reason: string;
  answers: string[];
}

/** What a job would do; without steps where it has faults. */
export interface Plan {
  may_run: boolean;
  expected_seconds: number | null;
  /** Where a search may take longer than is expected. */
  expected_seconds_at_most: number | null;
  /** Of a search the least and the most that is asked. */
  steps: { name: string }[];
  measurements: { about: number; at_most: number | null } | null;
  targets: Intent[];
  refusals: Refusal[];
  questions: Question[];
  notes: string[];
  diagnostics: Diagnostic[];
}

/** What was typed about a path; the server judges it anew each time. */
export interface Answer {
  path: string;
  typed: string;
}

/** What would be lost, and what may be typed to agree to that. */
export interface Loss {
  path: string;
  reason: string;
  answers: string[];
}

/** All that would be lost, and may be with the right words. */
export const lossesOf = ({ refusals, questions }: Plan): Loss[] =>
  [...refusals, ...questions]
    .filter(({ answers }) => answers.length > 0)
    .map(({ path, reason, answers }) => ({ path, reason, answers }));

/** Whether no words make a job run. */
export const isHopeless = (plan: Plan): boolean =>
  !plan.may_run && (lossesOf(plan).length === 0 || plan.refusals.some(({ answers }) => answers.length === 0));

/** What a run is to find out by choosing its steps itself. */
export type Search =
  | { kind: "curve"; over: "depth" | "rate"; latency: string[]; max_depth: number; replicates: number }
  | { kind: "objective"; iops: number | null; latency: string[]; max_depth: number; replicates: number }
  | { kind: "steady"; test: string; class: string; quick: boolean; purge: boolean }
  /** A test that was ended goes on; the job beside it is not looked at. */
  | { kind: "resume"; run: string };

/** A job as it is sent. */
export interface Upload {
  name: string;
  text: string;
  /** What stands for the targets of an Iometer configuration: `NAME=PATH`. */
  maps?: string[];
  /** Bytes that its sectors have. */
  sector_size?: number;
}

export interface Preset {
  name: string;
  title: string;
  text: string;
}

export interface Latency {
  count: number;
  mean_ns: number;
  max_ns: number;
  percentiles: { percent: number; ns: number | null }[];
}

export interface Kind {
  kind: string;
  operations: number;
  bytes: number;
  iops: number;
  bytes_per_s: number;
  errors: number;
  response: Latency;
}

/** What was done on one target. */
export interface OnTarget {
  target: string;
  all: {
    operations: number;
    iops: number;
    bytes_per_s: number;
    errors: number;
    response_mean_ns: number | null;
    response_max_ns: number | null;
  };
}

/** The report of a run: of docs/generated/report.schema.json, what pages show. */
export interface Report {
  run: string;
  title: string;
  description: string | null;
  state: string;
  reason: string | null;
  tool_version: string;
  command: string[];
  host: { name: string; cpu_model: string };
  started_ms: number;
  /** Null of one without an end. */
  finished_ms: number | null;
  validity: { id: string; severity: string; evidence: string; remedy: string }[];
  steps: {
    index: number;
    name: string;
    /** What the step is of those that went through the values of options. */
    parameters: { name: string; value: string }[];
    total: { start_s: number; end_s: number; all: Kind; kinds: Kind[] };
    streams: {
      name: string;
      workload: string;
      engine: string;
      /** Whether it is in the sums: what keeps CPUs busy is no I/O. */
      adds_up: boolean;
      queue_depth: number;
      queue_depth_held: number;
      total: { all: Kind };
      target_count: number;
      /** Each of its targets, where there are several, and no more than are counted apart. */
      targets: OnTarget[];
    }[];
    /** Each target, where a stream goes to several. */
    targets: (OnTarget & { streams: string[]; without: string[]; without_count: number })[];
    /** Streams that go to the same targets; empty where all do. */
    by_target: { targets: string[]; target_count: number; streams: string[]; total: { all: Kind } }[];
  }[];
  notes: { at_s: number; severity: string; message: string }[];
  environment: { subject: string; name: string; value: string | null; bytes: number | null; source: string }[];
  /** What the drives under test said of themselves, where they were asked. */
  drives: {
    device: string;
    /** Why it said nothing. */
    silent: string | null;
    facts: { name: string; before: string | null; after: string | null }[];
  }[];
  /** Of an Iometer configuration with what was said beside its text, as in {@link Upload}. */
  sources: { name: string; text: string; maps?: string[]; sector_size?: number }[];
}

/** A fact of the environment of which not all runs have the same value; of docs/generated/openapi.json. */
export interface EnvironmentDifference {
  name: string;
  /** For people, of each run in their order. */
  values: string[];
  /** Whether a verdict passes over it: it is another whenever one looks. */
  passes: boolean;
}

export interface BlockDevice {
  name: string;
  model: string;
  serial: string;
  size: number;
  read_only: boolean;
  /** Ways in which it is in use: a name, or a name with what there is to say of it. None when it may be written. */
  in_use: (string | Record<string, Record<string, string | number>>)[];
  /** What its content looks like: a name, or a name with more. */
  content: string | { signed: { kind: string }[] } | { unreadable: string };
}

export interface Facts {
  host: string;
  cpu: { model: string; usable: number[] };
  memory: number;
  targets: { path: string; device?: BlockDevice | null }[];
}

/** An answer that is none, in words for people. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** Whether the server does not know who asks. */
export const isUnknown = (error: unknown): boolean => error instanceof ApiError && error.status === 401;

/** What the server says was wrong, and the way out, unless that is a request to write. */
function wordsOf(body: unknown): string | null {
  if (!body || typeof body !== "object" || !("error" in body)) return null;
  const { code, message, help } = body.error as { code?: string; message?: string; help?: string };
  const own = code === undefined ? undefined : strings.refused[code];
  if (own !== undefined) return own;
  return message ? [message, help?.includes("/api/") ? "" : help].filter(Boolean).join("; ") : null;
}

/** Whether this page was entered with an invitation that opens nothing. */
const isUninvited = () => new URLSearchParams(location.search).get("invitation") === "none";

async function ask<T>(path: string, init?: RequestInit): Promise<T> {
  const headers = { accept: "application/json", ...init?.headers };
  // What a browser says of a server that is not there are its own words, in each another one's.
  const response = await fetch(`/api/v1/${path}`, { ...init, headers }).catch(() => {
    throw new ApiError(strings.app.noServer, 0);
  });
  const text = await response.text().catch(() => {
    throw new ApiError(strings.app.noServer, 0);
  });
  let body: unknown = null;
  try {
    body = text === "" ? null : JSON.parse(text);
  } catch {
    body = text;
  }
  if (response.status === 401 && isUninvited()) throw new ApiError(strings.app.noInvitation, response.status);
  if (!response.ok) {
    throw new ApiError(wordsOf(body) ?? `${response.status} ${response.statusText}`, response.status);
  }
  return body as T;
}

function send<T>(path: string, body: unknown, init: RequestInit = {}): Promise<T> {
  const headers = { "content-type": "application/json" };
  return ask<T>(path, { method: "POST", headers, body: JSON.stringify(body), ...init });
}

const of = (run: string) => `runs/${encodeURIComponent(run)}`;

export const api = {
  session: () => ask<{ role: Role }>("session"),
  runs: () => ask<RunRow[]>("runs"),
  /** The runs that go on, here and in other processes. */
  going: async () => {
    const { run, elsewhere } = await ask<{ run: string | null; elsewhere: string[] }>("status");
    return run === null ? elsewhere : [run, ...elsewhere];
  },
  report: (run: string) => ask<Report>(of(run)),
  /** With lines of these streams, else of the first ones. Null from a server that has no charts to give. */
  charts: (run: string, streams: number[] = []) =>
    ask<Charts>(`${of(run)}/charts${streams.length > 0 ? `?streams=${streams.join()}` : ""}`).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }),
  facts: () => ask<Facts>("facts"),
  presets: () => ask<Preset[]>("presets"),
  /** Of what is taken back by `signal` nothing comes but a fault, as of a server that is not there. */
  plan: (job: Upload, answers: Answer[], search: Search | undefined, signal: AbortSignal) =>
    send<Plan>("jobs/plan", { job, consent: { answers }, search }, { signal }),
  check: (job: Upload) => send<{ is_sound: boolean; diagnostics: Diagnostic[] }>("jobs/check", job),
  convert: (job: Upload) => send<{ text: string; diagnostics: Diagnostic[] }>("jobs/convert", job),
  start: (job: Upload, answers: Answer[], search: Search | undefined, signal: AbortSignal) =>
    send<{ run: string }>("runs", { job, consent: { answers }, search }, { signal }),
  /** Null where the run was asked nothing, or knows nothing yet. */
  answer: (run: string, signal?: AbortSignal) => ask<Answered | null>(`${of(run)}/answer`, signal && { signal }),
  /** Sides of runs, the first held against each of the others; of kind "apart", with the reason, where it is not. */
  compare: (sides: string[][], margin: string) => {
    const asked = sides.map((side) => side.join("~")).join(",");
    return ask<Answered>(`compare?sides=${encodeURIComponent(asked)}&margin=${encodeURIComponent(margin)}`);
  },
  environments: (runs: string[]) =>
    ask<EnvironmentDifference[]>(`environments?runs=${runs.map(encodeURIComponent).join(",")}`),
  stop: (run: string) => send<null>(`${of(run)}/stop`, {}),
  /** `at_ms`: since the run's start; without it now, of a run that goes on. */
  mark: (run: string, text: string, at_ms?: number) => send<null>(`${of(run)}/marks`, { text, at_ms }),
  /** Null: as fast as it goes. */
  changeRate: (run: string, stream: string, perSecond: number | null) =>
    send<null>(`${of(run)}/rate`, { stream, operations_per_s: perSecond }),
  /** What is not given stays as it is. */
  rename: (run: string, changed: { title?: string; tags?: string[] }) => send<RunRow>(of(run), changed, { method: "PATCH" }),
  remove: (run: string) => ask<null>(of(run), { method: "DELETE" }),
  importRun: (file: Blob) =>
    ask<{ run: string }>("runs/import", {
      method: "POST",
      headers: { "content-type": "application/vnd.fathom.run" },
      body: file,
    }),
  exportUrl: (run: string) => `/api/v1/${of(run)}/export`,
  eventsUrl: (run: string) => `/api/v1/${of(run)}/events`,
  pageUrl: (run: string, format: string) => `/api/v1/${of(run)}/report?format=${format}`,
};
