import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from "fastify";
import { KeysteadError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { type Cidr, networkOf } from "../kernel/ip-address.ts";
import { printable } from "../kernel/json.ts";
import {
  HEADER_TIMEOUT_MS,
  IDLE_TIMEOUT_MS,
  MAX_HEADER_BYTES,
  MAX_HELD_ANSWER_BYTES,
  MAX_HELD_BODY_BYTES,
  REQUEST_TIMEOUT_MS,
} from "../kernel/limits.ts";
import type { Logger } from "../kernel/log.ts";
import { ByteBudget } from "./byte-budget.ts";
import { type ConnectionBounds, Connections } from "./connections.ts";
import { allowAnyOrigin, answerPreflight, isPreflight } from "./cors.ts";
import { readBody } from "./read-body.ts";
import { isProxyAmong, type RemoteAddressOf, remoteAddressBehind } from "./remote-address.ts";
import { renderError } from "./render-error.ts";
import { JSON_CONTENT_TYPE } from "./wire.ts";

/** A request as far as its headers go. */
export interface RequestHead {
  /** Stands in the log and in answers with an error. */
  id: string;
  /** Without the query. */
  path: string;
  headers: IncomingHttpHeaders;
  /** The client's IP address, from behind the trusted proxies; undefined where it is not known. */
  remoteAddress: string | undefined;
  /** Adds what has become known to the line that is logged of the request. Identifiers and outcomes alone, no secrets. */
  note(facts: Record<string, string>): void;
}

/** An answer to be sent. */
export interface RouteAnswer {
  /** 200 unless said. */
  status?: number;
  /** The content type is that of JSON unless it is among them. */
  headers?: Record<string, string>;
  body: string | Buffer;
  /** Whether all answers share these bytes, so that one more takes no memory. */
  isShared?: boolean;
}

export interface Route {
  method: "GET" | "POST";
  /** As the request line has it, without a query; a `*` at the end stands for any rest. */
  path: string;
  /** What it is called in the log and in metrics; requests to a route without are logged at the level `debug`, not counted. */
  operation?: string;
  /**
   * Looks at a request before its body is read; what it throws is the answer. What it returns answers the whole request, whose
   * body is empty for GET.
   */
  accept(head: RequestHead): (body: Buffer) => RouteAnswer | Promise<RouteAnswer>;
}

/** Something that answers on the listener. */
export interface Mount {
  routes: readonly Route[];
  /** Where any web page may send requests to, unknown paths below it included, such as `/public/`. */
  anyOriginBelow?: string;
}

export interface Listener {
  /** Before `listen`. */
  mount(mount: Mount): void;
  /** Rejects with the error of the operating system where the port cannot be had. */
  listen(at: { host: string; port: number }): Promise<AddressInfo>;
  /** Takes no new requests, and resolves when the open ones are answered. */
  close(): Promise<void>;
  /** Ends every connection, whatever is open on it. */
  cutOff(): void;
}

export interface ListenerOptions {
  log: Logger;
  /** Proxies whose word on where a request came from is taken. */
  trustedProxies: readonly Cidr[];
  bounds: ConnectionBounds;
  /** Told of each answered request of a named route. */
  observe: (operation: string, status: number, seconds: number) => void;
}

/** How often connections are held against the times they have. */
const TIMEOUT_CHECK_MS = 1000;

/** What every answer says to browsers; a page that needs more says so itself. */
const SECURITY_HEADERS = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};

/** A request on its way, from its headers to its answer. */
interface Pass {
  operation?: string;
  facts: Record<string, string>;
  remoteAddress: string | undefined;
  response: ServerResponse;
  /** Milliseconds of `performance.now()`: when its headers were there, then when all of it was. */
  start: number;
  respond: ReturnType<Route["accept"]>;
}

declare module "fastify" {
  interface FastifyRequest {
    pass: Pass;
  }
}

/**
 * Takes requests in and sends answers out for whatever is mounted: bounds of connections, headers, bodies and times, errors on
 * the wire, the line logged of each request, and the end.
 */
export const createListener = (options: ListenerOptions): Listener => new HttpListener(options);

