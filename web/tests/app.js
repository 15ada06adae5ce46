// The pages of the server in a real browser, on a server that a test plays: compose → plan → start → live → run → compare,
// a lost connection, what is empty, broken or hostile, keyboard and screen readers, and screenshots to look at.
import assert from "node:assert/strict";
import { join } from "node:path";
import { fits, inked, isAccessible, looks, shots, test } from "./browser.js";
import { address, mock, open } from "./played.js";

const canvases = (page, count) => page.waitForFunction((n) => document.querySelectorAll("canvas").length >= n, count);

for (const [path, ready] of [
  ["runs", (page) => page.getByRole("table").waitFor()],
  ["compose", (page) => page.getByLabel("The job").waitFor()],
  ["run/steady", (page) => canvases(page, 6)],
  ["run/sweep", (page) => canvases(page, 8)],
  ["live/live", (page) => canvases(page, 4)],
  ["run/curve", (page) => canvases(page, 2)],
  ["run/pts-iops", (page) => canvases(page, 3)],
  ["compare/steady,mixed", (page) => canvases(page, 4)],
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
  // Figures stand once: where there is an answer, in its table.
  await page.getByText("Figures of both sides").first().waitFor();
  assert.equal(await page.getByText("Figures of each run").count(), 0);
  assert.deepEqual(complaints, []);
});

test("a question is asked, its curve grows with every step, and the run ends as its answer", async () => {
  const { page, complaints } = await open("curve");
  await page.getByLabel("Path").fill("/mnt/disk/scratch");
  await page.getByLabel("Limits of the response time").fill("p99<2ms, 1ms");
  await page.getByLabel("Largest queue depth").fill("64");
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByText("/mnt/disk/scratch: is created, is read").waitFor();
  await page.getByText("about 27 measurements, 72 at most; takes about 32 s, 1 min 25 s at most").waitFor();
  await page.getByText("The least and the most that is asked", { exact: true }).waitFor();
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
    await page.waitForFunction(
      (n) => document.querySelector("[aria-label='Throughput over load']")?.getAttribute("aria-valuemax") === String(n - 1),
      count,
    );
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
  const dialog = page.getByRole("dialog", { name: "This would be lost for good" });
  await dialog.getByText("an ext4 filesystem is on it").waitFor();
  assert.ok(
    mock.asked.every(({ path }) => path !== "/api/v1/runs"),
    "nothing was started",
  );
  await dialog.getByLabel("To agree").fill("S1234567");
  await dialog.getByRole("button", { name: "Overwrite and start" }).click();
  await page.waitForURL(/#\/live\/live/);
  const { body } = mock.asked.at(-1);
  assert.deepEqual(body.search, { kind: "steady", test: "wsat", class: "client", quick: true, purge: true });
  assert.deepEqual(body.consent.answers, [{ path: "/dev/precious", typed: "S1234567" }]);
  assert.ok(!body.job.text.includes("queue_depth") && !body.job.text.includes("[stage"));
});

test("runs are put on sides, and the verdict is asked for anew", async () => {
  const { page } = await open("compare/steady,mixed,sweep");
  await page.getByText("Regressed: IOPS").waitFor();
  await page.getByRole("combobox", { name: "3: how deep to queue", exact: true }).selectOption("side A");
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
  await text.fill(`# mine\n${await text.inputValue()}\n[workload.other]\nread = "1%" # kept\n`);
  // What has no field is told, and all else can still be changed there.
  await page.getByText("The text says more than the form has fields for.").waitFor();
  await page.getByText("workload.other", { exact: true }).waitFor();
  await page.getByLabel("Reads").fill("65%");
  const changed = await text.inputValue();
  for (const part of ["# mine\n", "[workload.b]\nread = \"65%\"\n", '[workload.other]\nread = "1%" # kept\n'])
    assert.ok(changed.includes(part), `${part} is missing in ${changed}`);
  // A text that is none yet leaves the form as it was, out of reach.
  await text.fill(`${changed}\n[stream`);
  await page.getByText("The form cannot follow this text").waitFor();
  assert.equal(await page.getByLabel("Reads").inputValue(), "65%");
  await text.fill(changed);
  await page.getByText("The form cannot follow this text").waitFor({ state: "detached" });
  // It outlives a reload.
  await page.reload();
  await page.getByText("workload.other", { exact: true }).waitFor();
  assert.equal(await text.inputValue(), changed);
  await page.getByRole("button", { name: "New job" }).click();
  assert.equal(await page.getByLabel("Reads").inputValue(), "100%");
  await page
    .getByLabel("Open a job file …")
    .setInputFiles({ name: "a.fio", mimeType: "text/plain", buffer: Buffer.from("[a]\nrw=read\n") });
  await page.waitForFunction(() => document.querySelector(".editor textarea").value.includes('kind = "sim"'));
  assert.deepEqual(mock.asked.at(-1).body, { name: "a.fio", text: "[a]\nrw=read\n" });
});

test("several targets and trees are in the form and in the text alike", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job");
  await page.getByLabel("Path").fill("/mnt/disk/scratch");
  await page.getByRole("button", { name: "Add a target" }).click();
  await page.getByLabel("Kind of target 2").selectOption("a tree of folders");
  await page.getByLabel("Folder of target 2").fill("/mnt/disk/tree");
  await page.getByLabel("Levels of target 2").fill("3");
  await page.getByLabel("Files in all folders, not in the deepest alone of target 2").check();
  await page.getByRole("button", { name: "Add a target" }).click();
  // A device is chosen for the target that was worked on last.
  await page.getByText("The 2 block devices of this machine").click();
  await page.getByRole("button", { name: "measure /dev/precious" }).click();
  assert.equal(await page.getByLabel("Path of target 3").inputValue(), "/dev/precious");
  const tree = '[target.disk2]\nkind = "tree"\ndirectory = "/mnt/disk/tree"\ntree_depth = 3\ntree_width = 4\n';
  const written = await text.inputValue();
  for (const part of ['[target.disk]\npath = "/mnt/disk/scratch"', tree, '[target.disk3]\npath = "/dev/precious"\n\n']) {
    assert.ok(written.includes(part), `${part} is missing in ${written}`);
  }
  await fits(page, "three targets");
  await isAccessible(page, "three targets");
  await page.screenshot({ path: join(shots, "app-targets.png"), fullPage: true });
  // And back: what is written is in the form.
  await text.fill(written.replace("tree_width = 4", "tree_width = 7").replace("/mnt/disk/scratch", "/mnt/other"));
  assert.equal(await page.getByLabel("Folders in each of target 2").inputValue(), "7");
  assert.equal(await page.getByLabel("Path of target 1").inputValue(), "/mnt/other");
  await page.getByRole("button", { name: "Leave it out of target 2" }).click();
  assert.ok(!(await text.inputValue()).includes("tree"));
  await page.getByRole("button", { name: "Leave it out of target 1" }).click();
  assert.equal(await page.getByLabel("Path").inputValue(), "/dev/precious");
  assert.deepEqual(complaints, []);
});

