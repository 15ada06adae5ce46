// Pages that show runs that go on keep up with them: what is begun and ended in other tabs, by other people and by other
// processes shows by itself, and nobody loses what they are at. In a real browser, on a server that a test plays.
import assert from "node:assert/strict";
import { intercept, test } from "./browser.js";
import { held, mock, open, settled } from "./played.js";

/** What a browser says when a tab is looked at again: pages do not wait for their next question then. */
const look = (page) => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));

const changeOf = (page, name) => page.getByRole("button", { name: `change ${name}`, exact: true });

test("the list tells by itself that a run has ended, and that another has begun", async () => {
  const { page, complaints } = await open("runs");
  const row = page.getByRole("row", { name: "two streams" });
  await row.getByRole("cell", { name: "running", exact: true }).waitFor();
  assert.equal(await changeOf(page, "two streams").count(), 0);
  mock.isOver = true;
  mock.others = [{ run: "begun", title: "begun by another", state: "running" }];
  await row.getByRole("cell", { name: "complete", exact: true }).waitFor({ timeout: 20_000 });
  await changeOf(page, "two streams").waitFor();
  await page.getByRole("row", { name: "begun by another" }).getByRole("cell", { name: "running", exact: true }).waitFor();
  assert.deepEqual(complaints, []);
});

test("a list that is new takes nobody's filter, ticks, focus, place or what is typed in a dialog", async () => {
  const { page, complaints } = await open("runs", { height: 300 });
  await page.getByLabel("Filter").fill("o");
  await page.getByRole("checkbox", { name: "OLTP on the new array" }).check();
  const button = changeOf(page, "OLTP on the new array");
  await button.focus();
  const place = await page.evaluate(() => scrollY);
  assert.ok(place > 0, "there is something to scroll");
  const run = (at) => ({ run: `n${at}`, title: `no ${at}`, state: "running" });
  const begun = (count) => Array.from({ length: count }, (_, at) => run(at));
  mock.others = begun(1);
  await look(page);
  await page.getByText("no 0").waitFor();
  assert.ok(await button.evaluate((button) => button === document.activeElement), "the focus is at the same run");
  assert.ok((await page.evaluate(() => scrollY)) >= place, "and nobody is taken to the top");
  assert.equal(await page.getByLabel("Filter").inputValue(), "o");
  assert.ok(await page.getByRole("checkbox", { name: "OLTP on the new array" }).isChecked());
  await page.keyboard.press("Enter");
  const title = page.getByRole("dialog").getByLabel("Title");
  await title.fill("half a tit");
  mock.others = begun(2);
  await look(page);
  await page.getByText("no 1").waitFor({ state: "attached" });
  assert.equal(await title.inputValue(), "half a tit");
  assert.ok(await title.evaluate((field) => field === document.activeElement));
  assert.deepEqual(complaints, []);
});

test("a list that was asked for before a run was deleted does not bring it back", async () => {
  const { page, complaints } = await open("runs");
  await changeOf(page, "OLTP on the new array").click();
  const asked = await held(page, "**/api/v1/runs", "GET");
  mock.isOver = true;
  await look(page);
  const late = await asked.next();
  const stale = await late.fetch();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Delete it for good" }).click();
  await (await asked.next()).continue();
  await changeOf(page, "OLTP on the new array").waitFor({ state: "detached" });
  await late.fulfill({ response: stale });
  await settled(page);
  assert.equal(await changeOf(page, "OLTP on the new array").count(), 0);
  assert.deepEqual(complaints, []);
});

test("who goes to the list that is shown already sees it as it is now", async () => {
  const { page, complaints } = await open("runs");
  await page.getByRole("table").waitFor();
  mock.others = [{ run: "taken", title: "taken in by another", state: "complete" }];
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByText("taken in by another").waitFor({ timeout: 10_000 });
  assert.deepEqual(complaints, []);
});

test("a list that could not be had is asked for by a visit, too", async () => {
  const { page } = await open("runs");
  const lists = "**/api/v1/runs";
  await intercept(page, lists, (route) => route.fulfill({ status: 503, json: {} }));
  await page.reload();
  await page.getByText("This could not be loaded.").waitFor();
  await page.unroute(lists);
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("table").waitFor({ timeout: 10_000 });
});

test("the page of a run tells by itself that it has ended", async () => {
  mock.unended = "killed";
  const { page, complaints } = await open("run/killed");
  const watch = page.getByRole("link", { name: "Watch it" });
  await watch.focus();
  mock.unended = null;
  await page.getByText("broke off").waitFor({ timeout: 20_000 });
  await page.getByRole("link", { name: "The run's file" }).waitFor();
  assert.equal(await watch.count(), 0);
  await page.waitForFunction(() => document.activeElement.tagName === "H1", null, { timeout: 10_000 });
  assert.deepEqual(complaints, []);
});

test("who reads the page of a run is not moved when it ends, and a server that is away is asked again", async () => {
  mock.unended = "killed";
  const { page } = await open("run/killed", { height: 300 });
  await page.getByRole("link", { name: "Watch it" }).waitFor();
  await page.evaluate(() => scrollTo(0, 200));
  const reports = "**/api/v1/runs/killed";
  let refused = () => undefined;
  const isRefused = new Promise((done) => (refused = done));
  await intercept(page, reports, async (route) => {
    await route.fulfill({ status: 503, json: {} });
    refused();
  });
  mock.unended = null;
  await look(page);
  await isRefused;
  await settled(page);
  await page.getByRole("link", { name: "Watch it" }).waitFor();
  await page.unroute(reports);
  await look(page);
  await page.getByText("broke off").waitFor({ timeout: 20_000 });
  assert.equal(await page.evaluate(() => scrollY), 200);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "BODY");
});
