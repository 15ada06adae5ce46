// The job that a question is asked of.

import { expect, test } from "vitest";
import { emptyTarget } from "./job";
import { emptyQuestion, jobOf } from "./question";

const on = (path: string, size = "") => ({ ...emptyQuestion(), targets: [{ ...emptyTarget, path, size }] });

test("a curve's job has a load and no depth of its own", () => {
  const job = jobOf({ ...on("/dev/nvme1n1"), workers: 2 }, "curve");
  expect(job).toContain('path = "/dev/nvme1n1"');
  expect(job).toContain("workers = 2");
  expect(job).toContain('time = "5s"');
  expect(job).not.toContain("queue_depth");
});

test("a test's job has its target alone", () => {
  const job = jobOf(on("sim:", "64MiB"), "steady");
  const client = { ...on("/dev/sdb"), deviceClass: "client" as const };
  // A size would keep the purge to a part as well: the active range is the test's own.
  expect(jobOf(client, "steady")).not.toContain("size");
  expect(job).toBe('[target.disk]\nkind = "sim"\nsize = "64MiB"\n\n[workload.load]\n\n[stream.load]\n');
});
