import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";

/**
 * Packages of hundreds of small modules, put together into few (docs/adr/0120-packages-put-together-for-tests.md): most of what a
 * process costs before its first test is finding and linking modules of others.
 */
const PACKAGES =
  /^(@noble\/(curves|hashes)|@scure\/[^/]+|@solana\/kit|@turnkey\/[^/]+|ethers|jose|kysely|typebox|viem)(\/|$)/;

const root = fileURLToPath(new URL("../..", import.meta.url));
/** As an installed Node finds them: the order is that of each package's own list. */
const CONDITIONS = ["node", "import", "module-sync", "node-addons", "default"];
const IMPORTED = /(?:^(?:import|export)\s+(?!type\b)(?:[^;"]*?\sfrom\s+)?|import\()"([^".][^"]*)"/gm;

/**
 * Puts them together, unless that was done with these very packages and imports.
 *
 * @returns by the URL of a module, that of the one that stands in for it
 */
export async function packagesTogether(): Promise<Record<string, string>> {
  const imported = importedPackages();
  const lock = readFileSync(join(root, "node_modules/.package-lock.json"));
  const how = readFileSync(import.meta.filename);
  const digest = createHash("sha256")
    .update(lock)
    .update(how)
    // The map names them by where they lie, which a copy of the whole folder does not change.
    .update([process.version, root, ...imported].join())
    .digest("hex");
  const folder = join(root, "node_modules/.cache/keystead-packages", digest.slice(0, 16));
  await putInPlace(folder, (unfinished) => writePackages(imported, unfinished, folder));
  return JSON.parse(readFileSync(join(folder, "map.json"), "utf8"));
}

/** The option that has a Node process load what a map in this file names in place of what is installed. */
export function loadedBy(map: string): string {
  const hooks = new URL("use-packages.js", import.meta.url);
  hooks.search = encodeURIComponent(map);
  return `--import=${hooks.href}`;
}

/** No run takes so long. */
const LEFT_BEHIND_MS = 3_600_000;

/** Has a folder written beside its place and moved there, unless there is one; others may do the same meanwhile. */
export async function putInPlace(folder: string, write: (unfinished: string) => Promise<void>): Promise<void> {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  mkdirSync(parent, { recursive: true });
  removeOlder(parent, folder, "unfinished-*");
  const unfinished = mkdtempSync(join(parent, "unfinished-"));
  // Some tests run what is in it under another name.
  chmodSync(unfinished, 0o755);
  try {
    await write(unfinished);
    renameSync(unfinished, folder);
  } catch (error) {
    // Another run was faster.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** What runs that were killed, or that had other sources, have left in a folder. */
export function removeOlder(parent: string, except: string, names = "*"): void {
  for (const name of globSync(names, { cwd: parent })) {
    const path = join(parent, name);
    const begun = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (path !== except && begun < Date.now() - LEFT_BEHIND_MS) rmSync(path, { recursive: true, force: true });
  }
}

function importedPackages(): string[] {
  const files = globSync(["src/**/*.ts", "test/**/*.ts"], { cwd: root, exclude: ["test/vectors/**"] });
  const texts = files.map((file) => readFileSync(join(root, file), "utf8"));
  const found = texts.flatMap((text) => [...text.matchAll(IMPORTED)].map(([, name = ""]) => name));
  return [...new Set(found.filter((name) => PACKAGES.test(name)))].sort();
}

/** Modules of CommonJS stay where they are: `require` and `import` share one of each. */
async function writePackages(imported: readonly string[], into: string, folder: string): Promise<void> {
  const files = imported.flatMap((name) => {
    const file = fileOf(name);
    return file !== undefined && isModule(file) ? [file] : [];
  });
  const names = new Map([...new Set(files)].map((file, index) => [file, `package-${index}`]));
  const bundle = await rolldown({
    input: Object.fromEntries([...names].map(([file, name]) => [name, file])),
    platform: "node",
    logLevel: "silent",
    resolve: { conditionNames: CONDITIONS, mainFields: ["main"] },
    plugins: [
      {
        name: "commonjs-stays",
        async resolveId(id, importer, options) {
          const resolved = await this.resolve(id, importer, { ...options, skipSelf: true });
          if (!resolved || resolved.external || isModule(resolved.id)) return resolved;
          return resolved.id.startsWith("/") ? { id: resolved.id, external: "absolute" } : resolved;
        },
      },
    ],
  });
  await bundle.write({ dir: into, format: "esm", chunkFileNames: "part-[hash].js", keepNames: true });
  await bundle.close();
  const urlOf = (name: string) => pathToFileURL(join(folder, `${name}.js`)).href;
  const map = Object.fromEntries([...names].map(([file, name]) => [pathToFileURL(file).href, urlOf(name)]));
  writeFileSync(join(into, "package.json"), '{"type":"module"}\n');
  writeFileSync(join(into, "map.json"), JSON.stringify(map));
}

/** Undefined for what is not installed: some that make vectors are asked for by hand. */
function fileOf(name: string): string | undefined {
  try {
    const url = import.meta.resolve(name);
    return url.startsWith("file:") ? fileURLToPath(url) : undefined;
  } catch {
    return undefined;
  }
}

const types = new Map<string, boolean>();

function isModule(file: string): boolean {
  if (file.endsWith(".mjs")) return true;
  if (!file.endsWith(".js")) return false;
  const inFolder = types.get(dirname(file));
  if (inFolder !== undefined) return inFolder;
  const description = findPackageJSON(pathToFileURL(file));
  const is = description !== undefined && JSON.parse(readFileSync(description, "utf8")).type === "module";
  types.set(dirname(file), is);
  return is;
}
