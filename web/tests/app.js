// The pages of the server in a real browser, on a server that a test plays: compose → plan → start → live → run → compare,
// a lost connection, what is empty, broken or hostile, keyboard and screen readers, and screenshots to look at.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { fits, inked, isAccessible, launch, looks, open as opened, shots } from "./browser.js";
import { Mock } from "./mock.js";

let browser;
let mock;
let address;
const contexts = [];
before(async () => {
  browser = await launch();
});
after(() => browser?.close());
beforeEach(async () => {
  mock = new Mock();
  address = await mock.listen();
});
afterEach(async () => {
  for (const context of contexts.splice(0)) await context.close();
  await mock.close();
});

async function open(path, look = {}) {
  const found = await opened(browser, `${address}#/${path}`, look, (url) => url.startsWith(address) || url.startsWith("data:"));
  contexts.push(found.context);
  return found;
}

const canvases = (page, count) => page.waitForFunction((n) => document.querySelectorAll("canvas").length >= n, count);

for (const [path, ready] of [
  ["runs", (page) => page.getByRole("table").waitFor()],
  ["compose", (page) => page.getByLabel("The job").waitFor()],
  ["run/steady", (page) => canvases(page, 6)],
  ["run/sweep", (page) => canvases(page, 8)],
  ["live/live", (page) => canvases(page, 4)],
  ["run/curve", (page) => canvases(page, 2)],
  ["run/pts-iops", (page) => canvases(page, 3)],
  ["compare/steady,mixed", (page) => canvases(page, 6)],
  ["curve", (page) => page.getByRole("combobox", { name: "Question" }).waitFor()],
  ["steady", (page) => page.getByRole("combobox", { name: "Test" }).waitFor()],
]) {
  test(`${path} in all its looks`, async () => {
    mock.play(10);
    for (const look of looks) {
      const { page, complaints } = await open(path, look);
      await ready(page);
      (await inked(page)).forEach((count, at) => assert.ok(count > 500, `${look.name}: canvas ${at} is empty`));
      await fits(page, look.name);
      await page.screenshot({ path: join(shots, `app-${path.replaceAll(/\W/g, "-")}-${look.name}.png`), fullPage: true });
      if (look.width >= 1280) await isAccessible(page, look.name);
      assert.deepEqual(complaints, [], look.name);
    }
  });
}

