// What one sees while a run goes on and on the way to other pages, in a real browser on a server that a test plays: marks,
// streams beyond those with lines, the keyboard's focus, long titles, and a server or an invitation that is gone.
import assert from "node:assert/strict";
import { join } from "node:path";
import { fits, isAccessible, shots, test } from "./browser.js";
import { address, mock, open } from "./played.js";

/** Events of a run of so many streams alike, some seconds long. */
function eventsOf(count, seconds) {
  const streams = Array.from({ length: count }, (_, at) => ({
    name: `s${at}`,
    workload: "4 KiB random reads",
    targets: ["t"],
    target_count: 1,
    workers: 1,
    queue_depth: 1,
    rate_per_s: null,
    ramp_s: 0,
    time_s: 60,
  }));
  const all = (iops) => ({
    kind: "all", operations: iops, errors: 0, iops, bytes_per_s: iops * 4096, mean_ns: 1e6, p50_ns: 1e6, p99_ns: 2e6,
    p999_ns: null, max_ns: 3e6,
  });
  const span = (second, iops) => ({ start_s: second, end_s: second + 1, queue_depth_held: 1, all: all(iops) });
  const begun = [
    { event: "run_started", run: "live", title: "many", description: null, started_ms: 1000, expected_seconds: 60 },
    { event: "step_started", step: 0, name: "main", parameters: [], started_ms: 1000, streams },
  ];
  const told = Array.from({ length: seconds }, (_, second) => [
    ...streams.map((_, stream) => ({
      event: "interval", step: 0, stream, phase: "measure", late: false, ...span(second, 100 + stream),
    })),
    {
      event: "figures", step: 0, reached_s: second + 1, last: span(second, 100 * count), since: span(0, 100 * count),
      streams: streams.map((_, stream) => span(0, 100 + stream)), groups: [],
    },
  ]);
  return [...begun, ...told.flat()];
}

/** Events of a run of one stream with so many steps, the last of which goes on, and what ended each before it. */
function stepsOf(count, stop, seconds = 2) {
  const [begun, ...step] = eventsOf(1, seconds);
  const steps = Array.from({ length: count }, (_, index) => {
    const started_ms = 1000 + 1000 * seconds * index;
    const events = step.map((event) =>
      event.event === "step_started"
        ? { ...event, step: index, name: `step ${index}`, parameters: [["stream.s0.rate", `${index}/s`]], started_ms }
        : { ...event, step: index },
    );
    const end = { event: "step_finished", step: index, stop, elapsed_s: seconds };
    return index + 1 < count ? [...events, end] : events;
  });
  return [begun, ...steps.flat()];
}

test("which step goes on is told, those of long ago are folded away, and simulated time is called so", async () => {
  const [begun, ...others] = stepsOf(12, "complete");
  const message = 'stream "s0" runs on sim (virtual time)';
  const engine = { event: "note", at_s: 0, kind: "engine", severity: "info", message };
  mock.events = [begun, engine, ...others];
  mock.play(Infinity);
  const { page, complaints } = await open("live/live");
  // Nobody knows how many there will be of a run that was begun elsewhere.
  await page.getByText(/· step 12\b(?! of)/).waitFor();
  await page.getByText("36 s of simulated time left").waitFor();
  const listed = page.locator("ol > li");
  await page.getByText("2 earlier steps", { exact: true }).waitFor();
  assert.equal(await listed.count(), 10);
  assert.equal(await page.locator("ol").getAttribute("start"), "3");
  await page.getByText("2 earlier steps", { exact: true }).click();
  await page.getByText(/^step 0: /).waitFor();
  assert.equal(await listed.count(), 12);
  await page.evaluate(() => localStorage.setItem("fathom.live.steps", JSON.stringify({ run: "live", steps: 16 })));
  await page.reload();
  await page.getByText("step 12 of 16").waitFor();
  await isAccessible(page, "a run of many steps");
  await page.screenshot({ path: join(shots, "watch-steps.png"), fullPage: true });
  assert.deepEqual(complaints, []);
});

