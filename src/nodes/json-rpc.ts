import { type OutboundClient, OutboundError } from "../delivery/outbound.ts";
import { KeysteadError } from "../kernel/errors.ts";
import { parseJson } from "../kernel/json.ts";
import { MAX_NODE_ANSWER_BYTES, NODE_TIMEOUT_MS } from "../kernel/limits.ts";

/** JSON-RPC 2.0 over HTTP, one call a request. */

/** What a node says: a result, or why it has none. */
export type RpcAnswer = { result: unknown } | { error: RpcError };

export interface RpcError {
  code: number;
  /** The node's own words, bounded and without the secrets of its URL. */
  message: string;
}

/** A node that gave no answer at all. `message` says what it did, to follow its host's name. */
export class NodeFailure extends Error {}

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

export const endpointOf = (url: string): Endpoint => ({ url, host: new URL(url).host });

/** @throws NodeFailure when there is no answer, or none that JSON-RPC knows */
export async function callJsonRpc(
  outbound: Pick<OutboundClient, "request">,
  { url }: Endpoint,
  method: string,
  params: readonly unknown[],
): Promise<RpcAnswer> {
  const answer = await outbound
    .request({
      method: "POST",
      url,
      headers: { "content-type": "application/json", accept: "application/json", "user-agent": "keystead-nodes/1" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      timeoutMs: NODE_TIMEOUT_MS,
      maxResponseBytes: MAX_NODE_ANSWER_BYTES,
    })
    .catch((error: unknown) => {
      throw error instanceof OutboundError ? new NodeFailure(`did not answer: ${error.message}`) : error;
    });
  if (!ANSWERING_STATUSES.includes(answer.status)) throw new NodeFailure(`answered with the status ${answer.status}`);
  if (answer.truncated) throw new NodeFailure(`answered with more than ${MAX_NODE_ANSWER_BYTES} bytes`);
  return answerOf(parsed(answer.body), url);
}

function parsed(body: Buffer): Record<string, unknown> {
  try {
    const value = parseJson(body);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof KeysteadError)) throw error;
  }
  throw new NodeFailure("answered with something that is not JSON-RPC");
}

function answerOf({ id, result, error }: Record<string, unknown>, url: string): RpcAnswer {
  if (typeof error === "object" && error !== null) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    // A request that could not be read has no id that could be told (JSON-RPC 2.0, section 5).
    if ((id === 1 || id === null) && typeof code === "number" && typeof message === "string") {
      return { error: { code, message: speakable(message, url) } };
    }
  } else if (id === 1 && result !== undefined) {
    return { result };
  }
  throw new NodeFailure("answered with something that is not JSON-RPC");
}

/** A node's words, fit to be shown to those who asked: one line, and no part of the URL that could be a key. */
function speakable(message: string, url: string): string {
  const { pathname, search } = new URL(url);
  const secrets = `${pathname}${search}`.split(/[/?&=]/).filter((part) => part.length >= SHORTEST_SECRET);
  const open = secrets.reduce((text, secret) => text.replaceAll(secret, "…").replaceAll(decoded(secret), "…"), message);
  const line = open
    .toWellFormed()
    .replace(/\p{Cc}+/gu, " ")
    .trim();
  return line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE)}…` : line;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
