// Two bundles from one code base, chosen by mode: `report` (one script and one style sheet, which `fathom report` puts into
// the file it writes) and `app` (the pages of `fathom serve`).
import { defineConfig } from "vite";
import { svelte } from "@sveltejs/vite-plugin-svelte";

export default defineConfig(({ mode }) => ({
  plugins: [svelte()],
  // The browsers of 2022 and later.
  build: {
    target: ["chrome105", "firefox105", "safari16"],
    emptyOutDir: false,
    reportCompressedSize: false,
    outDir: "dist",
    ...(mode === "app"
      ? { assetsInlineLimit: 0, modulePreload: false }
      : {
          lib: {
            entry: "src/report/main.ts",
            formats: ["iife"],
            name: "fathomReport",
            fileName: () => "report.js",
            cssFileName: "report",
          },
        }),
  },
  // The tests read the project's example jobs.
  server: { fs: { allow: [".."] } },
  test: { include: ["src/**/*.test.ts"] },
}));
