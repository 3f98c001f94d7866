import { constants } from "node:crypto";
import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import { createSecureContext, getCACertificates } from "node:tls";
import {
  IDLE_CONNECTION_MS,
  MAX_ANSWER_HEADER_BYTES,
  MAX_ANSWER_PIECES,
  MAX_CONNECTIONS,
  MAX_CONNECTIONS_PER_HOST,
  MAX_INTERIM_ANSWERS,
  MAX_SESSION_TICKETS,
} from "../kernel/limits.ts";
import { PieceCount } from "../kernel/piece-count.ts";
import { createGate } from "./gate.ts";
import { createGuardedLookup, createNameServerResolver, type Resolver, resolveBySystem } from "./names.ts";
import { deadlineError, OutboundError, type Stage, stopping, toOutboundError } from "./outbound-error.ts";
import { addressOfHost, checkOutboundUrl } from "./url-rules.ts";

export { OutboundError, type OutboundErrorKind, type Stage } from "./outbound-error.ts";

export interface OutboundOptions {
  /** Allows plain http, private addresses and local names. For development only. */
  allowPrivateNetworks: boolean;
  /** Replaces DNS. Its results are checked in the same way. */
  resolver?: Resolver;
  /** PEM of a certificate authority that is trusted in addition to the usual ones. */
  ca?: string;
  /** How long an unused connection is kept, for tests in which it must not expire. */
  idleConnectionMs?: number;
}

export interface OutboundRequest {
  method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  url: string;
  /** Framing headers such as `content-length`, and `host`, are set by the client and refused here. */
  headers?: Record<string, string>;
  /** A string is sent as UTF-8. */
  body?: Uint8Array | string;
  /** The time limit for the whole request: waiting for a connection, DNS, connect, TLS, and the answer up to its last byte. */
  timeoutMs: number;
  /** The rest of a longer body is not read. */
  maxResponseBytes: number;
  /** Receives the body of an answer with status 200 piece by piece; `body` stays empty. Nothing is read meanwhile. Must not fail. */
  into?: (piece: Buffer) => Promise<void>;
}

export interface OutboundAnswer {
  /** Any status from 200. Redirects are not followed. */
  status: number;
  /** Names are in lowercase. Repeated headers are joined by ", ". `set-cookie` is omitted. */
  headers: Record<string, string>;
  /** As sent: content encodings are not decoded. */
  body: Buffer;
  /** Whether the body was longer than `maxResponseBytes`. */
  truncated: boolean;
  durationMs: number;
}

export interface OutboundClient {
  /** @throws OutboundError */
  request(request: OutboundRequest): Promise<OutboundAnswer>;
  /** Ends open requests with OutboundError "reset", refuses new ones, and closes every connection. */
  close(): Promise<void>;
}

/**
 * The client for every HTTP request that the service makes on behalf of an organization. It connects only to public addresses that it has
 * checked itself, follows no redirects, keeps no cookies, decodes no compression, and bounds time, size and connections. Proxy settings of
 * the environment are ignored, because a proxy would resolve names again.
 *
 * A request is sent once. If the receiver closes a kept connection at the same moment, the request fails with "reset". Only the caller
 * knows whether it may be repeated.
 */
