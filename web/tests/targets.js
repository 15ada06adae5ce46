// The live page of streams on several targets, on a server that a test plays: rows per target, per stream and target, and
// of the kernel's counters, in all looks.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, fits, isAccessible, launch, looks, open as opened, shots, test } from "./browser.js";
import { Mock } from "./mock.js";

let browser, mock, address;
before(async () => {
  browser = await launch();
  mock = new Mock();
  address = await mock.listen();
});
after(async () => {
  await browser?.close();
  await mock?.close();
});

test("streams on several targets have a row for each of them", async () => {
  const span = (iops, mean_ns, errors) => ({
    start_s: 1, end_s: 2, operations: iops, errors, iops, bytes_per_s: 4096 * iops, mean_ns, max_ns: 9 * mean_ns,
  });
  const of = (target, streams, iops, mean_ns, errors = 0) => ({
    target, streams, without: [], without_count: 0,
    last: span(iops, mean_ns, errors), since: span(2 * iops, mean_ns, errors),
  });
  const [fast, slow] = ["/mnt/fast/a-database-of-some-length.dat", "/mnt/slow/another-database-of-some-length.dat"];
  mock.events = mock.events.flatMap((event) => {
    if (event.event === "step_started") {
      const [reads, log] = event.streams;
      return [{ ...event, streams: [{ ...reads, targets: [fast, slow], target_count: 2 }, { ...log, targets: [slow] }] }];
    }
    const parts = [of(fast, [0], 700, 210_000), of(slow, [0], 300, 4_200_000, 12)];
    // Another stream goes to the second, too, and is not counted by target.
    const targets = [parts[0], { ...of(slow, [0, 1], 800, 3_100_000, 12), without: [1], without_count: 500 }];
    return event.event === "figures" ? [event, { event: "targets", step: 0, parts, targets }] : [event];
  });
  mock.play(9);
  for (const look of looks) {
    const isOurs = (url) => url.startsWith(address) || url.startsWith("data:");
    const { page, context, complaints } = await opened(browser, `${address}#/live/live`, look, isOurs);
    await page.getByLabel("Rows").selectOption("part");
    const rows = (label) => page.getByRole("region", { name: label, exact: true }).locator("tbody tr").allInnerTexts();
    await page.getByRole("columnheader", { name: "target", exact: true }).waitFor();
    const parts = await rows("a row per stream and target");
    assert.deepEqual(
      parts.map((text) => text.split("\t").slice(0, 4)),
      [
        ["reads", fast, "700", "2.87 MB/s"],
        ["reads", slow, "300", "1.23 MB/s"],
        ["log", slow, "500", "2.05 MB/s"],
      ],
    );
    await page.screenshot({ path: join(shots, `app-live-parts-${look.name}.png`), fullPage: true });
    await page.getByLabel("Rows").selectOption("target");
    await page.getByText("Each operation is counted for its target.").waitFor();
    // A target that a stream shares with others has no percentiles: there are no columns for them.
    assert.deepEqual(await page.getByRole("region", { name: "a row per target" }).getByRole("columnheader").allInnerTexts(),
      ["target", "IOPS", "bandwidth", "mean", "max", "errors"]);
    assert.deepEqual((await rows("a row per target")).map((text) => text.split("\t").slice(0, 2)), [
      [fast, "700"],
      [`${slow} (without log and 499 more)`, "800"],
    ]);
    await page.getByLabel("Gauges show").selectOption("since");
    await page.getByRole("cell", { name: "1.4k" }).waitFor();
    await fits(page, look.name);
    await page.screenshot({ path: join(shots, `app-live-targets-${look.name}.png`), fullPage: true });
    if (look.width >= 1280) await isAccessible(page, look.name);
    await page.getByLabel("Rows").selectOption("device");
    await page.getByRole("region", { name: "a row per device (the kernel's own counters)" }).waitFor();
    await page.screenshot({ path: join(shots, `app-live-devices-${look.name}.png`), fullPage: true });
    assert.deepEqual(complaints, [], look.name);
    await context.close();
  }
});
