// How many steps the run has that was begun last in this browser: its plan tells that before the start, and no event does
// afterwards. Of runs that were begun elsewhere it is not known.

const key = "fathom.live.steps";

/** `steps` is null of a search, whose number nobody knows. */
export function rememberSteps(run: string, steps: number | null): void {
  try {
    localStorage.setItem(key, JSON.stringify({ run, steps }));
  } catch {
    // A browser that keeps nothing tells which step it is, and not of how many.
  }
}

export function stepsOf(run: string): number | null {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "null") as { run?: unknown; steps?: unknown } | null;
    return found?.run === run && typeof found.steps === "number" ? found.steps : null;
  } catch {
    return null;
  }
}