test("from an idea to a comparison", async () => {
  const { page, complaints } = await open("compose");
  await page.getByLabel("Path").fill("/mnt/disk/scratch");
  await page.getByLabel("Queue depth").fill("1..8");
  assert.match(await page.getByLabel("The job").inputValue(), /sweep = \{ "stream.queue_depth" = \[1, 2, 4, 8\] \}/);
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByText("takes about 32 s").waitFor();
  await page.getByText("/mnt/disk/scratch: is created, is read").waitFor();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/#\/live\/live/);
  assert.equal(mock.asked.at(-1).path, "/api/v1/runs");
  mock.play(7);
  await page.locator(".tiles").getByText("1.5k", { exact: true }).waitFor();
  await page.getByLabel("Gauges show").selectOption("since");
  await page.getByLabel("What happens now").fill("rebuild started");
  await page.getByRole("button", { name: "Mark" }).click();
  await page.waitForFunction(() => document.querySelector("form input").value === "");
  assert.deepEqual(mock.asked.at(-1), { path: "/api/v1/runs/live/marks", body: { text: "rebuild started" } });
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Stopping …" }).waitFor();
  mock.play(99);
  await page.getByText("It has ended.").waitFor();
  await page.getByRole("link", { name: "Runs" }).click();
  await page.getByLabel("compare OLTP on the new array").check();
  await page.getByLabel("compare three at once").check();
  await page.getByRole("button", { name: "Compare 2 runs" }).click();
  await page.waitForURL(/#\/compare\/steady,mixed/);
  await page.getByText(/^\+1\d %$/).first().waitFor();
  assert.deepEqual(complaints, []);
});

test("a question is asked, its curve grows with every step, and the run ends as its answer", async () => {
  const { page, complaints } = await open("curve");
  await page.getByLabel("Path").fill("/mnt/disk/scratch");
  await page.getByLabel("Limits of the response time").fill("p99<2ms, 1ms");
  await page.getByLabel("Largest queue depth").fill("64");
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByText("/mnt/disk/scratch: is created, is read").waitFor();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/#\/live\/live/);
  const { body } = mock.asked.at(-1);
  assert.deepEqual(body.search, { kind: "curve", over: "depth", latency: ["p99<2ms", "1ms"], max_depth: 64, replicates: 3 });
  assert.match(body.job.text, /path = "\/mnt\/disk\/scratch"/);
  // As many points as steps have ended.
  const whole = mock.answerOf("curve");
  const cut = (count) => {
    const answer = structuredClone(whole);
    for (const plot of answer.sections[0].plots) {
      plot.lines = plot.lines.slice(0, 1);
      for (const key of ["x", "y", "low", "high"]) plot.lines[0][key].length = count;
    }
    return answer;
  };
  const chart = page.getByRole("slider", { name: "Throughput over load" });
  const points = async (count) => {
    await page.waitForFunction((n) => document.querySelector("[aria-label='Throughput over load']")?.getAttribute("aria-valuemax") === String(n - 1), count);
  };
  mock.answer = cut(3);
  mock.play(7);
  await canvases(page, 4);
  mock.finishStep();
  await points(3);
  mock.answer = { ...whole, sentence: "Now it is known." };
  mock.finishStep();
  await page.getByText("Now it is known.").waitFor();
  assert.ok(Number(await chart.getAttribute("aria-valuemax")) > 90, "the law is drawn");
  (await inked(page)).slice(0, 2).forEach((count, at) => assert.ok(count > 500, `canvas ${at} is empty`));
  await page.screenshot({ path: join(shots, "app-growing.png"), fullPage: true });
  assert.deepEqual(complaints, []);
});

test("a test of the PTS is asked for with its target alone", async () => {
  const { page } = await open("steady");
  await page.getByLabel("Path").fill("/dev/precious");
  await page.getByRole("combobox", { name: "Test" }).selectOption("wsat");
  await page.getByRole("combobox", { name: "Standard" }).selectOption("client");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByText("an ext4 filesystem is on it").waitFor();
  assert.ok(mock.asked.every(({ path }) => path !== "/api/v1/runs"), "nothing was started");
  await page.getByLabel("to agree").fill("S1234567");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/#\/live\/live/);
  const { body } = mock.asked.at(-1);
  assert.deepEqual(body.search, { kind: "steady", test: "wsat", class: "client", quick: true, purge: true });
  assert.deepEqual(body.consent.answers, [{ path: "/dev/precious", typed: "S1234567" }]);
  assert.ok(!body.job.text.includes("queue_depth") && !body.job.text.includes("[stage"));
});

test("runs are put on sides, and the verdict is asked for anew", async () => {
  const { page } = await open("compare/steady,mixed,sweep");
  await page.getByText("Regressed: IOPS").waitFor();
  await page.getByRole("combobox", { name: "3: how deep to queue" }).selectOption("side A");
  await page.waitForURL(/#\/compare\/steady~sweep,mixed/);
  await page.getByText("Regressed: IOPS").waitFor();
  const request = page.waitForRequest(/compare\?sides=steady~sweep%2Cmixed&margin=10%25/);
  await page.getByLabel("Change that matters").selectOption("10%");
  await request;
});

test("form and text are one job, and neither loses what the other cannot say", async () => {
  const { page } = await open("compose");
  const text = page.getByLabel("The job");
  await page.getByLabel("Start from").selectOption("oltp");
  assert.equal(await page.getByLabel("Reads").inputValue(), "70%");
  assert.match(await text.inputValue(), /\[stream\.b\]/);
  await text.fill(`${await text.inputValue()}\n[workload.other]\n`);
  await page.getByText("This text says more than the form can show").waitFor();
  assert.equal(await page.getByLabel("Reads").count(), 0);
  assert.match(await text.inputValue(), /workload\.other/);
  await page.getByRole("button", { name: "New job" }).click();
  assert.equal(await page.getByLabel("Reads").inputValue(), "100%");
  await page.getByLabel("Open a job file …").setInputFiles({ name: "a.fio", mimeType: "text/plain", buffer: Buffer.from("[a]\nrw=read\n") });
  await page.waitForFunction(() => document.querySelector(".editor textarea").value.includes('kind = "sim"'));
  assert.deepEqual(mock.asked.at(-1).body, { name: "a.fio", text: "[a]\nrw=read\n" });
});

test("an access specification has lines whose shares add up", async () => {
  const { page } = await open("compose");
  const text = page.getByLabel("The job");
  await page.getByRole("button", { name: "Add a line" }).click();
  await page.getByText("The shares add up to 100 %.").waitFor();
  await page.getByLabel("Share of line 1").fill("60%");
  await page.getByText("The shares add up to 60 %; they have to be 100 %.").waitFor();
  await page.getByLabel("Share of line 2").fill("40%");
  await page.getByLabel("Block size of line 2").fill("64KiB");
  await page.getByLabel("Access of line 2").fill("sequential");
  assert.match(await text.inputValue(), /mix = \[\n.*share = "60%".*\n.*share = "40%", block_size = "64KiB", read = "100%", access = "sequential"/);
  await fits(page, "lines");
  await isAccessible(page, "lines");
  await page.screenshot({ path: join(shots, "app-lines.png"), fullPage: true });
  await page.getByRole("button", { name: "Remove of line 1" }).click();
  assert.equal(await page.getByLabel("Block size").inputValue(), "64KiB");
  assert.ok(!(await text.inputValue()).includes("mix"), "one line is no mix");
});

/** Drops a file on the page. */
async function drop(page, name, text) {
  const transfer = await page.evaluateHandle(
    ([name, text]) => {
      const made = new DataTransfer();
      made.items.add(new File([new Uint8Array(text)], name));
      return made;
    },
    [name, [...text]],
  );
  await page.dispatchEvent("main", "drop", { dataTransfer: transfer });
}

test("a file that is dropped is told of at its own lines, and becomes the job only without faults", async () => {
  const { page, complaints } = await open("compose");
  const before = await page.getByLabel("The job").inputValue();
  await drop(page, "a.fio", Buffer.from("[a]\nrw=read\nbogus=1\n"));
  await page.getByText("there is no option bogus").waitFor();
  await page.getByText("It did not become the job.").waitFor();
  assert.equal(await page.getByLabel("The job").inputValue(), before);
  await page.getByRole("button", { name: "line 3" }).click();
  const source = page.getByLabel("The file as it is");
  await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "The file as it is");
  assert.equal(await source.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd)), "bogus=1");
  await fits(page, "a file");
  await isAccessible(page, "a file");
  await page.screenshot({ path: join(shots, "app-opened.png"), fullPage: true });
  // Iometer on Windows writes in code page 1252.
  await drop(page, "a.icf", Buffer.from([0x47, 0x72, 0xf6, 0xdf, 0x65]));
  await page.getByText("It is the job now, in fathom's words.").waitFor();
  assert.deepEqual(mock.asked.at(-1).body, { name: "a.icf", text: "Größe" });
  assert.match(await page.getByLabel("The job").inputValue(), /kind = "sim"/);
  // Drives of another machine have to be given something here.
  await drop(page, "b.icf", Buffer.from("C:\n"));
  await page.getByText("the target C: is not on this machine").waitFor();
  await page.getByLabel("What stands for its targets on this machine").fill("C:=/dev/sdb\n*=sim:");
  await page.getByRole("button", { name: "Read it with these" }).click();
  await page.getByText("It is the job now, in fathom's words.").waitFor();
  assert.deepEqual(mock.asked.at(-1).body, { name: "b.icf", text: "C:\n", maps: ["C:=/dev/sdb", "*=sim:"] });
  await page.getByRole("button", { name: "Close the file" }).click();
  assert.equal(await source.count(), 0);
  assert.deepEqual(complaints, []);
});

