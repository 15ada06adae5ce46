// Builds both bundles into dist/ (or the folder given), with the hash that lets a report's script run and the hashes of the
// sources it was built from: the project builds without Node, and a test tells when what is there is stale.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const out = resolve(process.argv[2] ?? join(root, "dist"));

/** All that the bundles depend on, as paths from web/. */
function sources() {
  const found = ["index.html", "package.json", "package-lock.json", "svelte.config.js", "tsconfig.json", "vite.config.js"];
  const walk = (folder) => {
    for (const name of readdirSync(join(root, folder))) {
      const path = `${folder}/${name}`;
      if (statSync(join(root, path)).isDirectory()) walk(path);
      else if (!name.endsWith(".test.ts") && !name.endsWith(".fixture.json")) found.push(path);
    }
  };
  walk("src");
  return found.concat("scripts/build.js").sort();
}

const sha256 = (content, encoding) => createHash("sha256").update(content).digest(encoding);

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
process.chdir(root);
for (const mode of ["report", "app"]) await build({ mode, logLevel: "warn", build: { outDir: out } });

/** What both bundles contain. */
const drawing = ["uplot/LICENSE", "svelte/LICENSE.md"];

/** The notices of the libraries that a bundle contains, as a comment. */
function notices(licences) {
  const texts = licences.map((path) => {
    const text = readFileSync(join(root, "node_modules", path), "utf8").trim();
    return `${path.split("/")[0]}:\n${text}`;
  });
  return `/*! Contains, under their licences:\n\n${texts.join("\n\n")}\n*/\n`;
}

for (const name of readdirSync(join(out, "assets")).filter((name) => name.endsWith(".js") && !name.startsWith("relay"))) {
  const path = join(out, "assets", name);
  writeFileSync(path, notices([...drawing, "smol-toml/LICENSE"]) + readFileSync(path, "utf8"));
}
const script = notices(drawing) + readFileSync(join(out, "report.js"), "utf8");
writeFileSync(join(out, "report.js"), script);
// Inside a script element the first would end it; the second after a comment's beginning, which Svelte has in its texts,
// would keep it from ending (HTML standard, 4.12.1.3).
for (const sign of ["</script", "<script"]) {
  if (script.toLowerCase().includes(sign)) throw new Error(`report.js contains ${sign}`);
}
writeFileSync(join(out, "report.js.sha256"), `${sha256(script, "base64")}\n`);
const sums = sources().map((path) => `${sha256(readFileSync(join(root, path)), "hex")}  ${path}\n`);
writeFileSync(join(out, "SOURCES.sha256"), sums.join(""));
