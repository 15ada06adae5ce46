// Report pages in a real browser: every chart is drawn, nothing is said on the console, nothing is fetched, what is hostile
// stays harmless, the keyboard reaches everything, and axe finds nothing serious. Leaves screenshots for a person to look
// at.
//
// usage: node --test tests/report.js   (opens what `cargo test -p fathom-report --test pages` has made)
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  after,
  before,
  fits,
  inked,
  isAccessible,
  launch,
  looks,
  needsPages,
  open as opened,
  pages,
  shots,
  test,
} from "./browser.js";

needsPages();
const names = readdirSync(pages).filter((name) => name.endsWith(".html"));

/** Charts at least, where there are fewer than a step has. */
const fewest = {
  "empty.html": 0,
  "comparison.html": 4,
  "comparison-pts-iops.html": 2,
  "comparison-curve.html": 4,
  "pts-iops.html": 3,
  "wsat.html": 4,
  "scan.html": 3,
};

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** Opens a page; any request but its own is a complaint. */
function open(name, look = {}) {
  const url = pathToFileURL(join(pages, name)).href;
  return opened(browser, url, look, (asked) => asked === url);
}

/** Opens up to two steps and scrolls through, so that every chart is drawn. */
async function drawAll(page) {
  await page.evaluate(() =>
    [...document.querySelectorAll("details.step")].slice(0, 2).forEach((step) => (step.open = true)),
  );
  const figures = await page.locator("figure[data-chart]:visible").all();
  for (const figure of figures) {
    await figure.scrollIntoViewIfNeeded();
    await figure.locator("canvas").waitFor();
  }
  await page.evaluate(() => scrollTo(0, 0));
  return figures.length;
}

for (const name of names) {
  test(`${name}: charts, console, requests, looks, axe`, async () => {
    for (const look of looks) {
      const { context, page, complaints } = await open(name, look);
      const charts = await drawAll(page);
      const ink = await inked(page);
      assert.equal(ink.length, charts, `${look.name}: a canvas per chart`);
      ink.forEach((count, at) => assert.ok(count > 500, `${look.name}: canvas ${at} is empty (${count} points)`));
      assert.ok(charts >= (fewest[name] ?? 6), `${look.name}: only ${charts} charts`);
      await fits(page, look.name);
      await page.screenshot({ path: join(shots, `${name.replace(".html", "")}-${look.name}.png`), fullPage: true });
      if (look.width >= 1280) await isAccessible(page, look.name);
      assert.deepEqual(complaints, [], look.name);
      await context.close();
    }
  });
}

test("a page without scripts shows all text and tables, and no place of a chart", async () => {
  const { context, page } = await open("steady.html", { javaScriptEnabled: false });
  assert.equal(await page.locator("figure:visible").count(), 0);
  assert.ok((await page.locator("table:visible").count()) >= 4);
  assert.match(await page.locator("p.answer").first().innerText(), /IOPS/);
  await page.screenshot({ path: join(shots, "steady-without-script.png"), fullPage: true });
  await context.close();
});

test("the keyboard moves along a chart, tells its figures, and puts lines away", async () => {
  const { context, page, complaints } = await open("steady.html");
  await drawAll(page);
  const chart = page.getByRole("slider", { name: "Response time over time" });
  await chart.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  const told = await chart.getAttribute("aria-valuetext");
  assert.match(told, /p50 .*µs.*p99 /);
  assert.equal(await chart.getAttribute("aria-valuenow"), "1");
  const legend = page.locator("figure[data-chart=latency]").getByRole("button", { name: "show p99.9" });
  const before = await inked(page);
  await legend.focus();
  await page.keyboard.press("Enter");
  assert.equal(await legend.getAttribute("aria-pressed"), "false");
  await page.waitForFunction(
    ([at, count]) => {
      const canvas = document.querySelectorAll("canvas")[at];
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let ink = 0;
      for (let i = 3; i < data.length; i += 4) if (data[i] > 0) ink += 1;
      return ink < count;
    },
    [1, before[1]],
  );
  assert.deepEqual(complaints, []);
  await context.close();
});

test("the pointer tells what is under it, also in the heat map", async () => {
  const { context, page } = await open("steady.html");
  await drawAll(page);
  for (const [kind, expect] of [
    ["iops", /k|\d/],
    ["heat", /≈ .*% of the operations|no operation/],
  ]) {
    const figure = page.locator(`figure[data-chart=${kind}]`);
    await figure.scrollIntoViewIfNeeded();
    const box = await figure.locator("canvas").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await figure.locator(".value").filter({ hasText: expect }).first().waitFor();
  }
  await context.close();
});

test("paper is light, and every chart of an open step is on it", async () => {
  const { context, page, complaints } = await open("mixed.html", { colorScheme: "dark" });
  const pdf = await page.pdf({ path: join(shots, "mixed.pdf"), format: "A4", printBackground: true });
  assert.ok(pdf.length > 20_000);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("charts that nobody scrolled to are drawn before the page goes to paper, and fit their columns", async () => {
  // Nor did the browser have time before.
  const before = () => (globalThis.requestIdleCallback = () => 0);
  const { context, page } = await open("mixed.html", { height: 300, before });
  await page.emulateMedia({ media: "print" });
  const figures = await page.evaluate(async () => {
    dispatchEvent(new Event("beforeprint"));
    // The last that a browser does before it takes the page; there is no further frame.
    await Promise.resolve();
    const isShown = (figure) => !figure.hidden && figure.closest("details:not([open])") === null;
    return [...document.querySelectorAll("figure[data-chart]")].filter(isShown).map((figure) => {
      const canvas = figure.querySelector("canvas");
      const pixels = canvas?.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data ?? [];
      const fits = canvas && canvas.getBoundingClientRect().right <= figure.getBoundingClientRect().right + 1;
      return { chart: figure.dataset.chart, isDrawn: pixels.some((value) => value !== 0), fits };
    });
  });
  assert.ok(figures.length > 4, JSON.stringify(figures));
  assert.deepEqual(
    figures.filter(({ isDrawn, fits }) => !isDrawn || !fits),
    [],
  );
  await context.close();
});

test("charts are drawn though nobody scrolls to them, for a picture of the whole page", async () => {
  const { context, page, complaints } = await open("mixed.html", { height: 300 });
  await page.waitForFunction(() =>
    [...document.querySelectorAll("figure[data-chart]")]
      .filter((figure) => !figure.hidden && figure.closest("details:not([open])") === null)
      .every((figure) => figure.querySelector("canvas")),
  );
  assert.ok((await inked(page)).length > 4);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("on a phone the answers of a curve are read without scrolling sideways", async () => {
  const { context, page } = await open("curve.html", { viewport: { width: 360, height: 740 } });
  const answers = page.getByRole("region", { name: "What the curve says" });
  const { has, needs } = await answers.evaluate((of) => ({ has: of.clientWidth, needs: of.scrollWidth }));
  assert.ok(has > 300 && needs <= has, `it has ${has} px and needs ${needs}`);
  await context.close();
});
