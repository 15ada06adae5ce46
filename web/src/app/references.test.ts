// What becomes of a job's text where what it names is gone.

import { expect, test } from "vitest";
import { reaimed, rewritten, toForm } from "./job";
import { released } from "./references";

const job = `[target.data]
path = "/data"

[target.log]
path = "/log"

[workload.w]

[stream.both]
targets = ["data", "log"]

[stream.one]
targets = ["log"]

[stage.m]
time = "5s"
`;

test("a stream goes nowhere that its text does not say when a target is gone", () => {
  const text = released(job, [{ kind: "target", name: "log" }]);
  expect(text).toContain('[stream.both]\ntargets = ["data"]');
  expect(text).toContain("[stream.one]\ntargets = []");
  expect(released(job, [{ kind: "target", name: "other" }])).toBe(job);
});

test("a target that is left out of the form is out of the lists of streams, and none goes to another for it", () => {
  for (const [gone, both, one] of [
    ["log", ["data"], []],
    ["data", ["log"], ["log"]],
  ] as const) {
    const form = structuredClone(toForm(job)!.form);
    form.targets = form.targets.filter(({ name }) => name !== gone);
    const names = form.targets.map(({ name }) => name);
    for (const stream of form.streams) stream.targets = reaimed(stream.targets, names);
    const { form: after } = toForm(rewritten(job, form))!;
    expect(after.streams.map(({ targets }) => targets)).toEqual([both, one]);
  }
});

test("a stream more is in the stages of the one it is like, and in no other", () => {
  const stages = `${job}streams = ["both"] # mine

[stage.n]
time = "1s"
streams = "one"

[stage.o]
time = "2s"
`;
  const form = structuredClone(toForm(stages)!.form);
  const last = form.streams.at(-1)!;
  form.streams.push({ ...structuredClone(last), name: "load", workload: "load" });
  const more = rewritten(stages, form, {
    workload: { name: "load", from: last.workload },
    stream: { name: "load", from: last.name },
  });
  expect(more).toContain('streams = ["both"] # mine');
  expect(more).toContain('streams = ["one", "load"]');
  expect(more.match(/streams/g)).toHaveLength(2);
});
