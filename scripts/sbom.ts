import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The bill of materials of the package, as CycloneDX 1.6: what npm installs with it, and what the build puts into the program and the
 * pages. It is made of the lock file and the imports of sources alone, so that the same sources give the same bytes.
 */

export interface LockedPackage {
  version: string;
  license?: string;
  /** Base64 after the name of the algorithm. */
  integrity?: string;
  optional?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

interface Lock {
  packages: Record<string, LockedPackage>;
}

export interface Component {
  type: "application" | "library";
  "bom-ref": string;
  name: string;
  version: string;
  purl: string;
  scope?: "required" | "optional";
  licenses?: { expression: string }[];
  hashes?: { alg: string; content: string }[];
  properties?: { name: string; value: string }[];
}

export interface Sbom {
  bomFormat: "CycloneDX";
  specVersion: "1.6";
  serialNumber: string;
  version: 1;
  metadata: { component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** The property that tells whether npm installs it, or a build has put it in. */
const PART = "keystead:part";

/** What the docs page is made of; it comes built. */
const DOCS_PAGE = "@scalar/fastify-api-reference";

/** @throws Error for a dependency that the lock file does not have */
export function sbomOf(lock: Lock, builtIn: readonly string[]): Sbom {
  const { packages } = lock;
  const own = packages[""] as LockedPackage & { name: string };
  const needed = [...Object.keys(own.dependencies ?? {}), ...Object.keys(own.optionalDependencies ?? {})];
  const installed = closureOf(packages, needed);
  const built = closureOf(packages, builtIn);
  const root: Component = { ...componentOf(own.name, own, "application") };
  const paths = [...new Set([...installed.keys(), ...built.keys()])].sort();
  const components = paths.map((path) => {
    const locked = packages[path] as LockedPackage;
    const part = installed.has(path) ? "installed" : "built in";
    return {
      ...componentOf(nameOf(path), locked, "library", path),
      scope: locked.optional ? ("optional" as const) : ("required" as const),
      properties: [{ name: PART, value: part }],
    };
  });
  const refs = (from: readonly string[]) => from.map((path) => refOf(path, packages[path] as LockedPackage)).sort();
  const top = [...needed, ...builtIn].map((name) => resolved(packages, "", name)).filter((path) => path !== undefined);
  const dependencies = [
    { ref: root["bom-ref"], dependsOn: [...new Set(refs(top))] },
    ...paths.map((path) => ({
      ref: refOf(path, packages[path] as LockedPackage),
      dependsOn: refs(installed.get(path) ?? built.get(path) ?? []),
    })),
  ];
  const text = JSON.stringify([root, components, dependencies]);
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: serialOf(text),
    version: 1,
    metadata: { component: root },
    components,
    dependencies,
  };
}

/** Places of packages, below the root, that a build has put in. */
export const builtInto = ({ components }: Sbom): string[] =>
  components
    .filter(({ properties = [] }) => properties.some(({ name, value }) => name === PART && value === "built in"))
    .map(({ "bom-ref": ref }) => ref.slice(0, ref.lastIndexOf("@")));

/** By its place in the lock file, every package that is reached, with the places of what it depends on. */
function closureOf(packages: Lock["packages"], names: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const follow = (from: string, all: Record<string, string> | undefined, mayLack: boolean): string[] =>
    Object.keys(all ?? {}).flatMap((name) => {
      const path = resolved(packages, from, name);
      if (path === undefined && !mayLack) throw new Error(`the lock file has no ${name} for ${from || "the package"}`);
      return path ?? [];
    });
  const waiting = follow("", Object.fromEntries(names.map((name) => [name, ""])), false);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    const { dependencies, optionalDependencies = {} } = packages[path] as LockedPackage;
    const certain = Object.entries(dependencies ?? {}).filter(([name]) => !Object.hasOwn(optionalDependencies, name));
    const next = [...follow(path, Object.fromEntries(certain), false), ...follow(path, optionalDependencies, true)];
    found.set(path, next);
    waiting.push(...next);
  }
  return found;
}

/** As Node looks for packages: in the folder of who asks, and then in those above. */
function resolved(packages: Lock["packages"], from: string, name: string): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("node_modules/") - 1))) {
    const path = `${at === "" ? "" : `${at}/`}node_modules/${name}`;
    if (Object.hasOwn(packages, path)) return path;
    if (at === "") return undefined;
  }
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);

/** Two places may hold the same package; each is a component of its own. */
const refOf = (path: string, { version }: LockedPackage): string => `${path}@${version}`;

function componentOf(name: string, locked: LockedPackage, type: Component["type"], path = name): Component {
  const { version, license, integrity } = locked;
  return {
    type,
    "bom-ref": refOf(path, locked),
    name,
    version,
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
    ...(integrity === undefined ? {} : { hashes: [hashOf(integrity)] }),
  };
}

function hashOf(integrity: string): { alg: string; content: string } {
  const [algorithm = "", digest = ""] = integrity.split("-");
  return { alg: algorithm.replace(/^sha/, "SHA-"), content: Buffer.from(digest, "base64").toString("hex") };
}

/** Of the same contents the same, in the form of a UUID of version 8 (RFC 9562), which is made of what one likes. */
function serialOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return `urn:uuid:${parts.join("-")}`;
}

const root = fileURLToPath(new URL("..", import.meta.url));

/** Of this checkout. */
export function sbomOfCheckout(): Sbom {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
  const own = lock.packages[""] as LockedPackage;
  const imported = ["console", "src"].flatMap((folder) => [...importsIn(join(root, folder))]);
  const builtIn = imported.filter(
    (name) => Object.hasOwn(lock.packages, `node_modules/${name}`) && !Object.hasOwn(own.dependencies ?? {}, name),
  );
  return sbomOf(lock, [...new Set([...builtIn, DOCS_PAGE])].sort());
}

/** Names of packages in the imports of sources. */
function importsIn(folder: string): Set<string> {
  const found = new Set<string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const isSource = entry.isFile() && /\.(tsx?|css)$/.test(entry.name) && !/\.test\./.test(entry.name);
    if (!isSource || /(^|\/)(dist|node_modules)(\/|$)/.test(entry.parentPath.slice(folder.length))) continue;
    const text = readFileSync(join(entry.parentPath, entry.name), "utf8");
    for (const [, name] of text.matchAll(
      /(?:from|import|createRequire\(import\.meta\.url\))\s*\(?\s*"((?:@[\w.-]+\/)?[\w-][\w.-]*)(?:\/[^"]*)?"/g,
    )) {
      found.add(name as string);
    }
  }
  return found;
}
