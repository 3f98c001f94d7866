import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** What is in a tarball of npm, and what is not the same in two of them. */

/** By its path in the package, the SHA-256 of each file. */
export type PackedFiles = ReadonlyMap<string, string>;

/** Unpacks a tarball into a folder that is made for it; everything in it is below `package/`. */
export function unpack(tarball: string, folder: string): string {
  mkdirSync(folder);
  execFileSync("tar", ["-xzf", tarball, "-C", folder]);
  return join(folder, "package");
}

export function filesIn(folder: string): PackedFiles {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map(({ parentPath, name }) => relative(folder, join(parentPath, name))).sort();
  return new Map(paths.map((path) => [path, sha256Of(readFileSync(join(folder, path)))]));
}

/** Paths that one of the two lacks, or that do not have the same bytes in both. */
export const differences = (one: PackedFiles, other: PackedFiles): string[] =>
  [...new Set([...one.keys(), ...other.keys()])].filter((path) => one.get(path) !== other.get(path)).sort();

export const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
