// What pages keep and tell of files that are dropped, of marks that are made afterwards, and of what an axis names, in a
// real browser on a server that a test plays.
import assert from "node:assert/strict";
import { isAccessible, test } from "./browser.js";
import { mock, open } from "./played.js";

/** Drops files, by name and text, on the page. */
async function drop(page, files) {
  const transfer = await page.evaluateHandle((files) => {
    const made = new DataTransfer();
    for (const [name, text] of Object.entries(files)) made.items.add(new File([text], name));
    return made;
  }, files);
  await page.dispatchEvent("main", "drop", { dataTransfer: transfer });
}

const maps = "What stands for its targets on this machine";

test("a file that was dropped and what is typed for its targets are there after a reload and on the way back", async () => {
  const { page, complaints } = await open("compose");
  await drop(page, { "b.icf": "C:\n" });
  await page.getByText("the target C: is not on this machine").waitFor();
  await page.getByLabel(maps).fill("C:=/dev/sdb");
  const isThere = async () => {
    await page.getByText("the target C: is not on this machine").waitFor();
    assert.equal(await page.getByLabel(maps).inputValue(), "C:=/dev/sdb");
  };
  await page.reload();
  await isThere();
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
  await page.getByRole("link", { name: "Compose", exact: true }).click();
  await isThere();
  await page.getByRole("button", { name: "Close the file" }).click();
  await page.reload();
  await page.getByLabel("The job", { exact: true }).waitFor();
  assert.equal(await page.getByLabel(maps).count(), 0);
  assert.deepEqual(complaints, []);
});

test("of several files that are dropped the first is opened, and the others are named", async () => {
  const { page, complaints } = await open("compose");
  const toml = '[target.t]\npath = "sim:"\n[workload.w]\n[stream.s]\nworkload = "w"\n';
  await drop(page, { "a.toml": toml, "b.fio": "[b]\n", "c.icf": "" });
  await page.getByText("One job is opened at a time: a.toml was looked at, and not b.fio, c.icf.").waitFor();
  await page.getByText("The job is a.toml now").waitFor();
  // What is said of it is not true of the next one, which does not become the job; the way back stays.
  await drop(page, { "a.fio": "[a]\nrw=read\nbogus=1\n" });
  await page.getByText("It did not become the job.").waitFor();
  assert.equal(await page.getByText("The job is a.toml now").count(), 0);
  assert.equal(await page.getByText("One job is opened at a time").count(), 0);
  await page.getByRole("button", { name: "Undo" }).click();
  assert.notEqual(await page.getByLabel("The job", { exact: true }).inputValue(), toml);
  assert.deepEqual(complaints, []);
});

test("where a browser has no room for a job it says so, and brings no earlier one back", async () => {
  const { page } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  const before = await text.inputValue();
  await text.fill(`# an earlier one\n${before}`);
  await page.evaluate(() => {
    Storage.prototype.setItem = () => {
      throw new DOMException("full", "QuotaExceededError");
    };
  });
  await text.fill(`# this one\n${before}`);
  await page.getByText("There is no room in this browser for this job").waitFor();
  await page.reload();
  await text.waitFor();
  assert.equal(await text.inputValue(), before);
});

test("a run that is over is marked at a second of it", async () => {
  const { page, complaints } = await open("run/steady");
  await page.getByLabel("Note what happened").fill("the cache went off");
  const button = page.getByRole("button", { name: "Mark", exact: true });
  assert.ok(await button.isDisabled(), "it has to say when");
  await page.getByLabel("at second").fill("2.5");
  const fetched = page.waitForRequest((request) => request.url().endsWith("/runs/steady") && request.method() === "GET");
  await button.click();
  await fetched;
  const asked = mock.asked.find(({ path }) => path.endsWith("/marks"));
  assert.deepEqual(asked.body, { text: "the cache went off", at_ms: 2500 });
  // The page is fetched anew, and the next mark is set where this one was.
  await page.waitForFunction(() => document.activeElement.labels?.[0]?.textContent.trim().startsWith("Note what happened"));
  assert.deepEqual(complaints, []);
});

test("a mark after the end of a run is refused in the unit of its field", async () => {
  const { page } = await open("run/steady");
  await page.getByLabel("Note what happened").fill("too late");
  await page.getByLabel("at second").fill("1e6");
  const help = "give a time up to 35588";
  mock.broken = { status: 422, message: "at_ms lies behind the end of the run", help };
  await page.getByRole("button", { name: "Mark", exact: true }).click();
  const told = /^The run ended at second 1?\d\d(\.\d+)?: a mark stands at that or before it\.$/;
  await page.getByText(told).waitFor({ timeout: 10_000 });
  assert.equal(await page.getByLabel("Note what happened").inputValue(), "too late");
});

test("a run that is not there has a heading all the same, and no words for those who write requests", async () => {
  const { page } = await open("run/nope");
  await page.getByRole("heading", { level: 1, name: "Run" }).waitFor();
  await page.getByText("There is no such run (any more).").waitFor({ timeout: 10_000 });
  assert.ok(!(await page.locator("main").innerText()).includes("/api/"));
  await isAccessible(page, "a run that is not there");
});

test("what a finding says has the colour of the page's words, however grave it is", async () => {
  const { page } = await open("run/mixed", { colorScheme: "dark" });
  await page.locator(".findings li").first().waitFor();
  const colors = await page.evaluate(() => {
    const words = getComputedStyle(document.querySelector("main")).color;
    const told = [...document.querySelectorAll(".findings li > p:nth-child(2)")].map((one) => getComputedStyle(one).color);
    return { words, told };
  });
  assert.ok(colors.told.length > 0);
  assert.deepEqual([...new Set(colors.told)], [colors.words]);
});

test("names at both ends of an axis are whole", async () => {
  mock.labels = ["512 B; 100% Read; 0% random", "4 KiB; 50% Read; 100% random", "64 KiB; 0% Read; 0% random"];
  for (const width of [1280, 1000, 360]) {
    const { page } = await open("run/sweep", { width, height: 900 });
    await page.waitForFunction(() => document.querySelectorAll("canvas").length >= 2);
    // A text that is cut off goes on up to the edge.
    const atEdges = await page.evaluate(() =>
      [...document.querySelectorAll("canvas")].slice(0, 2).map((canvas) => {
        const { width, height } = canvas;
        const context = canvas.getContext("2d");
        const ink = (x) => context.getImageData(x, 0, 1, height).data.some((value, at) => at % 4 === 3 && value > 0);
        return [ink(0), ink(width - 1)];
      }),
    );
    assert.deepEqual(atEdges, [[false, false], [false, false]], `${width} px`);
  }
});
