import { fail } from "../kernel/errors.ts";
import { contentSecurityPolicy, ownScripts } from "./content-security-policy.ts";
import { loadDocsPage, OPENAPI_PATH, scriptPath } from "./docs-page.ts";
import { once } from "./once.ts";
import type { RequestHead, Route, RouteAnswer } from "./route.ts";
import { type StaticFile, staticFile } from "./static-file.ts";
import { JSON_CONTENT_TYPE } from "./wire.ts";

/** `/openapi.json`, and `/docs`, which displays it. */
export function docsRoutes(makeDocument: () => Promise<Record<string, unknown>>): Route[] {
  // Built at the first request: the document contains the server's URL, which is known only once it listens. The page's script is large,
  // and most servers never show it.
  const document = once(async () =>
    staticFile(Buffer.from(JSON.stringify(await makeDocument())), {
      "content-type": JSON_CONTENT_TYPE,
      "cache-control": "no-cache",
    }),
  );
  const docs = once(loadDocs);
  return [
    route(OPENAPI_PATH, async (head) => (await document()).answer(head)),
    route("/docs", () => ({ status: 302, headers: { location: "/docs/" }, body: "" })),
    route("/docs/", async (head) => (await docs()).page.answer(head)),
    route("/docs/js/*", async (head) => {
      const { script, scriptUrl } = await docs();
      if (head.path === scriptUrl) return script.answer(head);
      return fail("ROUTE_NOT_FOUND", { method: "GET", path: "/docs/js/*" });
    }),
  ];
}

const route = (path: string, answer: (head: RequestHead) => RouteAnswer | Promise<RouteAnswer>): Route => ({
  method: "GET",
  path,
  accept: (head) => () => answer(head),
});

interface Docs {
  page: StaticFile;
  script: StaticFile;
  scriptUrl: string;
}

async function loadDocs(): Promise<Docs> {
  const { html, script } = await loadDocsPage();
  const page = await staticFile(html, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
    "content-security-policy": contentSecurityPolicy({
      "script-src": ownScripts(html.toString()),
      "style-src": "'unsafe-inline'",
      "img-src": "'self' data: blob:",
      "font-src": "'self' data:",
    }),
  });
  const kept = await staticFile(script, {
    "content-type": "text/javascript; charset=utf-8",
    "cache-control": "public, max-age=31536000, immutable",
  });
  return { page, script: kept, scriptUrl: `/docs/${scriptPath(script)}` };
}
