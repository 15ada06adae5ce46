// The sentence of a run that was asked nothing.

import { afterAll, beforeAll, expect, test } from "vitest";
import { setLocale } from "../format";
import type { Report } from "./api";
import { headline } from "./headline";

type Step = Report["steps"][number];

beforeAll(() => setLocale("en-US"));
afterAll(() => setLocale(undefined));

const stream = (workload: string, adds_up = true) => ({ workload, adds_up });
function step(name: string, iops: number, more: { p99?: number | null; errors?: number; streams?: unknown[] } = {}): Step {
  const { p99 = 9e6, errors = 0, streams = [stream("random read 4 KiB")] } = more;
  const percentiles = [{ percent: 99, ns: p99 }];
  const response = { count: iops, mean_ns: 2.5e6, max_ns: 1.2e7, percentiles };
  const all = { operations: iops, iops, bytes_per_s: 4096 * iops, errors, response };
  return { name, streams, total: { all } } as unknown as Step;
}
const finding = (severity: string) => ({ id: "x", severity, evidence: "", remedy: "" });
const of = (steps: Step[], ...severities: string[]) => headline({ steps, validity: severities.map(finding) });

test("one step is told by its figures", () => {
  expect(of([step("main", 16_000)])).toBe(
    "random read 4 KiB: 16k IOPS, 65.5 MB/s, mean 2.5 ms, p99 9 ms. Nothing speaks against it.",
  );
});

test("of several steps the one with the most IOPS is told, and how many there are", () => {
  expect(of([step("a", 100), step("b (queue_depth=8)", 16_000), step("c", 200)])).toMatch(
    /^3 steps, the most IOPS in b \(queue_depth=8\): random read 4 KiB: 16k IOPS/,
  );
});

test("too few operations for a p99 have a largest value, and errors are told", () => {
  expect(of([step("main", 3, { p99: null, errors: 2 })])).toMatch(/mean 2\.5 ms, max 12 ms, 2 errors\./);
});

test("several workloads are counted, without those that do no I/O", () => {
  const streams = [stream("random read 4 KiB"), stream("sequential write 1 MiB"), stream("keeps CPUs busy", false)];
  expect(of([step("main", 5, { streams })])).toMatch(/^2 workloads together: 5 IOPS/);
});

test("where nothing was measured or completed, that is said", () => {
  expect(of([])).toBe("Nothing was measured.");
  expect(of([step("main", 0)])).toMatch(/^random read 4 KiB: no operation was completed\./);
});

test("what speaks against the figures is said beside them", () => {
  const told = (...severities: string[]) => of([step("main", 1)], ...severities).replace(/^.*ms\. /, "");
  expect(told("info")).toBe("Nothing speaks against it.");
  expect(told("warn", "info")).toBe("There is a warning below.");
  expect(told("warn", "warn")).toBe("There are 2 warnings below.");
  expect(told("warn", "invalid")).toBe("It cannot be trusted: see below.");
});
