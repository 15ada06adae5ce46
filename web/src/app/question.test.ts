// The job that a question is asked of.

import { afterEach, expect, test, vi } from "vitest";
import { emptyTarget } from "./job";
import { emptyQuestion, jobOf, remember, remembered } from "./question";

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

afterEach(() => vi.unstubAllGlobals());

test("a tab remembers each page's form, and nothing that is none", () => {
  const held = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => held.get(key) ?? null,
    setItem: (key: string, value: string) => void held.set(key, value),
  });
  expect(remembered("curve")).toEqual(emptyQuestion());
  const form = { ...on("/dev/nvme1n1"), asked: "objective" as const, iops: "5k", maxDepth: null };
  remember("curve", form);
  expect(remembered("curve")).toEqual(form);
  expect(remembered("steady")).toEqual(emptyQuestion());
  for (const other of [{ ...form, test: "x" }, { ...form, targets: [] }, { iops: "5k" }, null, "{"]) {
    held.set("fathom.asked.curve", typeof other === "string" ? other : JSON.stringify(other));
    expect(remembered("curve")).toEqual(emptyQuestion());
  }
});
