// The pages on the real server: compose → plan → run → live → record → compare on the simulated and on a file target, what
// is refused, and a server that is killed under a page.
//
// usage: node --test tests/serve.js   (runs the binary that `cargo build -p fathom` has made, or the one in FATHOM)
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  after,
  afterEach,
  before,
  beforeEach,
  fits,
  inked,
  intercept,
  isAccessible,
  launch,
  open as opened,
  shots,
  target,
  test,
} from "./browser.js";

const fathom = process.env.FATHOM ?? join(target, "debug/fathom");
assert.ok(existsSync(fathom), `no ${fathom}; run: cargo build -p fathom`);

/** A server with a store of its own; what it has printed is its invitation. */
class Server {
  constructor(folder) {
    this.folder = folder;
  }

  async start(port = 0) {
    const words = ["serve", "--listen", `127.0.0.1:${port}`, "--store", join(this.folder, "store")];
    this.process = spawn(fathom, words, { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    const invitation = /http:\/\/127\.0\.0\.1:(\d+)\/\?token=\w+/;
    await new Promise((done, fail) => {
      const read = (part) => {
        said += part;
        if (invitation.test(said)) done();
      };
      this.process.stdout.on("data", read);
      this.process.stderr.on("data", read);
      this.process.on("exit", (code) => fail(new Error(`fathom serve ended with ${code}: ${said}`)));
    });
    const [url, at] = invitation.exec(said);
    this.invitation = url;
    this.port = Number(at);
    this.address = `http://127.0.0.1:${at}/`;
  }

  async end(signal) {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise((done) => this.process.removeAllListeners("exit").on("exit", done));
    this.process.kill(signal);
    await ended;
  }
}

let browser;
let folder;
let server;
const contexts = [];
before(async () => {
  browser = await launch();
});
after(() => browser?.close());
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "fathom-web."));
  server = new Server(folder);
  await server.start();
});
afterEach(async () => {
  for (const context of contexts.splice(0)) await context.close();
  await server.end("SIGTERM");
  rmSync(folder, { recursive: true });
});

/** A page of someone who was invited. */
async function enter() {
  const found = await opened(
    browser,
    server.invitation,
    {},
    (url) => url.startsWith(server.address) || url.startsWith("data:"),
  );
  contexts.push(found.context);
  assert.ok(!found.page.url().includes("token"), "the invitation is no longer in the address");
  return found;
}

/** Fills the form and starts; the page is at the run then. */
async function start(page, fields) {
  await page.goto(`${server.address}#/compose`);
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/#\/(live|run)\//);
  return page.url().split("/").at(-1);
}

/** Waits for the end of the run that the page shows; it shows the record then. */
async function ended(page) {
  const link = page.getByRole("link", { name: "See the run" });
  // One that was over before anyone listened is shown as a record at once.
  await link.or(page.getByText("Can it be trusted?")).first().waitFor();
  if (await link.isVisible()) await link.click();
}

test("from an idea to a comparison, on the simulated device and on a file", async () => {
  const { page, complaints } = await enter();
  await page.getByText("There is no run yet.").waitFor();
  const sweep = await start(page, { Title: "simulated", Path: "sim:", "Queue depth": "1..4", Measure: "3s" });
  await ended(page);
  await page.getByText("Nothing was found against these figures.").or(page.locator(".findings")).first().waitFor();
  await page.getByLabel("Charts of").waitFor();
  const file = { Title: "on a file", Path: join(folder, "scratch"), Size: "16MiB", Ramp: "1s", Measure: "30s" };
  const run = await start(page, file);
  await page.locator(".tiles").waitFor();
  await page.waitForFunction(() => document.querySelectorAll("canvas").length === 6);
  await page.getByLabel("What happens now").fill("half of it");
  await page.getByRole("button", { name: "Mark" }).click();
  await page.getByText(/^mark at [\d.]+ m?s: half of it$/).waitFor();
  await page.getByLabel("Rows").selectOption("device");
  await page.getByText("As the kernel counts it").waitFor();
  // Folders for temporary files may lie in memory.
  await page.getByRole("cell", { name: /^[a-z]+[0-9a-z]*$|No block device/ }).first().waitFor();
  await page.screenshot({ path: join(shots, "serve-live.png"), fullPage: true });
  await page.getByRole("button", { name: "Stop" }).click();
  await ended(page);
  await page.waitForFunction(() => document.querySelectorAll("canvas").length === 7);
  (await inked(page)).forEach((count, at) => assert.ok(count > 500, `canvas ${at} is empty`));
  await fits(page, "run");
  await isAccessible(page, "run");
  await page.screenshot({ path: join(shots, "serve-run.png"), fullPage: true });
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Report as one page" }).click();
  assert.match((await download).suggestedFilename(), /\.html$/);
  for (const [name, ending] of [
    ["The run's file", ".fathom"],
    ["Text", ".txt"],
    ["Markdown", ".md"],
  ]) {
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name, exact: true }).click(),
    ]);
    assert.ok(file.suggestedFilename().endsWith(ending), file.suggestedFilename());
    assert.ok(readFileSync(await file.path()).length > 500, name);
  }
  await page.goto(`${server.address}#/runs`);
  await page.getByLabel("compare on a file").check();
  await page.getByLabel("compare simulated").check();
  await page.getByRole("button", { name: "Compare 2 runs" }).click();
  // The oldest is what the others are held against, whichever was chosen first.
  await page.waitForURL(new RegExp(`#/compare/${sweep},${run}`));
  await page.waitForFunction(() => document.querySelectorAll("canvas").length >= 2);
  assert.ok(!existsSync(join(folder, "scratch")), "the file that was to be removed is gone");
  // One that is not there keeps nobody from the others.
  await page.goto(`${server.address}#/compare/${sweep},${run},01JD3T5W2A0000000000000009`);
  await page.getByText("is not there (any more)").waitFor();
  await page.waitForFunction(() => document.querySelectorAll("canvas").length >= 2);
  assert.equal(page.url(), `${server.address}#/compare/${sweep},${run}`);
  // The browser tells of what was asked for in vain.
  assert.ok(complaints.splice(0).every((one) => one.includes("404")));
  // The address that `fathom serve last` prints: taking the invitation out of it keeps the page that it leads to.
  await page.goto(`${server.address}?token=used#/run/${sweep}`);
  await page.getByText("Can it be trusted?").waitFor();
  assert.equal(page.url(), `${server.address}#/run/${sweep}`);
  assert.deepEqual(complaints, []);
});

