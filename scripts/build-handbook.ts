import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vitepress";
import { BUILT_FROM, digestOf, isBuiltFrom } from "./console-sources.js";
import { referencePages } from "./handbook/references.ts";
import { moveInto } from "./move-into.ts";

/**
 * `npm run docs`: the handbook as the server serves it, in `handbook/dist`. The Markdown of `docs/` is gathered in a folder of its own with
 * the references that are made from the declarations, and the site is put in its place whole.
 */

const root = fileURLToPath(new URL("../handbook", import.meta.url));
const docs = fileURLToPath(new URL("../docs", import.meta.url));
const place = join(root, "dist");

/** The references have something from each. */
const PLACES = [
  "docs",
  "handbook/chapters.ts",
  "handbook/code-classes.ts",
  "handbook/config.ts",
  "handbook/links.ts",
  "handbook/theme",
  "scripts/build-handbook.ts",
  "scripts/handbook",
  "src",
  "package-lock.json",
];
const digest = (): string => digestOf(PLACES);

/** Whether the handbook that is there, if any, is one of these sources. */
export const isHandbookBuilt = (): boolean => isBuiltFrom("handbook/dist", digest);

export async function buildHandbook(): Promise<void> {
  const builtFrom = digest();
  const work = join(root, `dist.${process.pid}`);
  const [source, site] = [join(work, "source"), join(work, "site")];
  try {
    await gather(source);
    await build(source, { outDir: site });
    writeFileSync(join(site, BUILT_FROM), `${builtFrom}\n`);
    moveInto(place, site, isHandbookBuilt);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function gather(source: string): Promise<void> {
  cpSync(docs, source, { recursive: true, filter: (path) => !path.startsWith(join(docs, "examples")) });
  renameSync(join(source, "adr", "README.md"), join(source, "adr", "index.md"));
  for (const [path, text] of await referencePages()) write(join(source, path), text);
  const { pathname } = new URL("../handbook/", import.meta.url);
  write(
    join(source, ".vitepress", "config.ts"),
    `import { configFor } from "${pathname}config.ts";\nexport default configFor(${JSON.stringify(source)});\n`,
  );
  write(
    join(source, ".vitepress", "theme", "index.ts"),
    `export { theme as default } from "${pathname}theme/index.ts";\n`,
  );
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

if (import.meta.main) {
  await buildHandbook();
  process.stdout.write(`built: ${place}\n`);
}
