// How long the pages take: first paint, and frames while an hour of 64 streams is scrolled and zoomed. Prints one JSON
// document; `scripts/bench` judges it. Tests count what is drawn and measure no time, as a busy machine would fail them.
import { launch, open } from "../tests/browser.js";
import { anHour, every, seconds } from "../tests/long-run.js";
import { Mock } from "../tests/mock.js";

/** What is measured several times: the middle one counts. */
const turns = 5;
const middle = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

const mock = new Mock();
const address = await mock.listen();
const browser = await launch();

/** A page; everything may be asked for. */
async function opened(path) {
  const found = await open(browser, `${address}#/${path}`, {}, () => true);
  return { ...found, debug: await found.context.newCDPSession(found.page) };
}

/** Milliseconds to the first content, on a page that is loaded anew each time, while the server does not answer. */
async function firstPaint() {
  mock.isSilent = true;
  const { page, context } = await opened("runs");
  const found = [];
  for (let turn = 0; turn < turns; turn += 1) {
    await page.reload();
    await page.getByText("Loading …").waitFor();
    found.push(await page.evaluate(painted));
  }
  await context.close();
  mock.isSilent = false;
  return middle(found);
}

/** In the page: when its first content was painted. The text can be there before the browser has told of its paint. */
function painted() {
  return new Promise((resolve, reject) => {
    const told = new PerformanceObserver((list) => {
      const [paint] = list.getEntriesByName("first-contentful-paint");
      if (paint) resolve(paint.startTime);
    });
    told.observe({ type: "paint", buffered: true });
    setTimeout(() => reject(new Error("the browser tells of no first paint")), 10_000);
  });
}

/** Milliseconds of the page's own work so far: its script, and what the browser lays out for it. */
async function work(debug) {
  const { metrics } = await debug.send("Performance.getMetrics");
  const of = (name) => metrics.find((metric) => metric.name === name)?.value ?? 0;
  return { script: of("ScriptDuration") * 1000, layout: (of("LayoutDuration") + of("RecalcStyleDuration")) * 1000 };
}

/** The median time between frames while an act goes on, and the work per frame. */
async function frames(page, debug, act) {
  const found = [];
  for (let turn = 0; turn < turns; turn += 1) {
    await page.evaluate(() => {
      // Each turn has a list of its own: the last callback of the one before still comes.
      const frames = (globalThis.frames = []);
      const next = (at) => {
        if (globalThis.frames !== frames) return;
        frames.push(at);
        requestAnimationFrame(next);
      };
      requestAnimationFrame(next);
    });
    const before = await work(debug);
    await act();
    const after = await work(debug);
    const gaps = await page.evaluate(() => {
      const found = globalThis.frames;
      globalThis.frames = null;
      return found.slice(1).map((at, index) => at - found[index]);
    });
    const count = gaps.length;
    found.push({
      median: middle(gaps),
      script: (after.script - before.script) / count,
      layout: (after.layout - before.layout) / count,
    });
  }
  const of = (name) => middle(found.map((one) => one[name]));
  return { median_ms: of("median"), script_ms: of("script"), layout_ms: of("layout") };
}

const first_paint_ms = await firstPaint();
mock.events = anHour();
mock.play(mock.events.length);
const { page, debug } = await opened("live/live");
await debug.send("Performance.enable");
await page.locator(`[aria-label="IOPS"][aria-valuemax="${seconds / every - 1}"]`).waitFor({ timeout: 120_000 });
const scrolling = await frames(page, debug, async () => {
  for (let turn = 0; turn < 40; turn += 1) await page.mouse.wheel(0, turn < 20 ? 60 : -60);
});
const chart = page.getByRole("slider", { name: "IOPS", exact: true });
await chart.scrollIntoViewIfNeeded();
const box = await chart.boundingBox();
const zooming = await frames(page, debug, async () => {
  await page.mouse.move(box.x + box.width * 0.3, box.y + 80);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.8, box.y + 80, { steps: 30 });
  await page.mouse.up();
  await chart.dblclick();
});
await browser.close();
await mock.close();
console.log(JSON.stringify({ first_paint_ms, scrolling, zooming }));
