// The form and the text of a job, there and back.

/// <reference types="vite/client" />
import { expect, test } from "vitest";
import { depthsOf, empty, pointsOf, secondsOf, shareOf, specsOf, toForm, toText, type Form } from "./job";

/** The presets are the project's examples. */
const examples = import.meta.glob<string>("../../../examples/*.toml", { query: "?raw", import: "default", eager: true });

test("a form comes back from its text", () => {
  const forms: Partial<Form>[] = [
    { path: "/mnt/disk/scratch" },
    { path: "/dev/nvme1n1", size: "", remove: false, rate: "5k/s", title: 'a "quoted" \\ title\n' },
    { path: "sim:", depths: [1, 2, 4, 8] },
    { path: "null:", workers: 4, lines: [{ share: "100%", blockSize: "1MiB", read: "0%", access: "sequential" }] },
    { path: "/dev/sdb", direct: "true", seed: "fresh" },
    { path: "/dev/sdb", align: "64KiB", priorityClass: "best-effort", priorityLevel: "7" },
    { path: "/dev/sdb", priorityLevel: "high" },
    {
      path: "/dev/sdb",
      rate: "1k/s, 2k/s",
      depths: [1, 32],
      lines: [{ share: "100%", blockSize: "4KiB, 64KiB", read: "0%, 70%, 100%", access: "random" }],
    },
    {
      path: "/dev/sdb",
      seed: "7",
      lines: [
        { share: "60%", blockSize: "4KiB", read: "80%", access: "random" },
        { share: "40%", blockSize: "64KiB", read: "100%", access: "50% random" },
      ],
    },
  ];
  for (const part of forms) {
    const form = { ...empty, ...part };
    expect(toForm(toText(form))).toEqual(form);
  }
});

test("a text that says more than the form keeps it closed", () => {
  const text = toText({ ...empty, path: "/mnt/disk/scratch" });
  expect(toForm(text)).not.toBeNull();
  for (const more of [
    "[stream.other]\nqueue_depth = 2\n",
    "[workload.other]\n",
    "[stage.main.x]\n",
    "[run]\nthresholds = [\"iops > 1\"]\n",
    "nonsense",
    "[target.disk]\n",
  ]) {
    expect(toForm(`${text}${more}`), more).toBeNull();
  }
  expect(toForm(text.replace("[stream.load]", "[stream.load]\nthink = \"1ms\""))).toBeNull();
  expect(toForm("")).toBeNull();
});

test("what a text leaves to defaults is in the form", () => {
  const form = toForm('[target.d]\npath = "/dev/sdb"\n[workload.w]\naccess = "random"\n[stream.s]\n[stage.one]\n');
  expect(form).toMatchObject({ path: "/dev/sdb", depths: [1], ramp: "0s", time: "30s" });
  expect(form?.lines).toEqual([{ share: "100%", blockSize: "4KiB", read: "100%", access: "random" }]);
});

test("what is swept in another order is another job", () => {
  const text = toText({ ...empty, path: "/dev/sdb", rate: "1k/s, 2k/s", depths: [1, 32] });
  const sweep = '"stream.rate" = ["1k/s", "2k/s"], "stream.queue_depth" = [1, 32]';
  expect(text).toContain(sweep);
  expect(toForm(text)).not.toBeNull();
  expect(toForm(text.replace(sweep, sweep.split(", ").slice(2).concat(sweep.split(", ").slice(0, 2)).join(", ")))).toBeNull();
  expect(toForm(text.replace("stream.rate", "stream.workers"))).toBeNull();
});

test("points multiply, and take their time", () => {
  const line = { share: "100%", blockSize: "4KiB, 64KiB", read: "0%, 70%, 100%", access: "random" };
  const form = { ...empty, lines: [line], depths: [1, 2, 4, 8], ramp: "15s", time: "1min" };
  expect(pointsOf(form)).toEqual({ count: 24, seconds: 24 * 75 });
  expect(pointsOf({ ...form, ramp: "soon" })).toEqual({ count: 24, seconds: null });
  // A list within a mix is no list of steps.
  expect(pointsOf({ ...form, lines: [line, line] }).count).toBe(4);
  expect(["2s", "1.5 min", "500ms", "24h", "x", "3", "1x"].map(secondsOf)).toEqual([2, 90, 0.5, 86400, null, null, null]);
});

test("specifications are taken out of jobs", () => {
  const [fileserver] = specsOf(examples["../../../examples/iometer-fileserver.toml"] ?? "");
  expect(fileserver?.map(({ share }) => share)).toEqual(["10%", "5%", "5%", "60%", "2%", "4%", "4%", "10%"]);
  expect(specsOf('[workload.a]\nread = "0%"\n[workload.b]\nstride = "1MiB"\n')).toEqual([
    [{ share: "100%", blockSize: "4KiB", read: "0%", access: "sequential" }],
  ]);
  expect(specsOf("nonsense")).toEqual([]);
});

test("depths are lists or ranges that double", () => {
  expect(depthsOf("16")).toEqual([16]);
  expect(depthsOf("1, 2,8")).toEqual([1, 2, 8]);
  expect(depthsOf("1..32")).toEqual([1, 2, 4, 8, 16, 32]);
  for (const wrong of ["", "0", "1.5", "x", "1..", "8..4", "1..99999999"]) expect(depthsOf(wrong)).toBeNull();
});

test("every preset is in the form", () => {
  for (const name of ["oltp", "iometer-fileserver", "iometer-webserver", "oracle", "vmware", "backup"]) {
    const form = toForm(examples[`../../../examples/${name}.toml`] ?? "");
    expect(form, name).not.toBeNull();
    expect(shareOf(form?.lines ?? []), name).toBe(100);
  }
});

test("shares add up, or are none", () => {
  const line = { share: "100%", blockSize: "4KiB", read: "100%", access: "random" };
  expect(shareOf([line])).toBe(100);
  expect(shareOf([{ ...line, share: "33.3%" }, { ...line, share: "66.7%" }])).toBe(100);
  expect(shareOf([{ ...line, share: "60%" }, { ...line, share: "30%" }])).toBe(90);
  expect(shareOf([{ ...line, share: "60" }])).toBeNull();
});
