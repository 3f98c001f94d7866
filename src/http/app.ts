import type { Socket } from "node:net";
import { fastifyCors } from "@fastify/cors";
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from "fastify";
import type { Engine } from "../engine/engine.ts";
import { credentialKinds } from "../engine/identity/credential-kinds.ts";
import type { Operation } from "../engine/operations.ts";
import { pathOf } from "../engine/registry.ts";
import { fail, KeysteadError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { Cidr } from "../kernel/ip-address.ts";
import { printable } from "../kernel/json.ts";
import { MAX_BODY_BYTES, MAX_HEADER_BYTES } from "../kernel/limits.ts";
import type { Logger } from "../kernel/log.ts";
import { addDocs } from "./docs.ts";
import type { Metrics } from "./metrics.ts";
import { type OpenApiInfo, openApiDocument } from "./openapi.ts";
import { type RemoteAddressOf, remoteAddressBehind } from "./remote-address.ts";
import { renderError } from "./render-error.ts";
import { activityTimesFor, JSON_CONTENT_TYPE, renderAnswer, sendJson } from "./wire.ts";

/** What the parts of the service say of themselves. */
export interface Readiness {
  database: "ready" | "unavailable";
  signer: "ready" | "sealed" | "failed";
}

export interface AppOptions {
  engine: Engine;
  log: Logger;
  metrics: Metrics;
  readiness: () => Promise<Readiness>;
  /** The keys that webhook deliveries are signed with. */
  webhookKeySet: () => Promise<unknown>;
  /** The installation's public keys by purpose, in the form that the SDKs take in place of those they know. */
  serviceKeys: () => Promise<Record<string, unknown>>;
  /** Proxies whose word on where a request came from is taken. */
  trustedProxies: readonly Cidr[];
  /** For the OpenAPI document and the well-known page. */
  info: OpenApiInfo;
  /** Told of each answer before it is sent; tests check them against their schemas. */
  onAnswer?: (operation: Operation, body: string) => void;
}

const REQUEST_TIMEOUT_MS = 30_000;

/** The public listener: every operation of the registry, documentation, and what operators probe. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { engine, log } = options;
  let draining = false;
  const app: FastifyInstance = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // Every line of ours names its request; a logger for each request would cost more than the line.
    childLoggerFactory: (logger) => logger,
    genReqId: newId,
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { maxHeaderSize: MAX_HEADER_BYTES },
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequest,
    routerOptions: { maxParamLength: 200 },
  });
  app.addHook("preClose", async () => {
    draining = true;
    // Requests that are open now were promised a connection to keep; after their answers it only holds up the end.
    app.server.keepAliveTimeout = 1;
    app.server.keepAliveTimeoutBuffer = 0;
  });
  app.addHook("onRequest", async (_request, reply) => {
    if (!draining) return;
    reply.header("connection", "close");
    fail("SHUTTING_DOWN", {});
  });
  // Stamps authenticate every request by themselves, so any page may send one.
  await app.register(fastifyCors, { origin: "*", methods: ["POST", "GET"], maxAge: 86_400 });

  // The stamp is over the exact bytes, whatever content type the client claims, or none.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));

  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const { method } = request;
    const path = printable(request.url.split("?")[0] ?? "");
    return sendError(new KeysteadError("ROUTE_NOT_FOUND", { method, path }, []), request, reply);
  });

  const addressOf = remoteAddressBehind(options.trustedProxies);
  // The line of a request holds nothing that a client wrote but an address that was parsed: there is nothing to redact.
  const answering = { ...options, log: log.child({}, { redact: [] }), addressOf };
  for (const operation of engine.registry.operations) {
    app.post(pathOf(operation), (request, reply) => answer(operation, request, reply, answering));
  }
  addPublicPages(app, options);
  addDocs(app, () => openApiDocument(engine.registry, options.info));
  return app;
}

async function answer(
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  { engine, log, metrics, onAnswer, addressOf }: AppOptions & { addressOf: RemoteAddressOf },
): Promise<FastifyReply> {
  const start = performance.now();
  let status = 200;
  try {
    const { headers } = request;
    const answer = await engine.handle(operation, {
      stamps: Object.fromEntries(credentialKinds.map(({ header }) => [header, headerOf(headers[header])])),
      body: (request.body as Buffer | undefined) ?? Buffer.alloc(0),
      remoteAddress: addressOf(request.socket.remoteAddress, headerOf(headers["x-forwarded-for"])),
    });
    const body = renderAnswer(answer, activityTimesFor(headers));
    onAnswer?.(operation, body);
    return sendJson(reply, status, body);
  } catch (error) {
    status = sendError(error, request, reply).statusCode;
    if (error instanceof KeysteadError && error.code === "IP_NOT_ALLOWED") {
      log.warn({ requestId: request.id, reason: error.message }, "refused by an IP allowlist");
    }
    return reply;
  } finally {
    const ms = performance.now() - start;
    metrics.observe(operation.path, status, ms / 1000);
    log.info({ requestId: request.id, operation: operation.path, status, ms: Math.round(ms * 100) / 100 }, "request");
  }
}

// Node joins repeated headers with a comma; that is no stamp of either kind.
const headerOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(", ") : value;

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, body, isOurs } = renderError(error, request.id);
  if (isOurs) request.log.error({ requestId: request.id, err: error }, body.message);
  return sendJson(reply.header("x-request-id", request.id), status, JSON.stringify(body));
}

/** Requests that are not HTTP, or whose headers are over the limit: nothing in them can be believed, the stamp least. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) return;
  const reason = `the headers are larger than ${MAX_HEADER_BYTES} bytes`;
  const problem =
    error.code === "HPE_HEADER_OVERFLOW"
      ? new KeysteadError("STAMP_MALFORMED", { reason }, [])
      : new KeysteadError("BODY_INVALID", { reason: "the request is not valid HTTP" }, []);
  const { status, body } = renderError(problem, "");
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${status === 401 ? "Unauthorized" : "Bad Request"}`,
    `Content-Type: ${JSON_CONTENT_TYPE}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`);
}

/** How long receivers may keep the webhook keys; a new key is published long before the old one leaves. */
const KEY_SET_CACHE = "public, max-age=86400, s-maxage=86400, stale-if-error=604800";

function addPublicPages(app: FastifyInstance, { readiness, info, webhookKeySet, serviceKeys }: AppOptions): void {
  const json = (reply: FastifyReply, status: number, body: unknown) => sendJson(reply, status, JSON.stringify(body));

  app.get("/healthz", (_request, reply) => json(reply, 200, { status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const parts = await readiness();
    const ready = parts.database === "ready" && parts.signer === "ready";
    return json(reply, ready ? 200 : 503, { status: ready ? "ready" : "not ready", ...parts });
  });
  app.get("/public/v1/discovery/webhooks/jwks", async (_request, reply) =>
    json(reply.header("cache-control", KEY_SET_CACHE), 200, await webhookKeySet()),
  );
  app.get("/.well-known/keystead.json", async (_request, reply) => {
    const { version, baseUrl } = info;
    return json(reply, 200, { service: "keystead", version, baseUrl, serviceKeys: await serviceKeys() });
  });
}
