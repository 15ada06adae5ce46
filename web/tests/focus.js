// Where the keyboard is after something was done: what had the focus may be gone or able to do nothing, and whoever uses no
// mouse goes on from there. On a server that a test plays.
import assert from "node:assert/strict";
import { intercept, test } from "./browser.js";
import { held, mock, open } from "./played.js";

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
  await focusIs(page, "H2 The plan");
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

test("who starts what is refused goes on at its faults, and the button says why", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job");
  await text.fill((await text.inputValue()).replace("size", "sise"));
  await page.getByText("did you mean size?").waitFor();
  await press(page, "Start");
  const start = page.getByRole("button", { name: "Start", exact: true });
  await start.and(page.locator("[aria-disabled=true], :disabled")).waitFor();
  await focusIs(page, "H2 Faults of the job");
  await page.locator(".actions").getByText('unknown option "sise"').waitFor();
  assert.equal(await start.getAttribute("aria-describedby"), "no-start");
  // It can do nothing now.
  const plans = () => mock.asked.filter(({ path }) => path.endsWith("/plan")).length;
  await press(page, "Start");
  await focusIs(page, "BUTTON Start");
  assert.equal(plans(), 1);
  assert.deepEqual(complaints, []);
});

test("a plan comes into view, and no bar lies over its heading", async () => {
  for (const look of [{ width: 1280, height: 600 }, { width: 390, height: 700 }]) {
    const { page, complaints } = await open("compose", look);
    await page.emulateMedia({ reducedMotion: look.width < 600 ? "reduce" : "no-preference" });
    await page.getByLabel("Path").fill("/mnt/disk/scratch");
    await page.evaluate(() => scrollTo(0, 0));
    await page.getByRole("button", { name: "Show the plan" }).click();
    await focusIs(page, "H2 The plan");
    const isSeen = () => {
      const { x, y, height } = document.activeElement.getBoundingClientRect();
      return y >= 0 && document.elementFromPoint(x + 4, y + height / 2) === document.activeElement;
    };
    await page.waitForFunction(isSeen, undefined, { timeout: 10_000 });
    assert.deepEqual(complaints, []);
  }
});

test("who agrees stays in the dialog while that is judged, and where it is wrong", async () => {
  const { page, complaints } = await open("compose");
  await page.getByLabel("Path").fill("/dev/precious");
  await press(page, "Start");
  await page.getByLabel("To agree").fill("yes");
  const asked = await held(page, "**/api/v1/jobs/plan");
  await press(page, "Overwrite and start");
  const answer = await asked.next();
  await focusIs(page, "BUTTON Overwrite and start");
  await answer.continue();
  await page.getByText("This is not what has to be typed.").waitFor();
  await focusIs(page, "BUTTON Overwrite and start");
  assert.deepEqual(complaints, []);
});

test("where a run was renamed and the list cannot be had, the focus is at the heading, and goes on from there", async () => {
  const { page } = await open("runs");
  await press(page, "change OLTP on the new array");
  await page.getByLabel("Title").fill("OLTP, firmware 2");
  const lists = "**/api/v1/runs";
  await intercept(page, lists, (route) => route.fulfill({ status: 503, json: {} }));
  await press(page, "Keep this");
  await page.getByText("This could not be loaded.").waitFor();
  await focusIs(page, "H1 Runs");
  await page.unroute(lists);
  await press(page, "Try again");
  await focusIs(page, "BUTTON change OLTP, firmware 2");
});

test("who tries again goes on at the button while it is for nothing, and at the heading of what has come", async () => {
  const lists = "**/api/v1/runs";
  const { page } = await open("runs");
  await intercept(page, lists, (route) => route.fulfill({ status: 503, json: {} }));
  await page.reload();
  await press(page, "Try again");
  await focusIs(page, "BUTTON Try again");
  await page.unroute(lists);
  await press(page, "Try again");
  await page.getByRole("table").waitFor();
  await focusIs(page, "H1 Runs");
});

test("a key that is held and a double click are one decision, not the two that it takes to delete a run", async () => {
  const { page, complaints } = await open("runs");
  await press(page, "change OLTP on the new array");
  await page.getByRole("button", { name: "Delete", exact: true }).focus();
  for (let turn = 0; turn < 4; turn += 1) await page.keyboard.down("Enter");
  await page.keyboard.up("Enter");
  const sure = page.getByRole("button", { name: "Delete it for good" });
  await sure.waitFor({ timeout: 10_000 });
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "change OLTP on the new array" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).dblclick();
  await sure.waitFor({ timeout: 10_000 });
  assert.ok(mock.asked.every(({ method }) => method !== "DELETE"));
  await press(page, "Delete it for good");
  await page.getByRole("button", { name: "change OLTP on the new array" }).waitFor({ state: "detached" });
  assert.equal(mock.asked.filter(({ method }) => method === "DELETE").length, 1);
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
