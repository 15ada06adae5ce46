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

export interface StepCharts {
  index: number;
  name: string;
  cell_s: number;
  reduced: number;
  window_s: [number, number];
  series: Series[];
  curves: Curve[];
  heat: Heat | null;
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
}
