import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** The product's sources, for tests that read them. Files are named by their path below `src`. */

const SOURCE = join(import.meta.dirname, "../../src");

/** Those in some folders, or all; tests are none. */
export const sourceFiles = (...folders: string[]): string[] =>
  (folders.length === 0 ? [""] : folders)
    .flatMap((folder) => readdirSync(join(SOURCE, folder), { withFileTypes: true, recursive: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.name.endsWith(".test.ts"))
    .map((entry) => relative(SOURCE, join(entry.parentPath, entry.name)))
    .sort();

export const readSource = (file: string): string => readFileSync(join(SOURCE, file), "utf8");

export const withoutComments = (source: string): string => source.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, "");
