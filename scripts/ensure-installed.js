// Runs before `npm start` and `npm test` under whatever Node is there: installs what package-lock.json says, once.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const read = (path) => {
  try {
    return JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), "utf8"));
  } catch {
    return undefined;
  }
};

/**
 * npm leaves a copy of the lock file with what it installed; each package of ours must stand there in its version. An optional
 * one may be for another platform and missing.
 */
function isInstalled() {
  const wanted = read("package-lock.json")?.packages ?? {};
  const present = read("node_modules/.package-lock.json")?.packages;
  if (!present) return false;
  const differs = ([path, { version, optional }]) => {
    if (path === "" || (optional && !present[path])) return false;
    return present[path]?.version !== version;
  };
  return !Object.entries(wanted).some(differs);
}

if (!isInstalled()) {
  process.stderr.write("Installing dependencies (npm ci) ...\n");
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { stdio: "inherit" });
  process.exit(status ?? 1);
}
