// What the pages know of the server before they ask it: its limits, and what holds where a job says nothing.
// Generated from the server's limits and the option table (crates/serve/src/pages.rs); do not edit.
// FATHOM_BLESS=1 cargo test -p fathom-serve pages writes it.

/** Bytes of a request, and of a run's file that is taken in. */
export const bodyBytesMax = 4194304;
export const runBytesMax = 2147483648;

/** Largest depth that a search may ask for, and measurements of each load. */
export const searchDepthMax = 65536;
export const replicatesMax = 100;

/** Targets of a stream up to which it is counted by target. */
export const targetsCountedMax = 64;

/** Options that have a field: the least and the most of a count, and what holds where it is empty ("": nothing). */
export const options = {
  "run.seed": { default: "1" },
  "target.files": { min: 1, max: 10000000, default: "1" },
  "target.tree_depth": { min: 1, max: 64, default: "1" },
  "target.tree_width": { min: 1, max: 1000000, default: "1" },
  "workload.block_size": { default: "4KiB" },
  "workload.read": { default: "100%" },
  "workload.access": { default: "sequential" },
  "stream.workers": { min: 1, max: 65536, default: "1" },
  "stream.queue_depth": { min: 1, max: 65536, default: "1" },
  "stream.rate": { default: "max" },
  "stream.thread_priority_level": { min: 0, max: 7, default: "" },
  "stage.ramp": { default: "0s" },
  "stage.time": { default: "30s" },
} as const;
