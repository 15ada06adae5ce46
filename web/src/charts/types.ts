// The data of charts, as crates/report/src/charts.rs writes it (a test there and one here share a fixture). What each field
// means is told there.

export type Values = (number | null)[];

export interface Series {
  name: string;
  iops: Values;
  iops_min: Values;
  iops_max: Values;
  bytes_per_s: Values;
  mean_ns: Values;
  p50_ns: Values;
  p99_ns: Values;
  p999_ns: Values;
  max_ns: Values;
  depth: Values;
  errors: number[];
}

export interface Curve {
  kind: string;
  latency: string;
  count: number;
  points: [number, number][];
}

export interface Heat {
  column_s: number;
  columns: number;
  rows: number;
  from_log2_ns: number;
  share_max: number;
  cells: string;
}

/** The processors (without a name) or a device: the share of each cell in which they did something. */
export interface Busy {
  name: string;
  share: Values;
}

/** A moment that is marked. */
export interface TimeMark {
  at_s: number;
  label: string;
}

export interface StepCharts {
  index: number;
  name: string;
  cell_s: number;
  reduced: number;
  window_s: [number, number];
  series: Series[];
  /** Streams without a series of their own. */
  streams_left_out: number;
  curves: Curve[];
  heat: Heat | null;
  busy: Busy[];
  /** What is marked on the time line; absent while a run grows. */
  marks?: TimeMark[];
  limits?: { chart: string; at: number; label: string }[];
}

export interface SweepLine {
  name: string;
  iops: Values;
  bytes_per_s: Values;
  mean_ns: Values;
  p50_ns: Values;
  p99_ns: Values;
  p999_ns: Values;
}

export interface Sweep {
  option: string;
  labels: string[];
  positions: number[];
  axis: "linear" | "log" | "steps";
  lines_left_out: number;
  lines: SweepLine[];
}

export interface Charts {
  version: number;
  steps: StepCharts[];
  sweep: Sweep | null;
  /** In a report file, the drawings of its answer. */
  plots?: PlotData[];
}

/** How values of a plot's axis are written; see crates/report/src/plot.rs. */
export type Unit = "plain" | "rate" | "bandwidth" | "latency" | "clock" | "bytes" | "nines" | "change";

export interface PlotAxis {
  label: string;
  unit: Unit;
  is_log: boolean;
  names: [number, string][];
}

export interface PlotLine {
  label: string;
  shape: "line" | "points" | "joined" | "bars";
  x: number[];
  y: number[];
  low: number[];
  high: number[];
}

/** A drawing that says itself what it is. */
export interface PlotData {
  title: string;
  x: PlotAxis;
  y: PlotAxis;
  lines: PlotLine[];
  marks: { label: string; is_x: boolean; at: number; interval: [number, number] | null }[];
  bands: { label: string; x: [number, number] | null; y: [number, number] }[];
}

export interface AnswerTable {
  caption: string;
  columns: [string, boolean][];
  rows: string[][];
  remark: string | null;
}

/** The answer of a run, or of a comparison. */
export interface Answered {
  kind: string;
  sentence: string;
  sections: {
    title: string;
    lines: string[];
    plots: PlotData[];
    maps: { caption: string; columns: string[]; rows: [string, [string, number][]][] }[];
    tables: AnswerTable[];
    /** Tables of what says little, for whoever asks for them. */
    folded: AnswerTable[];
  }[];
}
