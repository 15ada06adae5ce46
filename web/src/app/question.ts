// The form of a question and the job that it is asked of. Pure.

import { empty, emptyStream, emptyTarget, toText, type Target } from "./job";

export type Asked = "curve" | "rates" | "objective" | "steady";

/** The tests of SNIA's PTS, in the order of the standard. */
export const tests = ["iops", "throughput", "latency", "wsat", "hir", "xsr", "composite", "dirth"] as const;
export type Test = (typeof tests)[number];

/** What the forms have fields for; values as a job file and the command line have them. */
export interface Question {
  asked: "curve" | "rates" | "objective";
  targets: Target[];
  read: string;
  blockSize: string;
  access: string;
  workers: number | null;
  ramp: string;
  time: string;
  latency: string;
  iops: string;
  /** Null where the field is empty. */
  maxDepth: number | null;
  replicates: number | null;
  test: Test;
  deviceClass: "enterprise" | "client";
  quick: boolean;
  purge: boolean;
}

export const emptyQuestion = (): Question => ({
  asked: "curve",
  targets: [{ ...emptyTarget }],
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
  const { targets, read, blockSize, access, workers, ramp, time } = form;
  const stream = { ...emptyStream, targets: targets.map(({ name }) => name), depths: [] };
  if (asked === "steady") {
    // Only the target: whatever else there is, the test says.
    const whole = toText({ ...empty, targets, streams: [stream] });
    return `${whole.slice(0, whole.indexOf("[workload"))}[workload.load]\n\n[stream.load]\n`;
  }
  const lines = [{ share: "100%", blockSize, read, access }];
  return toText({ ...empty, targets, streams: [{ ...stream, lines, workers }], ramp, time });
}
