// What the buttons of the form do with what no field of it can say: it stays, or they refuse. And what names a section that
// goes.

import { expect, test } from "vitest";
import { addLine, againstMix, dropLine, heldLines, retyped } from "./access";
import { freeName, hasField, rewritten, specsOf, toForm, type Form, type Stream } from "./job";
import { isTable, parse, type Table } from "./toml";

const job = (workload: string, rest = "", stage = "") =>
  `# mine\n[target.t]\npath = "/t"\n\n[workload.w]\n${workload}\n[stream.w]\n${rest}\n[stage.m]\ntime = "5s"\n${stage}`;

/** A text after its form was changed. */
function after(text: string, change: (form: Form, stream: Stream) => void): string {
  const form = structuredClone(toForm(text)!.form);
  change(form, form.streams[0]!);
  return rewritten(text, form);
}
const at = (text: string, ...path: string[]): unknown =>
  path.reduce<unknown>((table, key) => (isTable(table) ? table[key] : undefined), parse(text));
const workloadOf = (text: string) => at(text, "workload", "w") as Table;

/** Values of a line that no field can say, and one that is beyond the fields. */
const odd: [option: string, written: string, value: unknown][] = [
  ["block_size", '["4KiB 60%", "64KiB 40%"]', ["4KiB 60%", "64KiB 40%"]],
  ["block_size", '["4KiB", "8KiB"]', ["4KiB", "8KiB"]],
  ["read", '["10%"]', ["10%"]],
  ["access", "true", true],
  ["trim", '"20%"', "20%"],
];

test("what no field can say is in the line that another comes beside, and in its own again", () => {
  for (const [option, written, value] of odd) {
    const text = job(`${option} = ${written}`);
    const { form, others } = toForm(text)!;
    expect(others, written).toEqual([`workload.w.${option}`]);
    expect(JSON.stringify(form.streams[0]!.lines), "no default in its place").toContain(JSON.stringify(value));
    // Another field changes nothing of it.
    expect(after(text, (form) => (form.time = "6s"))).toBe(text.replace("5s", "6s"));
    const two = after(text, (_, stream) => addLine(stream));
    const { mix, ...beside } = workloadOf(two) as { mix: Table[] };
    expect([mix.length, mix[0]?.[option], beside], two).toEqual([2, value, {}]);
    expect(two, "the rest stays").toContain("# mine\n");
    const one = after(two, (_, stream) => dropLine(stream, 1));
    expect([workloadOf(one)[option], workloadOf(one).mix], one).toEqual([value, undefined]);
  }
});

test("the line that stays of two keeps all that it says", () => {
  const first = '{ share = "50%", block_size = ["4KiB 60%", "8KiB 40%"], read = "10%", trim = "20%", access = "random" }';
  const text = job(`mix = [${first}, { share = "50%", block_size = "64KiB" }]`);
  const drop = (text: string, line: number) => workloadOf(after(text, (_, stream) => dropLine(stream, line)));
  const { share: _, ...line } = (workloadOf(text).mix as Table[])[0]!;
  expect(drop(text, 1)).toEqual(line);
  expect(drop(text, 0)).toEqual({ block_size: "64KiB", read: "100%", access: "sequential" });
  // What stands in lines alone keeps them a mix.
  const reply = text.replace('trim = "20%"', 'reply = "4KiB"');
  expect((drop(reply, 1).mix as Table[])[0]).toMatchObject({ share: "100%", reply: "4KiB", block_size: line.block_size });
  // An alignment that is no text is the line's as any other.
  const aligned = job('mix = [{ share = "50%", align = ["4KiB"] }, { share = "50%", block_size = "64KiB" }]');
  expect(workloadOf(after(aligned, (_, stream) => addLine(stream))).mix).toMatchObject([{ align: ["4KiB"] }, {}, {}]);
});

