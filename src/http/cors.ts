import type { FastifyReply, FastifyRequest } from "fastify";

/**
 * CORS (Fetch Standard, section 3.2) for paths that any web page may call: each request authenticates itself by a stamp, and
 * a browser adds nothing to it by itself.
 */
export function allowAnyOrigin(reply: FastifyReply): void {
  reply.header("access-control-allow-origin", "*").header("access-control-expose-headers", "retry-after, x-request-id");
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
    .header("vary", "access-control-request-headers")
    .headers(asked === undefined ? {} : { "access-control-allow-headers": asked })
    .send();
}
