import { createHash } from "node:crypto";
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildProgram, SPAWNED } from "../../scripts/program.ts";
import { putInPlace, removeOlder } from "./packages.ts";

/**
 * The program as it is shipped, in a folder as npm installs it, for tests that run it as processes: they test what users run, and it
 * starts in a third of the time (docs/adr/0153-the-program-in-few-files.md).
 */

const root = fileURLToPath(new URL("../..", import.meta.url));
const CACHE = join(root, "node_modules/.cache/keystead-program");
/** In the package beside what is built of `src`. */
const BESIDE = ["console", "deploy", "docs", "handbook"];

export interface BuiltProgram {
  /** Its `bin/keystead.js`. */
  keystead: string;
  /** Of what servers start, those in a process of tests as well: by the URL of a main module's source, that of what was built of it. */
  spawned: Record<string, string>;
}

/** Builds it, unless that was done of these very sources and packages. */
export async function builtProgram(): Promise<BuiltProgram> {
  const folder = join(CACHE, digestOfSources());
  await putInPlace(folder, writeProgram);
  const now = Date.now() / 1000;
  utimesSync(folder, now, now);
  removeOlder(CACHE, folder);
  const urlOf = (path: string) => pathToFileURL(path).href;
  const spawned = SPAWNED.map((main) => [urlOf(join(root, `src/${main}.ts`)), urlOf(join(folder, `dist/${main}.js`))]);
  return { keystead: join(folder, "bin/keystead.js"), spawned: Object.fromEntries(spawned) };
}

function digestOfSources(): string {
  const hash = createHash("sha256");
  const files = globSync("src/**/*.ts", { cwd: root }).filter((file) => !file.endsWith(".test.ts"));
  const others = ["bin/keystead.js", "package.json", "scripts/program.ts", "node_modules/.package-lock.json"];
  for (const file of [...files.sort(), ...others]) hash.update(`${file}\0`).update(readFileSync(join(root, file)));
  return hash
    .update(readFileSync(import.meta.filename))
    .update(root)
    .digest("hex")
    .slice(0, 16);
}

async function writeProgram(unfinished: string): Promise<void> {
  await buildProgram(join(unfinished, "dist"));
  mkdirSync(join(unfinished, "bin"));
  for (const file of ["bin/keystead.js", "package.json"]) cpSync(join(root, file), join(unfinished, file));
  for (const name of BESIDE) symlinkSync(join(root, name), join(unfinished, name));
}
