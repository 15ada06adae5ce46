// An hour of 64 streams on the page of a run that goes on: what scrolling, zooming and the next second draw is bounded by
// the pixels there are, whatever the length of the run. Work is counted, not timed: a busy machine changes no count.
// `scripts/bench` has the times.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, launch, open, shots, test } from "./browser.js";
import { anHour, every, seconds, streams, told } from "./long-run.js";
import { Mock } from "./mock.js";

/** Points of a line that is thinned for drawing: in, out, least and most of each pixel. */
const perPixel = 4;

let browser;
let mock;
let address;
before(async () => {
  browser = await launch();
  mock = new Mock();
  address = await mock.listen();
});
after(async () => {
  await browser?.close();
  await mock?.close();
});

/** Counts what is drawn: ends of lines, and rectangles. Runs in the page, before anything of it. */
function count() {
  globalThis.drawn = { lines: 0, rectangles: 0, clears: 0 };
  const counting = (of, name, what) => {
    const real = of.prototype[name];
    of.prototype[name] = function (...words) {
      globalThis.drawn[what] += 1;
      return real.apply(this, words);
    };
  };
  for (const of of [Path2D, CanvasRenderingContext2D]) counting(of, "lineTo", "lines");
  counting(CanvasRenderingContext2D, "fillRect", "rectangles");
  counting(CanvasRenderingContext2D, "clearRect", "clears");
}

/** What an act draws until the page rests. */
async function drawnBy(page, act) {
  await page.evaluate(() => {
    Object.assign(globalThis.drawn, { lines: 0, rectangles: 0, clears: 0 });
  });
  await act();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return page.evaluate(() => ({ ...globalThis.drawn }));
}

test("an hour of 64 streams is drawn by the pixel, not by the interval", async () => {
  mock.events = anHour();
  mock.play(mock.events.length);
  const { page, context, complaints } = await open(
    browser,
    `${address}#/live/live`,
    { before: count },
    (url) => url.startsWith(address) || url.startsWith("data:"),
  );
  const last = seconds / every - 1;
  const chart = page.getByRole("slider", { name: "IOPS", exact: true });
  await page.locator(`[aria-label="IOPS"][aria-valuemax="${last}"]`).waitFor({ timeout: 120_000 });
  assert.equal(await page.getByRole("row").count(), streams + 2, "a row per stream, a head, a sum");
  const nodes = () => page.evaluate(() => document.querySelectorAll("*").length);
  const before = await nodes();
  assert.ok(before < 40 * streams, `${before} elements: no list has one for each interval`);

  const scrolled = await drawnBy(page, async () => {
    for (let turn = 0; turn < 10; turn += 1) await page.mouse.wheel(0, turn < 5 ? 300 : -300);
  });
  assert.deepEqual([scrolled.lines, scrolled.rectangles, scrolled.clears], [0, 0, 0], "scrolling draws nothing anew");

  await chart.scrollIntoViewIfNeeded();
  const { width, pixels, charts } = await page.evaluate(() => {
    const all = [...document.querySelectorAll("canvas")];
    return { width: all[0].clientWidth, pixels: Math.max(...all.map((canvas) => canvas.width)), charts: all.length };
  });
  const box = await chart.boundingBox();
  const drag = async (from, to) => {
    await page.mouse.move(box.x + width * from, box.y + 80);
    await page.mouse.down();
    await page.mouse.move(box.x + width * to, box.y + 80, { steps: 4 });
    await page.mouse.up();
  };
  // Nine lines at most on a chart, and grid and ticks.
  const most = charts * (9 * perPixel * pixels + 200);
  const zoomed = await drawnBy(page, () => drag(0.4, 0.7));
  assert.ok(zoomed.clears > 0 && zoomed.clears <= 2 * charts, `${zoomed.clears} drawings of ${charts} charts`);
  assert.ok(zoomed.lines > 0 && zoomed.lines <= most, `${zoomed.lines} ends of lines for at most ${most}`);
  // 240 columns of a heat map, each of no more rows than there are quarters of octaves in its range.
  assert.ok(zoomed.rectangles <= 240 * 64 + 100, `${zoomed.rectangles} rectangles`);
  await chart.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");

  // The next seconds come: what is zoomed in stays, and nothing is made anew.
  const canvases = await page.evaluate(() => (globalThis.kept = [...document.querySelectorAll("canvas")]).length);
  const next = await drawnBy(page, async () => {
    mock.events.push(...told(seconds, seconds + every));
    mock.play(mock.events.length);
    await page.locator(`[aria-label="IOPS"][aria-valuemax="${last + 1}"]`).waitFor();
  });
  assert.equal(await page.evaluate(() => globalThis.kept.filter((canvas) => canvas.isConnected).length), canvases);
  assert.ok((await nodes()) <= before + 10, "time that passes adds no elements");
  const perDrawing = next.lines / Math.max(next.clears, 1);
  assert.ok(perDrawing <= 9 * perPixel * pixels + 200, `${perDrawing} ends of lines in a drawing`);
  await page.screenshot({ path: join(shots, "app-hour.png") });
  const all = await drawnBy(page, () => chart.dblclick());
  assert.ok(all.lines <= most, `${all.lines} ends of lines for at most ${most}`);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("the page is there before the server has answered, of three files", async () => {
  mock.isSilent = true;
  const asked = [];
  const allowed = (url) => {
    asked.push(url);
    return url.startsWith(address) || url.startsWith("data:");
  };
  const { page, context } = await open(browser, `${address}#/runs`, {}, allowed);
  await page.getByRole("link", { name: "Compose" }).waitFor();
  await page.getByText("Loading …").waitFor();
  const files = asked.filter((url) => !url.includes("/api/") && !url.startsWith("data:"));
  assert.equal(files.length, 3, `the page, its script and its style sheet: ${files.join(" ")}`);
  mock.isSilent = false;
  await context.close();
});
