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
  SMALL_MESSAGE_BYTES,
} from "../kernel/limits.ts";
import type { Logger } from "../kernel/log.ts";
import { NowAndThen } from "../kernel/now-and-then.ts";
import type { Span, Tracer } from "../kernel/spans.ts";
import { DatabaseFailure } from "../storage/failure.ts";
import { brokenRequestError, notHttp, reasonOfBroken, TOO_MANY_PIECES } from "./broken-request.ts";
import { ByteBudget } from "./byte-budget.ts";
import { type ConnectionBounds, Connections } from "./connections.ts";
import { allowOrigin, answerPreflight, isPreflight, OPEN_TO_ALL } from "./cors.ts";
import { encodingProblem, framingProblem, pathAndQuery } from "./framing.ts";
import { joinedHeader } from "./headers.ts";
import { requestsInFewPieces } from "./pieces.ts";
import { readBody } from "./read-body.ts";
import { isProxyAmong, type RemoteAddressOf, remoteAddressBehind } from "./remote-address.ts";
import { renderError } from "./render-error.ts";
import type { Mount, Route, RouteAnswer } from "./route.ts";
import { JSON_CONTENT_TYPE } from "./wire.ts";

export interface Listener {
  /** Must be called before `listen`. */
  mount(mount: Mount): void;
  /** Rejects with the operating system's error if the port is not available. */
  listen(at: { host: string; port: number }): Promise<AddressInfo>;
  /** Keeps answering, but asks clients to reconnect, which may lead them to another server. */
  sendAway(): void;
  /** Accepts no new requests. Resolves when the open ones are answered. */
  close(): Promise<void>;
  /** Closes all connections, even those with open requests. */
  cutOff(): void;
}

/** Answers requests that reach the listener but are not for its mounts. */
export interface Elsewhere {
  takes(headers: IncomingHttpHeaders): boolean;
  /** @param remoteAddress the client's IP address behind the trusted proxies, if it is known */
  pass(request: IncomingMessage, response: ServerResponse, remoteAddress: string | undefined): void;
}

/** What may be open and held at one time. Several listeners may share it. */
export interface ListenerRoom {
  connections: Connections;
  bodies: ByteBudget;
  answers: ByteBudget;
}

/** @param onRefused called for each connection that was refused for lack of room */
export const createRoom = (
  bounds: ConnectionBounds,
  trustedProxies: readonly Cidr[],
  onRefused: () => void,
): ListenerRoom => ({
  connections: new Connections(bounds, isProxyAmong(trustedProxies), onRefused),
  bodies: new ByteBudget("requests", MAX_HELD_BODY_BYTES),
  answers: new ByteBudget("answers", MAX_HELD_ANSWER_BYTES),
});

export interface ListenerOptions {
  log: Logger;
  /** Proxies that are trusted to name the client's address. */
  trustedProxies: readonly Cidr[];
  /** Shared with the other listeners of the process. */
  room: ListenerRoom;
  /** Selects requests that are not for this service, by their headers, and answers them. */
  elsewhere?: Elsewhere;
  observer: TrafficObserver;
  /** Starts traces. Without it there are none. */
  tracer?: Tracer | undefined;
}

/** Receives events of the traffic. Must not throw. */
export interface TrafficObserver {
  /** A request to a named route was answered, this many seconds after it had arrived completely. */
  answered(operation: string, status: number, seconds: number): void;
  /** A request was answered with an error, by its name in the list of errors. `operation` is undefined if no named route matched. */
  failed(failure: { operation: string | undefined; status: number; name: string }): void;
  /** A connection was refused, or the bytes on one were refused before they made a request. */
  turnedAway(reason: "no_room" | "broken" | "headers_too_large" | "too_slow"): void;
}

/** How often connections are checked for timeouts. */
const TIMEOUT_CHECK_MS = 1000;

/** Headers for browsers on every answer. Pages that need more set their own. */
const SECURITY_HEADERS = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};

/** Content types that operations accept without a further check. Fastify handles all others. */
const PLAIN_CONTENT_TYPES: readonly (string | undefined)[] = [undefined, JSON_CONTENT_TYPE, "text/plain;charset=UTF-8"];

/** The initial headers of every answer of an operation that any web page may call. */
const OPERATION_HEADERS = { ...SECURITY_HEADERS, ...OPEN_TO_ALL, "content-type": JSON_CONTENT_TYPE };

