import { parseJsonObject } from "../crypto/json-object.ts";
import { type OutboundClient, OutboundError, type OutboundErrorKind, type Stage } from "../delivery/outbound.ts";
import { isShallow } from "../kernel/json.ts";
import { MAX_NODE_ANSWER_BYTES, NODE_TIMEOUT_MS } from "../kernel/limits.ts";

/** JSON-RPC 2.0 over HTTP, one call per request. */

/** A node's answer: a result or an error. */
export type RpcAnswer = { result: unknown } | { error: RpcError };

export interface RpcError {
  code: number;
  /** The node's message, shortened and without the secrets of its URL. */
  message: string;
  /** The node's additional data, also without those secrets. Left out if it is nested too deeply. */
  data?: unknown;
}

/** Undefined if the answer is an error. */
export const resultOf = (answer: RpcAnswer): unknown => ("result" in answer ? answer.result : undefined);

/** A node gave no answer. `message` says what the node did; it follows the host's name. */
export class NodeFailure extends Error {
  /** Whether the node may have executed the call anyway, because the request may have reached it. */
  readonly mayHaveActed: boolean;
  /** False if the request waited for our own other requests. */
  readonly isItsFault: boolean;

  constructor(message: string, { mayHaveActed = true, isItsFault = true } = {}) {
    super(message);
    this.mayHaveActed = mayHaveActed;
    this.isItsFault = isItsFault;
  }
}

/** The answer exceeds its bound. */
export class AnswerTooLarge extends NodeFailure {}

/** The address of a node. Its URL may contain a key, so only its host is ever shown. */
export interface Endpoint {
  url: string;
  host: string;
}

const LONGEST_MESSAGE = 200;
/** Shorter parts of a path or query are not secrets, for example `v2`, `rpc`, `mainnet`. */
const SHORTEST_SECRET = 8;
/** HTTP statuses with which nodes send JSON-RPC answers. Any other status comes from a proxy or gateway in front of them. */
const ANSWERING_STATUSES = [200, 400];
/** Statuses with which a proxy or gateway refuses a request without forwarding it. */
const TURNED_AWAY_STATUSES = [401, 403, 404, 405, 413, 429];
/** Failures, and stages of a timeout, in which the request cannot have reached the node. */
const NEVER_THERE: readonly (OutboundErrorKind | Stage)[] = [
  "url",
  "dns",
  "blocked",
  "queue",
  "name",
  "connect",
  "tls",
];

export const endpointOf = (url: string): Endpoint => ({ url, host: new URL(url).host });

/** @throws NodeFailure if there is no answer, or not a valid JSON-RPC one */
export async function callJsonRpc(
  outbound: Pick<OutboundClient, "request">,
  { url }: Endpoint,
  { method, params, maxAnswerBytes }: { method: string; params: readonly unknown[]; maxAnswerBytes?: number },
): Promise<RpcAnswer> {
  const answer = await outbound
    .request({
      method: "POST",
      url,
      headers: { "content-type": "application/json", accept: "application/json", "user-agent": "keystead-nodes/1" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      timeoutMs: NODE_TIMEOUT_MS,
      maxResponseBytes: maxAnswerBytes ?? MAX_NODE_ANSWER_BYTES,
    })
    .catch((error: unknown) => {
      throw error instanceof OutboundError ? unanswered(error) : error;
    });
  if (!ANSWERING_STATUSES.includes(answer.status)) {
    const mayHaveActed = !TURNED_AWAY_STATUSES.includes(answer.status);
    throw new NodeFailure(`answered with the status ${answer.status}`, { mayHaveActed });
  }
  if (answer.truncated) {
    throw new AnswerTooLarge(`answered with more than ${maxAnswerBytes ?? MAX_NODE_ANSWER_BYTES} bytes`);
  }
  return answerOf(
    maxAnswerBytes === undefined && !holdsNul(answer.body)
      ? parseJsonObject(answer.body, refuse)
      : parsedLoosely(answer.body),
    url,
  );
}

function unanswered({ kind, waitedFor, message }: OutboundError): NodeFailure {
  const mayHaveActed = !NEVER_THERE.includes(waitedFor ?? kind);
  return new NodeFailure(`did not answer: ${message}`, { mayHaveActed, isItsFault: waitedFor !== "queue" });
}

function refuse(): never {
  throw new NodeFailure("answered with something that is not JSON-RPC");
}

/** Some nodes return revert data as text, whatever its bytes are, and `parseJson` refuses NUL. */
const holdsNul = (body: Buffer): boolean => body.includes("\\u0000");

/** Blocks and their traces have more values and deeper nesting than `parseJson` accepts. */
function parsedLoosely(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString());
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return refuse();
}

function answerOf({ id, result, error }: Record<string, unknown>, url: string): RpcAnswer {
  if (typeof error === "object" && error !== null) {
    const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown };
    // The error for a request that the node could not parse has no id (JSON-RPC 2.0, section 5).
    if ((id === 1 || id === null) && typeof code === "number" && typeof message === "string") {
      return {
        error: {
          code,
          message: speakable(message, url),
          ...(data !== undefined && isShallow(data) ? { data: openData(data, url) } : {}),
        },
      };
    }
  } else if (id === 1 && result !== undefined) {
    return { result };
  }
  return refuse();
}

/** A node's text in a form that callers may see: one line, without any part of the URL that could be a key. */
export function speakable(message: string, url: string): string {
  const line = withoutSecrets(message, url)
    .toWellFormed()
    .replace(/\p{Cc}+/gu, " ")
    .trim();
  return line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE)}…` : line;
}

const openData = (data: unknown, url: string): unknown =>
  JSON.parse(JSON.stringify(data), (_, value) => (typeof value === "string" ? withoutSecrets(value, url) : value));

function withoutSecrets(text: string, url: string): string {
  const { pathname, search } = new URL(url);
  const secrets = `${pathname}${search}`.split(/[/?&=]/).filter((part) => part.length >= SHORTEST_SECRET);
  return secrets.reduce((open, secret) => open.replaceAll(secret, "…").replaceAll(decoded(secret), "…"), text);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