test("a load curve grows on its page, and its run and a comparison have it", async () => {
  const { page, complaints } = await enter();
  const ask = async () => {
    await page.goto(`${server.address}#/curve`);
    await page.getByLabel("Path", { exact: true }).fill("sim:");
    const fields = {
      "Limits of the response time": "1ms",
      "Largest queue depth": "4",
      "Measured how often": "1",
      "Measure per step": "1s",
      "Ramp of a step": "0s",
    };
    for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value);
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL(/#\/(live|run)\//);
    const run = page.url().split("/").at(-1);
    await ended(page);
    await page.getByRole("slider", { name: "Throughput over load" }).waitFor();
    return run;
  };
  const first = await ask();
  await page
    .getByRole("cell", { name: "usl" })
    .or(page.getByRole("cell", { name: "linear" }))
    .first()
    .waitFor();
  await page.screenshot({ path: join(shots, "serve-curve.png"), fullPage: true });
  await isAccessible(page, "a curve");
  const second = await ask();
  await page.goto(`${server.address}#/compare/${first},${second}`);
  // Load by load, as it was asked for.
  await page
    .getByText(/in flight/)
    .first()
    .waitFor();
  await page
    .getByText(/^(Regressed|Improved|Equivalent|Inconclusive):/)
    .first()
    .waitFor();
  assert.deepEqual(complaints, []);
});

test("a test of the PTS that was ended goes on from its page", async () => {
  const { page, complaints } = await enter();
  await page.goto(`${server.address}#/steady`);
  for (const [label, value] of [
    ["Path", "sim:"],
    ["Size", "8MiB"],
  ])
    await page.getByLabel(label, { exact: true }).fill(value);
  await page.getByRole("combobox", { name: "Test" }).selectOption("iops");
  // Virtual time goes as fast as operations are done: so many of them that a round takes seconds, and can be ended.
  const asked = /\/api\/v1\/(jobs\/plan|runs)$/;
  await intercept(page, asked, (route) => {
    const slower = String.raw`$&\nservice_time = \"constant 10us\"`;
    return route.continue({ postData: route.request().postData()?.replace(String.raw`kind = \"sim\"`, slower) });
  });
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/#\/live\//);
  const run = page.url().split("/").at(-1);
  // After the first round there is something to go on from.
  await page
    .getByText(/round [2-5]/)
    .first()
    .waitFor();
  await page.unroute(asked);
  await page.getByRole("button", { name: "Stop" }).click();
  await ended(page);
  await page
    .getByText(/^A try, not PTS. There is no answer yet/)
    .first()
    .waitFor();
  await page.getByRole("link", { name: "Go on with the test" }).click();
  await page.waitForURL(new RegExp(`#/steady/${run}`));
  await page.getByText("goes on after its last whole round").waitFor();
  await isAccessible(page, "going on");
  await page.screenshot({ path: join(shots, "serve-going-on.png"), fullPage: true });
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/#\/(live|run)\//);
  assert.notEqual(page.url().split("/").at(-1), run);
  await ended(page);
  await page
    .getByText(/^A try, not PTS\. (?!There is no answer yet)/)
    .first()
    .waitFor();
  assert.equal(await page.getByRole("link", { name: "Go on with the test" }).count(), 0);
  assert.deepEqual(complaints, []);
});