test("charts go on where the load was changed, with a mark at each change", async () => {
  mock.events = stepsOf(3, "changed", 3);
  mock.play(Infinity);
  const { page, complaints } = await open("live/live");
  await page.getByRole("slider", { name: "IOPS" }).and(page.locator("[aria-valuemax='8']")).waitFor();
  await page.getByText("Charts go on from the 2 steps before, whose load was changed").waitFor();
  await page.getByText("stream.s0.rate=2/s: 6 s").first().waitFor();
  await page.screenshot({ path: join(shots, "watch-changed.png"), fullPage: true });
  assert.deepEqual(complaints, []);
});

test("a run that was asked nothing begins with what it found, and counts no errors as 0", async () => {
  const { page, complaints } = await open("run/sweep");
  const most = /9 steps, the most IOPS in curve, queue depth 256: .* IOPS, .* p99 /;
  await page.locator("p.answer", { hasText: most }).waitFor();
  await page.goto(`${address}#/run/steady`);
  const answer = page.locator("p.answer", { hasText: / IOPS, / });
  await answer.waitFor();
  assert.equal(await answer.count(), 1);
  const errors = await page.locator("tbody tr td:last-child").first().innerText();
  assert.match(errors, /^\d+$/);
  await page.screenshot({ path: join(shots, "watch-answer.png"), fullPage: true });
  assert.deepEqual(complaints, []);
});

test("three runs are drawn over one another before the pairs of sides", async () => {
  const { page, complaints } = await open("compare/steady,mixed,sweep");
  await page.getByRole("heading", { name: "All 3 runs over one another" }).waitFor();
  for (const name of ["IOPS", "Bandwidth", "p50 response time", "p99 response time"])
    await page.getByRole("slider", { name: new RegExp(`^${name} over time`) }).first().waitFor();
  await page.getByRole("slider", { name: /^Latency by share of operations/ }).first().waitFor();
  const figure = page.locator("figure", { hasText: /^IOPS over time/ }).first();
  assert.equal(await figure.locator(".legend bdi").count(), 3);
  await page.getByText("Figures of both sides").first().waitFor();
  await fits(page, "three runs");
  await isAccessible(page, "three runs");
  await page.screenshot({ path: join(shots, "watch-three.png"), fullPage: true });
  assert.deepEqual(complaints, []);
});

test("a mark is drawn while the run goes on", async () => {
  const events = eventsOf(1, 4);
  const mark = { event: "note", at_s: 2, kind: "mark", severity: "info", message: "mark at 2.00 s: the fan is off" };
  mock.events = [...events, mark];
  mock.play(events.filter(({ event }) => event !== "figures").length);
  const { page, complaints } = await open("live/live");
  const plot = page.getByRole("slider", { name: "IOPS" });
  await plot.waitFor();
  const height = () => plot.evaluate((box) => box.clientHeight);
  const before = await height();
  mock.play(Infinity);
  await page.getByText("mark at 2.00 s: the fan is off").waitFor();
  // Its name stands in a row of its own above the lines.
  await page.waitForFunction(([box, before]) => box.clientHeight > before, [await plot.elementHandle(), before]);
  await page.screenshot({ path: join(shots, "watch-mark.png"), fullPage: true });
  assert.deepEqual(complaints, []);
});

/**
 * The live page of a run after so many seconds, in a time that the test makes pass faster than it does by itself: without
 * the worker that all tabs share, whose time no test has.
 */
async function watched(seconds) {
  const [begun, ...others] = eventsOf(1, 30);
  const end = { event: "run_finished", state: "complete", reason: null, finished_ms: 31_000 };
  mock.events = [{ ...begun, expected_seconds: 600 }, ...others, end];
  mock.play(2 + seconds);
  const found = await open("runs", { before: () => delete globalThis.SharedWorker });
  const { page } = found;
  await page.getByRole("table").waitFor();
  await page.clock.install({ time: 1000 * (1 + seconds) });
  await page.evaluate(() => (location.hash = "#/live/live"));
  await reached(page, seconds);
  await left(page).waitFor();
  return found;
}

/** The number of the last event of a second: a run has two before its first, and two in each. */
const numberOf = (second) => 2 + 2 * second;
const lost = (page) => page.getByText("The connection is lost");
const left = (page) => page.getByText(/ (s|min) left/);
/** Waits until the chart has so many seconds. */
const reached = (page, seconds) =>
  page.getByRole("slider", { name: "IOPS" }).and(page.locator(`[aria-valuemax='${seconds - 1}']`)).waitFor();

