// By what the items of a list are told apart while a page changes: two of one key end the page. What others gave a name
// (tags, streams, findings, runs) may be there twice, so that only what is distinct by itself is a key.

import { expect, test } from "vitest";

const pages = import.meta.glob<string>(["../**/*.svelte"], { query: "?raw", import: "default", eager: true });

/** Lists of our own, and names that the sections of a job have: its text cannot have two of one name. */
const own = [
  /^Object\.(entries|values)\(/,
  /^\[/,
  /^(links|titles|ofTarget|columns|allGauges|gauges|tests|figures|builtIns)$/,
  /^by === "device" \? deviceColumns : columns$/,
  /^(targets|form\.streams)$/,
  // Live's three charts, called in our words.
  /^specs$/,
];

test("what others name is no key of a list", () => {
  const wrong = Object.entries(pages).flatMap(([path, text]) =>
    [...text.matchAll(/\{#each (.+?) as (?:const as )?(.+?) \(([^()]+)\)\}/g)].flatMap(([, list, items, key]) => {
      const place = items?.split(",").at(-1)?.trim();
      const isPlace = /^\w+$/.test(place ?? "") && key === place && (items ?? "").includes(",");
      // Runs are counted in these, where there are several files of one.
      const isCounted = key === "keys[at]";
      return isPlace || isCounted || own.some((pattern) => pattern.test(list ?? "")) ? [] : [`${path}: ${list} by ${key}`];
    }),
  );
  expect(Object.keys(pages).length).toBeGreaterThan(15);
  expect(wrong).toEqual([]);
});
