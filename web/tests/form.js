// What the form of a job, comparisons and addresses do with what is not right yet, in a real browser on a server that a test
// plays: a text that cannot be read, drafts, remarks, a job that was replaced, queue depths of several streams, runs whose
// steps differ, a run that was killed.
import assert from "node:assert/strict";
import { join } from "node:path";
import {
  after, afterEach, before, beforeEach, fits, inked, isAccessible, launch,
  looks, needsPages, open as opened, shots, test,
} from "./browser.js";
import { Mock } from "./mock.js";

needsPages();
let browser, mock, address;
const contexts = [];
before(async () => (browser = await launch()));
after(() => browser?.close());
beforeEach(async () => {
  address = await (mock = new Mock()).listen();
});
afterEach(async () => {
  for (const context of contexts.splice(0)) await context.close();
  await mock.close();
});

async function open(path, look = {}) {
  const isOurs = (url) => url.startsWith(address) || url.startsWith("data:");
  const found = await opened(browser, `${address}#/${path}`, look, isOurs);
  contexts.push(found.context);
  return found;
}

const canvases = (page, count) => page.waitForFunction((n) => document.querySelectorAll("canvas").length >= n, count);

/** Shows a page in all looks, and a phone of 390 px, for a person to look at. */
async function show(page, name, locator = null) {
  for (const look of [...looks.slice(0, 2), { name: "phone", width: 390, colorScheme: "light" }]) {
    await page.setViewportSize({ width: look.width, height: 900 });
    await page.emulateMedia({ colorScheme: look.colorScheme });
    await fits(page, `${name} ${look.name}`);
    await locator?.scrollIntoViewIfNeeded();
    await page.screenshot({ path: join(shots, `form-${name}-${look.name}.png`), fullPage: true });
    await isAccessible(page, `${name} ${look.name}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
}

test("nothing is written into a text that cannot be read, and the page says which line that is", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  const broken = (await text.inputValue()).replace('time = "30s"', 'time = "30s');
  await text.fill(broken);
  const line = broken.split("\n").findIndex((one) => one === 'time = "30s') + 1;
  await page.getByText(`line ${line} has a quote without its end.`).waitFor();
  for (const label of ["Measure", "Title", "Path", "Queue depth", "Reads"])
    assert.ok(await page.getByLabel(label, { exact: true }).isDisabled(), label);
  assert.ok(await page.getByRole("button", { name: "Add a stream" }).isDisabled());
  await page.locator("main").getByRole("button", { name: `line ${line}` }).first().click();
  assert.equal(await text.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd)), 'time = "30s');
  assert.equal(await text.inputValue(), broken);
  await show(page, "unread");
  await text.fill("[run]\n");
  await page.getByText("it names no target or no stream.").waitFor();
  await text.fill(broken.replace('"30s', '"30s"'));
  await page.getByLabel("Measure", { exact: true }).fill("11s");
  assert.match(await text.inputValue(), /time = "11s"/);
  assert.deepEqual(complaints, []);
});

test("what is not right yet is in the text where that can say it, and stays in the form where not", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  await page.getByRole("button", { name: "Add a line" }).click();
  await page.getByLabel("Share of line 1").fill("70%");
  await page.getByLabel("Share of line 2").fill("40%");
  assert.match(await text.inputValue(), /share = "70%"[^]*share = "40%"/);
  await page.getByText("The shares add up to 110 %; they have to be 100 %.", { exact: true }).waitFor();
  await page.getByLabel("Queue depth").fill("1..x");
  await page.getByText(/or a range such as 1\.\.64\. The text keeps 16 meanwhile, and this stays here/).waitFor();
  for (const wrong of ["abc", "-1", "0"]) {
    await page.getByLabel("Rate", { exact: true }).fill(wrong);
    await page.getByText(/^Rates above 0 .* The text keeps none meanwhile/).waitFor();
    assert.equal(await page.getByLabel("Rate", { exact: true }).getAttribute("aria-invalid"), "true", wrong);
    assert.ok(!(await text.inputValue()).includes("rate ="), wrong);
  }
  await page.getByLabel("Workers").fill("0");
  await page.getByText(/A whole number from 1 to 65,536\. The text keeps 1 meanwhile/).waitFor();
  await show(page, "drafts");
  // The text is edited elsewhere: nothing that was typed is gone.
  await text.fill(`# mine\n${(await text.inputValue()).replace('"30s"', '"31s"')}`);
  const labels = ["Share of line 1", "Queue depth", "Rate", "Workers"];
  const values = () => Promise.all(labels.map((one) => page.getByLabel(one, { exact: true }).inputValue()));
  assert.deepEqual(await values(), ["70%", "1..x", "0", "0"]);
  assert.equal(await page.getByLabel("Measure", { exact: true }).inputValue(), "31s");
  // Also while it could not be read for a moment.
  const whole = await text.inputValue();
  await text.fill(`${whole}[st`);
  await text.fill(whole);
  assert.deepEqual(await values(), ["70%", "1..x", "0", "0"]);
  // Where the text has another value of the field, that is it.
  await text.fill(whole.replace("queue_depth = 16", "queue_depth = 8"));
  assert.deepEqual(await values(), ["70%", "8", "0", "0"]);
  await page.getByLabel("Measure", { exact: true }).fill("1h30m");
  await page.getByText("1 point, about 1 h 30 min").waitFor();
  assert.deepEqual(complaints, []);
});

test("remarks within a mix stay when its lines are changed, and those that go are told and come back", async () => {
  const { page } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  const line = (share) => `{ share = "${share}", block_size = "4KiB", read = "100%", access = "random" }`;
  const mix = `mix = [ # first of all\n  ${line("60%")}, # one\n  ${line("40%")}, # two\n]\n`;
  const rest = '[stream.load]\nqueue_depth = 2\n\n[stage.main]\ntime = "5s"\n';
  const job = `[target.disk]\npath = "/a"\n\n[workload.load]\n${mix}\n${rest}`;
  await text.fill(job);
  await page.getByLabel("Reads of line 1").fill("1%");
  assert.equal(await text.inputValue(), job.replace('read = "100%"', 'read = "1%"'));
  await page.getByRole("button", { name: "Remove of line 2" }).click();
  await page.getByText("Remarks went with what was changed: # first of all # one # two").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  assert.equal(await text.inputValue(), job.replace('read = "100%"', 'read = "1%"'));
  assert.equal(await page.getByLabel("Share of line 2").inputValue(), "40%");
});

test("a job that was replaced comes back", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  await page.getByLabel("Path").fill("/mnt/disk/mine");
  await page.getByLabel("Queue depth").fill("1..x");
  const mine = await text.inputValue();
  const undo = page.getByRole("button", { name: "Undo" });
  assert.equal(await undo.count(), 0);
  const isBack = async () => {
    await undo.click();
    await page.getByText("The job is what it was before.").waitFor();
    assert.equal(await text.inputValue(), mine);
    assert.equal(await page.getByLabel("Path").inputValue(), "/mnt/disk/mine");
    assert.equal(await page.getByLabel("Queue depth").inputValue(), "1..x");
  };
  await page.getByLabel("Start from").selectOption("oltp");
  await page.getByText("The job is OLTP now, in place of what was here.").waitFor();
  await show(page, "replaced");
  // What was changed since is not lost by going back either.
  await page.getByLabel("Reads").fill("65%");
  await isBack();
  assert.equal(await page.getByLabel("Start from").inputValue(), "");
  await undo.click();
  assert.equal(await page.getByLabel("Reads").inputValue(), "65%");
  await isBack();
  await page.getByRole("button", { name: "New job" }).click();
  await page.getByText("The job is a blank job now").waitFor();
  await isBack();
  const file = (name, content) => ({ name, mimeType: "text/plain", buffer: Buffer.from(content) });
  for (const [name, content] of [
    ["a.fio", "[a]\nrw=read\n"],
    ["a.toml", '[target.x]\npath = "/x"\n[stream.x]\n'],
  ]) {
    await page.getByLabel("Open a job file …").setInputFiles(file(name, content));
    await page.getByText(`The job is ${name} now`).waitFor();
    await isBack();
  }
  // So does what was composed before another run's job was taken.
  await page.goto(`${address}#/compose/steady`);
  await page.getByText(/^The job is .* now, in place/).waitFor();
  await undo.click();
  assert.equal(await text.inputValue(), mine);
  assert.deepEqual(complaints, []);
});

