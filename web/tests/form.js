// What the form of a job, comparisons and addresses do with what is not right yet, in a real browser on a server that a test
// plays: a text that cannot be read, drafts, remarks, a job that was replaced, queue depths of several streams, runs whose
// steps differ, a run that was killed.
import assert from "node:assert/strict";
import { join } from "node:path";
import { fits, inked, isAccessible, looks, shots, test } from "./browser.js";
import { address, mock, open } from "./played.js";

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
  const remark = page.getByText("Mend the text here:");
  assert.equal((await remark.innerText()).match(/line/g).length, 1, "a line is named once");
  for (const label of ["Measure", "Title", "Path", "Queue depth", "Reads"])
    assert.ok(await page.getByLabel(label, { exact: true }).isDisabled(), label);
  assert.ok(await page.getByRole("button", { name: "Add a stream" }).isDisabled());
  await page.locator("main").getByRole("button", { name: `line ${line}` }).first().click();
  assert.equal(await text.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd)), 'time = "30s');
  assert.equal(await text.inputValue(), broken);
  await show(page, "unread");
  await text.fill(broken.replace('time = "30s', "time 30s"));
  await page.getByText(`line ${line} is not TOML.`).waitFor();
  assert.equal((await remark.innerText()).match(/line/g).length, 1, "a line is named once");
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
  await page.getByRole("button", { name: "Remove line 2" }).click();
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

test("what was typed and the way back are there after a reload", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  await page.getByLabel("Path").fill("/mnt/disk/mine");
  await page.getByLabel("Queue depth").fill("1..x");
  await page.getByLabel("Rate", { exact: true }).fill("abc");
  const mine = await text.inputValue();
  const isMine = async () => {
    assert.equal(await text.inputValue(), mine);
    assert.equal(await page.getByLabel("Queue depth").inputValue(), "1..x");
    assert.equal(await page.getByLabel("Rate", { exact: true }).inputValue(), "abc");
    await page.getByText(/^No plan and no start before this is mended: Queue depth/).waitFor();
  };
  await page.reload();
  await isMine();
  // Also from another page, and by the way back to this one.
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("table").waitFor();
  await page.goBack();
  await isMine();
  await page.getByLabel("Start from").selectOption("oltp");
  await page.getByText("The job is OLTP now, in place of what was here.").waitFor();
  await page.reload();
  await page.getByText("The job is OLTP now, in place of what was here.").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await isMine();
  await page.reload();
  await page.getByText("The job is what it was before.").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  assert.match(await text.inputValue(), /queue_depth = 30/);
  // A text that cannot be read is kept as well, and what the form had beside it.
  await text.fill(mine);
  await text.fill(`${mine}[st`);
  await page.reload();
  assert.equal(await text.inputValue(), `${mine}[st`);
  assert.equal(await page.getByLabel("Path").inputValue(), "/mnt/disk/mine");
  await text.fill(mine);
  assert.ok(await page.getByLabel("Path").isEnabled());
  // What another version of the pages has left here is none.
  await page.evaluate(() => {
    // What waits to be remembered is, before.
    dispatchEvent(new Event("pagehide"));
    sessionStorage.setItem("fathom.composed", '{"now":{"text":"x","filled":{"form":{}}}}');
  });
  await page.reload();
  assert.equal(await page.getByLabel("Path").inputValue(), "");
  assert.deepEqual(complaints, []);
});

test("the job of a run is taken once, and what is made of it stays", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  await page.getByLabel("Path").fill("/mnt/disk/before");
  await page.goto(`${address}#/run/steady`);
  await page.getByRole("link", { name: "Compose from it" }).click();
  await page.getByRole("button", { name: "Undo" }).waitFor();
  await page.waitForURL(`${address}#/compose`);
  const taken = await text.inputValue();
  assert.ok(!taken.includes("/mnt/disk/before"));
  await text.fill(`# mine\n${taken}`);
  for (const again of [() => page.reload(), () => page.goBack().then(() => page.goForward())]) {
    await again();
    await text.waitFor();
    assert.equal(await text.inputValue(), `# mine\n${taken}`);
  }
  // Whoever asks for it once more gets it, and what was here comes back.
  await page.goto(`${address}#/run/steady`);
  await page.getByRole("link", { name: "Compose from it" }).click();
  await page.waitForURL(`${address}#/compose`);
  assert.equal(await text.inputValue(), taken);
  await page.getByRole("button", { name: "Undo" }).click();
  assert.equal(await text.inputValue(), `# mine\n${taken}`);
  assert.deepEqual(complaints, []);
});

