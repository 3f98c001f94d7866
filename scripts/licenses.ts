import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { builtInto, type Sbom } from "./sbom.ts";

/** What others' licenses ask for where their code is passed on within ours: their texts, and the notices beside them. */

const root = fileURLToPath(new URL("..", import.meta.url));
const TEXTS = /^(licen[cs]e|copying|notice)([.-].*)?$/i;

interface Description {
  name: string;
  version: string;
  license?: unknown;
}

/** Of every package that is built in; one that comes without a text is named with the license that it declares. */
export function licensesOf(sbom: Sbom): string {
  const packages = builtInto(sbom).filter((path) => existsSync(join(root, path)));
  const byText = Map.groupBy(packages, textOf);
  const sections = [...byText].map(([text, paths]) => `${[...new Set(paths.map(nameOf))].join("\n")}\n\n${text}\n`);
  return sections.join(`\n${"-".repeat(80)}\n\n`);
}

const descriptionOf = (path: string): Description => JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));

function nameOf(path: string): string {
  const { name, version } = descriptionOf(path);
  return `${name} ${version}`;
}

function textOf(path: string): string {
  const files = readdirSync(join(root, path), { withFileTypes: true });
  const texts = files
    .filter((entry) => entry.isFile() && TEXTS.test(entry.name))
    .map(({ name }) =>
      readFileSync(join(root, path, name), "utf8")
        .replaceAll("\r\n", "\n")
        .trim(),
    );
  if (texts.length > 0) return texts.sort().join("\n\n");
  const { license } = descriptionOf(path);
  return `License: ${typeof license === "string" ? license : "not declared"}`;
}