/** A request from its headers to its answer. */
interface Pass {
  id: string;
  operation?: string;
  facts: Record<string, string>;
  remoteAddress: string | undefined;
  request: IncomingMessage;
  response: ServerResponse;
  span?: Span | undefined;
  /** When the headers had arrived, and later when the whole request had, in milliseconds of `performance.now()`. */
  start: number;
  respond: ReturnType<Route["accept"]>;
}

declare module "fastify" {
  interface FastifyRequest {
    pass: Pass;
  }
}

/**
 * Receives requests and sends answers for the mounts. It enforces the bounds on connections, headers, bodies and times, sends errors, logs
 * a line for each request, and shuts down.
 */
export const createListener = (options: ListenerOptions): Listener => new HttpListener(options);

class HttpListener implements Listener {
  readonly #log: Logger;
  readonly #outages = new NowAndThen();
  readonly #requestLog: Logger;
  readonly #observer: TrafficObserver;
  readonly #connections: Connections;
  readonly #remoteAddressOf: RemoteAddressOf;
  readonly #bodies: ByteBudget;
  readonly #answers: ByteBudget;
  readonly #anyOriginBelow: string[] = [];
  readonly #echoedOriginBelow: string[] = [];
  /** Operations that any web page may call, by path. Most requests are for these, and they bypass Fastify. */
  readonly #operations = new Map<string, Route>();
  /** The paths of the operations that pages may call by their last segment, for clients that have the rest of a path or the method wrong. */
  readonly #pathsByName = new Map<string, string[]>();
  readonly #elsewhere: Elsewhere | undefined;
  readonly #tracer: Tracer | undefined;
  readonly #app: FastifyInstance;
  #isSendingAway = false;
  #isDraining = false;

  constructor({ log, trustedProxies, room, observer, elsewhere, tracer }: ListenerOptions) {
    this.#tracer = tracer;
    this.#elsewhere = elsewhere;
    this.#log = log;
    // A request's line contains no text from the client except the parsed address, so nothing needs redaction.
    this.#requestLog = log.child({}, { redact: [] });
    this.#observer = observer;
    this.#connections = room.connections;
    this.#bodies = room.bodies;
    this.#answers = room.answers;
    this.#remoteAddressOf = remoteAddressBehind(trustedProxies);
    this.#app = this.#createApp();
  }

