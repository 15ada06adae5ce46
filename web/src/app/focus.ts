// Where whoever uses the keyboard goes on when what had the focus is gone.

import { tick } from "svelte";

/** Gives the focus to the heading of the page, unless something has it. */
export function goOnAtHeading(): void {
  if (document.activeElement !== document.body) return;
  const main = document.getElementById("content");
  const heading = main?.querySelector("h1");
  heading?.setAttribute("tabindex", "-1");
  (heading ?? main)?.focus();
}

/** What is shown has changed by itself: whoever was on what is gone goes on at the heading, and nobody else is moved. */
export async function goOnFrom(had: Element | null): Promise<void> {
  await tick();
  if (had && !had.isConnected) goOnAtHeading();
}
