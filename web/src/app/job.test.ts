// The form and the text of a job, there and back.

/// <reference types="vite/client" />
import { expect, test } from "vitest";
import { shareOf } from "./access";
import {
  combinesDepths,
  cyclesTogether,
  depthsOf,
  empty,
  emptyStream,
  emptyTarget,
  freeName,
  nameOf,
  pointsOf,
  rewritten,
  secondsOf,
  specsOf,
  toForm,
  toText,
  type Form,
  type Stream,
} from "./job";
import { optionAt } from "./toml";

/** The presets are the project's examples. */
const examples = import.meta.glob<string>("../../../examples/*.toml", { query: "?raw", import: "default", eager: true });

const on = (path: string, more = {}) => ({ targets: [{ ...emptyTarget, path, ...more }] });
const tree = { kind: "tree" as const, depth: 3, width: 2, files: 5, everywhere: true, size: "1MiB" };
/** A form of one stream, which goes to all targets. */
const one = (stream: Partial<Stream>, form: Partial<Form> = on("/dev/sdb")): Form => ({
  ...empty,
  ...form,
  streams: [{ ...emptyStream, ...stream }],
});
/** The form of a text that says nothing else. */
function formOf(text: string): Form {
  const shown = toForm(text);
  expect(shown?.others, text).toEqual([]);
  return shown!.form;
}

test("a form comes back from its text", () => {
  const several = [
    { ...emptyTarget, path: "/dev/sdb", size: "", remove: false },
    { ...emptyTarget, name: "disk2", path: "/mnt/a", ...tree },
    { ...emptyTarget, name: "disk3", path: "null:" },
  ];
  const mix = [
    { share: "60%", blockSize: "4KiB", read: "80%", access: "random" },
    { share: "40%", blockSize: "64KiB", read: "100%", access: "50% random" },
  ];
  const second = { ...emptyStream, name: "load2", workload: "load2" };
  const forms: Form[] = [
    one({}, on("/mnt/disk/scratch")),
    one({ rate: "5k/s" }, { ...on("/dev/nvme1n1", { size: "", remove: false }), title: 'a "quoted" \\ title\n' }),
    one({ depths: [1, 2, 4, 8] }, on("sim:")),
    one({ workers: 4, lines: [{ share: "100%", blockSize: "1MiB", read: "0%", access: "sequential" }] }, on("null:")),
    one({ direct: "true" }, { ...on("/dev/sdb"), seed: "fresh" }),
    one({ align: "64KiB", priorityClass: "best-effort", priorityLevel: "7" }),
    one({ priorityLevel: "high" }),
    one({}, on("/mnt/disk/tree", tree)),
    one({}, { targets: several }),
    one({
      rate: "1k/s, 2k/s",
      depths: [1, 32],
      lines: [{ share: "100%", blockSize: "4KiB, 64KiB", read: "0%, 70%, 100%", access: "random" }],
    }),
    one({ lines: mix }, { ...on("/dev/sdb"), seed: "7" }),
    {
      ...empty,
      targets: several,
      streams: [
        { ...emptyStream, targets: ["disk"], rate: "1k/s, 2k/s", depths: [4] },
        { ...second, targets: ["disk2", "disk3"], lines: mix, depths: [1, 2], direct: "false" },
        { ...second, name: "load3", targets: ["disk3", "disk", "disk2"] },
      ].map((stream, at) => (at === 2 ? { ...stream, lines: mix } : stream)),
    },
  ];
  for (const form of forms) expect(formOf(toText(form))).toEqual(form);
});