test("several streams are in the form and in the text alike, each with its own targets", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job");
  await page.getByLabel("Path").fill("/mnt/disk/a");
  await page.getByRole("button", { name: "Add a target" }).click();
  await page.getByLabel("Path of target 2").fill("/mnt/disk/b");
  await page.getByLabel("Reads").fill("70%");
  await page.getByRole("button", { name: "Add a stream" }).click();
  const second = page.getByRole("group", { name: "Stream 2: load2" });
  await second.getByLabel("Access specification of stream 2").selectOption({ label: "SQL log" });
  await second.getByLabel("Workers of stream 2").fill("4");
  await second.getByLabel("Queue depth of stream 2").fill("1, 8");
  await second.getByLabel("Rate of stream 2").fill("5k/s");
  await second.getByRole("checkbox", { name: "/mnt/disk/a" }).uncheck();
  const written = await text.inputValue();
  for (const part of [
    '[workload.load]\nblock_size = "4KiB"\nread = "70%"',
    '[workload.load2]\nblock_size = "64KiB"\nread = "0%"\naccess = "sequential"',
    '[stream.load]\nworkers = 1\nqueue_depth = 16\n',
    '[stream.load2]\ntargets = ["disk2"]\nworkers = 4\nrate = "5k/s"\n',
    'sweep = { "stream.load2.queue_depth" = [1, 8] }',
  ])
    assert.ok(written.includes(part), `${part} is missing in ${written}`);
  await page.getByText("2 points").waitFor();
  await fits(page, "two streams");
  await isAccessible(page, "two streams");
  for (const look of [...looks, { name: "wide", width: 1400, colorScheme: "light" }, { name: "narrow", width: 360 }]) {
    await page.setViewportSize({ width: look.width, height: 900 });
    await page.emulateMedia({ colorScheme: look.colorScheme ?? "light" });
    await fits(page, look.name);
    await page.screenshot({ path: join(shots, `app-streams-${look.name}.png`), fullPage: true });
  }
  // A stream that goes nowhere is none.
  await second.getByRole("checkbox", { name: "/mnt/disk/b" }).uncheck();
  await page.getByText(/^No plan and no start before this is mended: Goes to of stream 2/).waitFor();
  assert.ok(await page.getByRole("button", { name: "Start", exact: true }).isDisabled());
  await second.getByRole("checkbox", { name: "/mnt/disk/b" }).check();
  // And back: what is written is in the form, and a stream that is left out is gone from the text.
  await text.fill((await text.inputValue()).replace("workers = 4", "workers = 6"));
  assert.equal(await page.getByLabel("Workers of stream 2").inputValue(), "6");
  await page.getByRole("button", { name: "Leave the stream out of stream 2" }).click();
  const left = await text.inputValue();
  assert.ok(!left.includes("load2") && left.includes('read = "70%"'), left);
  assert.deepEqual(complaints, []);
});

