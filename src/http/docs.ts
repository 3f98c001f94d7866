import { type FastifyInstance, fastify } from "fastify";
import { sendJson } from "./wire.ts";

const OPENAPI_PATH = "/openapi.json";

/** Everything on the page comes from this server; nothing is fetched from or reported to others. */
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

/** `/openapi.json`, and `/docs`, which shows it. */
export function addDocs(app: FastifyInstance, makeDocument: () => Record<string, unknown>): void {
  // Made when first asked for: it names the URL of this server, which is known only once it listens.
  let text: string | undefined;
  app.get(OPENAPI_PATH, (_request, reply) => {
    text ??= JSON.stringify(makeDocument());
    return sendJson(reply, 200, text);
  });

  // Loaded with the first visit: the page's script is large, and most servers never show it.
  let pages: Promise<FastifyInstance> | undefined;
  app.get("/docs", (_request, reply) => reply.redirect("/docs/", 302));
  app.get("/docs/*", async (request, reply) => {
    pages ??= loadPages();
    const page = await (await pages).inject({ method: "GET", url: request.url });
    return reply
      .code(page.statusCode)
      .header("content-type", page.headers["content-type"])
      .header("content-security-policy", CONTENT_SECURITY_POLICY)
      .send(page.rawPayload);
  });
}

async function loadPages(): Promise<FastifyInstance> {
  const { default: scalar } = await import("@scalar/fastify-api-reference");
  const pages = fastify();
  await pages.register(scalar, { routePrefix: "/docs", configuration });
  return pages;
}

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'";