  mount({ routes, anyOriginBelow, echoedOriginBelow }: Mount): void {
    if (anyOriginBelow !== undefined) this.#anyOriginBelow.push(anyOriginBelow);
    if (echoedOriginBelow !== undefined) this.#echoedOriginBelow.push(echoedOriginBelow);
    for (const route of routes) {
      const isForAll = anyOriginBelow !== undefined && route.path.startsWith(anyOriginBelow);
      const isForPages = isForAll || (echoedOriginBelow !== undefined && route.path.startsWith(echoedOriginBelow));
      if (route.method === "POST" && route.operation !== undefined && isForPages) {
        if (isForAll) this.#operations.set(route.path, route);
        const name = lastSegment(route.path);
        this.#pathsByName.set(name, [...(this.#pathsByName.get(name) ?? []), route.path]);
      }
      this.#app.route({
        method: route.method,
        url: route.path,
        onRequest: (request, _reply, done) => {
          try {
            this.#accept(route, request.pass, pathOf(request));
            done();
          } catch (error) {
            done(error as Error);
          }
        },
        handler: (request, reply) => this.#reply(request, reply),
      });
    }
  }

  async listen(at: { host: string; port: number }): Promise<AddressInfo> {
    await this.#app.listen(at);
    return this.#app.server.address() as AddressInfo;
  }

  sendAway(): void {
    this.#isSendingAway = true;
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
      // Every line of ours contains the request id. A logger per request would cost more than the line.
      childLoggerFactory: (logger) => logger,
      genReqId: newId,
      serverFactory: (handle) => this.#createHttpServer(this.#dispatched(handle)),
      return503OnClosing: false,
      clientErrorHandler: (error, socket) => this.#answerBrokenRequest(error, socket),
      routerOptions: { maxParamLength: 200 },
      // A path that Fastify's router cannot parse matches no operation. No hook runs for it.
      frameworkErrors: (_error, request, reply) =>
        this.#begin(request, reply, (error = this.#notFound(request)) => void this.#sendError(error, request, reply)),
    });
    app.decorateRequest("pass", null as never);
    app.addHook("preClose", async () => this.#drain(app.server));
    app.addHook("onRequest", (request, reply, done) => this.#begin(request, reply, done));
    // The stamp covers the exact bytes, whatever content type the client claims, or none.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", ({ pass }: FastifyRequest) => this.#read(pass));
    app.setErrorHandler((error, request, reply) => this.#sendError(error, request, reply));
    return app;
  }

  #dispatched(handle: RequestListener): RequestListener {
    const elsewhere = this.#elsewhere;
    return (request, response) => {
      const problem = framingProblem(request);
      if (problem !== undefined) return this.#refuse(problem, request, response);
      request.url = pathAndQuery(request.url ?? "");
      if (elsewhere?.takes(request.headers)) {
        // The receiver reads the body as it arrives.
        this.#connections.hasArrived(request.socket);
        elsewhere.pass(request, response, this.#clientOf(request));
        return;
      }
      const encoded = encodingProblem(request);
      if (encoded !== undefined) return this.#refuse(encoded, request, response);
      const operation = this.#plainOperation(request);
      if (!operation) return handle(request, response);
      this.#operate(operation, request, response).catch((error: unknown) => {
        this.#log.error({ err: error }, "an answer could not be sent");
        response.destroy();
      });
    };
  }

  /** The operation for a request with no special features. All others reach it through Fastify. */
  #plainOperation({ method, url = "", headers }: IncomingMessage): Route | undefined {
    if (method !== "POST" || this.#isSendingAway || this.#isDraining) return undefined;
    return PLAIN_CONTENT_TYPES.includes(headers["content-type"]) ? this.#operations.get(url) : undefined;
  }

  async #operate(route: Route, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pass = this.#passOf(newId(), request, response);
    let answer: Required<Pick<RouteAnswer, "status" | "headers">> & { body: string | Buffer };
    try {
      this.#accept(route, pass, route.path);
      const sent = await this.#read(pass).catch((error: unknown) => {
        // The rest of the body would be treated as the next request.
        response.setHeader("connection", "close");
        throw error;
      });
      answer = { status: 200, headers: {}, ...(await this.#answer(pass, sent)) };
    } catch (error) {
      answer = this.#errorAnswer(error, pass);
    }
    const { status, headers, body } = answer;
    this.#record(pass, status);
    if (response.destroyed) return;
    response.writeHead(status, {
      ...OPERATION_HEADERS,
      "x-request-id": pass.id,
      ...headers,
      "content-length": Buffer.byteLength(body),
    });
    response.end(body);
  }

  #passOf(id: string, request: IncomingMessage, response: ServerResponse): Pass {
    return {
      id,
      facts: {},
      remoteAddress: this.#clientOf(request),
      request,
      response,
      start: performance.now(),
      respond: unrouted,
    };
  }

  #clientOf({ socket, headers }: IncomingMessage): string | undefined {
    return this.#remoteAddressOf(socket.remoteAddress, joinedHeader(headers["x-forwarded-for"]));
  }

  #drain(server: Server): void {
    this.#isDraining = true;
    // Open requests were promised a persistent connection. After their answers, it would only delay the shutdown.
    server.keepAliveTimeout = 1;
    server.keepAliveTimeoutBuffer = 0;
    this.#connections.closeUnused();
  }

  /** Steps that apply to every request, regardless of its path. */
  #begin(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    const { headers } = request.raw;
    request.pass = this.#passOf(request.id, request.raw, reply.raw);
    reply.headers(SECURITY_HEADERS);
    reply.header("x-request-id", request.id);
    if (this.#isSendingAway || this.#isDraining) reply.header("connection", "close");
    const path = pathOf(request);
    const isBelow = (prefix: string) => path.startsWith(prefix);
    const isForAll = this.#anyOriginBelow.some(isBelow);
    if (isForAll || this.#echoedOriginBelow.some(isBelow)) {
      allowOrigin(reply, isForAll ? "*" : headers.origin);
      if (isPreflight(request)) {
        answerPreflight(request, reply);
        return;
      }
    }
    if (this.#isDraining) {
      done(new KeysteadError("SHUTTING_DOWN", {}, []));
    } else if (request.is404) {
      done(this.#notFound(request));
    } else {
      done();
    }
  }

  #notFound(request: FastifyRequest): KeysteadError {
    const { method } = request;
    const asked = pathOf(request);
    const path = printable(asked);
    // The public API and the auth proxy have operations of the same name.
    const named = this.#pathsByName.get(lastSegment(asked)) ?? [];
    const expected = named.find((one) => asked.endsWith(one) || asked.endsWith(`${one}/`)) ?? named[0];
    if (expected === undefined) return new KeysteadError("ROUTE_NOT_FOUND", { method, path }, []);
    return new KeysteadError("ROUTE_MISTAKEN", { method, path, expected }, []);
  }

  /** @throws errors for which the route refuses the request */
  #accept(route: Route, pass: Pass, path: string): void {
    const { id, request, remoteAddress } = pass;
    if (route.operation !== undefined) pass.operation = route.operation;
    const { headers, socket } = request;
    if (this.#tracer && route.operation !== undefined) {
      pass.span = this.#tracer.request(route.operation, joinedHeader(headers.traceparent));
    }
    const note = (facts: Record<string, string>) => void Object.assign(pass.facts, facts);
    const isWanted = () => !socket.destroyed;
    pass.respond = route.accept({ id, path, headers, remoteAddress, isWanted, note });
  }

  async #read(pass: Pass): Promise<Buffer> {
    const { request } = pass;
    try {
      return await readBody(request, (bytes) => holdUntilAnswered(pass, this.#bodies, bytes));
    } finally {
      this.#connections.hasArrived(request.socket);
    }
  }

  /** The answer to a request whose body has arrived. Its bytes count as held until they are sent. */
  async #answer(pass: Pass, sent: Buffer): Promise<RouteAnswer> {
    pass.start = performance.now();
    this.#connections.hasArrived(pass.request.socket);
    const answer = await (pass.span ? pass.span.run(() => pass.respond(sent)) : pass.respond(sent));
    if (!answer.isShared) holdUntilAnswered(pass, this.#answers, Buffer.byteLength(answer.body));
    return answer;
  }

  async #reply(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { pass } = request;
    const answer = await this.#answer(pass, (request.body as Buffer | undefined) ?? EMPTY);
    const { status = 200, headers, body, isFramed } = answer;
    if (isFramed) reply.removeHeader("x-frame-options");
    if (headers) reply.headers(headers);
    return this.#send(request, reply, status, typeof body === "string" ? Buffer.from(body) : body);
  }

  #errorAnswer(error: unknown, pass: Pass): Required<Pick<RouteAnswer, "status" | "headers" | "body">> {
    const { id, operation, facts } = pass;
    const { status, body, name, retryAfterSeconds, seenBy } = renderError(error, id);
    if (seenBy === "developers") this.#log.error({ requestId: id, err: error }, body.message);
    else if (seenBy === "operators") this.#tellOutage(name, { requestId: id, error, message: body.message });
    this.#observer.failed({ operation, status, name });
    facts.error = name;
    const headers = retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) };
    return { status, headers, body: JSON.stringify(body) };
  }

  /** Logs an outage, at most once a minute for each kind. Each request that fails because of it has its own line anyway. */
  #tellOutage(
    name: string,
    { requestId, error, message }: { requestId: string; error: unknown; message: string },
  ): void {
    const reason = error instanceof DatabaseFailure ? error.driverMessage : undefined;
    this.#outages.note(name, (since) => this.#log.warn({ requestId, error: name, reason, ...since }, message));
  }

  #sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const { status, headers, body } = this.#errorAnswer(error, request.pass);
    reply.headers(headers);
    return this.#send(request, reply, status, Buffer.from(body));
  }

  /** Bytes, because Fastify adds a charset to the content type of text. */
  #send({ pass }: FastifyRequest, reply: FastifyReply, status: number, body: Buffer): FastifyReply {
    this.#record(pass, status);
    if (!reply.hasHeader("content-type")) reply.header("content-type", JSON_CONTENT_TYPE);
    return reply.code(status).send(body);
  }

  #record(pass: Pass, status: number): void {
    const { id, operation, facts, start, remoteAddress, request } = pass;
    endSpan(pass, status);
    const durationMs = performance.now() - start;
    const peerAddress = request.socket.remoteAddress;
    const line = {
      requestId: id,
      operation,
      status,
      ms: Math.round(durationMs * 100) / 100,
      ...facts,
      peerAddress,
      ...(remoteAddress === peerAddress ? {} : { clientAddress: remoteAddress }),
    };
    const isForNobody = operation === undefined && facts.error === undefined;
    this.#requestLog[isForNobody ? "debug" : "info"](line, "request");
    if (operation !== undefined) this.#observer.answered(operation, status, durationMs / 1000);
  }

  /** Refuses a request that is HTTP only in form. Further bytes on its connection are ignored. */
  #refuse(problem: string, { socket }: IncomingMessage, response: ServerResponse): void {
    this.#log.debug({ peerAddress: socket.remoteAddress, reason: problem }, "a request could not be read");
    this.#observer.turnedAway("broken");
    const { status, body } = renderError(notHttp(problem), "");
    const text = JSON.stringify(body);
    response.writeHead(status, {
      ...SECURITY_HEADERS,
      "content-type": JSON_CONTENT_TYPE,
      "content-length": Buffer.byteLength(text),
      connection: "close",
    });
    response.end(text);
  }

  /** Answers requests that are not HTTP, arrived too slowly or in too many pieces, or have headers over the limit. Nothing in them can be trusted. */
  #answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
    const peerAddress = socket.remoteAddress;
    this.#log.debug({ peerAddress, reason: error.code }, "a request could not be read");
    if (error.code !== "ECONNRESET") this.#observer.turnedAway(reasonOfBroken(error.code));
    // No error after an answer that is being sent: the broken bytes follow it.
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

  #createHttpServer(handle: RequestListener): Server {
    const connections = this.#connections;
    const options = {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADER_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Checked with the rest of the framing. Node would answer in a different format.
      requireHostHeader: false,
      IncomingMessage: requestsInFewPieces(({ socket }) =>
        this.#answerBrokenRequest(Object.assign(new Error(TOO_MANY_PIECES), { code: TOO_MANY_PIECES }), socket),
      ),
    };
    const server = createServer(options, connections.inTurn(handle));
    server.on("connection", (socket: Socket) => connections.add(socket));
    server.on(
      "checkExpectation",
      connections.inTurn((request, response) =>
        this.#refuse("it expects something other than 100-continue", request, response),
      ),
    );
    // Node does not handle the connection of a CONNECT any further.
    server.on("connect", (_request, socket: Socket) => this.#answerBrokenRequest(new Error("CONNECT"), socket));
    return server;
  }
}