test("what is typed takes the place of what the field could not say", () => {
  const text = job('block_size = ["4KiB 60%", "64KiB 40%"]');
  const typed = after(text, (_, stream) => {
    stream.lines[0]!.blockSize = "8KiB";
    retyped(stream.lines[0]!, "block_size");
  });
  expect(typed).toBe(text.replace('["4KiB 60%", "64KiB 40%"]', '"8KiB"'));
  const emptied = after(text, (_, stream) => retyped(stream.lines[0]!, "block_size"));
  expect(workloadOf(emptied)).toEqual({});
});

test("a mix of one line stays one when its fields are changed", () => {
  const text = job('mix = [{ share = "100%", block_size = "4KiB", read = "50%", access = "random" }]');
  const changed = after(text, (_, stream) => (stream.lines[0]!.blockSize = "8KiB"));
  expect(parse(changed)).toEqual(parse(text.replace("4KiB", "8KiB")));
  const swept = after(text, (_, stream) => (stream.lines[0]!.blockSize = "8KiB, 16KiB"));
  expect([workloadOf(swept), at(swept, "stage", "m", "sweep")]).toEqual([
    { read: "50%", access: "random" },
    { "workload.block_size": ["8KiB", "16KiB"] },
  ]);
});

test("specifications have what their lines have", () => {
  const lines = '{ share = "60%", block_size = ["4KiB 60%", "8KiB 40%"], trim = "10%" }, { share = "40%" }';
  for (const [text, option] of [
    [job('block_size = ["4KiB 60%", "64KiB 40%"]\ntrim = "20%"'), "trim"],
    [job(`mix = [${lines}]`), "mix"],
  ] as const) {
    const [spec] = specsOf(text);
    expect(spec?.lines).toEqual(toForm(text)!.form.streams[0]!.lines);
    // Taken into another job, also after it was kept as text.
    const kept = JSON.parse(JSON.stringify(spec!.lines)) as Stream["lines"];
    const again = after(job('block_size = "1MiB"'), (_, stream) => (stream.lines = kept));
    expect(workloadOf(again)[option === "mix" ? "mix" : "block_size"]).toEqual(
      option === "mix"
        ? [
            { share: "60%", block_size: ["4KiB 60%", "8KiB 40%"], read: "100%", access: "sequential", trim: "10%" },
            { share: "40%", block_size: "4KiB", read: "100%", access: "sequential" },
          ]
        : ["4KiB 60%", "64KiB 40%"],
    );
  }
});

test("what is cycled is not put into a line", () => {
  const against = (text: string) => againstMix(toForm(text)!.form.streams[0]!);
  const swept = (sweep: string) => job('read = "50%"', "", `sweep = { ${sweep} }\n`);
  expect(against(job('read = "50%"'))).toEqual([]);
  expect(against(swept('"workload.read" = ["0%", "100%"]'))).toEqual(["workload.read"]);
  for (const [sweep, option] of [
    ['"workload.block_size" = [["4KiB 60%", "8KiB 40%"], "64KiB"]', "block_size"],
    ['"workload.block_size" = { from = 4096, to = 65536, factor = 4 }', "block_size"],
    ['"workload.w.trim" = ["0%", "10%"]', "trim"],
    ['"workload.access" = ["random", "sequential"]', "access"],
    ['"workload.mix" = [[{ share = "100%" }]]', "mix"],
    ['"workload.read" = ["10%"]', "read"],
  ] as const) {
    const text = swept(sweep);
    const [stream] = toForm(text)!.form.streams;
    expect([against(text), heldLines(stream!)], sweep).toEqual([[`workload.${option}`], [`workload.${option}`]]);
    expect(after(text, (form) => (form.time = "6s")), sweep).toBe(text.replace("5s", "6s"));
  }
  // In another stage, too; what is typed as several is cycled as well.
  const later = job('read = "50%"', "", '[stage.n]\nsweep = { "workload.read" = ["0%", "100%"] }\n');
  expect(against(later)).toEqual(["workload.read"]);
  const typed = { share: "100%", blockSize: "4KiB, 8KiB", read: "", access: "" };
  expect(againstMix({ lines: [typed], align: "" })).toEqual(["workload.block_size"]);
  // A mix that is none cannot be shown, nor written over.
  expect(against(job('mix = ["4KiB"]'))).toEqual(["workload.mix"]);
  // Neither does a field show a default where a range is gone through.
  const depths = toForm(swept('"stream.queue_depth" = { from = 1, to = 100, factor = 10 }'))!;
  expect([depths.form.streams[0]?.depths, depths.form.streams[0]?.held]).toEqual([[], ["stream.queue_depth"]]);
});