test("a run that is quiet for minutes is not told to be lost", async () => {
  const { page, complaints } = await watched(3);
  for (let turn = 0; turn < 30; turn += 1) {
    const before = mock.streams.length;
    await page.clock.runFor(5000);
    await mock.streamedTo(before + 1);
    await mock.watchedBy(1);
    assert.equal(await lost(page).count(), 0);
    assert.equal(await left(page).count(), 1);
  }
  assert.deepEqual(new Set(mock.streams), new Set([0, numberOf(3)]));
  mock.play(99);
  await page.getByText("It has ended.").waitFor();
  await reached(page, 30);
  assert.deepEqual(complaints, []);
});

test("a connection that brings nothing any more is replaced, and figures go on without a gap", async () => {
  const { page, complaints } = await watched(3);
  mock.forget();
  mock.play(2 + 7);
  await page.clock.runFor(5000);
  await reached(page, 7);
  assert.equal(mock.streams[1], numberOf(3));
  assert.equal(await lost(page).count(), 0);
  assert.deepEqual(complaints, []);
});

test("a server that stands still is told to be lost, nothing is counted down, and the page comes back with it", async () => {
  const { page, complaints } = await watched(3);
  mock.forget();
  mock.isSilent = true;
  await page.clock.runFor(5000);
  await mock.streamedTo(2);
  await page.clock.runFor(10_000);
  await lost(page).waitFor();
  assert.equal(await left(page).count(), 0);
  await isAccessible(page, "a connection that is lost");
  await page.screenshot({ path: join(shots, "watch-lost.png"), fullPage: true });
  // It is asked again and again.
  for (let asked = 3; asked < 6; asked += 1) {
    await mock.streamedTo(asked);
    await page.clock.runFor(10_000);
    assert.equal(await lost(page).count(), 1);
  }
  assert.deepEqual(new Set(mock.streams), new Set([0, numberOf(3)]));
  mock.play(2 + 9);
  mock.isSilent = false;
  await page.clock.runFor(10_000);
  await reached(page, 9);
  await left(page).waitFor();
  assert.equal(await lost(page).count(), 0);
  mock.play(99);
  await page.getByText("It has ended.").waitFor();
  await reached(page, 30);
  assert.deepEqual(complaints, []);
});

test("of 64 streams eight have lines, the others are counted, and the keyboard chooses", async () => {
  mock.events = eventsOf(64, 4);
  mock.play(Infinity);
  const { page, complaints } = await open("live/live");
  await page.getByText("8 of 64 streams have lines; 56 more have none.").waitFor();
  await page.getByText("56 more streams have no lines here.").waitFor();
  const chart = page.locator("figure", { has: page.getByRole("slider", { name: "IOPS" }) });
  const shown = (name) => chart.getByRole("button", { name, exact: true });
  await shown("show s7").waitFor();
  await page.getByLabel("Streams with lines of their own").focus();
  await page.keyboard.type("s47, s3");
  await shown("show s47").waitFor();
  await shown("show s7").waitFor({ state: "detached" });
  await page.getByText("2 of 64 streams have lines; 62 more have none.").waitFor();
  await page.screenshot({ path: join(shots, "watch-streams.png"), fullPage: true });
  await page.keyboard.type("x");
  await page.getByText("1 of 64 streams have lines; 63 more have none.").waitFor();
  assert.deepEqual(complaints, []);
});

test("nothing that has the keyboard's focus lies behind the bar of the plan", async () => {
  for (const look of [{ width: 1280, height: 600 }, { width: 390, height: 600 }]) {
    const { page, complaints } = await open("compose", look);
    await page.getByLabel("Path").fill("sim:");
    await page.getByRole("button", { name: "Start", exact: true }).waitFor();
    await page.evaluate(() => (document.activeElement.blur(), scrollTo(0, 0)));
    const seen = new Set();
    for (let left = 150; left > 0; left -= 1) {
      await page.keyboard.press("Tab");
      const found = await page.evaluate(() => {
        const one = document.activeElement;
        if (!one || one === document.body) return null;
        // What is wider or higher than the page is there at its lower end or its upper one.
        const box = one.getBoundingClientRect();
        const x = Math.min(Math.max(box.x + box.width / 2, 1), innerWidth - 1);
        const isThere = (y) => {
          const top = document.elementFromPoint(x, y);
          return top !== null && (one === top || one.contains(top) || top.contains(one));
        };
        const covered = box.height < innerHeight / 2 && !(isThere(box.y + 2) && isThere(box.bottom - 2));
        return { name: one.outerHTML.slice(0, 120), covered };
      });
      if (!found) break;
      seen.add(found.name);
      assert.ok(!found.covered, `${look.width}: ${found.name}`);
    }
    // The buttons of the bar are in sight already: they move nothing.
    await page.evaluate(() => (document.activeElement.blur(), scrollTo(0, 40)));
    await page.getByRole("button", { name: "Start", exact: true }).focus();
    assert.equal(await page.evaluate(() => scrollY), 40);
    assert.ok(seen.size > 15, `${seen.size} places have had the focus`);
    assert.deepEqual(complaints, []);
  }
});