test("the job of a curve is told to be without its question", async () => {
  const { page, complaints } = await open("run/curve");
  await page.getByRole("link", { name: "Compose from it" }).click();
  await page.waitForURL(`${address}#/compose`);
  await page.getByText("without the question it was run for: ask that again on the page Curve.").waitFor();
  assert.deepEqual(complaints, []);
});

test("a field that is emptied tells the default that holds then", async () => {
  const { page } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  await page.getByLabel("Path").fill("sim:");
  const field = (label) => page.getByLabel(label, { exact: true });
  const defaults = {
    ...{ Reads: "100%", "Block size": "4KiB", Access: "sequential", Workers: "1", "Queue depth": "1", Rate: "max" },
    ...{ Ramp: "0s", Measure: "30s", Seed: "1", Title: "sim.toml" },
  };
  for (const [label, value] of Object.entries(defaults)) {
    await field(label).fill("");
    assert.equal(await field(label).getAttribute("placeholder"), value, label);
    assert.notEqual(await field(label).getAttribute("aria-invalid"), "true", label);
  }
  assert.doesNotMatch(await text.inputValue(), /""|workers|queue_depth|time|block_size/);
  await page.getByText("1 point, about 30 s").waitFor();
  assert.ok(await page.getByRole("button", { name: "Start", exact: true }).isEnabled());
  await show(page, "emptied");
  await page.getByRole("button", { name: "Add a line" }).click();
  await page.getByLabel("Block size of line 2").fill("");
  await page.getByLabel("Access of line 2").fill("");
  assert.doesNotMatch(await text.inputValue(), /""/);
});

test("times that streams have themselves are those of the form", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  const [ramp, time] = ["Ramp", "Measure"].map((label) => page.getByLabel(label, { exact: true }));
  const job = '[target.a]\nkind = "sim"\n\n[stream.job1]\ntime = "5s"\nramp = "1s"\n';
  await text.fill(`${job}\n[stage.main]\n`);
  await page.getByText("1 point, about 6 s").waitFor();
  assert.deepEqual([await ramp.inputValue(), await time.inputValue()], ["1s", "5s"]);
  await time.fill("60s");
  assert.equal(await text.inputValue(), `${job.replace("5s", "60s")}\n[stage.main]\n`);
  await page.getByText("1 point, about 1 min 1 s").waitFor();
  await page.getByText("The stream's own, in the text").first().waitFor();
  // Of several that differ the form has none to change, and says where they are.
  await text.fill(`${job}\n[stream.job2]\ntime = "9s"\n\n[stage.main]\n`);
  await page.getByText("Streams have times of their own, which are changed in the text. job1: 5s, job2: 9s").waitFor();
  assert.ok(await time.isDisabled());
  assert.equal(await time.inputValue(), "");
  await page.getByText("Of streams that have no time of their own, unlike job1: 1s").waitFor();
  await ramp.fill("2s");
  assert.match(await text.inputValue(), /\[stage.main\]\nramp = "2s"\n$/);
  await show(page, "own-times");
  // Where its work ends a stream there is no default time.
  await text.fill('[target.a]\nkind = "sim"\nsize = "1MiB"\n\n[stream.b]\npasses = 1\n\n[stage.main]\n');
  await page.waitForFunction(() => document.querySelector('[placeholder="ends when its work is done"]'));
  assert.ok(await time.isEnabled());
  assert.equal(await time.inputValue(), "");
  assert.deepEqual(complaints, []);
});

test("a value that is wrong in the text is told at its field", async () => {
  const { page } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  await page.getByLabel("Path").fill("sim:");
  const whole = await text.inputValue();
  const help = (label) =>
    page.getByLabel(label, { exact: true }).evaluate((one) => {
      const id = one.getAttribute("aria-describedby");
      return one.getAttribute("aria-invalid") === "true" && id ? document.getElementById(id)?.textContent?.trim() : null;
    });
  const told = async (label, said) => {
    await page.locator("small.wrong").getByText(said).waitFor();
    assert.match((await help(label)) ?? "", said);
  };
  await text.fill(whole.replace("queue_depth = 16", 'queue_depth = "x"').replace("workers = 1", 'workers = "x"'));
  await told("Queue depth", /^queue_depth: it is not a whole number/);
  await told("Workers", /^workers: "x" is not a whole number/);
  await show(page, "faults");
  // Either is mended in the form.
  await page.getByLabel("Workers").fill("1");
  await page.getByLabel("Queue depth").fill("1");
  assert.match(await text.inputValue(), /workers = 1\nqueue_depth = 1\n/);
  await page.waitForFunction(() => document.querySelectorAll('[aria-invalid="true"]').length === 0);
  const swept = 'sweep = { "stream.queue_depth" = [0, 4] }\ntime';
  await text.fill(whole.replace("queue_depth = 16\n", "").replace("time", swept));
  await told("Queue depth", /^Whole numbers from 1 to 65,536/);
});