test("what the form has no field for is told, and stays as it is written whatever else is changed", () => {
  const text = toText(one({}, on("/mnt/disk/scratch")));
  for (const [more, other] of [
    ["[stage.main.x]\n", "stage.main.x"],
    ["[stage.after]\n", "stage.after"],
    ['[run]\nthresholds = ["iops > 1"]\n', "run.thresholds"],
    ["[workload.unused]\n", "workload.unused"],
  ] as const) {
    const whole = `# mine\n${text}# kept\n${more}`;
    const shown = toForm(whole);
    expect(shown?.others, more).toEqual([other]);
    const changed = rewritten(whole, { ...shown!.form, time: "5s" });
    expect(changed).toBe(whole.replace('time = "30s"', 'time = "5s"'));
  }
  for (const none of ["nonsense", "", "[run]\n"]) expect(toForm(none)).toBeNull();
  const engine = text.replace("[stream.load]", '[stream.load]\nengine = "psync" # why not');
  expect(toForm(engine)?.others).toEqual(["stream.load.engine"]);
  expect(toForm(text.replace('kind = "file"', ""))?.others).toEqual([]);
  const deeper = rewritten(engine, one({ depths: [1, 2] }, on("/mnt/disk/scratch")));
  expect(deeper).toContain('engine = "psync" # why not');
  expect(deeper).toContain('sweep = { "stream.queue_depth" = [1, 2] }');
  expect(deeper).not.toContain("queue_depth = 16");
  // A remark behind what is changed stays, too.
  const remarked = text.replace('size = "1GiB"', 'size = "1GiB"   # of "each" #1');
  expect(rewritten(remarked, one({}, on("/mnt/disk/scratch", { size: "2GiB" })))).toContain(
    'size = "2GiB"   # of "each" #1\n',
  );
  // So does one behind a header, with brackets in it.
  const headed = text.replace(/^(\[stage\..*\])$/m, "$1 # was [stage.b]");
  expect(rewritten(headed, one({ workers: 2 }, on("/mnt/disk/scratch")))).toContain("] # was [stage.b]\n");
});

test("sections come and go, and the others stay", () => {
  const text = "# of mine\n[target.a]\npath = '/a'\n\n[stream.a]\nthink_time = '1ms'\n# the end\n";
  const { form } = structuredClone(toForm(text)!);
  const target = { ...emptyTarget, name: freeName("disk", form.targets), path: "/b" };
  const stream = { ...emptyStream, name: "load", targets: ["disk"] };
  const [first] = form.streams;
  const more = { ...form, targets: [...form.targets, target], streams: [{ ...first!, targets: ["a"] }, stream] };
  const grown = rewritten(text, more);
  expect(toForm(grown)?.form).toEqual(more);
  expect(grown).toContain("path = '/a'");
  expect(grown).toContain("think_time = '1ms'");
  const back = rewritten(grown, form);
  expect(toForm(back)).toEqual(toForm(text));
  expect(back).toContain("# the end");
  // Tables within a line are no sections; a section more means the same.
  const within = 'target = { a = { path = "/a" } }\nstream.a = { engine = "psync" }\n';
  const shown = toForm(within)!;
  const changed = toForm(rewritten(within, { ...shown.form, title: "x" }));
  expect([changed?.form.title, changed?.form.targets[0]?.path, changed?.others]).toEqual(["x", "/a", ["stream.a.engine"]]);
});

test("tables within a line stay within it", () => {
  const text =
    "# mine\n" +
    'target = { a = { path = "/a", size = "1GiB" }, b = { path = "/b" } } # both\n\n' +
    '[workload]\nw = { block_size = "4KiB", access = "random" }\n\n' +
    '[stream]\ns = { workload = "w", targets = ["a", "b"] } # one\n\n' +
    '[stage.m]\ntime = "5s"\n';
  const shown = toForm(text)!;
  const [stream] = shown.form.streams;
  const changed = rewritten(text, {
    ...shown.form,
    targets: [{ ...shown.form.targets[0]!, size: "2GiB" }, shown.form.targets[1]!],
    streams: [{ ...stream!, workers: 4, lines: [{ ...stream!.lines[0]!, blockSize: "8KiB" }] }],
  });
  expect(changed).toBe(
    "# mine\n" +
      'target = { a = { path = "/a", size = "2GiB" }, b = { path = "/b" } } # both\n\n' +
      '[workload]\nw = { block_size = "8KiB", access = "random" }\n\n' +
      '[stream]\ns = { workload = "w", targets = ["a", "b"], workers = 4 } # one\n\n' +
      '[stage.m]\ntime = "5s"\n',
  );
  const one = { targets: [shown.form.targets[0]!], streams: [{ ...stream!, targets: ["a"] }] };
  const fewer = rewritten(text, { ...shown.form, ...one });
  expect(fewer).toContain('target = { a = { path = "/a", size = "1GiB" } } # both\n');
  expect(toForm(fewer)!.form.targets).toHaveLength(1);
});