/** Before a route has accepted the request. */
const unrouted = () => {
  throw new Error("no route has accepted this request");
};

const EMPTY = Buffer.alloc(0);

const pathOf = ({ raw }: FastifyRequest): string => raw.url?.split("?", 1)[0] ?? "";

const originOf = ({ remoteAddress }: Pass): string => networkOf(remoteAddress ?? "");

/** Without a slash at the end. */
const lastSegment = (path: string): string => {
  const end = path.endsWith("/") ? path.length - 1 : path.length;
  return path.slice(path.lastIndexOf("/", end - 1) + 1, end);
};

/** If the client disconnects while its request is processed, its bytes are released immediately. */
function holdUntilAnswered(pass: Pass, budget: ByteBudget, bytes: number): void {
  // Small messages are free, so whose they are does not matter.
  if (bytes <= SMALL_MESSAGE_BYTES) return;
  const giveBack = budget.take(originOf(pass), bytes);
  if (pass.response.destroyed) giveBack();
  else pass.response.once("close", giveBack);
}

/** Ends the span of a request. A client error does not make the span an error, following OpenTelemetry's conventions for servers. */
function endSpan({ span, id, operation = "", facts, request }: Pass, status: number): void {
  if (!span) return;
  const { error, organizationId, userId, activityId } = facts;
  span.note({
    "http.request.method": request.method ?? "",
    "http.response.status_code": status,
    "keystead.operation": operation,
    "keystead.request_id": id,
    ...(organizationId === undefined ? {} : { "keystead.organization_id": organizationId }),
    ...(userId === undefined ? {} : { "keystead.user_id": userId }),
    ...(activityId === undefined ? {} : { "keystead.activity_id": activityId }),
    ...(error === undefined ? {} : { "error.type": error }),
  });
  if (status >= 500) span.failed();
  span.end();
}