test("what somebody else made is not overwritten unasked", async () => {
  const [precious, other] = ["precious", "other"].map((name) => join(folder, name));
  for (const path of [precious, other]) writeFileSync(path, Buffer.alloc(65536, 0x5a));
  const { page } = await enter();
  await page.goto(`${server.address}#/compose`);
  const fields = { Path: precious, Size: "64KiB", Reads: "0%", Ramp: "0s", Measure: "1s" };
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "This would be lost for good" });
  await dialog.getByText(precious, { exact: true }).waitFor();
  await dialog.getByText(/^holds 64 KiB that fathom did not write/).waitFor();
  await isAccessible(page, "consent");
  await page.screenshot({ path: join(shots, "serve-consent.png") });
  const type = async (word) => {
    await dialog.getByLabel("To agree, type overwrite").fill(word);
    await dialog.getByRole("button", { name: "Overwrite and start" }).click();
  };
  for (const wrong of ["", "yes", precious]) {
    await type(wrong);
    await dialog.getByText("This is not what has to be typed. Nothing was written.").waitFor();
  }
  // The right words, and taken back while they are judged.
  let judge;
  const judged = new Promise((done) => (judge = done));
  await intercept(page, "**/api/v1/jobs/plan", judge, { times: 1 });
  await type("overwrite");
  const answer = await judged;
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await answer.continue();
  assert.match(page.url(), /compose/);
  await page.getByText("What would be lost").waitFor();
  // It is there: nothing of it is made. And no page speaks of options of a command line.
  await page.getByText(`${precious}: IS OVERWRITTEN`).waitFor();
  assert.ok(!(await page.locator("main").innerText()).includes("--"));
  // What was typed for one job is not typed for the next.
  await page.getByLabel("Path", { exact: true }).fill(other);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await dialog.getByText(other, { exact: true }).waitFor();
  assert.equal(await dialog.getByLabel("To agree, type overwrite").inputValue(), "");
  for (const path of [precious, other]) assert.ok(readFileSync(path).every((byte) => byte === 0x5a));
  await type("overwrite");
  await page.waitForURL(/#\/(live|run)\//);
  await ended(page);
  assert.ok(
    readFileSync(precious).every((byte) => byte === 0x5a),
    "the other was agreed to, not this",
  );
});

test("faults of a job are at their line, and other dialects become native", async () => {
  const { page } = await enter();
  await page.goto(`${server.address}#/compose`);
  const text = page.getByLabel("The job");
  await text.fill('[target.a]\nkind = "sim"\nsise = "1GiB"\n[workload.a]\n[stream.a]\n');
  // Without anyone asking for it.
  await page.getByRole("button", { name: "line 3" }).waitFor();
  const job = Buffer.from("[a]\nioengine=null\nrw=randread\nsize=1g\nruntime=2\ntime_based=1\niodepth=4\n");
  await page.getByLabel("Open a job file …").setInputFiles({ name: "a.fio", mimeType: "text/plain", buffer: job });
  await page.waitForFunction(() => document.querySelector(".editor textarea").value.includes("[target."));
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByRole("heading", { name: "The plan" }).waitFor();
  const fixture = (name) => join(dirname(fileURLToPath(import.meta.url)), "fixtures", name);
  await page.getByLabel("Open a job file …").setInputFiles(fixture("job.icf"));
  await page.getByLabel("What stands for its targets on this machine").fill("*=sim:");
  await page.getByRole("button", { name: "Read it with these" }).click();
  await page.getByText(/It is the job now/).waitFor();
  await page.getByRole("button", { name: "New job" }).click();
  const before = await text.inputValue();
  await page.getByLabel("Open a job file …").setInputFiles(fixture("library.icf"));
  await page.getByText("The 2 access specifications of library.icf can be chosen below now.").waitFor();
  assert.equal(await text.inputValue(), before);
  await page.getByLabel("Access specification").selectOption({ label: "four sizes" });
  assert.equal(await page.getByLabel("Share of line 4").inputValue(), "60%");
  const vdbench =
    "* a comment\nsd=sd1,lun=/tmp/fathom-none,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=70\n" +
    "rd=rd1,wd=wd1,iorate=max,elapsed=5,threads=(1,2,4)\n";
  const drop = (name, text) =>
    page.getByLabel("Open a job file …").setInputFiles({ name, mimeType: "", buffer: Buffer.from(text) });
  await drop("parmfile", vdbench.replace("rdpct", "rhpct=50,rdpct"));
  await page.getByText("rhpct is known but not imported").waitFor();
  await page.getByText("It did not become the job.").waitFor();
  await page.getByRole("button", { name: "line 3", exact: true }).click();
  await drop("parmfile", vdbench);
  await page.getByText(/It is the job now/).waitFor();
  assert.match(await text.inputValue(), /sweep = \{ "stream.queue_depth" = \[1, 2, 4\] \}/);
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByText("/tmp/fathom-none: is created").waitFor();
});