test("a file that is too large is named with the limit, and not sent", async () => {
  const { page } = await open("compose");
  const before = await page.getByLabel("The job", { exact: true }).inputValue();
  const large = { name: "huge.fio", mimeType: "text/plain", buffer: Buffer.alloc(5 * 2 ** 20, "#") };
  await page.getByLabel("Open a job file …").setInputFiles(large);
  await page.getByText("huge.fio is too large: 5 MiB, where the server takes 4 MiB at most.").waitFor();
  // Line ends are two bytes each as they are sent.
  const lines = { ...large, name: "n.fio", buffer: Buffer.alloc(3 * 2 ** 20, "\n") };
  await page.getByLabel("Open a job file …").setInputFiles(lines);
  await page.getByText(/^n\.fio is too large: 6(\.0)? MiB/).waitFor();
  assert.equal(await page.getByLabel("The job", { exact: true }).inputValue(), before);
  assert.deepEqual(mock.asked, []);
});

test("streams with the same queue depths go through them together, and others through every combination", async () => {
  const { page } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  await page.getByLabel("Path").fill("sim:");
  await page.getByLabel("Queue depth").fill("1..8");
  await page.getByRole("button", { name: "Add a stream" }).click();
  await page.getByText("4 points, about 2 min 8 s").waitFor();
  await page.getByText("All streams go through these queue depths together.").waitFor();
  assert.match(await text.inputValue(), /sweep = \{ "stream\.queue_depth" = \[1, 2, 4, 8\] \}/);
  // And back.
  await text.fill((await text.inputValue()).replace("[1, 2, 4, 8]", "[1, 2]"));
  assert.equal(await page.getByLabel("Queue depth of stream 2").inputValue(), "1, 2");
  await page.getByText("2 points, about 1 min 4 s").waitFor();
  await page.getByLabel("Queue depth of stream 2").fill("1..8");
  await page.getByText("every combination of them is a point, 8 in all.").waitFor();
  const apart = /"stream\.load\.queue_depth" = \[1, 2\], "stream\.load2\.queue_depth" = \[1, 2, 4, 8\]/;
  assert.match(await text.inputValue(), apart);
  await page.getByText("8 points, about 4 min 16 s").waitFor();
  await show(page, "cycling");
});