class HttpListener implements Listener {
  readonly #log: Logger;
  readonly #requestLog: Logger;
  readonly #observe: ListenerOptions["observe"];
  readonly #connections: Connections;
  readonly #remoteAddressOf: RemoteAddressOf;
  readonly #bodies = new ByteBudget("requests", MAX_HELD_BODY_BYTES);
  readonly #answers = new ByteBudget("answers", MAX_HELD_ANSWER_BYTES);
  readonly #anyOriginBelow: string[] = [];
  readonly #app: FastifyInstance;
  #isDraining = false;

  constructor({ log, trustedProxies, bounds, observe }: ListenerOptions) {
    this.#log = log;
    // The line of a request holds nothing that a client wrote but an address that was parsed: there is nothing to redact.
    this.#requestLog = log.child({}, { redact: [] });
    this.#observe = observe;
    this.#connections = new Connections(bounds, isProxyAmong(trustedProxies));
    this.#remoteAddressOf = remoteAddressBehind(trustedProxies);
    this.#app = this.#createApp();
  }

  mount({ routes, anyOriginBelow }: Mount): void {
    if (anyOriginBelow !== undefined) this.#anyOriginBelow.push(anyOriginBelow);
    for (const route of routes) {
      this.#app.route({
        method: route.method,
        url: route.path,
        onRequest: (request, _reply, done) => this.#accept(route, request, done),
        handler: (request, reply) => this.#answer(request, reply),
      });
    }
  }

  async listen(at: { host: string; port: number }): Promise<AddressInfo> {
    await this.#app.listen(at);
    return this.#app.server.address() as AddressInfo;
  }

  close(): Promise<void> {
    return this.#app.close();
  }

  cutOff(): void {
    this.#app.server.closeAllConnections();
  }

  #createApp(): FastifyInstance {
    const app: FastifyInstance = fastify({
      loggerInstance: this.#log as FastifyBaseLogger,
      logController: new LogController({ disableRequestLogging: true }),
      // Every line of ours names its request; a logger for each request would cost more than the line.
      childLoggerFactory: (logger) => logger,
      genReqId: newId,
      serverFactory: (handle) => createHttpServer(this.#connections, handle),
      return503OnClosing: false,
      clientErrorHandler: (error, socket) => this.#answerBrokenRequest(error, socket),
      routerOptions: { maxParamLength: 200 },
    });
    app.decorateRequest("pass", null as never);
    app.addHook("preClose", async () => this.#drain(app.server));
    app.addHook("onRequest", (request, reply, done) => this.#begin(request, reply, done));
    // The stamp is over the exact bytes, whatever content type the client claims, or none.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (request: FastifyRequest, payload: IncomingMessage) => this.#read(request, payload));
    app.setErrorHandler((error, request, reply) => this.#sendError(error, request, reply));
    return app;
  }

  #drain(server: Server): void {
    this.#isDraining = true;
    // Requests that are open now were promised a connection to keep; after their answers it only holds up the end.
    server.keepAliveTimeout = 1;
    server.keepAliveTimeoutBuffer = 0;
    this.#connections.closeUnused();
  }

  /** What holds for every request, on whatever path. */
  #begin(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    const { socket, headers } = request.raw;
    const remoteAddress = this.#remoteAddressOf(socket.remoteAddress, joined(headers["x-forwarded-for"]));
    request.pass = { facts: {}, remoteAddress, response: reply.raw, start: performance.now(), respond: unrouted };
    reply.headers(SECURITY_HEADERS);
    const path = pathOf(request);
    if (this.#anyOriginBelow.some((prefix) => path.startsWith(prefix))) {
      allowAnyOrigin(reply);
      if (isPreflight(request)) {
        answerPreflight(request, reply);
        return;
      }
    }
    if (this.#isDraining) {
      reply.header("connection", "close");
      done(new KeysteadError("SHUTTING_DOWN", {}, []));
    } else if (request.is404) {
      done(new KeysteadError("ROUTE_NOT_FOUND", { method: request.method, path: printable(path) }, []));
    } else {
      done();
    }
  }

  #accept(route: Route, request: FastifyRequest, done: (error?: Error) => void): void {
    const { pass, id } = request;
    if (route.operation !== undefined) pass.operation = route.operation;
    const { headers } = request.raw;
    const note = (facts: Record<string, string>) => void Object.assign(pass.facts, facts);
    try {
      pass.respond = route.accept({ id, path: pathOf(request), headers, remoteAddress: pass.remoteAddress, note });
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  async #read({ pass, raw }: FastifyRequest, payload: IncomingMessage): Promise<Buffer> {
    const takeRoom = (bytes: number) => {
      pass.response.once("close", this.#bodies.take(originOf(pass), bytes));
    };
    return readBody(payload, takeRoom).finally(() => this.#connections.hasArrived(raw.socket));
  }

  async #answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { pass } = request;
    pass.start = performance.now();
    this.#connections.hasArrived(request.raw.socket);
    const { status = 200, headers, body, isShared } = await pass.respond((request.body as Buffer | undefined) ?? EMPTY);
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    if (!isShared) pass.response.once("close", this.#answers.take(originOf(pass), bytes.length));
    if (headers) reply.headers(headers);
    return this.#send(request, reply, status, bytes);
  }

  #sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const { status, body, retryAfterSeconds, isOurs } = renderError(error, request.id);
    if (isOurs) this.#log.error({ requestId: request.id, err: error }, body.message);
    reply.header("x-request-id", request.id);
    if (retryAfterSeconds !== undefined) reply.header("retry-after", retryAfterSeconds);
    return this.#send(request, reply, status, Buffer.from(JSON.stringify(body)));
  }

  /** Text would get a charset added to its content type, bytes do not. */
  #send(request: FastifyRequest, reply: FastifyReply, status: number, body: Buffer): FastifyReply {
    this.#record(request, status);
    if (!reply.hasHeader("content-type")) reply.header("content-type", JSON_CONTENT_TYPE);
    return reply.code(status).send(body);
  }

  #record({ pass, id, raw }: FastifyRequest, status: number): void {
    const { operation, facts, start, remoteAddress } = pass;
    const durationMs = performance.now() - start;
    const peerAddress = raw.socket.remoteAddress;
    const line = {
      requestId: id,
      operation,
      status,
      ms: Math.round(durationMs * 100) / 100,
      ...facts,
      peerAddress,
      ...(remoteAddress === peerAddress ? {} : { clientAddress: remoteAddress }),
    };
    if (operation === undefined) {
      this.#requestLog.debug(line, "request");
      return;
    }
    this.#requestLog.info(line, "request");
    this.#observe(operation, status, durationMs / 1000);
  }

  /** Requests that are not HTTP, came too slowly, or whose headers are over the limit: nothing in them can be believed. */
  #answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
    const peerAddress = socket.remoteAddress;
    this.#log.debug({ peerAddress, reason: error.code }, "a request could not be read");
    // Not after an answer that is on its way: what followed it is what is broken.
    if (error.code === "ECONNRESET" || !socket.writable || this.#connections.isAnswering(socket)) {
      socket.destroy();
      return;
    }
    const { status, body } = renderError(brokenRequestError(error.code), "");
    const text = JSON.stringify(body);
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `Content-Type: ${JSON_CONTENT_TYPE}`,
      `Content-Length: ${Buffer.byteLength(text)}`,
      "Connection: close",
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n${text}`);
    socket.destroySoon();
  }
}

function createHttpServer(connections: Connections, handle: RequestListener): Server {
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADER_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
  };
  const server = createServer(options, connections.inTurn(handle));
  return server.on("connection", (socket: Socket) => connections.add(socket));
}

/** Until a route has accepted the request. */
const unrouted = () => {
  throw new Error("no route has accepted this request");
};

const EMPTY = Buffer.alloc(0);

const pathOf = ({ raw }: FastifyRequest): string => raw.url?.split("?", 1)[0] ?? "";

const originOf = ({ remoteAddress }: Pass): string => networkOf(remoteAddress ?? "");

// Node joins some repeated headers itself.
const joined = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(", ") : value;

function brokenRequestError(code: string | undefined): KeysteadError {
  if (code === "HPE_HEADER_OVERFLOW") {
    return new KeysteadError(
      "STAMP_MALFORMED",
      { reason: `the headers are larger than ${MAX_HEADER_BYTES} bytes` },
      [],
    );
  }
  const reason =
    code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? `it did not arrive within ${REQUEST_TIMEOUT_MS / 1000} s, or its headers within ${HEADER_TIMEOUT_MS / 1000} s`
      : "the request is not valid HTTP";
  return new KeysteadError("BODY_INVALID", { reason }, []);
}