test("streams may share their lines, and what is swept of one of them names it", () => {
  const text =
    '[target.t]\npath = "/t"\n[workload.w]\nread = "70%"\n[stream.a]\nqueue_depth = 2\n[stream.b]\nqueue_depth = 3\n' +
    '[stage.s]\ntime = "5s"\nsweep = { "stream.b.queue_depth" = [1, 2], "workload.w.read" = ["0%", "100%"] }\n';
  const shown = toForm(text)!;
  expect(shown.form.streams.map(({ workload, lines, depths }) => [workload, lines[0]?.read, depths])).toEqual([
    ["w", "0%, 100%", [2]],
    ["w", "0%, 100%", [1, 2]],
  ]);
  // The form would write the sweep of the reads first: that is another order of points.
  expect(shown.others).toEqual(["stage.s.sweep"]);
  // What is swept of all streams at once is in the fields of each.
  const all = toForm(text.replace(/sweep.*/, 'sweep = { "stream.queue_depth" = [1, 2] }'))!;
  expect([all.form.streams.map(({ depths }) => depths), all.others]).toEqual([
    [
      [1, 2],
      [1, 2],
    ],
    [],
  ]);
  const changed = rewritten(text.replace(/sweep.*/, 'sweep = { "stream.queue_depth" = [1, 2] }'), {
    ...all.form,
    streams: [{ ...all.form.streams[0]!, rate: "1k/s, 2k/s" }, all.form.streams[1]!],
  });
  expect(changed).toContain('sweep = { "stream.a.rate" = ["1k/s", "2k/s"], "stream.queue_depth" = [1, 2] }');
});

test("what a text leaves to defaults is in the form", () => {
  const form = formOf('[target.d]\npath = "/dev/sdb"\n[workload.w]\naccess = "random"\n[stream.s]\n[stage.one]\n');
  expect(form).toMatchObject({
    targets: [{ kind: "path", path: "/dev/sdb", size: "" }],
    streams: [{ depths: [1], workload: "w" }],
    ramp: "0s",
    time: "30s",
  });
  expect(form.streams[0]?.lines).toEqual([{ share: "100%", blockSize: "4KiB", read: "100%", access: "random" }]);
});

test("targets are in the form whatever their names, and streams go to all or some of them", () => {
  const job = (of: string) =>
    '[target.b]\nkind = "tree"\ndirectory = "/t"\nsize = "1MiB"\n[target.a]\npath = "/a"\n' +
    `[workload.w]\n[stream.s]\n${of}[stage.one]\n`;
  for (const [written, aims] of [
    ["", "all"],
    ['targets = ["b", "a"]\n', ["b", "a"]],
    ['targets = ["a", "b"]\n', ["a", "b"]],
    ["targets = []\n", []],
  ] as const) {
    const { targets, streams } = formOf(job(written));
    expect(targets.map(({ kind, path }) => [kind, path])).toEqual([
      ["tree", "/t"],
      ["path", "/a"],
    ]);
    expect(targets[0]).toMatchObject({ depth: 1, width: 1, files: 1, everywhere: false, remove: false });
    expect(streams[0]?.targets).toEqual(aims);
  }
  expect(formOf(job('targets = "a"\n')).streams[0]?.targets).toEqual(["a"]);
  // What is named twice, or is not there, is told.
  for (const odd of ['["a", "a"]', '["a", "gone"]']) {
    const shown = toForm(job(`targets = ${odd}\n`));
    expect([shown?.form.streams[0]?.targets, shown?.others]).toEqual([["a"], ["stream.s.targets"]]);
  }
  const named = job("").replace('directory = "/t"', 'directory = "/t"\nfile_names = "x"');
  expect(toForm(named)?.others).toEqual(["target.b.file_names"]);
});

test("a job without a title is called after what it measures", () => {
  const named = (...paths: string[]) => nameOf(paths.map((path) => ({ path })));
  expect(named("/mnt/disk/scratch")).toBe("scratch.toml");
  expect(named("sim:")).toBe("sim.toml");
  expect(named("/dev/sdb", "/mnt/tree/", "null:")).toBe("sdb, tree, null.toml");
  expect([named(), named("")]).toEqual(["job.toml", "job.toml"]);
});

