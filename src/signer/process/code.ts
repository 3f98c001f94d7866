import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { DescribeResponse } from "../protocol.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const EXTENSION = extname(import.meta.filename);
/** The layers that the signer consists of; it imports from no other. */
const LAYERS = ["chains", "crypto", "kernel", "signer"];
/** The bundle of these layers and the packages that they import. */
const BUILT = "signer/process/main.js";

/**
 * The signer's own files and a digest over them: the bundle, which includes packages, or in a clone the sources without packages. Native
 * modules and Node.js itself are not included. The digest is over lines of the form `<sha256>  <path>`, so that `sha256sum` gives the same
 * result.
 */
export function describeCode(): Pick<DescribeResponse, "version" | "nodeVersion" | "files" | "codeDigest"> {
  const paths = EXTENSION === ".ts" ? LAYERS.flatMap(sourceFilesOf).sort() : [BUILT];
  const files = paths.map((path) => ({ path, sha256: sha256(readFileSync(join(ROOT, path))) }));
  const { version } = JSON.parse(readFileSync(join(ROOT, "..", "package.json"), "utf8")) as { version: string };
  return { version, nodeVersion: process.version, files, codeDigest: codeDigestOf(files) };
}

/** The digest over a list of files, in the order given. */
export const codeDigestOf = (files: DescribeResponse["files"]): string =>
  sha256(Buffer.from(files.map(({ path, sha256 }) => `${sha256}  ${path}\n`).join("")));

/** Paths relative to the sources, with slashes. Tests are not included, because they do not run in the signer. */
function sourceFilesOf(layer: string): string[] {
  const names = readdirSync(join(ROOT, layer), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => extname(name) === EXTENSION && !name.endsWith(`.test${EXTENSION}`) && !name.endsWith(".d.ts"))
    .map((name) => `${layer}/${name.replaceAll("\\", "/")}`);
}

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
