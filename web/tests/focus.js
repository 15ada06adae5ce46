// Where the keyboard is after something was done: what had the focus may be gone or able to do nothing, and whoever uses no
// mouse goes on from there. On a server that a test plays.
import assert from "node:assert/strict";
import { test } from "./browser.js";
import { mock, open } from "./played.js";

/** What has the focus, in words: its role or name, and its text. */
const focused = (page) =>
  page.evaluate(() => {
    const { tagName, textContent } = document.activeElement;
    return `${tagName} ${(document.activeElement.getAttribute("aria-label") ?? textContent).trim()}`;
  });

/** Waits until that has the focus. */
async function focusIs(page, expected) {
  const is = (expected) => {
    const { tagName, textContent } = document.activeElement;
    return `${tagName} ${(document.activeElement.getAttribute("aria-label") ?? textContent).trim()}` === expected;
  };
  await page.waitForFunction(is, expected, { timeout: 10_000 }).catch(async () => {
    assert.equal(await focused(page), expected);
  });
}

/** Presses a button by the keyboard. */
async function press(page, name) {
  await page.getByRole("button", { name, exact: true }).focus();
  await page.keyboard.press("Enter");
}

test("from the plan to the end of a run the focus is where one goes on", async () => {
  const { page, complaints } = await open("compose");
  await page.getByLabel("Path").fill("/mnt/disk/scratch");
  await press(page, "Show the plan");
  await page.getByRole("heading", { name: "The plan" }).waitFor();
  await focusIs(page, "BUTTON Show the plan");
  mock.play(3);
  await press(page, "Start");
  await page.waitForURL(/#\/live\//);
  await page.waitForFunction(() => document.activeElement.tagName === "H1");
  const mark = page.getByLabel("What happens now");
  await mark.fill("half of it");
  await press(page, "Mark");
  await page.waitForFunction(() => document.activeElement.tagName === "INPUT" && document.activeElement.value === "");
  assert.ok(await mark.evaluate((field) => field === document.activeElement));
  await press(page, "Stop");
  await page.getByRole("button", { name: "Stopping …" }).waitFor();
  await focusIs(page, "BUTTON Stopping …");
  // It asks once: the button can do no more.
  await page.keyboard.press("Enter");
  assert.equal(mock.asked.filter(({ path }) => path.endsWith("/stop")).length, 1);
  mock.play(Infinity);
  await focusIs(page, "A See the run");
  await page.getByRole("link", { name: "Runs", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("table").waitFor();
  await focusIs(page, "A Runs");
  assert.deepEqual(complaints, []);
});

test("in the list of runs the focus stays at the run that was changed", async () => {
  const { page, complaints } = await open("runs");
  await press(page, "change OLTP on the new array");
  await page.getByLabel("Title").fill("OLTP, firmware 2");
  await press(page, "Keep this");
  await focusIs(page, "BUTTON change OLTP, firmware 2");
  // The other field was not touched, and is not sent.
  assert.deepEqual(mock.asked.at(-1).body, { title: "OLTP, firmware 2" });
  await page.keyboard.press("Enter");
  await page.getByLabel("Tags").fill("lab1, nvme");
  await press(page, "Keep this");
  await page.getByText("nvme", { exact: true }).waitFor();
  await focusIs(page, "BUTTON change OLTP, firmware 2");
  assert.deepEqual(mock.asked.at(-1).body, { tags: ["lab1", "nvme"] });
  const sent = mock.asked.length;
  await page.keyboard.press("Enter");
  await press(page, "Keep this");
  await focusIs(page, "BUTTON change OLTP, firmware 2");
  assert.equal(mock.asked.length, sent, "nothing was changed");
  await page.keyboard.press("Enter");
  await press(page, "Delete");
  await press(page, "Delete it for good");
  await page.getByRole("button", { name: "change OLTP, firmware 2" }).waitFor({ state: "detached" });
  await page.waitForFunction(() => document.activeElement.tagName === "H1");
  assert.deepEqual(complaints, []);
});

test("a run that was stopped while its file was laid out has ended, and prepares nothing", async () => {
  const { event, ...started } = mock.events[0];
  assert.equal(event, "run_started");
  mock.events = [
    { event, ...started },
    { event: "preparing", path: "/mnt/disk/scratch", done_bytes: 41, total_bytes: 100 },
    { event: "run_finished", state: "interrupted", reason: "on request", finished_ms: started.started_ms + 1000 },
  ];
  mock.play(2);
  const { page, complaints } = await open("live/live");
  await page.getByText("preparing: /mnt/disk/scratch 41").waitFor();
  mock.play(Infinity);
  const told = page.getByText("interrupted: on request");
  await told.waitFor();
  const main = await page.locator("main").innerText();
  assert.ok(!main.includes("41") && !main.includes("waiting"), main);
  assert.deepEqual(complaints, []);
});

test("the answer of a run can be had as a table, where it has one", async () => {
  const { page, complaints } = await open("run/curve");
  const link = page.getByRole("link", { name: "Answer as CSV" });
  await link.waitFor();
  assert.match(await link.getAttribute("href"), /\/runs\/curve\/report\?format=answer-csv$/);
  assert.deepEqual(complaints, []);
});