test("specifications come from a library, are edited, and kept", async () => {
  const { page, complaints } = await open("compose");
  const spec = page.getByLabel("Access specification");
  const label = (name) => spec.selectOption({ label: name });
  await label("Database");
  assert.deepEqual([await page.getByLabel("Reads").inputValue(), await page.getByLabel("Block size").inputValue()], ["67%", "8KiB"]);
  await label("OLTP");
  assert.equal(await page.getByLabel("Reads").inputValue(), "70%");
  await page.getByLabel("Reads").fill("55%");
  assert.match(await page.getByLabel("The job").inputValue(), /read = "55%"/);
  await page.getByLabel("Keep these lines as").fill("our mail");
  await page.getByRole("button", { name: "Keep", exact: true }).click();
  await page.getByText("our mail is kept in this browser.").waitFor();
  await page.reload();
  await label("our mail");
  assert.equal(await page.getByLabel("Reads").inputValue(), "55%");
  await page.getByRole("button", { name: "Forget it" }).click();
  await page.reload();
  await page.getByLabel("Reads").waitFor();
  assert.equal(await spec.getByText("our mail").count(), 0);
  assert.deepEqual(complaints, []);
});

test("what is cycled is counted and timed before it is asked of the server", async () => {
  const { page } = await open("compose");
  await page.getByText("1 point, about 32 s").waitFor();
  await page.getByLabel("Queue depth").fill("1..8");
  await page.getByLabel("Block size").fill("4KiB, 64KiB");
  await page.getByText("8 points, about 4 min 16 s").waitFor();
  const text = await page.getByLabel("The job").inputValue();
  assert.match(text, /sweep = \{ "workload.block_size" = \["4KiB", "64KiB"\], "stream.queue_depth" = \[1, 2, 4, 8\] \}/);
  await page.getByLabel("I/O priority").selectOption("idle");
  assert.match(await page.getByLabel("The job").inputValue(), /thread_priority_class = "idle"/);
});

