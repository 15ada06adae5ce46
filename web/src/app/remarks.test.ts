// Remarks of a text, whatever a form changes in it.

import { expect, test } from "vitest";
import type { AccessLine } from "./access";
import { rewritten, toForm, unreadOf, type Form } from "./job";
import { lostRemarks, openString } from "./remarks";

const job = (mix: string) =>
  `[target.disk]\npath = "/a"\n\n[workload.load]\nmix = ${mix}\n\n[stream.load]\nworkers = 1\n\n[stage.main]\ntime = "5s"\n`;
const first = '{ share = "60%", block_size = "4KiB", read = "80%", access = "random" }';
const second = '{ share = "40%", block_size = "64KiB" }';
const mix = `[ # both\n  ${first}, # first [of "two"]\n  # between\n  ${second} # second\n  # the end\n]`;
const text = job(mix);

/** The text after a change of the lines of its stream. */
function changed(text: string, change: (lines: AccessLine[]) => void): string {
  const form = structuredClone(toForm(text)!.form);
  change(form.streams[0]!.lines);
  const found = rewritten(text, form as Form);
  expect(toForm(found)!.form.streams[0]!.lines).toEqual(form.streams[0]!.lines);
  return found;
}
const line: AccessLine = { share: "0%", blockSize: "8KiB", read: "100%", access: "random" };

test("lines of a mix are changed one by one, and remarks stay", () => {
  const other = changed(text, (lines) => (lines[0]!.share = "70%"));
  expect(other).toBe(text.replace("60%", "70%"));
  const all = changed(text, (lines) => lines.forEach((one) => (one.read = "1%")));
  expect(lostRemarks(text, all)).toEqual([]);
});

test("lines come and go, and remarks of the others stay", () => {
  const more = changed(text, (lines) => lines.push(line));
  expect(lostRemarks(text, more)).toEqual([]);
  expect(more).toContain(`${second}, # second\n  { share = "0%"`);
  const before = changed(text, (lines) => lines.unshift(line));
  expect(lostRemarks(text, before)).toEqual([]);
  const three = job(`[\n  ${first}, # first\n  ${second}, # second\n  ${first}, # third\n]`);
  const fewer = changed(three, (lines) => lines.splice(1, 1));
  expect(lostRemarks(three, fewer)).toEqual(["# second"]);
  expect(fewer).toBe(three.replace(`  ${second}, # second\n`, ""));
  // On one line as on many.
  const close = job(`[${first},\n  ${second}]`);
  for (const change of [(lines: AccessLine[]) => lines.push(line, line), (lines: AccessLine[]) => lines.reverse()])
    expect(changed(close, change)).toContain("workers = 1");
});

test("remarks that cannot stay are told", () => {
  const one = changed(text, (lines) => {
    lines.length = 1;
    lines[0]!.share = "100%";
  });
  expect(lostRemarks(text, one)).toEqual(["# both", '# first [of "two"]', "# between", "# second", "# the end"]);
  const within = 'target = { a = { path = "/a" } } # mine\nstream.a = { targets = [ # all\n  "a",\n] } # ours\n';
  const { form } = toForm(within)!;
  const elsewhere = { ...form, targets: [{ ...form.targets[0]!, path: "/b" }] };
  expect(lostRemarks(within, rewritten(within, elsewhere))).toEqual([]);
  const deeper = { ...form, streams: [{ ...form.streams[0]!, workers: 2 }] };
  expect(lostRemarks(within, rewritten(within, deeper))).toEqual(["# all", "# ours"]);
  expect(lostRemarks("a = '# none' # one\nb = \"\"\"\n# none\"\"\"\n# one\n", "# one\n")).toEqual(["# one"]);
});

test("a text that is no TOML is told of at its line", () => {
  expect(unreadOf('[a]\ntime = "30s\nx = 1\ny = 2\n')).toEqual({ line: 2, isOpen: true });
  expect(unreadOf('[a]\ntime = "30s"\nx = \n')).toMatchObject({ line: 3, isOpen: false });
  expect(unreadOf("[a]\n")).toBeNull();
  expect([openString("a = '''\n'\n''''\n"), openString('a = "\\"" # "'), openString("\n'")]).toEqual([null, null, 2]);
});