test("a number that is none keeps a job from being planned", async () => {
  const { page } = await open("compose");
  await page.getByLabel("Path").fill("/mnt/disk/a");
  const start = page.getByRole("button", { name: "Start", exact: true });
  const reason = (field) => page.getByText(new RegExp(`before this is mended: ${field}. A whole number`));
  const before = await page.getByLabel("The job").inputValue();
  for (const wrong of ["0", "-1", "1.5", "70000"]) {
    await page.getByLabel("Workers").fill(wrong);
    await reason("Workers").waitFor();
    assert.ok(await start.isDisabled(), wrong);
    assert.equal(await page.getByLabel("The job").inputValue(), before);
  }
  await page.getByLabel("Workers").fill("2");
  await reason("Workers").waitFor({ state: "detached" });
  await page.getByLabel("Kind").selectOption("a tree of folders");
  await page.getByLabel("Levels").fill("0");
  await reason("Levels").waitFor();
  await page.getByLabel("Levels").fill("1");
  assert.ok(await start.isEnabled());
  const { page: curve } = await open("curve");
  await curve.getByLabel("Path").fill("sim:");
  await curve.getByLabel("Measured how often").fill("0");
  await curve.getByText(/^No plan and no start before this is mended: Measured how often/).waitFor();
  assert.ok(await curve.getByRole("button", { name: "Start", exact: true }).isDisabled());
});

test("those who may only look are shown what they may not press, and why", async () => {
  mock.role = "viewer";
  mock.play(7);
  const { page, complaints } = await open("live/live");
  await canvases(page, 4);
  await page.getByText("This session may only look").waitFor();
  for (const name of ["Stop", "Mark", "Change the load", "No limit"])
    assert.ok(await page.getByRole("button", { name, exact: true }).isDisabled(), name);
  await page.screenshot({ path: join(shots, "app-viewer.png"), fullPage: true });
  for (const where of ["compose", "curve", "steady"]) {
    await page.goto(`${address}#/${where}`);
    await page.getByLabel("Path").fill("sim:");
    await page.getByText("This session may only look").waitFor();
    for (const name of ["Show the plan", "Start"])
      assert.ok(await page.getByRole("button", { name, exact: true }).isDisabled(), `${where}: ${name}`);
  }
  await page.goto(`${address}#/runs`);
  assert.ok(await page.getByLabel("Take in a run's file").isDisabled());
  await page.getByRole("button", { name: "change OLTP on the new array" }).click();
  for (const name of ["Keep this", "Delete"])
    assert.ok(await page.getByRole("button", { name, exact: true }).isDisabled(), name);
  assert.deepEqual(mock.asked, [], "nothing was asked for that is refused");
  assert.deepEqual(complaints, []);
});