test("what is swept in another order is another job", () => {
  const text = toText(one({ rate: "1k/s, 2k/s", depths: [1, 32] }));
  const sweep = '"stream.rate" = ["1k/s", "2k/s"], "stream.queue_depth" = [1, 32]';
  expect(text).toContain(sweep);
  expect(toForm(text)?.others).toEqual([]);
  const turned = sweep.split(", ").slice(2).concat(sweep.split(", ").slice(0, 2)).join(", ");
  expect(toForm(text.replace(sweep, turned))?.others).toEqual(["stage.main.sweep"]);
  expect(toForm(text.replace("stream.rate", "stream.workers"))?.others).toEqual(["stage.main.sweep"]);
});

test("points multiply, and take their time", () => {
  const line = { share: "100%", blockSize: "4KiB, 64KiB", read: "0%, 70%, 100%", access: "random" };
  const form = one({ lines: [line], depths: [1, 2, 4, 8] }, { ...on("/a"), ramp: "15s", time: "1min" });
  const points = (form: Form) => pointsOf(toText(form));
  expect(points(form)).toEqual({ count: 24, seconds: 24 * 75 });
  expect(points({ ...form, ramp: "soon" })).toEqual({ count: 24, seconds: null });
  // Where nothing is said, the server's own.
  expect(points({ ...form, ramp: "", time: "" })).toEqual({ count: 24, seconds: 24 * 30 });
  // A list within a mix is no list of steps.
  expect(points(one({ lines: [line, line], depths: [1, 2, 4, 8] }))?.count).toBe(4);
  const [stream] = form.streams;
  const second = { ...emptyStream, name: "b", workload: "b", depths: [1, 2] };
  expect(points({ ...form, streams: [stream!, second] })?.count).toBe(48);
  expect(["2s", "1.5 min", "500ms", "24h", "x", "3", "1x"].map(secondsOf)).toEqual([2, 90, 0.5, 86400, null, null, null]);
  const several = ["1h30m", "2 h 30 min", "1m 5sec", "0", "1e3ms", "", "1h 5", "-1s", "1h,5s", "1s x"].map(secondsOf);
  expect(several).toEqual([5400, 9000, 65, 0, 1, null, null, null, null, null]);
});

test("specifications are taken out of jobs", () => {
  const [fileserver] = specsOf(examples["../../../examples/iometer-fileserver.toml"] ?? "");
  expect(fileserver?.lines.map(({ share }) => share)).toEqual(["10%", "5%", "5%", "60%", "2%", "4%", "4%", "10%"]);
  expect(specsOf('[workload.a]\nread = "0%"\n[workload.b]\nstride = "1MiB"\n[workload."c d"]\nalign = "512B"\n')).toEqual([
    { name: "a", lines: [{ share: "100%", blockSize: "4KiB", read: "0%", access: "sequential" }] },
    { name: "c d", lines: [{ share: "100%", blockSize: "4KiB", read: "100%", access: "sequential" }], align: "512B" },
  ]);
  expect(specsOf("[run]\non_error = 9223372036854775807\n[workload.a]\n")).toHaveLength(1);
  expect(specsOf("nonsense")).toEqual([]);
});

test("lines have an alignment of their own", () => {
  const job = (lines: string) =>
    `[target.disk]\npath = "/data/x"\n[workload.load]\nmix = [${lines}]\n[stream.load]\n[stage.main]\n`;
  const line = '{ share = "50%", block_size = "4KiB", read = "100%", access = "random"';
  const two = job(`${line}, align = "8KiB" }, ${line}, trim = "0%" }`);
  const { form, others } = toForm(two)!;
  expect(others).toEqual(["workload.load.mix.trim"]);
  expect(form.streams[0]?.lines.map(({ align, more }) => [align, more])).toEqual([
    ["8KiB", undefined],
    [undefined, { trim: "0%" }],
  ]);
  expect(toForm(toText(form))?.form.streams[0]?.lines).toEqual(form.streams[0]?.lines);
  const only = job(`${line.replace("50%", "100%")}, align = "8KiB" }`);
  expect(toText(formOf(only))).toContain('align = "8KiB"');
  // A mix is not swept over: the only line's alignment is that of all then.
  const [stream] = formOf(only).streams;
  const swept = toText({ ...form, streams: [{ ...stream!, lines: [{ ...stream!.lines[0]!, blockSize: "4KiB, 8KiB" }] }] });
  expect(swept).not.toContain("mix");
  expect(toForm(swept)?.form.streams[0]).toMatchObject({ align: "8KiB", lines: [{ blockSize: "4KiB, 8KiB" }] });
  expect(specsOf(two)[0]?.lines[0]).toMatchObject({ share: "50%", align: "8KiB" });
});