test("devices are shown with what is on them, and one is chosen", async () => {
  const { page } = await open("compose");
  await page.getByText("The 2 block devices of this machine").click();
  await page.getByRole("row", { name: /system.*no: mounted at \/boot, carries this system at \// }).waitFor();
  await page.getByRole("row", { name: /S1234567 ext4 yes, if you agree/ }).getByRole("button").click();
  assert.equal(await page.getByLabel("Path").inputValue(), "/dev/precious");
  assert.match(await page.getByLabel("The job").inputValue(), /path = "\/dev\/precious"\n\n/);
  await fits(page, "devices");
  await isAccessible(page, "devices");
});

test("faults are shown at their line", async () => {
  const { page } = await open("compose");
  const text = page.getByLabel("The job");
  await text.fill((await text.inputValue()).replace("size", "sise"));
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByText("did you mean size?").waitFor();
  await page.getByRole("button", { name: "line 3" }).click();
  const chosen = await text.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd));
  assert.equal(chosen, 'sise = "1GiB"');
});

test("what would be destroyed has to be agreed to by name", async () => {
  const { page } = await open("compose");
  await page.getByLabel("Path").fill("/dev/precious");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByText("an ext4 filesystem is on it").waitFor();
  assert.ok(mock.asked.every(({ path }) => path !== "/api/v1/runs"), "nothing was started");
  await page.getByLabel("to agree").fill("S1234567");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/#\/live\/live/);
  assert.deepEqual(mock.asked.at(-1).body.consent.answers, [{ path: "/dev/precious", typed: "S1234567" }]);
});

test("a lost connection goes on where it broke", async () => {
  mock.play(5);
  const { page } = await open("live/live");
  await canvases(page, 4);
  mock.drop();
  mock.play(11);
  await page.locator("figure").first().getByRole("slider").and(page.locator("[aria-valuemax='4']")).waitFor();
  mock.play(99);
  await page.getByText("It has ended.").waitFor();
  await page.getByText("mark: half of it").waitFor();
  assert.equal(await page.getByText("mark: half of it").count(), 1, "nothing is told twice");
});

