import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What the console is built from, in one digest: a build says which it was made of. Plain JavaScript, for any Node. */

const root = fileURLToPath(new URL("..", import.meta.url));

/** The file of a build that holds the digest. */
export const BUILT_FROM = "built-from.txt";

/** The declarations are among them: the console has types of activities from them, and what documents them. */
const PLACES = [
  "console/index.html",
  "console/src",
  "console/frames",
  "src/policy",
  "src/kernel",
  "src/capabilities",
  "src/engine/declare.ts",
  "src/http/openapi.ts",
  "scripts/build-console.ts",
  "scripts/console-operations.ts",
  "package-lock.json",
];

export const digestOfSources = () => digestOf(PLACES);

export function digestOf(places) {
  const digest = createHash("sha256");
  for (const place of places) {
    for (const file of filesOf(place)) digest.update(`${file}\n`).update(readFileSync(join(root, file)));
  }
  return digest.digest("hex");
}

/** Whether the build that is there, if any, is one of these sources. */
export function isBuilt() {
  return isBuiltFrom("console/dist", digestOfSources);
}

export function isBuiltFrom(place, digest) {
  try {
    return readFileSync(join(root, place, BUILT_FROM), "utf8").trim() === digest();
  } catch {
    return false;
  }
}

function filesOf(place) {
  if (/\.[a-z]+$/.test(place)) return [place];
  return readdirSync(join(root, place), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(gen|test)\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length))
    .sort();
}