test("depths are lists or ranges that double", () => {
  expect(depthsOf("16")).toEqual([16]);
  expect(depthsOf("1, 2,8")).toEqual([1, 2, 8]);
  expect(depthsOf("1..32")).toEqual([1, 2, 4, 8, 16, 32]);
  expect(depthsOf(" ")).toEqual([]);
  for (const wrong of ["0", "1.5", "x", "1..", "8..4", "1..99999999"]) expect(depthsOf(wrong)).toBeNull();
});

test("every preset is in the form", () => {
  for (const name of ["oltp", "iometer-fileserver", "iometer-webserver", "oracle", "vmware", "backup"]) {
    const form = formOf(examples[`../../../examples/${name}.toml`] ?? "");
    expect(shareOf(form.streams[0]?.lines ?? []), name).toBe(100);
  }
});

test("shares add up, or are none", () => {
  const line = { share: "100%", blockSize: "4KiB", read: "100%", access: "random" };
  expect(shareOf([line])).toBe(100);
  expect(
    shareOf([
      { ...line, share: "33.3%" },
      { ...line, share: "66.7%" },
    ]),
  ).toBe(100);
  expect(
    shareOf([
      { ...line, share: "60%" },
      { ...line, share: "30%" },
    ]),
  ).toBe(90);
  expect(shareOf([{ ...line, share: "60" }])).toBeNull();
});

test("streams with the same depths go through them together, with others through every combination", () => {
  const two = (a: number[], b: number[]): Form => ({
    ...one({ depths: a }),
    streams: [
      { ...emptyStream, depths: a },
      { ...emptyStream, name: "b", workload: "b", depths: b },
    ],
  });
  const same = two([1, 2, 4, 8], [1, 2, 4, 8]);
  expect(toText(same)).toContain('sweep = { "stream.queue_depth" = [1, 2, 4, 8] }');
  expect(formOf(toText(same))).toEqual(same);
  expect([pointsOf(toText(same))?.count, cyclesTogether(same), combinesDepths(same)]).toEqual([4, true, false]);
  const other = two([1, 2, 4, 8], [1, 2]);
  expect(toText(other)).toContain('sweep = { "stream.load.queue_depth" = [1, 2, 4, 8], "stream.b.queue_depth" = [1, 2] }');
  expect(formOf(toText(other))).toEqual(other);
  expect([pointsOf(toText(other))?.count, cyclesTogether(other), combinesDepths(other)]).toEqual([8, false, true]);
  expect(combinesDepths(two([1, 2], [4]))).toBe(false);
  // A text that asks for every combination of equal depths asks for more than the form does, and is told so.
  const product = toText(other).replace("[1, 2] }", "[1, 2, 4, 8] }");
  expect(toForm(product)?.others).toEqual(["stage.main.sweep"]);
  // From the one to the other and back.
  expect(rewritten(toText(same), other)).toBe(toText(other));
  const remarked = `# mine\n${toText(other)}`;
  expect(rewritten(remarked, same)).toBe(`# mine\n${toText(same)}`);
  expect(rewritten(`# mine\n${toText(same)}`, other)).toBe(remarked);
});

