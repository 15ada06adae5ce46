// Light or dark, as the reader's system has it, and whether the page goes to paper, which is always light.

const preference = matchMedia("(prefers-color-scheme: dark)");
const state = $state({ isDark: preference.matches, isOnPaper: false });

preference.addEventListener("change", () => (state.isDark = preference.matches));
addEventListener("beforeprint", () => Object.assign(state, { isDark: false, isOnPaper: true }));
addEventListener("afterprint", () => Object.assign(state, { isDark: preference.matches, isOnPaper: false }));

/** Whether charts are drawn for a dark page. */
export function isDark(): boolean {
  return state.isDark;
}

/** Whether charts are drawn for paper. */
export function isOnPaper(): boolean {
  return state.isOnPaper;
}
