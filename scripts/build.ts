import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DOCS_PAGE_FILES, renderDocsPage } from "../src/http/docs-page.ts";
import { buildConsole } from "./build-console.ts";
import { buildHandbook, isHandbookBuilt } from "./build-handbook.ts";
import { licensesOf } from "./licenses.ts";
import { buildProgram } from "./program.ts";
import { sbomOfCheckout } from "./sbom.ts";

/** `npm run build`: what an installed package runs. Everything in `dist` is made anew: nothing of an older build is packed. */

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true });
await buildProgram(dist);

const folder = join(dist, "http", DOCS_PAGE_FILES.folder);
const { html, script } = await renderDocsPage();
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, DOCS_PAGE_FILES.html), html);
writeFileSync(join(folder, DOCS_PAGE_FILES.script), script);
await buildConsole();
// It takes the longest, and says what it was made of.
if (!isHandbookBuilt()) await buildHandbook();
const sbom = sbomOfCheckout();
writeFileSync(join(dist, "sbom.cdx.json"), `${JSON.stringify(sbom, null, 2)}\n`);
writeFileSync(join(dist, "third-party-licenses.txt"), licensesOf(sbom));