test("points are counted in texts that the form does not write", () => {
  const job = (stage: string, stream = "") =>
    `[target.t]\npath = "/t"\n[workload.w]\n[stream.s]\n${stream}[stage.a]\ntime = "8s"\n${stage}`;
  for (const [text, expect_] of [
    // Two options, in an order in which the form has no fields.
    [job('sweep = { "stream.queue_depth" = [1, 2], "workload.block_size" = ["4KiB", "8KiB", "1MiB"] }\n'), [6, 48]],
    [job('sweep = { "stream.workers" = { from = 1, to = 9, step = 4 }, "workload.read" = ["0%", "1%"] }\n'), [6, 48]],
    [job('ramp = "2s"\npause = "1min"\nsweep = { "stream.rate" = ["1k/s", "2k/s"] }\n[stage.b]\n'), [3, 20 + 60 + 30]],
    [job('sweep = { "stream.queue_depth" = { from = 1, to = 100, factor = 10 } }\n', 'passes = 2\n'), [3, null]],
  ] as const) {
    const found = pointsOf(text);
    expect([found?.count, found?.seconds], text).toEqual(expect_);
  }
  for (const none of ["[run", "[run]\n", job('curve = ["10%"]\n'), job("sweep = { x = 1 }\n")])
    expect(pointsOf(none)).toBeNull();
});

test("a field that is emptied leaves its option to the default, in a mix, too", () => {
  const text =
    '[target.t]\npath = "/t"\n[workload.w]\nmix = [\n  { share = "60%", block_size = "8KiB", read = "0%" }, # one\n' +
    '  { share = "40%", access = "random" },\n]\n[stream.w]\nworkers = 2\nqueue_depth = 8\n[stage.a]\ntime = "8s"\n';
  const { form } = toForm(text)!;
  const [stream] = form.streams;
  const [first, second] = stream!.lines;
  const emptied = { ...stream!, lines: [{ ...first!, blockSize: "", access: "" }, second!], workers: null, depths: [] };
  const changed = rewritten(text, { ...form, streams: [emptied], time: "" });
  expect(changed).toContain('{ share = "60%", read = "0%" }, # one');
  for (const gone of ["block_size =", "workers", "queue_depth", "time", '""']) expect(changed).not.toContain(gone);
  // What holds then is what the form shows of such a text.
  const again = formOf(changed);
  expect(again.streams[0]).toMatchObject({ workers: 1, depths: [1] });
  expect(again.streams[0]?.lines[0]).toMatchObject({ blockSize: "4KiB", access: "sequential" });
  expect(again.time).toBe("30s");
  // A line without its share is one that the server refuses.
  expect(toForm(text.replace('share = "40%", ', ""))?.form.streams[0]?.lines[1]?.share).toBe("");
});

test("what a text says of targets is what their fields say", () => {
  const of = (target: string) => toForm(`[target.d]\n${target}[stream.s]\n[stage.m]\n`)!;
  const target = (text: string) => of(text).form.targets[0];
  // A file stays where nothing else is said, and is removed once that is ticked.
  const kept = 'kind = "file"\npath = "/x"\n';
  expect(target(kept)).toMatchObject({ path: "/x", remove: false });
  const ticked = rewritten(`[target.d]\n${kept}[stream.s]\n[stage.m]\n`, {
    ...of(kept).form,
    targets: [{ ...target(kept)!, remove: true }],
  });
  expect(ticked).toContain("remove = true");
  expect(toForm(ticked)?.form.targets[0]?.remove).toBe(true);
  expect(target('kind = "sim"\nsize = "1GiB"\n')).toMatchObject({ path: "sim:", size: "1GiB" });
  // Of a kind that the form has no field for the path is there all the same.
  const block = of('kind = "block"\npath = "/dev/x"\n');
  expect([block.form.targets[0]?.path, block.others]).toEqual(["/dev/x", ["target.d.kind"]]);
});

test("a number that is none is not taken for the default", () => {
  const text = '[target.t]\npath = "/t"\n[stream.s]\nworkers = "x"\nqueue_depth = "y"\n[stage.a]\n';
  const { form } = toForm(text)!;
  expect(form.streams[0]).toMatchObject({ workers: null, depths: [] });
  // So that the default itself can take its place.
  const mended = rewritten(text, { ...form, streams: [{ ...form.streams[0]!, workers: 1, depths: [1] }] });
  expect(mended).toContain("workers = 1\nqueue_depth = 1\n");
});

