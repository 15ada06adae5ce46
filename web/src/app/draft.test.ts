// What was typed and cannot be in a text, while form and text are changed.

import { expect, test } from "vitest";
import { carried, settled, type Filled } from "./draft";
import { empty, emptyStream, emptyTarget, isRates, type Form } from "./job";

const tree = { ...emptyTarget, kind: "tree" as const, path: "/t", depth: 3 };
const before: Form = { ...empty, targets: [tree], streams: [{ ...emptyStream, rate: "5k/s", workers: 4, depths: [1, 2] }] };
const typed: Filled = {
  form: {
    ...before,
    title: "mine",
    targets: [{ ...tree, depth: 0, width: 9 }],
    streams: [{ ...before.streams[0]!, rate: "abc", workers: 0 }],
  },
  depths: ["1..x"],
};

test("a text gets what is right of a form, and keeps what it had of the rest", () => {
  const found = settled(typed, before);
  expect(found).toEqual({ ...before, title: "mine", targets: [{ ...tree, width: 9 }] });
  // A stream that the text has not had yet begins with what all begin with.
  expect(settled(typed, { ...before, streams: [] }).streams[0]).toMatchObject({ rate: "", workers: 1, depths: [16] });
});

test("what could not be in the text stays in the form when the text is edited, unless that changes it", () => {
  const after = { ...before, time: "5s" };
  expect(carried(typed, before, after)).toEqual({
    form: {
      ...after,
      targets: [{ ...tree, depth: 0 }],
      streams: typed.form.streams,
    },
    depths: ["1..x"],
  });
  const other = { ...before.streams[0]!, rate: "1k/s", workers: 2, depths: [8] };
  const changed = { ...before, targets: [{ ...tree, depth: 5 }], streams: [other] };
  expect(carried(typed, before, changed)).toEqual({ form: changed, depths: ["8"] });
  // A stream of another name is another stream.
  const renamed = { ...before, streams: [{ ...before.streams[0]!, name: "b" }] };
  expect(carried(typed, before, renamed).depths).toEqual(["1, 2"]);
  // What was typed right stays as it was typed.
  const ranged = { form: before, depths: ["1..2"] };
  expect(carried(ranged, before, after).depths).toEqual(["1..2"]);
});

test("rates are told from what is none", () => {
  const right = ["", "max", "500", "5k/s", "1.5M", "2 k/s", "5k IOPS", "1e3/s", "200MB/s", "1GiB/s", "50%", "1k/s, 2k/s"];
  for (const one of right) expect(isRates(one), one).toBe(true);
  const wrong = ["abc", "-1", "0", "0%", "0/s", "5k/s, x", "200MB", "5 parsecs", "1e"];
  for (const one of wrong) expect(isRates(one), one).toBe(false);
});