test("streams of the same queue depths are cycled together by the server, too, with the times of the form", async () => {
  const { page, complaints } = await enter();
  await page.goto(`${server.address}#/compose`);
  const fields = { Path: "sim:", "Queue depth": "1..8", Ramp: "0s", Measure: "1h30m" };
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value);
  await page.getByRole("button", { name: "Add a stream" }).click();
  await page.getByText("4 points, about 6 h").waitFor();
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByText(/^4 steps; takes about 6 h/).waitFor();
  await page.getByLabel("Queue depth of stream 2").fill("1, 2");
  await page.getByText("every combination of them is a point, 8 in all.").waitFor();
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByText(/^8 steps; takes about 12 h/).waitFor();
  assert.deepEqual(complaints, []);
});

/** Seconds of the chart of IOPS: cells of a step that has intervals of a second. */
const seconds = async (page) =>
  1 + Number(await page.getByRole("slider", { name: /^IOPS/ }).first().getAttribute("aria-valuemax"));

test("a page comes back by itself after its server was killed, with all that was measured until then", async () => {
  const { page, complaints } = await enter();
  const run = await start(page, { Path: join(folder, "scratch"), Size: "16MiB", Ramp: "0s", Measure: "60s" });
  await page.waitForFunction(
    () => Number(document.querySelector("[role=slider][aria-label^=IOPS]")?.getAttribute("aria-valuemax")) >= 3,
  );
  const runs = await page.context().newPage();
  await runs.goto(`${server.address}#/runs`);
  await runs.getByRole("table").waitFor();
  const seen = await seconds(page);
  await server.end("SIGKILL");
  await page.getByText("The connection is lost").waitFor();
  await server.start(server.port);
  // Nobody touches the page: its session is good at the next server, which has the run as far as it was kept.
  await page.waitForURL(new RegExp(`#/run/${run}`));
  await page.getByText("broke off").waitFor();
  assert.equal(await page.getByRole("link", { name: "Watch it" }).count(), 0, "there is nothing to be watched");
  await page.waitForFunction(() => document.querySelectorAll("canvas").length === 7);
  // What was shown is kept, but for what came after the last commit, which is a second ago at most.
  assert.ok((await seconds(page)) >= seen - 1, `${await seconds(page)} s are left of ${seen}`);
  const gaps = await page.evaluate(async (run) => {
    const answer = await fetch(`/api/v1/runs/${run}/intervals?limit=1000`);
    const { intervals } = await answer.json();
    return intervals.slice(1).filter(({ start_s }, at) => start_s - intervals[at].end_s > 0.001);
  }, run);
  assert.deepEqual(gaps, []);
  // And another page of the same browser goes on as if nothing had been.
  await runs.reload();
  await runs.getByRole("cell", { name: "broke off" }).waitFor();
  assert.deepEqual(
    complaints.filter((one) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_SOCKET|ERR_CONNECTION_RESET/.test(one)),
    [],
  );
});

test("eight tabs watch a run, and the eighth can still stop it", async () => {
  const { page, context } = await enter();
  await start(page, { Path: join(folder, "scratch"), Size: "16MiB", Ramp: "0s", Measure: "60s" });
  const tabs = [page, ...(await Promise.all(Array.from({ length: 7 }, () => context.newPage())))];
  const url = page.url();
  await Promise.all(tabs.slice(1).map((tab) => tab.goto(url)));
  for (const tab of tabs) await tab.locator(".tiles").waitFor();
  await tabs[7].getByRole("button", { name: "Stop" }).click();
  for (const tab of tabs) await tab.getByText("It has ended.").waitFor();
});

test("nobody gets in uninvited", async () => {
  const { page } = await opened(browser, `${server.address}#/runs`, {}, () => true).then((found) => {
    contexts.push(found.context);
    return found;
  });
  await page.getByText(/This could not be loaded/).waitFor();
  assert.equal(await page.getByRole("table").count(), 0);
  // An invitation works once, and a second time it says so.
  const { page: guest } = await enter();
  await guest.getByText("There is no run yet.").waitFor();
  await page.goto(server.invitation);
  await page.getByText("There is no such invitation: each works once").waitFor();
  await guest.goto(server.invitation);
  await guest.getByText("There is no run yet.").waitFor();
});
