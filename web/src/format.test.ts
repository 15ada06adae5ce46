// Numbers as people type them.

import { expect, test } from "vitest";
import { parseRate } from "./format";

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