test("options with several keys in one are changed where they stand", () => {
  const text =
    '# mine\n[target]\nd.path = "/a" # one\n\n[workload]\nload.read = "70%"\n\n[stream]\nload.queue_depth = 4 # four\n' +
    'load.think_time = "1ms"\n\n[stage]\nmain.time = "5s"\n';
  const { form } = toForm(text)!;
  const [stream] = form.streams;
  const of = (more: Partial<Stream>) => rewritten(text, { ...form, streams: [{ ...stream!, ...more }] });
  expect(of({ depths: [8] })).toBe(text.replace("= 4 #", "= 8 #"));
  // Another option of the table comes behind the last of them.
  expect(of({ workers: 2 })).toBe(text.replace('"1ms"\n', '"1ms"\nload.workers = 2\n'));
  expect(rewritten(text, { ...form, time: "9s", ramp: "1s" })).toBe(
    text.replace('main.time = "5s"\n', 'main.time = "9s"\nmain.ramp = "1s"\n'),
  );
  expect(of({ depths: [] })).toBe(text.replace("load.queue_depth = 4 # four\n", ""));
  const swept = of({ depths: [1, 2] });
  expect(swept).toContain('main.sweep = { "stream.queue_depth" = [1, 2] }');
  expect(swept).toContain("# mine\n[target]\nd.path");
  // Over several lines, and without any header.
  const long = 'target.d.path = [\n  "/a",\n]\nstream.load.targets = [\n  "d",\n]\nstream.load.rate = "5/s"\n';
  const shown = toForm(long)!.form;
  expect(rewritten(long, { ...shown, streams: [{ ...shown.streams[0]!, rate: "6/s" }] })).toBe(long.replace("5/s", "6/s"));
});

test("what is swept is changed in lines of its own, where it has some", () => {
  const text = (sweep: string) =>
    '[target.t]\npath = "/t"\n[workload.w]\n[stream.w]\n\n# points\n[stage.m]\ntime = "5s"\n' + sweep;
  const of = (job: string, more: Partial<Stream>) => {
    const { form } = toForm(job)!;
    return rewritten(job, { ...form, streams: [{ ...form.streams[0]!, ...more }] });
  };
  for (const lines of [
    '[stage.m.sweep]\n# depths\n"stream.queue_depth" = [1, 2] # few\n',
    'sweep."stream.queue_depth" = [1, 2] # few\n',
  ]) {
    const job = text(lines);
    expect(of(job, { depths: [1, 2, 4] })).toBe(job.replace("[1, 2]", "[1, 2, 4]"));
    const back = of(job, { depths: [8] });
    expect(back).toContain("# points\n[stage.m]");
    expect(back).not.toContain("sweep");
    const more = of(job, { rate: "1k/s, 2k/s" });
    // The rate comes first: what is swept first is outermost.
    expect(toForm(more)?.others).toEqual([]);
    expect(more).toContain("# points\n[stage.m]");
  }
});

/** A job of streams with these options, in these stages. */
const timed = (streams: string[], stages = '[stage.main]\n') =>
  `[target.t]\nkind = "sim"\n\n${streams.map((options, at) => `[stream.s${at + 1}]\n${options}\n`).join("\n")}\n${stages}`;

test("times that streams have themselves are those that the form tells and changes", () => {
  const shown = (text: string) => toForm(text)!;
  // As a job of fio comes: nothing of its stage holds.
  const one = timed(['time = "5s" # mine\nramp = "1s"\nramp_counts = true']);
  const { form, others } = shown(one);
  expect([form.ramp, form.time, others]).toEqual(["1s", "5s", ["stream.s1.ramp_counts"]]);
  expect(pointsOf(one)).toEqual({ count: 1, seconds: 6 });
  expect(rewritten(one, { ...form, time: "60s" })).toBe(one.replace('"5s"', '"60s"'));
  expect(rewritten(one, { ...form, ramp: "" })).toBe(one.replace('ramp = "1s"\n', ""));
  // What its stage says beside it holds for nothing, stays, and is told.
  const both = `${one}time = "9s"\n`;
  expect([shown(both).form.time, shown(both).others.includes("stage.main.time")]).toEqual(["5s", true]);
  // The same in all streams is one field, also for a stream that comes.
  const same = timed(['time = "5s"', 'time = "5s"']);
  const all = shown(same);
  expect([all.form.time, all.form.ramp, all.form.own.time?.isCommon, all.others]).toEqual(["5s", "0s", true, []]);
  expect(rewritten(same, { ...all.form, time: "7s" })).toBe(same.replaceAll("5s", "7s"));
  const more = { ...all.form.streams[0]!, name: "s3" };
  const grown = rewritten(same, { ...all.form, streams: [...all.form.streams, more] });
  expect([shown(grown).form.time, shown(grown).form.own.time?.of.length]).toEqual(["5s", 3]);
});