test("the points of a product of two options are told, also in an order that the form does not write", async () => {
  const { page } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  await page.getByLabel("Path").fill("sim:");
  await page.getByLabel("Queue depth").fill("1, 2");
  await page.getByLabel("Block size").fill("4KiB, 8KiB, 64KiB");
  await page.getByText("6 points, about 3 min 12 s").waitFor();
  const other = 'sweep = { "stream.queue_depth" = [1, 2], "workload.block_size" = ["4KiB", "8KiB"] }';
  await text.fill((await text.inputValue()).replace(/sweep = .*/, other));
  await page.getByText("stage.main.sweep").waitFor();
  await page.getByText("4 points, about 2 min 8 s").waitFor();
});

test("access specifications that are kept in one tab are there in the other", async () => {
  const { page, context } = await open("compose");
  const other = await context.newPage();
  await other.goto(`${address}#/compose`);
  const choices = (of) => of.getByLabel("Access specification", { exact: true });
  await page.getByLabel("Keep these lines as").fill("ours");
  await page.getByRole("button", { name: "Keep", exact: true }).click();
  await choices(other).getByText("ours").waitFor({ state: "attached" });
  await choices(other).selectOption("ours");
  await other.getByLabel("Keep these lines as").fill("a second");
  await other.getByRole("button", { name: "Keep", exact: true }).click();
  await choices(page).getByText("a second").waitFor({ state: "attached" });
  // What is chosen here stays chosen, whatever comes before it there.
  assert.equal(await choices(page).inputValue(), "own:ours");
  await choices(other).selectOption("ours");
  await other.getByRole("button", { name: "Forget it" }).click();
  await choices(page).getByText("ours").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Forget it" }).waitFor({ state: "detached" });
  assert.equal(await choices(page).inputValue(), "");
});

test("the field of a rate is empty once nothing limits the load any more", async () => {
  mock.play(7);
  const { page } = await open("live/live");
  const rate = page.getByLabel("Operations per second");
  await rate.fill("1.5k");
  await rate.press("Enter");
  await page.getByText(/^The load of .* changes/).waitFor();
  assert.equal(await rate.inputValue(), "1.5k");
  await page.getByRole("button", { name: "No limit" }).click();
  await page.waitForFunction(() => document.querySelector("main form input[size]")?.value === "");
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
  const row = await Promise.all(
    [page.getByLabel("Access of line 2"), page.getByRole("button", { name: "Remove line 2" })].map((one) =>
      one.boundingBox(),
    ),
  );
  assert.ok(Math.abs(row[0].y + row[0].height - row[1].y - row[1].height) < 3, "a line is one row where there is room");
  await page.screenshot({ path: join(shots, "form-access.png"), fullPage: true });
});

