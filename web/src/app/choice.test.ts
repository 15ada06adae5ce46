// Which of many streams have lines.

import { expect, test } from "vitest";
import { chosen } from "./choice";

const names = Array.from({ length: 64 }, (_, at) => `s${at}`);

test("streams are chosen by parts of their names, and whole names mean one", () => {
  for (const [words, shown, fitting] of [
    ["", [0, 1, 2, 3, 4, 5, 6, 7], 64],
    [" , ", [0, 1, 2, 3, 4, 5, 6, 7], 64],
    ["s47, S3", [47, 3], 2],
    ["s47,s47", [47], 1],
    ["6", [6, 16, 26, 36, 46, 56, 60, 61], 10],
    ["s1, 63", [1, 63], 2],
    ["none", [], 0],
  ] as const)
    expect(chosen(names, words)).toEqual({ shown, fitting });
});
