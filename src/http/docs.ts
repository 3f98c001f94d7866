import type { FastifyInstance } from "fastify";
import { DOCS_PATH, type DocsPage, loadDocsPage, OPENAPI_PATH, SCRIPT_PATH } from "./docs-page.ts";
import { sendJson } from "./wire.ts";

/** `/openapi.json`, and `/docs`, which shows it. */
export function addDocs(app: FastifyInstance, makeDocument: () => Record<string, unknown>): void {
  // Made when first asked for: it names the URL of this server, which is known only once it listens.
  let text: string | undefined;
  app.get(OPENAPI_PATH, (_request, reply) => {
    text ??= JSON.stringify(makeDocument());
    return sendJson(reply, 200, text);
  });

  // Loaded with the first visit: the page's script is large, and most servers never show it.
  let page: Promise<DocsPage> | undefined;
  const show = (path: string, part: keyof DocsPage, type: string) =>
    app.get(path, async (_request, reply) => {
      page ??= loadDocsPage();
      const { [part]: bytes } = await page;
      return reply
        .header("content-type", `${type}; charset=utf-8`)
        .header("content-security-policy", CONTENT_SECURITY_POLICY)
        .send(bytes);
    });
  app.get(DOCS_PATH, (_request, reply) => reply.redirect(`${DOCS_PATH}/`, 302));
  show(`${DOCS_PATH}/`, "html", "text/html");
  show(SCRIPT_PATH, "script", "application/javascript");
}

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'";
