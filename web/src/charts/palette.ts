// Colours of charts. Lines after Okabe and Ito ("Color Universal Design", 2008), darkened or lightened until each has a
// contrast of 3:1 to its background (WCAG 1.4.11); the dashes tell them apart without any colour. The heat map follows
// cividis (Nuñez et al., 2018), which reads the same with every kind of colour vision.

export interface Palette {
  page: string;
  text: string;
  quiet: string;
  grid: string;
  shade: string;
  lines: readonly string[];
  heat: readonly string[];
}

const light: Palette = {
  page: "#ffffff",
  text: "#1b2430",
  quiet: "#55606e",
  grid: "#e3e7ec",
  shade: "rgba(85, 96, 110, 0.10)",
  lines: ["#0060a8", "#c04a00", "#007a58", "#a8478a", "#2b87c4", "#9a6a00", "#4b3fa0", "#6b6f00", "#8c2f39"],
  heat: ["#f4ecb8", "#e8d36a", "#cfbb5c", "#b0a16c", "#918a77", "#737478", "#575d6d", "#35456c", "#00224e"],
};

const dark: Palette = {
  page: "#10151c",
  text: "#e6ebf2",
  quiet: "#a3b0c0",
  grid: "#2a3340",
  shade: "rgba(163, 176, 192, 0.13)",
  lines: ["#62b5f2", "#f58b4c", "#35c79b", "#e39ac9", "#9ad0f5", "#e9b949", "#b1a6ff", "#c8cc4f", "#ff9aa2"],
  heat: ["#12305f", "#2f456b", "#4c566d", "#666970", "#7f7c75", "#9a9172", "#bcae66", "#dccb5b", "#fee838"],
};

/** Dashes of lines in CSS pixels, solid first: as many as eight streams and their sum take. */
export const dashes: readonly number[][] = [
  [],
  [7, 4],
  [2, 3],
  [10, 3, 2, 3],
  [5, 2],
  [1, 4],
  [12, 4],
  [4, 2, 1, 2],
  [10, 2, 2, 2, 2, 2],
];

export function palette(isDark: boolean): Palette {
  return isDark ? dark : light;
}
