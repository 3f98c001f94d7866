import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { temporaryFolder } from "./server-process.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MIGRATIONS = "src/storage/migrations";
/** Commits between merges that belong together may not run. */
const MAX_CANDIDATES = 16;

/** A clone may belong to another user than the one who runs its tests. */
const gitOf = (root: string, ...args: string[]): Buffer =>
  execFileSync("git", ["-c", "safe.directory=*", ...args], { cwd: root, stdio: "pipe", maxBuffer: 1024 ** 3 });

const git = (...args: string[]): Buffer => gitOf(ROOT, ...args);

/**
 * The commits before the newest migration came, the last one first: versions that have other tables. None where the history does not
 * reach so far back, as in a shallow clone, or where there is none, as in an archive or without git.
 *
 * @param root of the project
 * @throws what git says, where there is a history and it cannot be read
 */
export function earlierVersions(root: string = ROOT): string[] {
  if (!existsSync(join(root, ".git")) || !hasGit()) return [];
  const newest = readdirSync(join(root, MIGRATIONS))
    .filter((name) => /^\d{4}-/.test(name))
    .sort()
    .at(-1);
  const last = commitBefore(root, `${MIGRATIONS}/${newest}`);
  if (last === undefined) return [];
  const versions = gitOf(root, "rev-list", "--first-parent", "-n", String(MAX_CANDIDATES), last).toString();
  return versions.trim().split("\n");
}

/** Undefined where the history begins with the file. */
function commitBefore(root: string, file: string): string | undefined {
  // One that is not committed yet is newer than all that is.
  if (gitOf(root, "ls-tree", "HEAD", "--", file).length === 0) return "HEAD";
  const how = ["-1", "--first-parent", "-m", "--no-renames", "--diff-filter=A", "--format=%H %P"];
  const [added, parent] = gitOf(root, "log", ...how, "--", file)
    .toString()
    .trim()
    .split(" ");
  if (!added) throw new Error(`git does not tell which commit added ${file}`);
  return parent;
}

function hasGit(): boolean {
  try {
    execFileSync("git", ["--version"], { stdio: "ignore" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
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
