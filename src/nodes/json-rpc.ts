import { parseJsonObject } from "../crypto/json-object.ts";
import { type OutboundClient, OutboundError, type OutboundErrorKind, type Stage } from "../delivery/outbound.ts";
import { MAX_NODE_ANSWER_BYTES, NODE_TIMEOUT_MS } from "../kernel/limits.ts";

/** JSON-RPC 2.0 over HTTP, one call a request. */

/** What a node says: a result, or why it has none. */
export type RpcAnswer = { result: unknown } | { error: RpcError };

export interface RpcError {
  code: number;
  /** The node's own words, bounded and without the secrets of its URL. */
  message: string;
  /** What the node adds to them, without those secrets either. */
  data?: unknown;
}

/** Undefined where it has none. */
export const resultOf = (answer: RpcAnswer): unknown => ("result" in answer ? answer.result : undefined);

/** A node that gave no answer at all. `message` says what it did, to follow its host's name. */
export class NodeFailure extends Error {
  /** Whether it may have done what it was asked for all the same: the request may have got to it. */
  readonly mayHaveActed: boolean;
  /** Not where the request waited for others of our own. */
  readonly isItsFault: boolean;

  constructor(message: string, { mayHaveActed = true, isItsFault = true } = {}) {
    super(message);
    this.mayHaveActed = mayHaveActed;
    this.isItsFault = isItsFault;
  }
}

/** An answer beyond its bound. */
export class AnswerTooLarge extends NodeFailure {}

/** Where a node is. Its URL may hold a key, so that only its host is ever told. */
export interface Endpoint {
  url: string;
  host: string;
}

const LONGEST_MESSAGE = 200;
/** Parts of a path or query that are shorter say nothing: `v2`, `rpc`, `mainnet`. */
const SHORTEST_SECRET = 8;
/** HTTP statuses with which nodes send answers of JSON-RPC; every other one is the word of whatever stands before them. */
const ANSWERING_STATUSES = [200, 400];
/** Statuses of those that stand before a node and have not let the request through ... */
const TURNED_AWAY_STATUSES = [401, 403, 404, 405, 413, 429];
/** ... and what became of a request that never got there, or what it was still waiting for. */
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

/** @throws NodeFailure when there is no answer, or none that JSON-RPC knows */
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

/** Some nodes write what a call reverted with as text, whatever its bytes are, and `parseJson` takes no NUL. */
const holdsNul = (body: Buffer): boolean => body.includes("\\u0000");

/** Blocks and their traces hold more values, deeper in one another, than `parseJson` takes. */
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
    // A request that could not be read has no id that could be told (JSON-RPC 2.0, section 5).
    if ((id === 1 || id === null) && typeof code === "number" && typeof message === "string") {
      return {
        error: { code, message: speakable(message, url), ...(data === undefined ? {} : { data: openData(data, url) }) },
      };
    }
  } else if (id === 1 && result !== undefined) {
    return { result };
  }
  return refuse();
}

/** A node's words, fit to be shown to those who asked: one line, and no part of the URL that could be a key. */
function speakable(message: string, url: string): string {
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