test("two tabs watch one run", async () => {
  mock.play(5);
  const [one, two] = [await open("live/live"), await open("live/live")];
  for (const { page } of [one, two]) await page.locator(".tiles").getByText("1.5k", { exact: true }).waitFor();
  await one.page.getByLabel("Rows").selectOption("target");
  await one.page.getByRole("cell", { name: "/dev/nvme1n1" }).waitFor();
  await two.page.getByRole("cell", { name: "log", exact: true }).waitFor();
  await one.page.getByRole("button", { name: "Stop" }).click();
  mock.play(99);
  for (const { page, complaints } of [one, two]) {
    await page.getByText("It has ended.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Stop" }).count(), 0);
    assert.deepEqual(complaints, []);
  }
});

test("eight tabs of one browser watch a run by one stream, and the eighth can still ask", async () => {
  mock.play(5);
  const { context, page: first } = await open("live/live");
  const tabs = [first, ...await Promise.all(Array.from({ length: 7 }, () => context.newPage()))];
  await Promise.all(tabs.slice(1).map((page) => page.goto(`${address}#/live/live`)));
  const reached = (page, cells) => page.locator("figure").first().getByRole("slider").and(page.locator(`[aria-valuemax='${cells}']`)).waitFor();
  for (const page of tabs) await page.locator(".tiles").getByText("1.5k", { exact: true }).waitFor();
  mock.play(10);
  await Promise.all(tabs.map((page) => page.getByText("mark: half of it").waitFor()));
  // A browser has six connections.
  await mock.watchedBy(1);
  await tabs[7].getByLabel("What happens now").fill("seen");
  await Promise.all([tabs[7].waitForResponse(/marks$/), tabs[7].getByRole("button", { name: "Mark" }).click()]);
  // Tabs that go leave the stream to the others; with the last of them it ends.
  await Promise.all(tabs.slice(0, 4).map((page) => page.goto("about:blank")));
  mock.drop();
  mock.play(11);
  await Promise.all(tabs.slice(4).map((page) => reached(page, 4)));
  await mock.watchedBy(1);
  mock.play(99);
  await Promise.all(tabs.slice(4).map((page) => page.getByText("It has ended.").waitFor()));
  assert.equal(await tabs[7].getByText("mark: half of it").count(), 1, "nothing is told twice");
});

test("what is empty, broken or forbidden says so, and can be tried again", async () => {
  mock.isEmpty = true;
  const { page } = await open("runs");
  await page.getByText("There is no run yet.").waitFor();
  await page.screenshot({ path: join(shots, "app-empty.png") });
  mock.isEmpty = false;
  mock.broken = { status: 401, message: "no session", help: "open the address that fathom serve has printed" };
  await page.reload();
  await page.getByText("open the address that fathom serve has printed").waitFor();
  await page.screenshot({ path: join(shots, "app-failed.png") });
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("table").waitFor();
  const { page: compare } = await open("compare");
  await compare.getByText("Choose two or more").waitFor();
});

