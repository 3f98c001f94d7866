import type { FastifyReply, FastifyRequest } from "fastify";

const EXPOSED = { "access-control-expose-headers": "retry-after, x-request-id" };

/** What an answer says that any web page may read. */
export const OPEN_TO_ALL = { "access-control-allow-origin": "*", ...EXPOSED };

/**
 * CORS (Fetch Standard, section 3.2). Any web page may call what authenticates itself by a stamp, since a browser adds nothing to
 * it by itself: `*`. Elsewhere the page's own origin is named, if there is one, and whoever answers decides.
 */
export function allowOrigin(reply: FastifyReply, origin: string | undefined): void {
  if (origin === "*") {
    reply.headers(OPEN_TO_ALL);
    return;
  }
  if (origin !== undefined) reply.header("access-control-allow-origin", origin);
  reply.headers({ vary: "origin", ...EXPOSED });
}

/** Whether a browser asks what it may send (section 3.2.2); such a request has no body and no stamp. */
export const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

const PREFLIGHT_MAX_AGE_SECONDS = 86_400;

/** Any header may be sent: those that are not looked at do no harm. */
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
