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

/** Part of the window up to which what stands before the plan leaves the plan itself in sight. */
const beforeMost = 0.5;

/**
 * Brings the plan that has just come into view, below the bar of its buttons, and gives its heading the focus; without a
 * plan that of its faults.
 */
export async function goOnAtPlan(area: HTMLElement | undefined): Promise<void> {
  await tick();
  const [first, plan] = [area?.querySelector("h2"), area?.querySelector<HTMLElement>("h2.plan")];
  const heading = plan ?? first;
  if (!heading || !first) return;
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const before = heading.getBoundingClientRect().top - first.getBoundingClientRect().top;
  const upper = before < innerHeight * beforeMost ? first : heading;
  heading.focus({ preventScroll: true });
  upper.scrollIntoView({ block: "start", behavior: isStill ? "auto" : "smooth" });
}

/** What is shown has changed by itself: whoever was on what is gone goes on at the heading, and nobody else is moved. */
export async function goOnFrom(had: Element | null): Promise<void> {
  await tick();
  if (had && !had.isConnected) goOnAtHeading();
}
