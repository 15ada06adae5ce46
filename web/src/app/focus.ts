// Where whoever uses the keyboard goes on when what had the focus is gone.

/** Gives the focus to the heading of the page, unless something has it. */
export function goOnAtHeading(): void {
  if (document.activeElement !== document.body) return;
  const main = document.getElementById("content");
  const heading = main?.querySelector("h1");
  heading?.setAttribute("tabindex", "-1");
  (heading ?? main)?.focus();
}
