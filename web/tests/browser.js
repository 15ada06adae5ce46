// What the tests of pages share: the browser, where pages and screenshots lie, and how a page is judged.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
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

assert.ok(existsSync(join(pages, "steady.html")), `no pages in ${pages}; run: cargo test -p fathom-report --test pages`);
assert.ok(executablePath, "no Chromium; install the package chromium");
mkdirSync(shots, { recursive: true });

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
  const { width = 1280, height = 900, colorScheme = "light", javaScriptEnabled = true } = look;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, javaScriptEnabled, locale: "en-GB", bypassCSP: false });
  if (look.before) await context.addInitScript(look.before);
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
  const told = grave.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
  assert.deepEqual(told, [], of);
}