test("the access of a line is read whole beside the other fields", async () => {
  const { page } = await open("compose");
  await page.getByRole("button", { name: "Add a line" }).click();
  await page.getByLabel("Access of line 2").fill("sequential");
  for (const width of [1024, 1280, 1600, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const line of [1, 2]) {
      const hidden = await page.getByLabel(`Access of line ${line}`).evaluate((one) => one.scrollWidth - one.clientWidth);
      const room = await page.getByLabel(`Access of line ${line}`).evaluate((one) => one.clientWidth);
      assert.ok(hidden <= 0 && room >= 110, `${hidden} px are out of sight of ${room} at ${width}`);
      const [access, align] = await Promise.all(
        ["Access", "Alignment"].map((field) => page.getByLabel(`${field} of line ${line}`).boundingBox()),
      );
      const isApart = access.x + access.width <= align.x || access.y + access.height <= align.y;
      assert.ok(isApart, `fields overlap at ${width}`);
    }
    await fits(page, String(width));
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.screenshot({ path: join(shots, "form-access.png"), fullPage: true });
});

test("of runs with several steps one is chosen, and loads are drawn over one another", async () => {
  mock.verdict = null;
  const { page, complaints } = await open("compare/sweep,killed");
  await page.getByText("The runs do not have the same steps: they have 9 and 2, and 2 in common.").waitFor();
  await page.getByRole("slider", { name: "Throughput over load" }).waitFor();
  const caption = (step) => page.getByText(`IOPS over time: step curve, queue depth ${step}`, { exact: true });
  await caption(1).waitFor();
  const figure = page.getByRole("row", { name: /^IOPS/ }).first();
  const first = await figure.innerText();
  await page.getByRole("combobox", { name: "Step", exact: true }).selectOption("curve, queue depth 2");
  await caption(2).waitFor();
  await page.getByText(/^Figures of each run in step curve, queue depth 2;/).waitFor();
  assert.notEqual(await figure.innerText(), first);
  await canvases(page, 4);
  (await inked(page)).forEach((count, at) => assert.ok(count > 500, `canvas ${at} is empty`));
  await show(page, "compare-steps");
  // Where they have none in common, there is one of each to choose.
  await page.goto(`${address}#/compare/sweep,steady`);
  await page.getByText("none of the same name or load. Choose one of each.").waitFor();
  await page.getByLabel("Step of 1: how deep to queue").selectOption("curve, queue depth 64");
  await page.getByRole("columnheader", { name: "curve, queue depth 64" }).waitFor();
  await page.getByText("1: how deep to queue: step curve, queue depth 64").first().waitFor();
  await show(page, "compare-each");
  assert.equal(await page.getByRole("slider", { name: "Throughput over load" }).count(), 0);
  assert.deepEqual(complaints, []);
});

test("a run is not compared with itself", async () => {
  const { page, complaints } = await open("compare/steady,steady");
  await page.getByText("A run is not compared with itself").waitFor();
  await page.getByText("Choose two or more in the list of runs.").waitFor();
  assert.ok(page.url().endsWith("#/compare/steady"), page.url());
  await page.goto(`${address}#/compare/steady~mixed,steady,sweep`);
  await page.getByText("Regressed: IOPS").waitFor();
  await page.getByText("A run is not compared with itself").waitFor();
  assert.ok(page.url().endsWith("#/compare/steady~mixed,sweep"), page.url());
  await show(page, "compare-repeated");
  assert.deepEqual(complaints, []);
});

test("facts that are others whenever one looks do not stand among those that tell something", async () => {
  mock.verdict = null;
  const facts = (load, governor) =>
    [
      ["load", "average", load],
      ["load", "pressure io", `some ${load}`],
      ["clock", "cost of a reading", `${load} ns`],
      ["cpu", "governor", governor],
    ].map(([subject, name, value]) => ({ subject, name, value, source: "" }));
  mock.environments = { steady: facts("0.1", "powersave"), mixed: facts("0.3", "performance") };
  const { page } = await open("compare/steady,mixed");
  await page.getByRole("row", { name: /cpu: governor/ }).waitFor();
  const passing = page.getByRole("row", { name: /load: average/ });
  assert.ok(!(await passing.isVisible()));
  await page.getByText("3 facts that are others whenever one looks").click();
  await passing.waitFor();
  await show(page, "compare-environment");
});

test("a run that was killed is not offered to be watched, and one that goes on is", async () => {
  const { page } = await open("run/killed");
  await page.getByText("broke off, or runs elsewhere").waitFor();
  assert.equal(await page.getByRole("link", { name: "Watch it" }).count(), 0);
  mock.unended = "killed";
  await page.reload();
  await page.getByRole("link", { name: "Watch it" }).waitFor();
  for (const [name, href] of [
    ["The run's file", "/api/v1/runs/killed/export"],
    ["Text", "/api/v1/runs/killed/report?format=text"],
    ["Markdown", "/api/v1/runs/killed/report?format=markdown"],
  ])
    assert.equal(await page.getByRole("link", { name, exact: true }).getAttribute("href"), href);
  await show(page, "run");
});

test("an address that leads nowhere says so", async () => {
  const { page, complaints } = await open("blah");
  await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  await page.getByText("#/blah").waitFor();
  assert.match(await page.title(), /^There is no such page/);
  await show(page, "unknown");
  for (const cut of ["run/%", "run", "live/a,b"]) {
    await page.goto(`${address}#/${cut}`);
    await page.getByText(`#/${cut}`, { exact: true }).waitFor();
  }
  await page.getByRole("link", { name: "See the list of runs" }).click();
  await page.getByRole("table").waitFor();
  assert.deepEqual(complaints, []);
});