test("of runs with several steps one is chosen, and loads are drawn over one another", async () => {
  const reason = "A and B cannot be compared: they are of different tests (iops and latency); compare runs of one test.";
  mock.verdict = { kind: "apart", sentence: reason, sections: [] };
  const { page, complaints } = await open("compare/sweep,killed");
  await page.getByText(reason).waitFor();
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
  await page.setViewportSize({ width: 390, height: 900 });
  const cut = await page.locator(".legend bdi").evaluateAll((names) =>
    names.filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1).length,
  );
  assert.equal(cut, 0, "names of lines are whole");
  const captions = await page.locator("caption").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right));
  assert.ok(captions.length > 0 && captions.every((right) => right <= 390), String(captions));
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
  mock.differences = [
    ...["load average", "load pressure io"].map((name) => ({ name, values: ["0.1", "0.3"], passes: true })),
    { name: "filesystem /mnt available", values: ["100 GiB", "99.5 GiB"], passes: true },
    { name: "cpu governor", values: ["powersave", "performance"], passes: false },
  ];
  const { page } = await open("compare/steady,mixed");
  await page.getByRole("row", { name: /cpu governor/ }).waitFor();
  const passing = page.getByRole("row", { name: /load average/ });
  assert.ok(!(await passing.isVisible()));
  await page.getByText("3 facts that are others whenever one looks").click();
  await passing.waitFor();
  await show(page, "compare-environment");
  // Beside a verdict they are what the verdict passes over.
  const answer = mock.answerOf("comparison");
  const columns = ["what", "A", "the other side"].map((title) => [title, false]);
  const folded = { caption: "One fact that is another whenever one looks", columns, rows: [["load average", "0.1", "9"]] };
  answer.sections.at(-1).folded = [{ ...folded, remark: null }];
  mock.verdict = answer;
  await page.reload();
  const row = page.getByRole("row", { name: "load average" });
  await page.getByText("One fact that is another whenever one looks").first().waitFor();
  assert.ok(!(await row.isVisible()));
  await page.locator("summary").getByText("One fact that is another").click();
  await row.waitFor();
  await isAccessible(page, "folded");
});