test("numbers are those of the reader's language, and titles those of the page", async () => {
  mock.play(7);
  const { page, complaints } = await open("live/live", { locale: "de-DE" });
  await page.locator(".tiles").getByText("1,5k", { exact: true }).waitFor();
  await page.getByRole("cell", { name: "3,4 ms" }).first().waitFor();
  assert.equal(await page.title(), "two streams · fathom");
  // Three digits after a point are thousands in this language.
  const figures = /(?<![\w.])\d+\.(?!\d{3}\b)\d+(?![\w.]*\.)/;
  for (const [where, title] of [
    ["run/mixed", /^three at once/],
    ["run/curve", /fathom$/],
    ["compare/steady,mixed", /^Compare runs/],
    ["runs", /^Runs/],
    ["compose", /^Compose a run/],
  ]) {
    await page.goto(`${address}#/${where}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    if (where.startsWith("run/") || where.startsWith("compare/")) {
      await canvases(page, 2);
      const text = await page.locator("main").innerText();
      assert.match(text, /\d,\d/, where);
      // What a job's text says is its own.
      const found = figures.exec(text.replaceAll(/fathom \S+/g, ""));
      assert.equal(found?.[0] ?? null, null, `${where}: ${text.slice((found?.index ?? 0) - 40, (found?.index ?? 0) + 40)}`);
    }
    assert.match(await page.title(), title);
  }
  assert.deepEqual(complaints, []);
});

test("an access specification has lines whose shares add up", async () => {
  const { page } = await open("compose");
  const text = page.getByLabel("The job");
  await page.getByRole("button", { name: "Add a line" }).click();
  await page.getByText("The shares add up to 100 %.").waitFor();
  await page.getByLabel("Share of line 1").fill("60%");
  await page.getByText("The shares add up to 60 %; they have to be 100 %.", { exact: true }).waitFor();
  await page.getByLabel("Share of line 2").fill("40%");
  await page.getByLabel("Block size of line 2").fill("64KiB");
  await page.getByLabel("Access of line 2").fill("sequential");
  assert.match(
    await text.inputValue(),
    /mix = \[\n.*share = "60%".*\n.*share = "40%", block_size = "64KiB", read = "100%", access = "sequential"/,
  );
  await fits(page, "lines");
  await isAccessible(page, "lines");
  await page.screenshot({ path: join(shots, "app-lines.png"), fullPage: true });
  await page.getByRole("button", { name: "Remove line 1" }).click();
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
  await page.getByText("say below what stands for it on this machine").waitFor();
  assert.ok(!(await page.locator(".opened").innerText()).includes("--map"), "that is an option of the command line");
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
  assert.deepEqual(
    [await page.getByLabel("Reads").inputValue(), await page.getByLabel("Block size").inputValue()],
    ["67%", "8KiB"],
  );
  // What is defined with a queue depth brings it along; others leave the one that is there.
  await label("Cloud disk: 512 KiB sequential write, queue depth 64");
  const job = await page.getByLabel("The job").inputValue();
  for (const line of ['block_size = "512KiB"', 'read = "0%"', 'access = "sequential"', "queue_depth = 64"])
    assert.ok(job.split("\n").includes(line), job);
  await label("OLTP");
  assert.equal(await page.getByLabel("Reads").inputValue(), "70%");
  assert.equal(await page.getByLabel("Queue depth").inputValue(), "64");
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

test("what is red in the form neither runs nor is planned", async () => {
  const { page } = await open("compose");
  await page.getByLabel("Path").fill("/mnt/disk/scratch");
  const [plan, start] = ["Show the plan", "Start"].map((name) => page.getByRole("button", { name, exact: true }));
  const reason = page.getByText(/^No plan and no start before this is mended: /);
  const depth = page.getByLabel("Queue depth");
  for (const wrong of ["64..1", "0", "1, 4, x"]) {
    await depth.fill(wrong);
    await reason.and(page.getByText(/Queue depth\. Whole numbers from 1 to 65,536/)).waitFor();
    assert.ok((await plan.isDisabled()) && (await start.isDisabled()), wrong);
    await depth.press("Enter");
  }
  await depth.fill("1..64");
  await reason.waitFor({ state: "detached" });
  assert.ok((await plan.isEnabled()) && (await start.isEnabled()));
  await page.getByRole("button", { name: "Add a line" }).click();
  await page.getByLabel("Share of line 2").fill("10%");
  await reason.and(page.getByText(/The shares add up to 110 %/)).waitFor();
  assert.ok((await plan.isDisabled()) && (await start.isDisabled()));
  assert.ok(
    mock.asked.every(({ path }) => path !== "/api/v1/jobs/plan"),
    "no plan was asked for",
  );
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
  for (const width of [1024, 1280, 1400]) {
    await page.setViewportSize({ width, height: 900 });
    const region = page.getByRole("region", { name: "The 2 block devices of this machine" });
    const hidden = await region.evaluate((one) => one.scrollWidth - one.clientWidth);
    assert.ok(hidden <= 0, `${hidden} px of the table are out of sight at ${width}`);
  }
  await page.screenshot({ path: join(shots, "app-devices.png") });
  await page.getByRole("row", { name: /system.*no: mounted at \/boot, carries this system at \// }).waitFor();
  await page
    .getByRole("row", { name: /S1234567 ext4 yes, if you agree/ })
    .getByRole("button")
    .click();
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

test("a fault of the text is told at its line before anyone asks for a plan", async () => {
  const { page } = await open("compose");
  const text = page.getByLabel("The job");
  assert.equal(
    await page.getByText("Faults of the job").count(),
    0,
    "nothing is wrong with a form that nobody has filled yet",
  );
  await text.fill((await text.inputValue()).replace("size", "sise"));
  await page.getByText("did you mean size?").waitFor();
  await page.getByRole("button", { name: "line 3" }).click();
  assert.equal(await text.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd)), 'sise = "1GiB"');
  assert.ok(
    mock.asked.every(({ path }) => path !== "/api/v1/jobs/plan"),
    "no plan was asked for",
  );
  await text.fill((await text.inputValue()).replace("sise", "size"));
  await page.getByText("did you mean size?").waitFor({ state: "detached" });
});

test("a file of access specifications alone fills the library", async () => {
  const { page, complaints } = await open("compose");
  const before = await page.getByLabel("The job").inputValue();
  await drop(page, "library.icf", Buffer.from("'ACCESS SPECIFICATIONS\n"));
  await page.getByText("The 2 access specifications of library.icf can be chosen below now.").waitFor();
  assert.equal(await page.getByLabel("The job").inputValue(), before, "the job is as it was");
  const spec = page.getByLabel("Access specification");
  await spec.selectOption({ label: "4 KiB mix" });
  assert.equal(await page.getByLabel("Block size of line 2").inputValue(), "8KiB");
  assert.equal(await page.getByLabel("Alignment", { exact: true }).inputValue(), "512B");
  await page.reload();
  await page.getByLabel("Reads of line 1").waitFor();
  assert.equal(await spec.getByText("4 KiB mix").count(), 1, "the browser remembers");
  // The same file again adds nothing.
  await drop(page, "library.icf", Buffer.from("'ACCESS SPECIFICATIONS\n"));
  await page.getByText("can be chosen below now").waitFor();
  assert.equal(await spec.locator("optgroup").first().locator("option").count(), 2);
  assert.deepEqual(complaints, []);
});

test("what would be destroyed has to be agreed to by name, in a dialog", async () => {
  const { page, complaints } = await open("compose");
  await page.getByLabel("Path").fill("/dev/precious");
  const start = page.getByRole("button", { name: "Start", exact: true });
  const dialog = page.getByRole("dialog", { name: "This would be lost for good" });
  const isStarted = () => mock.asked.some(({ path }) => path === "/api/v1/runs");
  await start.click();
  await dialog.getByText("an ext4 filesystem is on it").waitFor();
  await dialog.getByText("/dev/precious", { exact: true }).waitFor();
  const field = dialog.getByLabel("To agree, type /dev/precious or S1234567 or 4567");
  await page.waitForFunction(() => document.activeElement?.matches("dialog input"));
  await isAccessible(page, "consent");
  await page.screenshot({ path: join(shots, "app-consent.png") });
  // What is behind it cannot be reached: neither by the keyboard nor by a click.
  const seen = new Set();
  for (let turn = 0; turn < 8; turn += 1) {
    await page.keyboard.press(turn < 5 ? "Tab" : "Shift+Tab");
    seen.add(
      await page.evaluate(() =>
        document.activeElement === document.body ? "body" : String(Boolean(document.activeElement?.closest("dialog[open]"))),
      ),
    );
  }
  assert.ok(seen.has("true") && !seen.has("false"), `the focus left the dialog: ${[...seen]}`);
  const behind = await page.getByRole("link", { name: "Runs" }).boundingBox();
  const hit = ({ x, y }) => document.elementFromPoint(x, y)?.localName;
  const middle = { x: behind.x + behind.width / 2, y: behind.y + behind.height / 2 };
  assert.equal(await page.evaluate(hit, middle), "dialog", "its backdrop takes the click");
  // Escape is no consent, what was typed is gone with it, and the focus is back.
  await field.fill("/dev/precious");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent?.trim()), "Start");
  assert.ok(!isStarted(), "nothing was started");
  await page.keyboard.press("Enter");
  await field.waitFor();
  assert.equal(await field.inputValue(), "");
  for (const wrong of ["", "precious", "yes"]) {
    await field.fill(wrong);
    await page.keyboard.press("Enter");
    await dialog.getByText("This is not what has to be typed. Nothing was written.").waitFor();
  }
  assert.ok(!isStarted(), "nothing was started");
  await field.fill("4567");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/live\/live/);
  assert.deepEqual(mock.asked.at(-1).body.consent, { answers: [{ path: "/dev/precious", typed: "4567" }] });
  assert.deepEqual(complaints, []);
  // And on a phone.
  const { page: phone } = await open("compose", looks[3]);
  await phone.getByLabel("Path").fill("/dev/precious");
  await phone.getByRole("button", { name: "Start", exact: true }).click();
  await phone.getByLabel("To agree").waitFor();
  await fits(phone, "consent on a phone");
  await isAccessible(phone, "consent on a phone");
  await phone.screenshot({ path: join(shots, "app-consent-phone-dark.png") });
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
  await page.getByText("mark at 2.00 s: half of it").waitFor();
  assert.equal(await page.getByText("mark at 2.00 s: half of it").count(), 1, "nothing is told twice");
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
  const tabs = [first, ...(await Promise.all(Array.from({ length: 7 }, () => context.newPage())))];
  await Promise.all(tabs.slice(1).map((page) => page.goto(`${address}#/live/live`)));
  const reached = (page, cells) =>
    page
      .locator("figure")
      .first()
      .getByRole("slider")
      .and(page.locator(`[aria-valuemax='${cells}']`))
      .waitFor();
  for (const page of tabs) await page.locator(".tiles").getByText("1.5k", { exact: true }).waitFor();
  mock.play(10);
  await Promise.all(tabs.map((page) => page.getByText("mark at 2.00 s: half of it").waitFor()));
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
  assert.equal(await tabs[7].getByText("mark at 2.00 s: half of it").count(), 1, "nothing is told twice");
});

test("what is empty, broken or forbidden says so, and can be tried again", async () => {
  mock.isEmpty = true;
  const { page } = await open("runs");
  await page.getByText("There is no run yet.").waitFor();
  await page.screenshot({ path: join(shots, "app-empty.png") });
  mock.isEmpty = false;
  mock.broken = { status: 401, message: "no session", help: "open the address that fathom serve has printed" };
  await page.reload();
  await page.getByText("This could not be loaded. No session; open the address that fathom serve has printed").waitFor();
  assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0, "it would be for nothing");
  await page.screenshot({ path: join(shots, "app-failed.png") });
  mock.broken = { status: 503, message: "the disk is full" };
  await page.reload();
  await page.getByText("This could not be loaded. The disk is full").waitFor();
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
  await page
    .getByLabel("Take in a run's file")
    .setInputFiles({ name: "a.fathom", mimeType: "", buffer: Buffer.from("SQLite") });
  await page.getByText("Run 01TAKENIN was taken in.").waitFor();
  assert.deepEqual(mock.asked.at(-1), { path: "/api/v1/runs/import", body: "SQLite" });
  assert.deepEqual(
    complaints.filter((one) => !one.includes("403")),
    [],
  );
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
