// Answers that come late, as over a slow network: after who has asked has gone, has taken it back or has typed on. In a real
// browser, on a server that a test plays; requests wait until the test lets them go.
import assert from "node:assert/strict";
import { test } from "./browser.js";
import { held, mock, open, settled } from "./played.js";

const plans = "**/api/v1/jobs/plan";
const started = () => mock.asked.filter(({ path }) => path === "/api/v1/runs");

/** The dialog that asks for consent, with the right words typed in it. */
async function agreed(page) {
  await page.getByLabel("Path").fill("/dev/precious");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByLabel("To agree").fill("4567");
  return page.getByRole("dialog", { name: "This would be lost for good" });
}

const escape = (page) => page.keyboard.press("Escape");
const cancel = (page) => page.getByRole("button", { name: "Cancel" }).click();
for (const [where, how, close] of [
  ["compose", "Escape", escape],
  ["compose", "Cancel", cancel],
  ["curve", "Cancel", cancel],
  ["steady", "Escape", escape],
]) {
  test(`${where}: ${how} takes back what was agreed to, whatever is answered later`, async () => {
    const { page, complaints } = await open(where);
    const dialog = await agreed(page);
    const asked = await held(page, plans);
    await page.keyboard.press("Enter");
    const answer = await asked.next();
    await close(page);
    await dialog.waitFor({ state: "hidden" });
    await answer.continue();
    await settled(page);
    assert.deepEqual(started(), []);
    assert.ok(page.url().endsWith(`#/${where}`), page.url());
    assert.equal(await page.evaluate(() => document.activeElement?.textContent.trim()), "Start");
    assert.deepEqual(complaints, []);
  });
}

