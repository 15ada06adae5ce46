// The form of a question, what a tab of the browser remembers of it, and the job that it is asked of.

import { isLike } from "./composed";
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
  const stream = { ...emptyStream, depths: [] };
  if (asked === "steady") {
    // Only the target: whatever else there is, the test says.
    const whole = toText({ ...empty, targets, streams: [stream] });
    return `${whole.slice(0, whole.indexOf("[workload"))}[workload.load]\n\n[stream.load]\n`;
  }
  const lines = [{ share: "100%", blockSize, read, access }];
  return toText({ ...empty, targets, streams: [{ ...stream, lines, workers }], ramp, time });
}

/** Each page of questions has a form of its own. */
const place = (page: "curve" | "steady") => `fathom.asked.${page}`;

/** What this tab remembers of a form; an empty one where that is nothing, or of another version of the pages. */
export function remembered(page: "curve" | "steady"): Question {
  const fresh = emptyQuestion();
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(place(page)) ?? "null");
    if (!isLike(found, fresh)) return fresh;
    const form = found as Question;
    const isKnown =
      ["curve", "rates", "objective"].includes(form.asked) &&
      tests.includes(form.test) &&
      ["enterprise", "client"].includes(form.deviceClass);
    return isKnown && form.targets.length > 0 ? form : fresh;
  } catch {
    return fresh;
  }
}

/** Remembers a form until the tab is closed; a browser that keeps nothing begins anew. */
export function remember(page: "curve" | "steady", form: Question): void {
  try {
    sessionStorage.setItem(place(page), JSON.stringify(form));
  } catch {
    // What is typed stays as long as the page does.
  }
}
