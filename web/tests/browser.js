// What the tests of pages share: the browser, where pages and screenshots lie, how a page is judged, and how long a test may
// take before it counts as standing still.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { loadavg } from "node:os";
import { dirname, join, resolve } from "node:path";
import * as node from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
/** Made by `cargo test -p fathom-report --test pages`. */
export const pages = join(target, "tmp/pages");
/** For a person to look at. */
export const shots = process.env.FATHOM_SCREENSHOTS ?? join(target, "screenshots");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

assert.ok(executablePath, "no Chromium; install the package chromium");
mkdirSync(shots, { recursive: true });

/** What tests of stored runs begin with. */
export function needsPages() {
  assert.ok(existsSync(join(pages, "steady.html")), `no pages in ${pages}; run: cargo test -p fathom-report --test pages`);
}

/** Seconds that one test may take, and one thing that is awaited within it. The longest takes a tenth on an idle machine. */
const limits = { test: 240, wait: 90 };

/** What `work` comes to, or an error that says what stood still. */
export async function bounded(what, work, limit = limits.wait) {
  let timer;
  const late = new Promise((_, fail) => {
    const load = loadavg()[0].toFixed(1);
    const told = () =>
      `${what} stood still: it was not over after ${limit} s (load average ${load}, now ${loadavg()[0].toFixed(1)})`;
    timer = setTimeout(() => fail(new Error(told())), limit * 1000);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

export const test = (name, work) => node.test(name, (t) => bounded(`the test "${name}"`, () => work(t), limits.test));

/** What goes on around tests has the same bound; where it stands still nothing after it can be told, so that all ends. */
const around = (name) => (work) =>
  node[name](() =>
    bounded(`what is done ${name === "after" || name === "afterEach" ? "after" : "before"} a test`, work, limits.test).catch(
      (error) => {
        console.error(error);
        process.exit(1);
      },
    ),
  );
export const before = around("before");
export const after = around("after");
export const beforeEach = around("beforeEach");
export const afterEach = around("afterEach");

export const launch = () => chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });

export const looks = [
  { name: "light", width: 1280, colorScheme: "light" },
  { name: "dark", width: 1280, colorScheme: "dark" },
  { name: "phone", width: 380, colorScheme: "light" },
  { name: "phone-dark", width: 380, colorScheme: "dark" },
];

/**
 * Opens an address; what its page complains of is collected. `allowed` says which requests are none of its faults.
 */
export async function open(browser, url, look, allowed) {
  const { width = 1280, height = 900, colorScheme = "light", javaScriptEnabled = true, locale = "en-GB" } = look;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    javaScriptEnabled,
    locale,
    bypassCSP: false,
  });
  if (look.before) await context.addInitScript(look.before);
  context.setDefaultTimeout(limits.wait * 1000);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => {
    // That canvases are read is the tests' own doing.
    const isOurs = message.text().includes("willReadFrequently");
    if (["error", "warning"].includes(message.type()) && !isOurs) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!allowed(request.url())) complaints.push(`asked for ${request.url()}`);
  });
  await page.goto(url);
  return { context, page, complaints };
}

/**
 * Has what a page asks for at such addresses go to `handler` from now on. Chromium says that it does so a moment before
 * the page that is shown does, and of requests that followed at once one of two thousand went past it. So the page asks
 * for what is fulfilled here until that is.
 */
export async function intercept(page, addresses, handler, options) {
  const shown = "/api/v1/session?intercepted";
  const fulfil = (route) => route.fulfill({ status: 204 });
  await page.route(addresses, handler, options);
  await page.route(`**${shown}`, fulfil);
  const isIntercepted = () => page.evaluate(async (shown) => (await fetch(shown)).status === 204, shown);
  await bounded("a page whose requests are intercepted", async () => {
    while (!(await isIntercepted()));
  });
  await page.unroute(`**${shown}`, fulfil);
}

/** Per canvas, how many of its points are drawn on. */
export function inked(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll("canvas")].map((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let at = 3; at < data.length; at += 4) if (data[at] > 0) count += 1;
      return count;
    }),
  );
}

/** Fails where a page is wider than its window. */
export async function fits(page, of) {
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${of}: ${overflow} px wider than the window`);
}

/** Fails where axe finds something serious. */
export async function isAccessible(page, of) {
  // By the debugger's way, which a page's policy against foreign scripts does not forbid.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const grave = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  const told = grave.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .map((node) => node.html)
        .slice(0, 3)
        .join(" ")}`,
  );
  assert.deepEqual(told, [], of);
}
