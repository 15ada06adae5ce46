// What tests of pages on a server that a test plays begin and end with: for each test a server of its own, `mock`, at
// `address`; contexts of the browser are closed behind it.
import { after, afterEach, before, beforeEach, launch, needsPages, open as opened } from "./browser.js";
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
