import type { FastifyReply, FastifyRequest } from "fastify";

const EXPOSED = { "access-control-expose-headers": "retry-after, x-request-id" };

/** Headers of an answer that any web page may read. */
export const OPEN_TO_ALL = { "access-control-allow-origin": "*", ...EXPOSED };

/**
 * CORS (Fetch Standard, section 3.2). Any web page may send requests that a stamp authenticates, because a browser does not add credentials
 * to them: `*`. On other paths the header names the page's own origin, if there is one, and the route decides.
 */
export function allowOrigin(reply: FastifyReply, origin: string | undefined): void {
  if (origin === "*") {
    reply.headers(OPEN_TO_ALL);
    return;
  }
  if (origin !== undefined) reply.header("access-control-allow-origin", origin);
  reply.headers({ vary: "origin", ...EXPOSED });
}

/** Whether a browser asks what a page may send (section 3.2.2). Such a request has no body and no stamp. */
export const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

const PREFLIGHT_MAX_AGE_SECONDS = 86_400;

/** Any header is allowed. Those that the server does not read do no harm. */
export function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const asked = headers["access-control-request-headers"];
  return reply
    .code(204)
    .header("access-control-allow-methods", "GET, POST")
    .header("access-control-max-age", PREFLIGHT_MAX_AGE_SECONDS)
    .header("vary", "origin, access-control-request-headers")
    .headers(asked === undefined ? {} : { "access-control-allow-headers": asked })
    .send();
}
