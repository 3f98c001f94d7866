import { setTimeout as sleep } from "node:timers/promises";
import { createGate } from "../../delivery/gate.ts";
import { type OutboundClient, OutboundError } from "../../delivery/outbound.ts";
import {
  MAX_SWAP_ANSWER_BYTES,
  MAX_SWAP_CALLS,
  MAX_SWAP_CALLS_OF_ONE_ORGANIZATION,
  SWAP_PROVIDER_PAUSE_MS,
  SWAP_PROVIDER_TOTAL_MS,
  SWAP_PROVIDER_TRIES,
} from "../../kernel/limits.ts";
import {
  type AskProvider,
  type ClaimOrder,
  objectOf,
  type SwapOffer,
  type SwapOrder,
  SwapProblem,
  type SwapProgress,
  type SwapProvider,
  type SwapSettlement,
} from "./provider.ts";

/** A configured swap provider. Calls are made on behalf of an organization; parents, with their sub-organizations, take turns. */
export interface Swaps {
  provider: string;
  /** Why the last call gave no usable answer. Undefined if it did, or if there was no call yet. */
  problem(): string | undefined;
  /** @throws SwapProblem, as do all methods here */
  offer(rootId: string, order: SwapOrder): Promise<SwapOffer>;
  progressOf(rootId: string, requestId: string): Promise<SwapProgress>;
  settlementOf(rootId: string, requestId: string, originChainId: number): Promise<SwapSettlement>;
  claimFor(rootId: string, receiver: string): Promise<ClaimOrder | undefined>;
  permit(rootId: string, claim: ClaimOrder, signature: string): Promise<void>;
}

export interface SwapEndpoint {
  /** Without a trailing slash. */
  baseUrl: string;
  /** Sent with every request, and never shown. */
  apiKey: string | undefined;
  /** The time limit of one try. */
  timeoutMs: number;
  outbound: Pick<OutboundClient, "request">;
}

/** Calls are bounded in time and size, and in number for each organization. Temporary failures are retried. */
export function createSwaps(provider: SwapProvider, endpoint: SwapEndpoint): Swaps {
  const gate = createGate({ perKey: MAX_SWAP_CALLS_OF_ONE_ORGANIZATION, total: MAX_SWAP_CALLS });
  /** Until when the provider has asked not to be called. */
  let quietUntil = 0;
  let problem: string | undefined;

  const answerTo = async (request: Parameters<AskProvider>[0], left: number): ReturnType<AskProvider> => {
    const answer = await send(endpoint, request, left);
    if (answer.status === 200) return objectOf(answer);
    throw provider.problemIn(answer);
  };
  const tryOnce = async (request: Parameters<AskProvider>[0], latest: number): ReturnType<AskProvider> => {
    const left = latest - performance.now();
    if (left <= 0) throw new SwapProblem("provider", "too many requests wait for it");
    try {
      const answer = await answerTo(request, left);
      problem = undefined;
      return answer;
    } catch (error) {
      // If it rejected the order or may not make an offer, it has answered.
      const isAway = error instanceof SwapProblem && (error.of === "provider" || error.of === "account");
      problem = isAway ? error.message : undefined;
      throw error;
    }
  };

  const askFor =
    (rootId: string, latest: number): AskProvider =>
    async (request) => {
      for (let tries = 1; ; tries++) {
        await rest(quietUntil, latest);
        try {
          return await gate.run(rootId, () => tryOnce(request, latest));
        } catch (error) {
          if (!(error instanceof SwapProblem) || error.of !== "provider") throw error;
          const pauseMs = error.pauseMs ?? 2 ** (tries - 1) * SWAP_PROVIDER_PAUSE_MS;
          const next = performance.now() + pauseMs;
          if (error.pauseMs !== undefined) quietUntil = Math.max(quietUntil, next);
          if (tries >= SWAP_PROVIDER_TRIES || next >= latest) throw error;
          await sleep(pauseMs);
        }
      }
    };

  const within = <T>(rootId: string, ask: (ask: AskProvider) => Promise<T>): Promise<T> =>
    ask(askFor(rootId, performance.now() + SWAP_PROVIDER_TOTAL_MS));

  return {
    provider: provider.name,
    problem: () => problem,
    offer: (rootId, order) => within(rootId, (ask) => provider.offer(order, ask)),
    progressOf: (rootId, requestId) => within(rootId, (ask) => provider.progressOf(requestId, ask)),
    settlementOf: (rootId, requestId, chainId) =>
      within(rootId, (ask) => provider.settlementOf(requestId, chainId, ask)),
    claimFor: (rootId, receiver) => within(rootId, (ask) => provider.claimFor(receiver, ask)),
    permit: (rootId, claim, signature) => within(rootId, (ask) => provider.permit(claim, signature, ask)),
  };
}

async function rest(until: number, latest: number): Promise<void> {
  const left = until - performance.now();
  if (left <= 0) return;
  if (until >= latest) throw new SwapProblem("provider", "it takes no more requests for the moment", left);
  await sleep(left);
}

async function send(
  { baseUrl, apiKey, timeoutMs, outbound }: SwapEndpoint,
  { method, path, body }: Parameters<AskProvider>[0],
  left: number,
) {
  try {
    return await outbound.request({
      method,
      url: `${baseUrl}${path}`,
      headers: {
        accept: "application/json",
        "user-agent": "keystead-swaps/1",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(apiKey === undefined ? {} : { "x-api-key": apiKey }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      timeoutMs: Math.max(1, Math.min(timeoutMs, Math.floor(left))),
      maxResponseBytes: MAX_SWAP_ANSWER_BYTES,
    });
  } catch (error) {
    throw error instanceof OutboundError ? new SwapProblem("provider", error.message) : error;
  }
}
