import { execFileSync } from "node:child_process";
import { readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { temporaryFolder } from "./server-process.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MIGRATIONS = "src/storage/migrations";
/** Commits between merges that belong together may not run. */
const MAX_CANDIDATES = 16;

const git = (...args: string[]): Buffer =>
  execFileSync("git", args, { cwd: ROOT, stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1024 ** 3 });

/**
 * The commits before the newest migration came, the last one first: versions that have other tables. None where the history does not
 * reach so far back, as in a shallow clone or an archive.
 */
export function earlierVersions(): string[] {
  const newest = readdirSync(join(ROOT, MIGRATIONS))
    .filter((name) => /^\d{4}-/.test(name))
    .sort()
    .at(-1);
  const file = `${MIGRATIONS}/${newest}`;
  try {
    const additions = [
      "log",
      "-1",
      "--format=%H",
      "--first-parent",
      "-m",
      "--no-renames",
      "--diff-filter=A",
      "--",
      file,
    ];
    // One that is not committed yet is newer than all that is.
    const isCommitted = git("ls-tree", "HEAD", "--", file).length > 0;
    const last = isCommitted
      ? `${git(...additions)
          .toString()
          .trim()}^`
      : "HEAD";
    const versions = git("rev-list", "--first-parent", "-n", String(MAX_CANDIDATES), last).toString();
    return versions.trim().split("\n");
  } catch {
    return [];
  }
}

const migrationsOf = (version: string): string[] =>
  git("ls-tree", "--name-only", version, `${MIGRATIONS}/`)
    .toString()
    .split("\n")
    .filter((path) => /\/\d{4}-/.test(path));

/** The program of the first of these versions that is whole, on the packages of this one. Resolves to its `bin/keystead.js`. */
export function checkOut(versions: readonly string[]): string {
  const problems: string[] = [];
  for (const version of versions) {
    if (migrationsOf(version).some((name) => !migrationsOf("HEAD").includes(name))) {
      problems.push(`${version}: has a migration that got another name since, before anybody had it`);
      continue;
    }
    const folder = temporaryFolder();
    const archive = git("archive", "--format=tar", version, "bin", "src", "console", "package.json");
    execFileSync("tar", ["-x", "-C", folder], { input: archive });
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    try {
      const server = pathToFileURL(join(folder, "src/main/serve.ts")).href;
      execFileSync(process.execPath, ["--input-type=module", "-e", `await import("${server}")`], { stdio: "pipe" });
      return join(folder, "bin/keystead.js");
    } catch (error) {
      problems.push(`${version}: ${(error as Error).message}`);
    }
  }
  throw new Error(`none of the versions before the newest migration is whole: ${problems.join("; ")}`);
}
