// No component has words of its own: what people read is in strings.ts, so that a translation is one file more.

/// <reference types="vite/client" />
import { parse } from "svelte/compiler";
import { expect, test } from "vitest";

const components = import.meta.glob<string>("./**/*.svelte", { query: "?raw", import: "default", eager: true });

/** What people read or hear of an element beside what it contains. */
const told = new Set(["title", "aria-label", "aria-description", "aria-valuetext", "placeholder", "alt", "label"]);
/** Names that are the same in every language. */
const names = new Set(["fathom", "JSON", "CSV"]);

interface Node {
  type?: string;
  name?: string;
  data?: string;
  value?: unknown;
  [key: string]: unknown;
}

/** Words in texts and in what is told of elements. */
function wordsOf(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(wordsOf);
  if (typeof node !== "object" || node === null) return [];
  const { type, name = "", data = "", value } = node as Node;
  if (type === "Comment" || type === "StyleDirective") return [];
  if (type === "Text") return /\p{L}{2,}/u.test(data) ? [data.trim()] : [];
  if (type === "Attribute" && !told.has(name)) return [];
  // A text within a script or a binding is no text of the page; one within a template of words is.
  if (type === "ExpressionTag") return literals((node as Node).expression);
  if (type === "Attribute") return wordsOf(value);
  return Object.entries(node)
    .filter(([key]) => !["metadata", "expression", "context", "test", "start", "end", "key"].includes(key))
    .flatMap(([, child]) => wordsOf(child));
}

/** Texts that an expression gives as they are. */
function literals(node: unknown): string[] {
  if (typeof node !== "object" || node === null) return [];
  const { type, value, quasis, consequent, alternate } = node as Node & { quasis?: { value: { cooked: string } }[] };
  const all = [
    ...(type === "Literal" && typeof value === "string" ? [value] : []),
    ...(type === "TemplateLiteral" ? (quasis ?? []).map((one) => one.value.cooked) : []),
  ];
  const deeper = type === "ConditionalExpression" ? [...literals(consequent), ...literals(alternate)] : [];
  return [...all.filter((text) => /\p{L}{2,}/u.test(text)), ...deeper];
}

const wordsIn = (source: string) => wordsOf(parse(source, { modern: true }).fragment);

test("no component has words of its own", () => {
  expect(Object.keys(components).length).toBeGreaterThan(15);
  for (const [path, source] of Object.entries(components)) {
    const own = wordsIn(source).flatMap((text) => text.split(/[^\p{L}]+/u));
    expect(
      own.filter((word) => word.length > 1 && !names.has(word)),
      path,
    ).toEqual([]);
  }
});

test("words are found wherever they could stand", () => {
  for (const source of [
    "<p>Hello there</p>",
    '<button title="Press me">{x}</button>',
    '<input aria-label="{x} of it" />',
    '<input placeholder={"A word"} />',
    '<p>{x ? "yes indeed" : y}</p>',
    "{#if x}<p>Nested</p>{:else}{#each y as z}<b>words</b>{/each}{/if}",
    "{#snippet s()}<i>Hidden</i>{/snippet}",
  ])
    expect(wordsIn(source), source).not.toEqual([]);
  const link = "<!-- A remark --><a href='#/runs' rel=\"next\">{x}</a>";
  for (const source of ["<p class='row'>{words.x}</p>", link, "<b>· →</b>"])
    expect(wordsIn(source), source).toEqual([]);
});
