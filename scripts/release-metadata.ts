/**
 * What the metadata of a package must be before anybody can install it, and what is left to whoever publishes it: that is not known
 * here, and nothing is made up for it.
 */

export interface Manifest {
  name?: string;
  version?: string;
  description?: string;
  license?: string;
  private?: boolean;
  type?: string;
  engines?: { node?: string };
  bin?: Record<string, string>;
  exports?: Record<string, string>;
  files?: string[];
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  repository?: string | { type?: string; url?: string };
  publishConfig?: { access?: string; provenance?: boolean };
}

/** A package as it was packed. */
export interface Packed {
  manifest: Manifest;
  /** Paths below the package's own folder. */
  files: ReadonlySet<string>;
  /** The text of a file that is in it. */
  read: (path: string) => string;
}

/** Semantic Versioning 2.0.0, without metadata of a build, which npm takes away. */
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;
const EXACT = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;
/** npm packs these whatever `files` says. */
const ALWAYS_PACKED = /^(package\.json|README\.md|LICENSE)$/;
/** What a checkout may have lying about, and sources that the package runs without. */
const NEVER_PACKED =
  /(^|\/)(\.env|node_modules)(\/|$)|\.(key|pem|db|db-wal|sqlite|tgz|log)$|^(src|test|bench|console\/src)\//;

/** What is wrong with a package, each in one sentence; empty where nothing is. */
export function metadataProblems({ manifest, files, read }: Packed): string[] {
  const problems: string[] = [];
  const require = (holds: boolean, problem: string) => void (holds || problems.push(problem));
  const {
    name = "",
    version = "",
    license,
    engines,
    bin = {},
    exports = {},
    dependencies,
    optionalDependencies,
  } = manifest;
  require(/^[a-z0-9][a-z0-9._-]{0,213}$/.test(name), `name is ${JSON.stringify(name)}`);
  require(VERSION.test(version), `version is ${JSON.stringify(version)}, which is not Semantic Versioning`);
  require((manifest.description ?? "") !== "", "description is missing");
  require(license === "Apache-2.0", `license is ${JSON.stringify(license)}`);
  require(files.has("LICENSE") &&
    /Apache License\s+Version 2\.0/.test(read("LICENSE")), "LICENSE is not the text of the license that is named");
  require(engines?.node !== undefined, "engines.node is missing");
  require(manifest.type === "module", "type is not module");
  require(Object.keys(bin).length > 0, "bin names no command");
  for (const path of Object.values(bin)) {
    require(files.has(path) && read(path).startsWith("#!/usr/bin/env node\n"), `bin: ${path} is no script for Node`);
  }
  for (const path of Object.values(exports))
    require(files.has(path.replace(/^\.\//, "")), `exports: ${path} is missing`);
  const roots = manifest.files ?? [];
  const isBelow = (path: string, root: string) => path === root || path.startsWith(`${root}/`);
  for (const root of roots) require([...files].some((path) => isBelow(path, root)), `files: ${root} is missing`);
  for (const path of files) {
    require(ALWAYS_PACKED.test(path) || roots.some((root) => isBelow(path, root)), `${path} is in no folder of files`);
    require(!NEVER_PACKED.test(path), `${path} must not be packed`);
  }
  for (const [each, range] of Object.entries({ ...dependencies, ...optionalDependencies })) {
    require(EXACT.test(range), `dependencies: ${each} is ${range}, which is no single version`);
  }
  const { access, provenance } = manifest.publishConfig ?? {};
  require(access === "public" && provenance === true, "publishConfig does not ask for public access with provenance");
  problems.push(...sbomProblems({ manifest, files, read }));
  return problems;
}

const SBOM = "dist/sbom.cdx.json";

interface CycloneDx {
  bomFormat?: string;
  specVersion?: string;
  metadata?: { component?: { name?: string; version?: string } };
  components?: { name: string; version: string; hashes?: unknown[] }[];
}

/** The bill is this version's, and has every direct dependency as it is pinned. */
function sbomProblems({ manifest, files, read }: Packed): string[] {
  if (!files.has(SBOM)) return [`${SBOM} is missing`];
  const { bomFormat, specVersion, metadata, components = [] } = JSON.parse(read(SBOM)) as CycloneDx;
  const own = metadata?.component;
  const listed = new Set(components.map(({ name, version }) => `${name}@${version}`));
  const direct = Object.entries({ ...manifest.dependencies, ...manifest.optionalDependencies });
  return [
    ...(bomFormat === "CycloneDX" && specVersion === "1.6" ? [] : [`${SBOM} is not CycloneDX 1.6`]),
    ...(own?.name === manifest.name && own?.version === manifest.version
      ? []
      : [`${SBOM} is of ${own?.name} ${own?.version}`]),
    ...direct.filter((entry) => !listed.has(entry.join("@"))).map((entry) => `${SBOM} lacks ${entry.join("@")}`),
    ...components
      .filter(({ hashes = [] }) => hashes.length === 0)
      .map(({ name }) => `${SBOM} has no digest of ${name}`),
  ];
}

/** What only a publisher can fill in, each with how; empty where the package can be published. */
export function openPoints({ manifest, read }: Pick<Packed, "manifest" | "read">): string[] {
  const { version = "", repository } = manifest;
  const url = typeof repository === "string" ? repository : repository?.url;
  const points: string[] = [];
  if (!url) {
    points.push(
      'package.json has no `repository`: fill in `{ "type": "git", "url": … }` of the repository that the release is built from; npm refuses provenance for any other',
    );
  }
  if (manifest.private === true)
    points.push("package.json has `private: true`, by which npm publishes nothing: take it out");
  if (!hasEntry(read("CHANGELOG.md"), version)) {
    points.push(`CHANGELOG.md has no entry \`## [${version}] - <date>\`: give what is under Unreleased that heading`);
  }
  return points;
}

/** An entry has a date, and says something. */
function hasEntry(changelog: string, version: string): boolean {
  const sections = changelog.split(/^## /m).slice(1);
  const entry = sections.find((section) => section.startsWith(`[${version}] - `));
  return entry !== undefined && /^\[[^\]]+\] - \d{4}-\d{2}-\d{2}\n[\s\S]*^- /m.test(entry);
}