test("what was agreed to for one job starts no other that is composed meanwhile", async () => {
  const { page, complaints } = await open("compose");
  await agreed(page);
  const asked = await held(page, plans);
  await page.keyboard.press("Enter");
  const answer = await asked.next();
  await escape(page);
  await page.getByLabel("Path").fill("/mnt/disk/other");
  await answer.continue();
  await settled(page);
  assert.deepEqual(started(), []);
  assert.ok(page.url().endsWith("#/compose"), page.url());
  // Nothing of it is left for the next.
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await (await asked.next()).continue();
  await page.waitForURL(/#\/live\/live/);
  const [{ body }, ...more] = started();
  assert.deepEqual(more, []);
  assert.deepEqual(body.consent.answers, []);
  assert.match(body.job.text, /path = "\/mnt\/disk\/other"/);
  assert.deepEqual(complaints, []);
});

test("a start is not given up without a word where the job changes before its plan is there", async () => {
  const { page, complaints } = await open("compose");
  await page.getByLabel("Path").fill("/mnt/disk/scratch");
  const asked = await held(page, plans);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  const answer = await asked.next();
  const told = page.getByText("The job has changed since you asked");
  assert.equal(await told.count(), 0);
  await page.getByLabel("Path").fill("/mnt/disk/other");
  await told.waitFor();
  await answer.continue();
  await settled(page);
  assert.deepEqual(started(), []);
  assert.deepEqual(complaints, []);
});

for (const where of ["compose", "curve", "steady"]) {
  test(`${where}: a page that is left takes back what was asked for on it`, async () => {
    const { page, complaints } = await open(where);
    await agreed(page);
    const asked = await held(page, plans);
    const leave = async (isOpen) => {
      const answer = await asked.next();
      if (isOpen) await page.evaluate(() => (location.hash = "#/runs"));
      else await page.getByRole("link", { name: "Runs", exact: true }).click();
      await page.getByRole("table").waitFor();
      await answer.continue();
      await settled(page);
      assert.deepEqual(started(), []);
      assert.ok(page.url().endsWith("#/runs"), page.url());
      assert.deepEqual(complaints, []);
    };
    await page.keyboard.press("Enter");
    await leave(true);
    // And before the dialog is there.
    await page.goBack();
    await settled(page);
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await leave(false);
    // A job that needs no consent, too.
    await page.goBack();
    await page.getByLabel("Path").fill("sim:");
    await settled(page);
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await leave(false);
  });
}

test("faults of a job that are told when its page is left are nobody's", async () => {
  const { page, complaints } = await open("compose");
  const asked = await held(page, "**/api/v1/jobs/check");
  await page.getByLabel("Path").fill("/mnt/disk/scratch");
  await page.getByLabel("Queue depth").fill("1..8");
  const answer = await asked.next();
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByText("takes about 32 s").waitFor();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/#\/live\/live/);
  await settled(page);
  await answer.continue();
  await settled(page);
  assert.deepEqual(complaints, []);
});

test("a start that was sent already is taken back, and it is said that nobody knows", async () => {
  const { page, complaints } = await open("compose");
  const dialog = await agreed(page);
  const asked = await held(page, "**/api/v1/runs");
  await page.keyboard.press("Enter");
  const answer = await asked.next();
  await escape(page);
  await dialog.waitFor({ state: "hidden" });
  await page.getByText("It was taken back when its start was on its way").waitFor();
  await answer.fulfill({ status: 202, json: { run: "live" } }).catch(() => undefined);
  await settled(page);
  assert.ok(page.url().endsWith("#/compose"), page.url());
  assert.deepEqual(complaints, []);
});

test("a mark is set once, and the next one can be typed meanwhile", async () => {
  mock.play(7);
  for (const [where, label] of [["live/live", "What happens now"], ["run/steady", "Note what happened"]]) {
    mock.asked = [];
    const { page, complaints } = await open(where);
    const asked = await held(page, "**/marks");
    const field = page.getByLabel(label);
    await field.fill("the fan is off");
    if (where === "run/steady") await page.getByLabel("at second").fill("2.5");
    await field.press("Enter");
    await field.press("Enter");
    const answer = await asked.next();
    await field.fill("the fan is on");
    await answer.continue();
    for (const more of asked.waiting.splice(0)) await more.continue();
    await page.locator("button:not([aria-disabled=true])", { hasText: /^\s*Mark\s*$/ }).waitFor();
    await settled(page);
    assert.equal(await field.inputValue(), "the fan is on", where);
    assert.ok(await field.evaluate((one) => one === document.activeElement), `${where}: it is typed on`);
    assert.equal(mock.asked.filter(({ path }) => path.endsWith("/marks")).length, 1, where);
    assert.deepEqual(complaints, []);
  }
});

/** Drops a file on the page. */
async function drop(page, name) {
  const transfer = await page.evaluateHandle((name) => {
    const made = new DataTransfer();
    made.items.add(new File(["[a]\nrw=read\n"], name));
    return made;
  }, name);
  await page.dispatchEvent("main", "drop", { dataTransfer: transfer });
}

test("of two files the last one becomes the job, and none takes the place of what was typed meanwhile", async () => {
  const { page, complaints } = await open("compose");
  const text = page.getByLabel("The job", { exact: true });
  const asked = await held(page, "**/api/v1/jobs/convert");
  const job = (name) => `# ${name}\n[target.t]\nkind = "sim"\nsize = "1GiB"\n[workload.w]\n[stream.s]\nworkload = "w"\n`;
  const answer = (route, name) => route.fulfill({ json: { text: job(name), diagnostics: [] } });
  await drop(page, "old.fio");
  const old = await asked.next();
  await drop(page, "new.fio");
  await answer(await asked.next(), "new");
  await page.getByText("The job is new.fio now").waitFor();
  await answer(old, "old");
  await settled(page);
  assert.equal(await text.inputValue(), job("new"));
  assert.equal(await page.getByText("old.fio").count(), 0);
  // Nor is a fault told of it.
  await drop(page, "old.fio");
  const wrong = await asked.next();
  await drop(page, "new.fio");
  await answer(await asked.next(), "new");
  await wrong.fulfill({ status: 422, json: { error: { code: "x", message: "old.fio is none", help: "" } } });
  await settled(page);
  assert.equal(await page.getByText("old.fio is none").count(), 0);
  await drop(page, "third.fio");
  const third = await asked.next();
  await page.getByLabel("Title").fill("mine");
  const typed = await text.inputValue();
  await answer(third, "third");
  await page.getByText("The job was changed while third.fio was read, and stays as it is.").waitFor();
  assert.equal(await text.inputValue(), typed);
  assert.equal(await page.getByLabel("Title").inputValue(), "mine");
  assert.deepEqual(
    complaints.filter((one) => !one.includes("422")),
    [],
  );
});

test("an answer of one run closes no dialog of another, and a refusal names its run", async () => {
  const { page, complaints } = await open("runs");
  const asked = await held(page, "**/api/v1/runs/*", "PATCH");
  const dialog = page.getByRole("dialog");
  const title = page.getByLabel("Title");
  const renamed = async (name) => {
    await page.getByRole("button", { name: "change OLTP on the new array" }).click();
    await title.fill(name);
    await page.getByRole("button", { name: "Keep this" }).click();
    const answer = await asked.next();
    await escape(page);
    await page.getByRole("button", { name: "change three at once" }).click();
    await title.fill("typed meanwhile");
    return answer;
  };
  const stays = async () => {
    await settled(page);
    await dialog.getByRole("heading", { name: "Run three at once" }).waitFor();
    assert.equal(await title.inputValue(), "typed meanwhile");
    assert.equal(await dialog.locator(".failed").count(), 0);
    await escape(page);
    await dialog.waitFor({ state: "hidden" });
    await page.waitForFunction(() => document.activeElement?.ariaLabel === "change three at once");
  };
  const refused = await renamed("refused");
  await refused.fulfill({ status: 403, json: { error: { code: "x", message: "this takes an operator", help: "" } } });
  await stays();
  await page.getByText("Run OLTP on the new array: this takes an operator").waitFor();
  const answer = await renamed("OLTP, firmware 2");
  await answer.continue();
  await page.getByRole("button", { name: "change OLTP, firmware 2", includeHidden: true }).waitFor({ state: "attached" });
  await stays();
  assert.deepEqual(
    complaints.filter((one) => !one.includes("403")),
    [],
  );
});
