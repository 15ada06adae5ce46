// What this browser knows of the run that it began last.

import { afterEach, expect, test, vi } from "vitest";
import { rememberSteps, stepsOf } from "./planned";

afterEach(() => vi.unstubAllGlobals());

/** A store of a browser that keeps texts, or one that keeps nothing. */
function store(isOpen = true): void {
  const kept = new Map<string, string>();
  const refused = () => {
    throw new DOMException("full");
  };
  const getItem = (key: string) => kept.get(key) ?? null;
  const setItem = isOpen ? (key: string, value: string) => void kept.set(key, value) : refused;
  vi.stubGlobal("localStorage", { getItem, setItem });
}

test("the number of steps is known of the run that was begun last", () => {
  store();
  expect(stepsOf("a")).toBeNull();
  rememberSteps("a", 4);
  expect([stepsOf("a"), stepsOf("b")]).toEqual([4, null]);
  // Nobody knows how many a search will have.
  rememberSteps("b", null);
  expect([stepsOf("a"), stepsOf("b")]).toEqual([null, null]);
  localStorage.setItem("fathom.live.steps", "no JSON");
  expect(stepsOf("a")).toBeNull();
});

test("a browser that keeps nothing knows nothing, and says nothing of it", () => {
  store(false);
  rememberSteps("a", 4);
  expect(stepsOf("a")).toBeNull();
});