test("times that differ between streams are in the text alone, and named", () => {
  const differ = timed(['time = "5s"', 'time = "9s"\nramp = "1s"']);
  const { form, others } = toForm(differ)!;
  const of = [
    { stream: "s1", value: "5s" },
    { stream: "s2", value: "9s" },
  ];
  expect([form.time, form.own.time]).toEqual(["", { isCommon: false, isAll: true, of }]);
  // The other stream has the ramp of the stage.
  expect([form.ramp, form.own.ramp?.isAll, others]).toEqual([
    ...["0s", false, ["stream.s1.time", "stream.s2.time", "stream.s2.ramp"]],
  ]);
  expect(pointsOf(differ)).toEqual({ count: 1, seconds: 10 });
  expect(rewritten(differ, { ...form, ramp: "2s" })).toBe(`${differ}ramp = "2s"\n`);
  expect(rewritten(differ, { ...form, title: "x" })).toBe(`[run]\ntitle = "x"\n\n${differ}`);
  // Streams of another stage have nothing of this one.
  const stages = timed(['time = "5s"', "passes = 1"], '[stage.a]\nstreams = ["s1"]\n\n[stage.b]\nstreams = "s2"\n');
  expect(toForm(stages)!.form.own.time).toMatchObject({ isCommon: false, isAll: true });
});

test("a stream that ends with its work has no default time", () => {
  for (const [options, time, isBounded] of [
    ["passes = 1", "", true],
    ['bytes = "1GiB"\nramp = "1s"', "", true],
    ['passes = 1\ntime = "5s"', "5s", false],
    ["workers = 2", "30s", false],
  ] as const) {
    const text = timed([options]);
    const { form } = toForm(text)!;
    expect([form.time, form.isBounded], options).toEqual([time, isBounded]);
    expect(rewritten(text, { ...form, seed: "7" }), options).toBe(`[run]\nseed = 7\n\n${text}`);
  }
  const text = timed(["passes = 1"]);
  expect(rewritten(text, { ...toForm(text)!.form, time: "5s" })).toBe(`${text}time = "5s"\n`);
});

test("a place in a text is that of an option", () => {
  const text = '[stream.a]\nworkers = 1\n\n[stage.m]\nsweep = { "stream.queue_depth" = [0], "stream.rate" = [1] }\n';
  const lines = text + '[stage.n.sweep]\n"stream.workers" = [\n  0,\n]\n';
  const at = (line: number, column: number) => optionAt(lines, line, column);
  expect([at(2, 11), at(3, 1), at(5, 12), at(5, 41), at(5, 4)]).toEqual([
    ...["stream.a.workers", null, "stream.queue_depth", "stream.rate", null],
  ]);
  expect([at(7, 1), at(8, 3), optionAt("nonsense", 1, 1)]).toEqual(["stream.workers", "stream.workers", null]);
});

test("a job of as many streams as there may be is written between two keys", () => {
  const [stream] = empty.streams;
  const named = (at: number) => ({ ...stream!, name: `load${at}`, workload: `load${at}`, rate: "100" });
  const form: Form = { ...empty, streams: Array.from({ length: 64 }, (_, at) => named(at)) };
  const next = structuredClone(form);
  next.streams[63]!.rate = "1001";
  const text = toText(form);
  for (const job of [text, `# by hand\n${text}`]) {
    const changed = job.replace(/(.*)rate = "100"/s, '$1rate = "1001"');
    expect(rewritten(job, next)).toBe(changed);
  }
});
