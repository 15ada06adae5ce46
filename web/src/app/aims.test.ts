// Where the streams of a job go while targets and streams come and go in its form: where each says it does, and nowhere
// else.

import { expect, test } from "vitest";
import { aimed, emptyTarget, freeName, reaimed, rewritten, toForm, toText, type Aims, type Form } from "./job";
import { isTable, parse } from "./toml";

/** What Compose shows: a form, and the text that follows it. */
interface Page {
  form: Form;
  text: string;
}

const namesOf = (all: { name: string }[]) => all.map(({ name }) => name);

/** Where each stream goes, as its text says it: a stream that names no targets goes to all. */
function written(text: string): [string, unknown][] {
  const { stream } = parse(text);
  return Object.entries(isTable(stream) ? stream : {}).map(([name, of]) => [name, isTable(of) ? of.targets : null]);
}

/** What may be done on the page, and what becomes of where streams went. */
const steps = {
  addTarget: {
    does: ({ form }: Page) => void form.targets.push({ ...emptyTarget, name: freeName("disk", form.targets) }),
    leaves: (aims: Aims[]) => aims,
  },
  dropTarget: {
    does: ({ form }: Page) => {
      if (form.targets.length > 1) form.targets.shift();
      const names = namesOf(form.targets);
      for (const stream of form.streams) stream.targets = reaimed(stream.targets, names);
    },
    leaves: (aims: Aims[], { targets }: Form) => {
      const [gone, ...others] = namesOf(targets);
      const isGone = (name: string) => others.length > 0 && name === gone;
      return aims.map((one) => (one === "all" ? one : one.filter((name) => !isGone(name))));
    },
  },
  chooseDevice: {
    does: ({ form }: Page) => {
      form.targets[0] = { ...form.targets[0]!, path: "/dev/sdz", size: "" };
      const names = namesOf(form.targets);
      for (const stream of form.streams) stream.targets = reaimed(stream.targets, names);
    },
    leaves: (aims: Aims[]) => aims,
  },
  addStream: {
    does: ({ form }: Page) => {
      const last = form.streams.at(-1)!;
      const name = freeName("load", [...form.streams, ...form.streams.map(({ workload }) => ({ name: workload }))]);
      form.streams.push({ ...structuredClone(last), name, workload: name });
      return { workload: { name, from: last.workload }, stream: { name, from: last.name } };
    },
    leaves: (aims: Aims[]) => [...aims, aims.at(-1)!],
  },
  dropStream: {
    does: ({ form }: Page) => void (form.streams.length > 1 && form.streams.shift()),
    leaves: (aims: Aims[]) => (aims.length > 1 ? aims.slice(1) : aims),
  },
};

const target = (name: string) => `[target.${name}]\npath = "/${name}"\nsize = "1GiB"\n`;
const stream = (name: string, targets: string) => `[workload.${name}]\n[stream.${name}]\n${targets}`;

/** Jobs, by where their streams go. */
const jobs = [
  `${target("a")}${stream("w", 'targets = ["a"]\n')}[stage.m]\n`,
  `${target("a")}${stream("w", 'targets = "a"\n')}[stage.m]\n`,
  `${target("a")}${target("b")}${stream("w", 'targets = ["b", "a"] # both\n')}[stage.m]\n`,
  `${target("a")}${target("b")}${stream("w", 'targets = [\n  "a", # first\n  "b",\n]\n')}${stream("v", "")}[stage.m]\n`,
  `${target("a")}${target("b")}${stream("w", "")}${stream("v", 'targets = ["a"]\n')}[stage.m]\n`,
  'target = { a = { path = "/a" }, b = { path = "/b" } }\nstream = { w = { targets = ["a"] } }\n',
  // As the form writes it.
  toText(toForm(`${target("a")}${stream("w", 'targets = ["a"]\n')}[stage.m]\n`)!.form),
  toText(toForm(`${target("a")}${target("b")}${stream("w", "")}[stage.m]\n`)!.form),
];

test("whatever comes and goes, streams go where their text says, and to no other target", () => {
  const names = Object.keys(steps) as (keyof typeof steps)[];
  const sequences = names.flatMap((first) => names.map((then) => [first, then]));
  for (const job of jobs) {
    for (const sequence of sequences) {
      const page: Page = { form: structuredClone(toForm(job)!.form), text: job };
      let aims = page.form.streams.map(({ targets }) => targets);
      for (const name of sequence) {
        aims = steps[name].leaves(aims, structuredClone(page.form));
        const like = steps[name].does(page) ?? undefined;
        page.text = rewritten(page.text, page.form, like);
        const told = `${sequence.join(", ")} in\n${job}\n${page.text}`;
        const found = written(page.text).map(([name, targets]) => [
          name,
          typeof targets === "string" ? [targets] : (targets ?? "all"),
        ]);
        expect(found, told).toEqual(page.form.streams.map(({ name }, at) => [name, aims[at]]));
        // The form says the same.
        const shown = toForm(page.text)!.form.streams.map(({ targets }) => targets);
        expect([shown, page.form.streams.map(({ targets }) => targets)], told).toEqual([aims, aims]);
      }
    }
  }
});

test("a target that is chosen for a stream or no longer is so in its text, whatever the order there", () => {
  const job = `${target("a")}${target("b")}${target("c")}${stream("w", 'targets = ["c", "a"] # mine\n')}[stage.m]\n`;
  const { form } = toForm(job)!;
  const all = namesOf(form.targets);
  const after = (name: string, isAimedAt: boolean) => {
    const [only] = form.streams;
    const streams = [{ ...only!, targets: aimed(only!.targets, name, isAimedAt, all) }];
    return rewritten(job, { ...form, streams });
  };
  const of = (targets: string) => job.replace('["c", "a"]', targets);
  expect(after("a", false)).toBe(of('["c"]'));
  expect(after("c", false)).toBe(of('["a"]'));
  expect(after("b", true)).toBe(of('["b", "c", "a"]'));
});

test("of all targets one is left out, and taken in at its place", () => {
  const all = ["a", "b", "c"];
  expect(aimed("all", "b", false, all)).toEqual(["a", "c"]);
  expect(aimed(["a", "c"], "b", true, all)).toEqual(all);
  expect(aimed(["a"], "a", false, all)).toEqual([]);
  expect(aimed([], "c", true, all)).toEqual(["c"]);
  expect(aimed(["c"], "a", true, all)).toEqual(["a", "c"]);
});