test("a run that was killed is not offered to be watched, and one that goes on is", async () => {
  const { page } = await open("run/killed");
  await page.getByText("broke off").waitFor();
  assert.equal(await page.getByRole("link", { name: "Watch it" }).count(), 0);
  const file = page.getByRole("link", { name: "The run's file" });
  assert.equal(await file.getAttribute("href"), "/api/v1/runs/killed/export");
  mock.unended = "killed";
  await page.reload();
  await page.getByRole("link", { name: "Watch it" }).waitFor();
  assert.equal(await file.count(), 0, "it is taken along when it has ended");
  for (const [name, href] of [
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

test("what a field cannot say is neither a default in it nor lost by a button", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  const job = (workload, more = "") =>
    `[target.t]\npath = "/t"\n\n[workload.w]\n${workload}\n\n[stream.w]\nqueue_depth = 2\n\n` +
    `[stage.m]\ntime = "5s"\n${more}`;
  const split = 'block_size = ["4KiB 60%", "64KiB 40%"]';
  await text.fill(job(`${split}\ntrim = "10%"`));
  const size = page.getByLabel("Block size", { exact: true });
  assert.deepEqual([await size.inputValue(), await size.getAttribute("placeholder")], ["", "as in the text"]);
  for (const told of ["workload.w.block_size", "workload.w.trim"]) await page.getByText(told, { exact: true }).waitFor();
  // Into the library, into lines and back.
  await page.getByLabel("Keep these lines as").fill("split");
  await page.getByRole("button", { name: "Keep", exact: true }).click();
  const [kept] = await page.evaluate(() => JSON.parse(localStorage.getItem("fathom.specifications")));
  assert.deepEqual([kept.lines[0].written, kept.lines[0].more], [
    { block_size: ["4KiB 60%", "64KiB 40%"] },
    { trim: "10%" },
  ]);
  await page.getByRole("button", { name: "Add a line" }).click();
  const line = /mix = \[\n +\{ share = "100%", .*block_size = \["4KiB 60%", "64KiB 40%"\].*trim = "10%"/;
  assert.match(await text.inputValue(), line);
  assert.doesNotMatch(await text.inputValue(), /^(block_size|trim)/m);
  const first = page.getByLabel("Block size of line 1");
  assert.deepEqual([await first.inputValue(), await first.getAttribute("placeholder")], ["", "as in the text"]);
  await show(page, "as-in-the-text", first);
  await page.getByRole("button", { name: "Remove line 2" }).click();
  assert.ok((await text.inputValue()).includes(split));
  await page.getByLabel("Access specification").selectOption("Database");
  assert.doesNotMatch(await text.inputValue(), /64KiB 40%/);
  await page.getByLabel("Access specification").selectOption("split");
  assert.ok((await text.inputValue()).includes(split));
  // What is typed takes its place.
  await size.fill("8KiB");
  assert.match(await text.inputValue(), /^block_size = "8KiB"$/m);
  // What is cycled is not put into a line, and the page says why.
  await page.getByLabel("Reads", { exact: true }).fill("0%, 100%");
  const add = page.getByRole("button", { name: "Add a line" });
  assert.ok(await add.isDisabled());
  await page.getByText(/^No line more: a cycled value .*\(workload\.read\)/).waitFor();
  await page.getByLabel("Reads", { exact: true }).fill("50%");
  assert.ok(await add.isEnabled());
  // Cycled in a way that no field shows: nothing is kept or taken that is less.
  const odd = job('read = "50%"', 'sweep = { "workload.trim" = ["0%", "10%"] }\n');
  await text.fill(odd);
  assert.ok(await add.isDisabled());
  await page.getByLabel("Keep these lines as").fill("less");
  assert.ok(await page.getByRole("button", { name: "Keep", exact: true }).isDisabled());
  await page.getByText(/^These lines are not all .* workload\.trim/).waitFor();
  // One of several lines; one of a single line is.
  await page.evaluate(() => {
    const line = { share: "50%", blockSize: "4KiB", read: "0%", access: "random" };
    localStorage.setItem("fathom.specifications", JSON.stringify([{ name: "both", lines: [line, line] }]));
    dispatchEvent(new StorageEvent("storage", { key: "fathom.specifications" }));
  });
  await page.getByLabel("Access specification").selectOption("both");
  await page.getByText(/^both is not taken: the text says of workload\.trim/).waitFor();
  assert.equal(await text.inputValue(), odd);
  await show(page, "not-taken", page.getByLabel("Access specification"));
  assert.deepEqual(complaints, []);
});

test("a stream that is left out is named nowhere", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  await text.fill(
    '[target.t]\npath = "/t"\n[workload.w]\n[stream.s1]\nworkload = "w"\nthink_time = "1ms"\n' +
      '[stream.s2]\nworkload = "w"\n' +
      '[stage.m]\nstreams = ["s1"]\ntime = "7s"\n[stage.n]\nstreams = ["s2"]\n' +
      'sweep = { "stream.s1.queue_depth" = [1, 2] }\n',
  );
  await page.getByText("stage.m.streams", { exact: true }).waitFor();
  // Also where the server finds fault with it, for which there is no field.
  const whole = await text.inputValue();
  await text.fill(whole.replace('"s1"]', '"gone"]'));
  await page.getByText("there is no stream gone").first().waitFor();
  await page.getByText("stage.m.streams", { exact: true }).waitFor();
  await text.fill(whole);
  await page.getByRole("button", { name: "Leave the stream out of stream 1" }).click();
  assert.doesNotMatch(await text.inputValue(), /s1|stage\.m|sweep/);
  // The form has the stage that is left.
  assert.equal(await page.getByLabel("Measure", { exact: true }).inputValue(), "30s");
  await page.getByLabel("Measure", { exact: true }).fill("8s");
  assert.match(await text.inputValue(), /\[stage\.n\]\nstreams = \["s2"\]\ntime = "8s"/);
  // One like it has what it has.
  await text.fill((await text.inputValue()).replace("[stream.s2]", '[stream.s2]\nthink_time = "2ms"'));
  await page.getByRole("button", { name: "Add a stream" }).click();
  assert.equal((await text.inputValue()).match(/think_time = "2ms"/g).length, 2);
  assert.deepEqual(complaints, []);
});

test("what comes and goes in the form takes no stream to another target than its text says", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  const job = (aims) =>
    `[target.a]\npath = "/a"\nsize = "1GiB"\n[workload.w]\n[stream.w]\n${aims}[stage.main]\ntime = "5s"\n`;
  const press = (name) => page.getByRole("button", { name }).click();
  const aims = async () => (await text.inputValue()).match(/^targets = .*$/gm) ?? [];
  /** What is ticked of each stream. */
  const ticked = async (count) => {
    const streams = Array.from({ length: count }, (_, at) => page.locator(`[data-stream="${at}"]`));
    return Promise.all(
      streams.map((one) =>
        one.getByRole("checkbox").evaluateAll((boxes) => boxes.map(({ checked }) => checked)),
      ),
    );
  };
  await text.fill(job('targets = ["a"] # this one\n'));
  await press("Add a target");
  assert.deepEqual([await aims(), await ticked(1)], [['targets = ["a"] # this one'], [[true, false]]]);
  await press("Add a stream");
  const both = [['targets = ["a"] # this one', 'targets = ["a"]'], [[true, false], [true, false]]];
  assert.deepEqual([await aims(), await ticked(2)], both);
  await page.getByLabel("Path of target 2").fill("/b");
  await page.locator('[data-stream="1"]').getByRole("checkbox", { name: "/b" }).check();
  await page.locator('[data-stream="1"]').getByRole("checkbox", { name: "/a" }).uncheck();
  assert.deepEqual(await aims(), ['targets = ["a"] # this one', 'targets = ["disk"]']);
  await page.reload();
  assert.deepEqual(await ticked(2), [[true, false], [false, true]]);
  // A device in the place of another is the same target; with one that goes a stream goes nowhere until it is said where.
  await page.getByText("The 2 block devices of this machine").click();
  await page.getByRole("button", { name: "measure /dev/precious" }).click();
  assert.deepEqual(await aims(), ['targets = ["a"] # this one', 'targets = ["disk"]']);
  await press("Leave it out of target 2");
  assert.deepEqual([await aims(), await ticked(2)], [['targets = ["a"] # this one', "targets = []"], [[true], [false]]]);
  await page.getByText(/^No plan and no start before this is mended: Goes to of stream 2/).waitFor();
  await page.locator('[data-stream="1"]').getByRole("checkbox").check();
  assert.deepEqual(await aims(), ['targets = ["a"] # this one', 'targets = ["a"]']);
  await press("Leave the stream out of stream 2");
  assert.deepEqual([await aims(), await ticked(1)], [['targets = ["a"] # this one'], [[true]]]);
  // What was taken away is there again as it was.
  await press("New job");
  await press("Undo");
  assert.deepEqual([await aims(), await ticked(1)], [['targets = ["a"] # this one'], [[true]]]);
  // A stream whose text names no targets goes to all of them, and so does one like it.
  await text.fill(job(""));
  assert.deepEqual(await ticked(1), [[]]);
  await press("Add a stream");
  await press("Add a target");
  await press("Add a stream");
  assert.deepEqual([await aims(), await ticked(3)], [[], [[true, true], [true, true], [true, true]]]);
  assert.deepEqual(complaints, []);
});

test("what is typed is remembered when the typing rests, or the page is left, and not at each key", async () => {
  const { page, complaints } = await open("compose");
  const path = page.getByLabel("Path");
  await path.fill("/t");
  const [during, left] = await path.evaluate(async (field) => {
    let count = 0;
    const { setItem } = Storage.prototype;
    Storage.prototype.setItem = function (...item) {
      count += 1;
      setItem.apply(this, item);
    };
    for (let key = 0; key < 20; key += 1) {
      field.value += "a";
      field.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((done) => queueMicrotask(done));
    }
    const during = count;
    dispatchEvent(new Event("pagehide"));
    return [during, sessionStorage.getItem("fathom.composed")];
  });
  assert.equal(during, 0);
  const { now } = JSON.parse(left);
  assert.match(now.text, /path = "\/ta{20}"/);
  assert.match(now.filled.form.targets[0].path, /^\/ta{20}$/);
  await path.fill("/other");
  await page.waitForFunction(() => sessionStorage.getItem("fathom.composed")?.includes('"/other"'));
  // What no text can say is remembered, too.
  await page.getByLabel("Queue depth").fill("1..x");
  await page.reload();
  assert.equal(await page.getByLabel("Queue depth").inputValue(), "1..x");
  assert.deepEqual(complaints, []);
});

test("in a job of many streams a key in the form or the text changes its own stream", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  const streams = Array.from({ length: 16 }, (_, at) => `[workload.w${at}]\n[stream.w${at}]\nqueue_depth = 2\n`);
  await text.fill(`[target.t]\npath = "/t"\n${streams.join("")}[stage.m]\ntime = "5s"\n`);
  const depth = (stream) => page.getByLabel(new RegExp(`^Queue depth.*stream ${stream}$`));
  await depth(16).fill("1..x");
  await text.evaluate((field) => {
    field.value = field.value.replace("[stream.w7]\nqueue_depth = 2", "[stream.w7]\nqueue_depth = 7");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  assert.deepEqual(await Promise.all([7, 8, 9, 16].map((at) => depth(at).inputValue())), ["2", "7", "2", "1..x"]);
  await depth(3).fill("33");
  const written = await text.inputValue();
  assert.deepEqual(
    [...written.matchAll(/queue_depth = (\d+)/g)].map(([, found]) => Number(found)).filter((found) => found !== 2),
    [33, 7],
  );
  assert.deepEqual(complaints, []);
});
