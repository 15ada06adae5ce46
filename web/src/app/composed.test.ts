// What a tab remembers of the job that is composed in it.

import { afterEach, expect, test, vi } from "vitest";
import { remember, remembered, type Composed } from "./composed";
import { empty } from "./job";

/** A session's storage that has room for so many characters. */
function storage(most: number): Map<string, string> {
  const held = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => held.get(key) ?? null,
    setItem: (key: string, value: string) => {
      if (value.length > most) throw new DOMException("full", "QuotaExceededError");
      held.set(key, value);
    },
    removeItem: (key: string) => held.delete(key),
  });
  return held;
}

afterEach(() => vi.unstubAllGlobals());

const file = { name: "a.icf", text: "Version 1.1.0", faults: [], isTaken: false, isKept: false, maps: [], sectorSize: null };
const of = (text: string, given = "C:=sim:"): Composed => ({
  now: { text, filled: { form: { ...empty }, depths: ["1"] }, inText: empty, isByHand: true },
  opened: { file, given },
  undo: null,
});

test("the file beside a job and what is typed for its targets come back with it", () => {
  storage(1e6);
  expect(remembered()).toBe(null);
  expect(remember(of("a"))).toBe("all");
  expect(remembered()).toEqual(of("a"));
  const faults = [{ code: "icf.x", severity: "error", line: null, column: 3, message: "m", help: null }];
  const told = { ...of("a"), opened: { file: { ...file, faults }, given: "" } };
  remember(told);
  expect(remembered()?.opened).toEqual(told.opened);
});

test("where there is no room an earlier job does not come back as if it were this one", () => {
  storage(JSON.stringify({ ...of("a"), opened: null }).length + 10);
  expect(remember(of("a"))).toBe("job");
  expect(remembered()).toEqual({ ...of("a"), opened: null });
  expect(remember(of("b".repeat(1000)))).toBe("nothing");
  expect(remembered()).toBe(null);
});

test("where streams go comes back as it was, and a job that says it in another way is of other pages", () => {
  const held = storage(1e6);
  for (const targets of ["all", ["disk"], []] as const) {
    const form = { ...empty, streams: [{ ...empty.streams[0]!, targets: targets === "all" ? targets : [...targets] }] };
    const composed = { ...of("a"), now: { ...of("a").now, filled: { form, depths: ["1"] }, inText: form } };
    remember(composed);
    expect(remembered()).toEqual(composed);
  }
  const [place, whole] = [...held][0]!;
  for (const odd of ['"some"', "[1]", "null", "{}"]) {
    held.set(place, whole.replaceAll('"targets":[]', `"targets":${odd}`));
    expect(remembered(), odd).toBe(null);
  }
});
