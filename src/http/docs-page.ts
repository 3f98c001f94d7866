import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fastify } from "fastify";

/** The page that shows the OpenAPI document, and its script, both by Scalar. */
export interface DocsPage {
  html: Buffer;
  script: Buffer;
}

/** The path from which the page loads the document. */
export const OPENAPI_PATH = "/openapi.json";

/** Everything on the page comes from this server. Nothing is loaded from or reported to others. */
const configuration = {
  url: OPENAPI_PATH,
  pageTitle: "Keystead API",
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: "never",
} as const;

/** The script's path below `/docs/`. It is named after its content, so that a browser may cache it permanently. */
export const scriptPath = (script: Buffer): string =>
  `js/scalar-${createHash("sha256").update(script).digest("hex").slice(0, 32)}.js`;

/** Where a build puts the page, next to this file. An installed server needs none of the packages that build it. */
export const DOCS_PAGE_FILES = { folder: "docs-page", html: "index.html", script: "scalar.js" } as const;

export async function loadDocsPage(): Promise<DocsPage> {
  const { folder, html, script } = DOCS_PAGE_FILES;
  const built = new URL(`./${folder}/`, import.meta.url);
  if (!existsSync(built)) return renderDocsPage();
  return { html: await readFile(new URL(html, built)), script: await readFile(new URL(script, built)) };
}

export async function renderDocsPage(): Promise<DocsPage> {
  const { default: scalar } = await import("@scalar/fastify-api-reference");
  const render = async (url: string, cdn: string): Promise<Buffer> => {
    const site = fastify();
    await site.register(scalar, { routePrefix: "/docs", configuration: { ...configuration, cdn } });
    return (await site.inject({ method: "GET", url })).rawPayload;
  };
  const script = await render("/docs/js/scalar.js", "");
  return { html: await render("/docs/", scriptPath(script)), script };
}
