// The form and the text of a job, there and back.

/// <reference types="vite/client" />
import { expect, test } from "vitest";
import { depthsOf, empty, shareOf, toForm, toText, type Form } from "./job";

/** The presets are the project's examples. */
const examples = import.meta.glob<string>("../../../examples/*.toml", { query: "?raw", import: "default", eager: true });

test("a form comes back from its text", () => {
  const forms: Partial<Form>[] = [
    { path: "/mnt/disk/scratch" },
    { path: "/dev/nvme1n1", size: "", remove: false, rate: "5k/s", title: 'a "quoted" \\ title\n' },
    { path: "sim:", depths: [1, 2, 4, 8] },
    { path: "null:", workers: 4, lines: [{ share: "100%", blockSize: "1MiB", read: "0%", access: "sequential" }] },
    { path: "/dev/sdb", direct: "true", seed: "fresh" },
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
