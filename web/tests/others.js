// Pages on what others have made: runs that are gone, tagged twice or copied, in a real browser on a server that a test
// plays.
import assert from "node:assert/strict";
import { join } from "node:path";
import { fits, isAccessible, shots, test } from "./browser.js";
import { mock, open } from "./played.js";

test("runs with a tag twice, and two files of one run, are listed", async () => {
  mock.others = [
    { run: "mixed", title: "a copy", tags: ["d", "e", "d"] },
    { run: "mixed", title: "another copy", tags: [] },
  ];
  const { page, complaints } = await open("runs");
  const row = page.getByRole("row", { name: "a copy" }).first();
  await row.waitFor();
  assert.deepEqual(await row.locator(".tag").allTextContents(), ["d", "e"]);
  await page.getByText("another copy").waitFor();
  assert.deepEqual(complaints, []);
});

test("a run that is gone keeps nobody from comparing the others", async () => {
  const { page, complaints } = await open("compare/steady,mixed,absent");
  await page.getByText("is not there (any more)").waitFor();
  await page.locator(".answer", { hasText: /\w/ }).first().waitFor();
  await page.getByText("Figures of both sides").first().waitFor();
  assert.equal(await page.locator(".failed").count(), 1, "only what is left out is told");
  const sides = page.getByRole("group", { name: "Sides" }).getByRole("combobox").first();
  assert.deepEqual(
    (await sides.locator("option").allTextContents()).map((one) => one.trim().replaceAll(/\s+/g, " ")),
    ["side A", "side B"],
  );
  assert.ok(page.url().endsWith("#/compare/steady,mixed"), page.url());
  assert.ok(complaints.every((one) => one.includes("404")), complaints.join("\n"));
});

test("what stood for the targets of a configuration is composed from, too", async () => {
  mock.sources = [{ name: "a.icf", text: "C:\n", maps: ["*=sim:"], sector_size: 4096 }];
  const { page, complaints } = await open("run/steady");
  await page.getByText("What stood for its targets: *=sim:").waitFor();
  await page.getByRole("link", { name: "Compose from it" }).click();
  await page.getByText("It is the job now").waitFor();
  const { path, body } = mock.asked.findLast((one) => one.path.endsWith("/convert"));
  assert.deepEqual([path, body], ["/api/v1/jobs/convert", mock.sources[0]]);
  assert.match(await page.getByLabel("The job", { exact: true }).inputValue(), /kind = "sim"/);
  assert.deepEqual(complaints, []);
});

test("what the server says of a value stands at its field, whichever that is", async () => {
  const { page, complaints } = await open("compose");
  await page.getByLabel("Path").fill("/mnt/disk/scratch");
  for (const [label, wrong, says] of [
    ["Reads", "150", "150% is above 100%"],
    ["Block size", "0", "0 is below 1"],
    ["Access", "foo", "neither random nor sequential"],
    ["Size", "-1", "is no size"],
    ["Measure", "-5s", "is no time"],
    ["Ramp", "-5s", "is no time"],
    ["Seed", "x", "is not a whole number"],
  ]) {
    const field = page.getByLabel(label, { exact: true }).first();
    const before = await field.inputValue();
    await field.fill(wrong);
    await page.waitForFunction((field) => field.getAttribute("aria-invalid") === "true", await field.elementHandle());
    const place = await field.getAttribute("aria-describedby");
    const told = await page.locator(`[id="${place}"]`).textContent();
    assert.ok(told?.includes(says), `${label}: ${told}`);
    await field.fill(before);
    await page.waitForFunction((field) => field.getAttribute("aria-invalid") === "false", await field.elementHandle());
  }
  assert.deepEqual(complaints, []);
});

test("the form of a question is there after a reload and on the way back", async () => {
  const { page, complaints } = await open("curve");
  await page.getByLabel("Path").fill("/dev/nvme1n1");
  await page.getByLabel("Largest queue depth").fill("64");
  await page.reload();
  assert.equal(await page.getByLabel("Path").inputValue(), "/dev/nvme1n1");
  await page.getByRole("link", { name: "Steady state", exact: true }).click();
  await page.getByRole("combobox", { name: "Test" }).selectOption("latency");
  await page.getByRole("link", { name: "Curve", exact: true }).click();
  await page.getByLabel("Largest queue depth").waitFor();
  assert.equal(await page.getByLabel("Largest queue depth").inputValue(), "64");
  await page.getByRole("link", { name: "Steady state", exact: true }).click();
  assert.equal(await page.getByRole("combobox", { name: "Test" }).inputValue(), "latency");
  assert.deepEqual(complaints, []);
});

test("replicates of a load are told apart", async () => {
  const { page, complaints } = await open("run/curve");
  const charts = page.getByLabel("Charts of").locator("option");
  await charts.first().waitFor({ state: "attached" });
  const names = (await charts.allTextContents()).map((name) => name.trim());
  assert.equal(new Set(names).size, names.length, names.join(" | "));
  assert.ok(names.some((name) => name.endsWith("2 of 2") || name.endsWith("2 of 3")), names.join(" | "));
  assert.deepEqual(complaints, []);
});

test("the list of runs shows all that matters of a run at any width", async () => {
  mock.others = [
    { run: "mixed", title: "a run with a rather long title of many words, as people give them", tags: ["nvme", "rebuild"] },
    { run: "steady", title: "killed", tags: ["a tag of more than one word", "second"], state: "unfinished" },
    { run: "sweep", title: "of another", tags: [], state: "elsewhere" },
  ];
  for (const width of [320, 380, 390, 700, 1280]) {
    const { page } = await open("runs", { width });
    await page.getByRole("table").waitFor();
    await page.screenshot({ path: join(shots, `app-runs-${width}.png`), fullPage: true });
    await fits(page, `${width}`);
    const hidden = await page.evaluate(() => {
      const scroll = document.querySelector(".scroll");
      return scroll.scrollWidth - scroll.clientWidth;
    });
    assert.ok(hidden <= 0, `${width}: ${hidden} px of the table are out of sight`);
    // A word of a heading is in one line.
    const broken = await page.evaluate(() =>
      [...document.querySelectorAll("th")].filter((one) => {
        const range = document.createRange();
        range.selectNodeContents(one);
        return range.getClientRects().length > one.textContent.trim().split(/\s+/).length;
      }).map((one) => one.textContent),
    );
    assert.deepEqual(broken, [], `${width}`);
    for (const text of ["broke off", "runs elsewhere"])
      assert.equal(await page.getByText(text).filter({ visible: true }).count(), 1, `${width}: ${text}`);
    assert.ok(await page.getByRole("button", { name: "change killed" }).isVisible(), `${width}`);
  }
});

test("what drives say of themselves stands on the page of a run, as text", async () => {
  const { page, complaints } = await open("run/hostile");
  await page.getByRole("heading", { name: "What the drives say of themselves" }).waitFor();
  const row = page.getByRole("row", { name: /^<i>sda <b>wear/ });
  assert.deepEqual(await row.getByRole("cell").allTextContents(), ["<i>sda", "<b>wear", "<u>1", "<u>2"]);
  await fits(page, "a run with drives");
  await isAccessible(page, "a run with drives");
  await page.screenshot({ path: join(shots, "run-drives.png"), fullPage: true });
  assert.deepEqual(complaints, []);
});
