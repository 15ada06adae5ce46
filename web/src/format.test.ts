// Numbers as people type and read them.

import { afterEach, expect, test } from "vitest";
import {
  bytes,
  change,
  count,
  inFlight,
  inLocale,
  latency,
  moment,
  momentsOf,
  nines,
  parseRate,
  rate,
  sentence,
  setLocale,
} from "./format";

afterEach(() => setLocale("en-GB"));

test("a rate as people type it", () => {
  for (const [text, rate] of [
    ["", null],
    [" 500 ", 500],
    ["12k", 12_000],
    ["1.5M/s", 1_500_000],
    ["0", undefined],
    ["-3", undefined],
    ["12 kB/s", undefined],
    ["fast", undefined],
  ] as const) {
    expect(parseRate(text), text).toBe(rate);
  }
});

test("a rate is typed as it is shown, whatever the reader's language", () => {
  for (const [language, texts] of [
    ["en-GB", { "1.5k": 1500, "1,500": 1500, "1,234,567.5": 1_234_567.5, "1,5": undefined, "1,50,0": undefined }],
    ["de-DE", { "1,5k": 1500, "1.500": 1500, "1.234.567,5": 1_234_567.5, "1.5k": 1500, "1,5,0": undefined }],
    ["fr-FR", { "1,5k/s": 1500, "1 500": 1500, "1\u202f500": 1500, "1.5": 1.5, "15 00": undefined }],
  ] as const) {
    setLocale(language);
    for (const [text, rate] of Object.entries(texts)) expect(parseRate(text), `${language} ${text}`).toBe(rate);
    for (const shown of [rate(2187), rate(1500), rate(2_500_000), count(12_345)])
      expect(parseRate(shown), `${language} ${shown}`).toBeGreaterThan(1000);
  }
});

test("a size or time is told in the largest unit that it reaches", () => {
  setLocale("en-GB");
  expect([2 ** 10 - 1, 2 ** 10, 2 ** 30, 2 ** 34, 1.5 * 2 ** 20].map((size) => bytes(size))).toEqual([
    "1020 B",
    "1 KiB",
    "1 GiB",
    "16 GiB",
    "1.5 MiB",
  ]);
  expect([999.4, 999.6, 1e6].map((ns) => latency(ns))).toEqual(["999 ns", "1 µs", "1 ms"]);
});

test("numbers are those of the reader's language, in texts of the server, too", () => {
  setLocale("de-DE");
  expect([rate(1500), latency(3.4e6), nines(3), change(1.031, 1), count(1_234_567)]).toEqual([
    "1,5k",
    "3,4 ms",
    "99,9 %",
    "+3,1 %",
    "1.234.567",
  ]);
  for (const [text, told] of [
    ["Regressed: IOPS −11.9 %, p99.9 +12.1 %.", "Regressed: IOPS −11,9 %, p99.9 +12,1 %."],
    ["load 22.4 (95 %: 22.1 to 22.8)", "load 22,4 (95 %: 22,1 to 22,8)"],
    ["208.5k/s at 1.00 ms, -0.5 %", "208,5k/s at 1,00 ms, -0,5 %"],
    ["kernel 6.12.0-3 at 10.0.0.1:80, disk-1.5, /mnt/a.1.5", "kernel 6.12.0-3 at 10.0.0.1:80, disk-1.5, /mnt/a.1.5"],
  ] as const)
    expect(inLocale(text)).toBe(told);
  expect(inLocale("-246.0", true)).toBe("-246,0");
  setLocale("en-GB");
  expect(inLocale("load 22.4")).toBe("load 22.4");
});

test("of operations in flight that are hardly ever there no digits are told", () => {
  setLocale("en-GB");
  expect([0, 1.14e-5, 0.000999, 0.001, 0.0123, 15.97].map(inFlight)).toEqual([
    ...["0", "< 0.001", "< 0.001", "0.001", "0.0123", "16"],
  ]);
  setLocale("de-DE");
  expect(inFlight(1e-5)).toBe("< 0,001");
});

test("what the server says begins as a sentence does", () => {
  expect(["there is no session; open it", "", "/dev/sdb is gone"].map(sentence)).toEqual([
    ...["There is no session; open it", "", "/dev/sdb is gone"],
  ]);
});

test("runs of one title that began in the same minute are told apart by seconds", () => {
  const at = (seconds: number) => Date.UTC(2026, 10, 23, 12, 30, seconds);
  const of = (title: string, seconds: number) => ({ title, ms: at(seconds) });
  const [first, second, other, later] = momentsOf([of("a", 5), of("a", 42), of("b", 7), of("a", 70)]);
  expect([first, second]).toEqual([moment(at(5), true), moment(at(42), true)]);
  expect([other, later]).toEqual([moment(at(7)), moment(at(70))]);
  expect(first).not.toBe(second);
});
