import { expect, test } from "vitest";
import { library } from "./specs";

test("specifications of the library are told apart by their names", () => {
  expect(new Set(library.map(({ name }) => name)).size).toBe(library.length);
});

/** What a specification says, as documents write it: size, reads, access, alignment, queue depth. */
function check(name: string, expected: string): void {
  const found = library.find((spec) => spec.name === name);
  const [line] = found?.lines ?? [];
  const said = [line?.blockSize, line?.read, line?.access, found?.align, found?.depth];
  expect(said.filter((one) => one !== undefined).join(" ")).toBe(expected);
}

test("the library has the tests by which disks of clouds are measured", () => {
  check("4 KiB aligned; 100% read; 100% random", "4KiB 100% random 4KiB");
  check("4 KiB aligned; 50% read; 100% random", "4KiB 50% random 4KiB");
  check("4 KiB aligned; 0% read; 100% random", "4KiB 0% random 4KiB");
  check("Cloud disk: 4 KiB random read, queue depth 8", "4KiB 100% random 8");
  check("Cloud disk: 4 KiB random write, queue depth 32", "4KiB 0% random 32");
  check("Cloud disk: 4 KiB aligned random write, queue depth 64", "4KiB 0% random 4KiB 64");
  check("Cloud disk: 256 KiB sequential read, queue depth 64", "256KiB 100% sequential 64");
  check("Cloud disk: 512 KiB sequential write, queue depth 64", "512KiB 0% sequential 64");
});
