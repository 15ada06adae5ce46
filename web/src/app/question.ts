// The form of a question and the job that it is asked of. Pure.

import { empty, toText } from "./job";

export type Asked = "curve" | "rates" | "objective" | "steady";

/** The tests of SNIA's PTS, in the order of the standard. */
export const tests = ["iops", "throughput", "latency", "wsat", "hir", "xsr", "composite", "dirth"] as const;
export type Test = (typeof tests)[number];

/** What the forms have fields for; values as a job file and the command line have them. */
export interface Question {
  asked: "curve" | "rates" | "objective";
  path: string;
  size: string;
  remove: boolean;
  read: string;
  blockSize: string;
  access: string;
  workers: number;
  ramp: string;
  time: string;
  latency: string;
  iops: string;
  maxDepth: number;
  replicates: number;
  test: Test;
  deviceClass: "enterprise" | "client";
  quick: boolean;
  purge: boolean;
}

export const emptyQuestion = (): Question => ({
  asked: "curve",
  path: "",
  size: "1GiB",
  remove: true,
  read: "100%",
  blockSize: "4KiB",
  access: "random",
  workers: 1,
  ramp: "1s",
  time: "5s",
  latency: "p99<1ms",
  iops: "",
  maxDepth: 256,
  replicates: 3,
  test: "iops",
  deviceClass: "enterprise",
  quick: true,
  purge: true,
});

/** The job whose steps the question changes: depth, rate, or all that a test of the PTS prescribes are not its own. */
export function jobOf(form: Question, asked: Asked): string {
  const { path, remove, read, blockSize, access, workers, ramp, time } = form;
  // A client's drive is not full: PTS-C tests three quarters of it.
  const size = form.size || (asked === "steady" && form.deviceClass === "client" ? "75%" : "");
  if (asked === "steady") {
    // Only the target: whatever else there is, the test says.
    const whole = toText({ ...empty, path, size, remove, depths: [] });
    return `${whole.slice(0, whole.indexOf("[workload"))}[workload.load]\n\n[stream.load]\n`;
  }
  const lines = [{ share: "100%", blockSize, read, access }];
  return toText({ ...empty, path, size, remove, lines, workers, depths: [], ramp, time });
}
