// What tests of pages on a server that a test plays begin and end with: for each test a server of its own, `mock`, at
// `address`; contexts of the browser are closed behind it.
import { after, afterEach, before, beforeEach, bounded, intercept, launch, needsPages, open as opened } from "./browser.js";
import { Mock } from "./mock.js";

needsPages();
export let mock, address;
let browser;
const contexts = [];
before(async () => (browser = await launch()));
after(() => browser?.close());
beforeEach(async () => {
  address = await (mock = new Mock()).listen();
});
afterEach(async () => {
  for (const context of contexts.splice(0)) await context.close();
  await mock.close();
});

/** Opens the page at `path` with this look; whatever else than the server it asks for fails the test. */
export async function open(path, look = {}, query = "") {
  const isOurs = (url) => url.startsWith(address) || url.startsWith("data:");
  const found = await opened(browser, `${address}${query}#/${path}`, look, isOurs);
  contexts.push(found.context);
  return found;
}

/** Keeps back what a page asks for at such addresses by this method, until a test lets it go, in any order. */
export async function held(page, addresses, method = "POST") {
  const waiting = [];
  let told = () => undefined;
  await intercept(page, addresses, (route) => {
    if (route.request().method() !== method) return route.fallback();
    waiting.push(route);
    told();
  });
  return {
    /** The next one, once it is asked for. */
    async next() {
      if (waiting.length === 0) await bounded(`a request of ${addresses}`, () => new Promise((done) => (told = done)));
      return waiting.shift();
    },
    /** Those that were asked for and not taken. */
    waiting,
  };
}

/**
 * Waits until the page has done what an answer that it has got makes it do, as far as its server sees that. A browser
 * without a window may owe a frame for ever where nothing has to be drawn: what a page does within frames alone is not
 * waited for longer than it takes to show one.
 */
export async function settled(page) {
  const turns = async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      await page.evaluate(async () => {
        await (await fetch("/api/v1/session")).text();
        const frame = new Promise(requestAnimationFrame);
        await Promise.race([frame, new Promise((done) => setTimeout(done, 1000))]);
      });
    }
  };
  await bounded("a page that settles", turns);
}
