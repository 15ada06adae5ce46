// Events of a run as the server sends them (crates/report, `Live`): names instead of numbers, figures computed. Times end in
// their unit.

export interface StreamInfo {
  name: string;
  workload: string;
  /** The first of them, where there are many. */
  targets: string[];
  target_count: number;
  workers: number;
  queue_depth: number;
  rate_per_s: number | null;
  ramp_s: number;
  time_s: number | null;
}

export interface KindFigures {
  kind: string;
  operations: number;
  errors: number;
  iops: number;
  bytes_per_s: number;
  mean_ns: number | null;
  p50_ns: number | null;
  p99_ns: number | null;
  p999_ns: number | null;
  max_ns: number | null;
}

export interface IntervalEvent {
  event: "interval";
  step: number;
  stream: number;
  start_s: number;
  end_s: number;
  phase: "ramp" | "measure";
  late: boolean;
  queue_depth_held: number;
  all: KindFigures;
  /** Rows of response times with their operations; row r holds 2^(r/4) to 2^((r+1)/4) ns. */
  spread?: [number, number][];
}

/** What operations did in a span of time. */
export interface Span {
  start_s: number;
  end_s: number;
  queue_depth_held: number;
  all: KindFigures;
}

/** What streams do together: at the moment, and since the measuring began; null where there is nothing to tell. */
export interface FiguresEvent {
  event: "figures";
  step: number;
  reached_s: number;
  last: Span | null;
  since: Span | null;
  /** Each stream since it measures. */
  streams: (Span | null)[];
  /** Streams that go to the same targets. */
  groups: { streams: number[]; last: Span | null; since: Span | null }[];
}

/** What operations did on one target in a span of time. */
export interface TargetSpan {
  start_s: number;
  end_s: number;
  operations: number;
  errors: number;
  iops: number;
  bytes_per_s: number;
  mean_ns: number | null;
  max_ns: number | null;
}

/** What streams did on one target. */
export interface TargetFigures {
  target: string;
  streams: number[];
  /** Streams that go there, too, and are not counted by target: figures of a target are without theirs. */
  without: number[];
  /** How many they are: the first are told. */
  without_count: number;
  last: TargetSpan | null;
  since: TargetSpan | null;
}

/** What was done on each target, in a step with a stream that goes to several: what is told takes the place of what was. */
export interface TargetsEvent {
  event: "targets";
  step: number;
  /** Each stream that goes to several, on each of them. */
  parts: TargetFigures[];
  /** Each target: all streams that are told apart there together. */
  targets: TargetFigures[];
}

/** What a block device did, as the kernel counts it: for all who use it. */
export interface DeviceUse {
  name: string;
  /** Share of the time with a request in flight, 0 to 1. */
  busy: number;
  operations: number;
  bytes: number;
  /** Summed over requests. */
  waited_s: number;
}

/** How busy the host was; shares from 0 to 1. */
export interface HostEvent {
  event: "host";
  step: number;
  start_s: number;
  end_s: number;
  processors: number | null;
  devices: DeviceUse[];
}

export type RunEvent =
  | {
      event: "run_started";
      run: string;
      title: string;
      description: string | null;
      started_ms: number;
      expected_seconds: number | null;
    }
  | {
      event: "step_started";
      step: number;
      name: string;
      parameters: [string, string][];
      started_ms: number;
      streams: StreamInfo[];
    }
  | IntervalEvent
  | FiguresEvent
  | TargetsEvent
  | HostEvent
  | { event: "note"; at_s: number; kind: string; severity: string; message: string }
  | { event: "step_finished"; step: number; stop: string; elapsed_s: number }
  | { event: "run_finished"; state: string; reason: string | null; finished_ms: number };