test("runs are named, tagged, deleted and taken in", async () => {
  const { page, complaints } = await open("runs");
  await page.getByRole("button", { name: "change OLTP on the new array" }).click();
  await page.getByLabel("Title").fill("OLTP, firmware 2");
  await page.getByLabel("Tags").fill("lab1,  firmware 2,");
  await page.screenshot({ path: join(shots, "app-naming.png") });
  await isAccessible(page, "naming a run");
  await page.getByRole("button", { name: "Keep this" }).click();
  await page.getByRole("link", { name: "OLTP, firmware 2" }).waitFor();
  assert.deepEqual(mock.asked.at(-1), {
    method: "PATCH",
    path: "/api/v1/runs/steady",
    body: { title: "OLTP, firmware 2", tags: ["lab1", "firmware 2"] },
  });
  await page.getByLabel("Filter").fill("LAB1");
  assert.equal(await page.getByRole("row").count(), 2, "the head and the one with the tag");
  await page.getByRole("button", { name: "change OLTP, firmware 2" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  assert.equal(mock.asked.at(-1).method, "PATCH", "nothing is deleted by one press");
  mock.broken = { status: 403, message: "this takes an admin", help: "ask one" };
  await page.getByRole("button", { name: "Delete it for good" }).click();
  await page.getByText("this takes an admin; ask one").waitFor();
  await page.getByRole("button", { name: "Delete it for good" }).click();
  await page.getByText("No run has this").waitFor();
  assert.deepEqual(mock.asked.at(-1), { method: "DELETE", path: "/api/v1/runs/steady", body: null });
  await page.getByLabel("Take in a run's file").setInputFiles({ name: "a.fathom", mimeType: "", buffer: Buffer.from("SQLite") });
  await page.getByText("Run 01TAKENIN was taken in.").waitFor();
  assert.deepEqual(mock.asked.at(-1), { path: "/api/v1/runs/import", body: "SQLite" });
  assert.deepEqual(complaints.filter((one) => !one.includes("403")), []);
});

test("the load of a run is changed, and gauges are chosen", async () => {
  mock.play(7);
  const { page } = await open("live/live");
  await canvases(page, 4);
  const form = page.getByRole("form", { name: "Change the load" });
  await form.getByLabel("Operations per second").fill("fast");
  const change = form.getByRole("button", { name: "Change the load" });
  assert.ok(await change.isDisabled());
  await form.getByLabel("Operations per second").fill("");
  assert.ok(await change.isDisabled(), "nothing is let loose by a slip");
  const stream = await form.getByLabel("Stream").inputValue();
  const asked = async (act, rate) => {
    await Promise.all([page.waitForResponse(/rate$/), act()]);
    await page.getByText(`The load of ${stream} changes`).waitFor();
    assert.deepEqual(mock.asked.at(-1), { path: "/api/v1/runs/live/rate", body: { stream, operations_per_s: rate } });
  };
  await form.getByLabel("Operations per second").fill("1.5k");
  await asked(() => form.getByLabel("Operations per second").press("Enter"), 1500);
  await asked(() => form.getByRole("button", { name: "No limit" }).click(), null);
  const tiles = page.locator(".tiles dt");
  const before = await tiles.count();
  await page.getByText("Gauges", { exact: true }).first().click();
  await page.getByRole("checkbox", { name: "p50" }).uncheck();
  assert.equal(await tiles.count(), before - 1);
  await page.reload();
  await canvases(page, 4);
  assert.equal(await tiles.count(), before - 1, "the browser remembers");
});

test("hostile names stay names", async () => {
  const { page, complaints } = await open("run/hostile");
  await canvases(page, 6);
  await page.getByText("<script>alert(1)</script>").first().waitFor();
  await page.goto(`${address}#/runs`);
  await page.getByRole("table").waitFor();
  await page.goto(`${address}#/compare/hostile,mixed`);
  await canvases(page, 2);
  assert.deepEqual(complaints, []);
});

test("the figures of hundreds of steps are shown when they are asked for", async () => {
  const { page } = await open("run/pts-iops");
  await canvases(page, 3);
  const rows = page.getByRole("row");
  const few = await rows.count();
  assert.ok(few < 100, `${few} rows`);
  await page.getByText(/^The figures of all \d+ steps$/).click();
  await page.getByRole("region", { name: "Steps" }).waitFor();
  assert.ok((await rows.count()) > few + 100);
});

test("the keyboard alone leads from the list to a run and along its charts", async () => {
  const { page } = await open("runs");
  await page.getByRole("table").waitFor();
  await page.getByRole("link", { name: "OLTP on the new array" }).focus();
  await page.keyboard.press("Enter");
  await canvases(page, 6);
  const chart = page.getByRole("slider", { name: "IOPS over time" });
  await chart.focus();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  assert.match(await chart.getAttribute("aria-valuetext"), /^1:58|^1:59|IOPS/);
});