test("the way back from a run that is over leads to where one was before", async () => {
  const { page, complaints } = await open("runs");
  await page.getByRole("table").waitFor();
  await page.evaluate(() => (location.hash = "#/live/steady"));
  await page.waitForURL(/#\/run\/steady/);
  await page.getByText("Can it be trusted?").waitFor();
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor({ timeout: 10_000 });
  assert.deepEqual(complaints, []);
});

test("who comes with an invitation that was used is told so", async () => {
  mock.broken = { status: 401, message: "there is no session", help: "open the address that fathom serve printed" };
  const { page } = await open("runs", {}, "?invitation=none");
  await page.getByText("There is no such invitation: each works once").waitFor();
  assert.equal(await page.getByText("there is no session").count(), 0);
});

test("a server that is gone is told of in the words of these pages", async () => {
  const { page } = await open("runs");
  await page.getByRole("table").waitFor();
  await page.getByRole("link", { name: "Compose", exact: true }).click();
  await page.getByLabel("Path").fill("sim:");
  await mock.close();
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByText("The server does not answer.").waitFor();
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.locator(".failed", { hasText: "The server does not answer." }).waitFor();
  assert.equal(await page.getByText("Failed to fetch").count(), 0);
});

test("long titles leave the figures of all compared runs in sight", async () => {
  const long = `${"nvme-rebuild-".repeat(8)} of 115 characters`;
  mock.titles = { steady: long, mixed: `${long}, again` };
  mock.verdict = { kind: "apart", sentence: "They have no step in common.", sections: [] };
  mock.differences = [{ name: "kernel", values: ["6.1", "6.12"], passes: false }];
  for (const width of [1280, 390]) {
    const { page, complaints } = await open("compare/steady,mixed", { width });
    const tables = page.locator("table.ofRuns");
    await tables.nth(1).waitFor();
    await page.screenshot({ path: join(shots, `watch-compare-${width}.png`), fullPage: true });
    await fits(page, `${width}`);
    for (const table of await tables.all()) {
      const [wide, room] = await table.evaluate((one) => [one.scrollWidth, one.closest(".scroll").clientWidth]);
      assert.ok(wide <= room, `${width}: ${wide} px in ${room}`);
    }
    assert.deepEqual(complaints, []);
  }
});

test("the runs that were ticked are so on the way back", async () => {
  const { page, complaints } = await open("runs");
  const boxes = page.getByRole("checkbox");
  await boxes.nth(1).check();
  await boxes.nth(2).check();
  await page.getByRole("button", { name: "Compare 2 runs" }).click();
  await page.waitForURL(/#\/compare\//);
  await page.goBack();
  await page.getByRole("button", { name: "Compare 2 runs" }).waitFor();
  assert.deepEqual([await boxes.nth(1).isChecked(), await boxes.nth(2).isChecked()], [true, true]);
  assert.deepEqual(complaints, []);
});

test("targets of one path are told apart by their names", async () => {
  const { page, complaints } = await open("compose");
  const target = (name) => `[target."${name}"]\nkind = "sim"\nsize = "1GiB"\n`;
  const job = `${target("C:")}${target("D:")}[workload.w]\n[stream.s]\nworkload = "w"\n`;
  await page.getByLabel("The job", { exact: true }).fill(job);
  await page.getByRole("checkbox", { name: "sim: (C:)" }).waitFor();
  await page.getByRole("checkbox", { name: "sim: (D:)" }).waitFor();
  await page.getByRole("group", { name: "Target 2: what is measured (D:)" }).waitFor();
  assert.deepEqual(complaints, []);
});