export function createOutboundClient(options: OutboundOptions): OutboundClient {
  const nameServers = createNameServerResolver();
  const resolver = options.resolver ?? (options.allowPrivateNetworks ? resolveBySystem : nameServers.resolve);
  const agents = createAgents(createGuardedLookup(resolver, options), options);
  const gate = createGate({ perKey: MAX_CONNECTIONS_PER_HOST, total: MAX_CONNECTIONS });
  const open = new Set<Exchange>();
  let closed = false;

  return {
    async request(request) {
      if (closed) throw stopping();
      const checked = checkOutboundUrl(request.url, options);
      if ("problem" in checked) throw new OutboundError("url", `the URL ${checked.problem}`);
      checkHeaders(request.headers);
      const exchange = createExchange(checked.url, request, agents);
      open.add(exchange);
      const turn = gate.run(checked.url.origin, exchange.start);
      try {
        return await exchange.answer;
      } finally {
        open.delete(exchange);
        // `start` never fails. If its turn comes after the deadline, it ends immediately.
        turn.catch(() => undefined);
      }
    },
    async close() {
      closed = true;
      const answers = [...open].map((exchange) => exchange.answer);
      for (const exchange of open) exchange.abort(stopping());
      await Promise.allSettled(answers);
      nameServers.cancel();
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

interface Agents {
  "http:": http.Agent;
  "https:": https.Agent;
}

function createAgents(
  lookup: ReturnType<typeof createGuardedLookup>,
  { ca, idleConnectionMs = IDLE_CONNECTION_MS }: OutboundOptions,
): Agents {
  // The gate bounds connections in use. The agents' own bounds also count idle ones, so that a request to a new host would wait until an
  // idle connection times out.
  const options = {
    lookup,
    keepAlive: true,
    timeout: idleConnectionMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1000,
  };
  // Created once, because parsing the certificate authorities takes longer than a handshake.
  const secureContext = createSecureContext({
    minVersion: "TLSv1.2",
    // Otherwise a host could have handshakes without end on one connection.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ...(ca === undefined ? {} : { ca: [...getCACertificates("default"), ca] }),
  });
  return {
    "http:": boundIdle(new http.Agent(options)),
    // Explicit, because the default of `rejectUnauthorized` comes from the environment.
    "https:": boundIdle(new https.Agent({ ...options, secureContext, rejectUnauthorized: true })),
  };
}

/** Keeps at most `MAX_CONNECTIONS` idle connections for all hosts together. Node.js bounds them only per host. */
function boundIdle<A extends http.Agent>(agent: A): A {
  const keepSocketAlive = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket) => {
    const idle = Object.values(agent.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
    return idle < MAX_CONNECTIONS && keepSocketAlive(socket);
  };
  return agent;
}

/** Headers that determine where a message goes or where it ends (RFC 9110 section 7, RFC 9112 section 6). */
const OWN_HEADERS = new Set(
  "connection content-length expect host keep-alive proxy-connection te trailer transfer-encoding upgrade".split(" "),
);

function checkHeaders(headers: Record<string, string> = {}): void {
  for (const [name, value] of Object.entries(headers)) {
    if (OWN_HEADERS.has(name.toLowerCase())) {
      throw new OutboundError("protocol", `the request header ${name.toLowerCase()} cannot be set`);
    }
    try {
      http.validateHeaderName(name);
      http.validateHeaderValue(name, value);
    } catch (error) {
      throw new OutboundError("protocol", "the request's headers are not valid", error);
    }
  }
}

/** A request in flight. */
interface Exchange {
  /**
   * Sends the request. Settles without an error when the answer has arrived or the request was aborted. Does nothing if it was aborted
   * before.
   */
  start(): Promise<void>;
  /** Aborts the request with `error`. */
  abort(error: OutboundError): void;
  answer: Promise<OutboundAnswer>;
}

/** A request whose time limit starts now. */
function createExchange(url: URL, request: OutboundRequest, agents: Agents): Exchange {
  const startedAt = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<Omit<OutboundAnswer, "durationMs">>();
  let outgoing: http.ClientRequest | undefined;
  let stage: Stage = "queue";
  let settled = false;

  const abort = (error: OutboundError): void => {
    reject(error);
    settled = true;
    outgoing?.destroy(error);
  };
  const deadline = setTimeout(() => abort(deadlineError(request.timeoutMs, stage)), request.timeoutMs);

  const answer = promise
    .then((parts) => ({ ...parts, durationMs: Math.round(performance.now() - startedAt) }))
    .finally(() => {
      settled = true;
      clearTimeout(deadline);
    });

  const start = async (): Promise<void> => {
    if (settled) return;
    const give = (error: unknown) => abort(toOutboundError(error, stage));
    try {
      outgoing = send(url, request, agents);
      watchStage(outgoing, url, (reached) => {
        stage = reached;
      });
      receive(outgoing, request).then(resolve, give);
    } catch (error) {
      give(error);
    }
    await answer.catch(() => undefined);
  };
  return { start, abort, answer };
}

function send(url: URL, { method, headers, body }: OutboundRequest, agents: Agents): http.ClientRequest {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const secure = url.protocol === "https:";
  const outgoing = (secure ? https : http).request(url, {
    method,
    headers: bytes === undefined ? { ...headers } : { ...headers, "content-length": bytes.length },
    agent: secure ? agents["https:"] : agents["http:"],
    maxHeaderSize: MAX_ANSWER_HEADER_BYTES,
    insecureHTTPParser: false,
  });
  outgoing.once("socket", (socket) => {
    if (socket.connecting) boundTickets(socket);
  });
  outgoing.end(bytes);
  return outgoing;
}

/** A host can send TLS session tickets at any time, also while a connection is idle. */
function boundTickets(socket: Socket): void {
  let tickets = 0;
  socket.on("session", () => {
    if (++tickets <= MAX_SESSION_TICKETS) return;
    socket.destroy(new OutboundError("tls", `the host sent more than ${MAX_SESSION_TICKETS} TLS session tickets`));
  });
}

/** Reports each stage that the request reaches. */
function watchStage(outgoing: http.ClientRequest, url: URL, reached: (stage: Stage) => void): void {
  const named = addressOfHost(url.hostname) === undefined;
  outgoing.once("socket", (socket) => {
    if (!socket.connecting) return reached("answer");
    reached(named ? "name" : "connect");
    socket.once("lookup", (error: Error | null) => {
      if (error === null) reached("connect");
    });
    socket.once("connect", () => reached(url.protocol === "https:" ? "tls" : "answer"));
    socket.once("secureConnect", () => reached("answer"));
  });
  outgoing.once("response", () => reached("body"));
}

/** The answer with its body cut off at `maxResponseBytes`. Cutting destroys the connection. */
function receive(
  outgoing: http.ClientRequest,
  { maxResponseBytes, into }: Pick<OutboundRequest, "maxResponseBytes" | "into">,
): Promise<Omit<OutboundAnswer, "durationMs">> {
  return new Promise((resolve, reject) => {
    const sink = createSink(maxResponseBytes);
    let left = maxResponseBytes;
    const pieces = new PieceCount(MAX_ANSWER_PIECES);
    let interim = 0;
    const giveUp = (problem: string) => {
      const error = new OutboundError("protocol", problem);
      reject(error);
      outgoing.destroy(error);
    };
    outgoing.on("error", reject);
    outgoing.on("information", () => {
      if (++interim > MAX_INTERIM_ANSWERS) giveUp(`it answered with more than ${MAX_INTERIM_ANSWERS} interim answers`);
    });
    outgoing.on("upgrade", (_, socket) => {
      socket.destroy();
      reject(new OutboundError("protocol", "the answer switches to another protocol"));
    });
    outgoing.on("response", (response) => {
      const finish = (truncated: boolean) => {
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers: plainHeaders(headers), body: sink.bytes(), truncated });
      };
      response.on("error", reject);
      // A response may end while its last piece is still being taken.
      let taken = Promise.resolve();
      response.on("end", () => void taken.then(() => finish(false), reject));
      response.on("data", (chunk: Buffer) => {
        if (!pieces.add(chunk.length)) return giveUp("the answer came in too many small pieces");
        const part = chunk.subarray(0, left);
        left -= part.length;
        const goOn = () => {
          if (part.length === chunk.length) return response.resume();
          finish(true);
          return response.destroy();
        };
        if (into && response.statusCode === 200) {
          response.pause();
          taken = into(part);
          taken.then(goOn, reject);
        } else {
          sink.add(part);
          goOn();
        }
      });
    });
  });
}

function plainHeaders(headers: http.IncomingHttpHeaders): Record<string, string> {
  const named = Object.entries(headers).filter(([name]) => name !== "set-cookie");
  return Object.fromEntries(
    named.map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : (value ?? "")]),
  );
}

/**
 * Keeps up to `maxBytes` bytes. They are copied, so that a body that arrives byte by byte takes no more memory than one that arrives at
 * once.
 */
function createSink(maxBytes: number) {
  let kept = Buffer.alloc(0);
  let length = 0;
  return {
    add(part: Buffer): void {
      const needed = length + part.length;
      if (needed > kept.length) {
        const larger = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(needed, 2 * kept.length)));
        kept.copy(larger, 0, 0, length);
        kept = larger;
      }
      part.copy(kept, length);
      length = needed;
    },
    bytes: () => kept.subarray(0, length),
  };
}