test("a stream more has what the last one has beyond the fields, and neither button takes it away", () => {
  const more = 'distribution = "zipf:1.1"\nblock_size = ["4KiB 60%", "64KiB 40%"]\ntrim = "10%"\nverify_interval = "4KiB"';
  const text = job(more, 'think_time = "1ms"\nrate = { odd = 1 }\n');
  const form = structuredClone(toForm(text)!.form);
  const name = freeName("load", form.streams);
  form.streams.push({ ...structuredClone(form.streams[0]!), name, workload: name });
  const two = rewritten(text, form, { workload: { name, from: "w" }, stream: { name, from: "w" } });
  for (const section of ["w", name]) {
    expect(at(two, "workload", section), two).toMatchObject(workloadOf(text));
    expect(at(two, "stream", section), two).toMatchObject({ think_time: "1ms", rate: { odd: 1 } });
  }
  expect(two).toContain("# mine\n");
  const one = after(two, (form) => form.streams.pop());
  expect(workloadOf(one)).toEqual(workloadOf(text));
  // So do targets.
  const target = { ...toForm(text)!.form.targets[0]!, name: "disk" };
  const targets = after(text, (form) => form.targets.push(target));
  expect([workloadOf(targets), at(targets, "stream")]).toEqual([workloadOf(text), at(text, "stream")]);
});

test("what names a section that goes goes with it", () => {
  const stages =
    '# first\n[stage.m]\nstreams = ["s1"]\n\n' +
    '[stage.n]\nstreams = ["s2"] # two\nsweep = { "stream.s1.queue_depth" = [1, 2] }\n' +
    '[stage.o]\nstreams = ["s1", "s2"]\n' +
    '[stage.o.sweep]\n"stream.s1.workers" = [1, 2]\n"stream.s2.workers" = [1, 2] # kept\n' +
    '"workload.w1.read" = ["0%", "1%"]\n"target.b.size" = ["1GiB", "2GiB"]\n';
  const text =
    '[target.a]\npath = "/a"\n[target.b]\npath = "/b"\n[workload.w1]\n[workload.w2]\n' +
    `[stream.s1]\nworkload = "w1"\n[stream.s2]\nworkload = "w2"\n${stages}`;
  const one = after(text, (form) => form.streams.shift());
  expect(at(one, "stage"), one).toEqual({
    n: { streams: ["s2"] },
    o: { streams: ["s2"], sweep: { "stream.s2.workers": [1, 2], "target.b.size": ["1GiB", "2GiB"] } },
  });
  expect(one).toContain('streams = ["s2"] # two\n');
  expect(one).toContain("# kept\n");
  const other = after(text, (form) => form.targets.pop());
  expect(Object.keys(at(other, "stage", "o", "sweep") as Table)).not.toContain("target.b.size");
  // The only stage stays, and is then of all.
  const only = after(text.replace(/\[stage\.n\][^]*/, ""), (form) => form.streams.shift());
  expect(at(only, "stage")).toEqual({ m: {} });
  // Of what is not theirs nothing goes.
  expect(after(text, (form) => (form.title = "x")).replace('[run]\ntitle = "x"\n\n', "")).toBe(text);
});

test("an option without a field is told also where its value is wrong", () => {
  expect(["stage.m.streams", "workload.w.trim", "stream.a.think_time"].map(hasField)).toEqual([false, false, false]);
  expect(["stage.m.time", "workload.w.mix", "stream.a.rate", "run.seed"].map(hasField)).toEqual([true, true, true, true]);
});
