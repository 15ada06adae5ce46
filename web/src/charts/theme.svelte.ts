// Light or dark, as the reader's system has it; paper is always light.

const preference = matchMedia("(prefers-color-scheme: dark)");
const state = $state({ isDark: preference.matches });

preference.addEventListener("change", () => (state.isDark = preference.matches));
addEventListener("beforeprint", () => (state.isDark = false));
addEventListener("afterprint", () => (state.isDark = preference.matches));

/** Whether charts are drawn for a dark page. */
export function isDark(): boolean {
  return state.isDark;
}
