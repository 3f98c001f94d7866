import { parseJsonObject } from "../../crypto/json-object.ts";
import type { OutboundAnswer, OutboundRequest } from "../../delivery/outbound.ts";

/** What every provider of swaps is asked, what it answers, and how it is known to have refused. Addresses of Ethereum are lowercase. */

/** What somebody wants to swap. */
export interface SwapOrder {
  /** CAIP-2. */
  originChain: string;
  destinationChain: string;
  /** Who pays, and who gets it all: the output, and what is given back. */
  user: string;
  /** Contracts, or mints; null for the chain's native asset. */
  inputToken: string | null;
  outputToken: string | null;
  /** Digits, in the smallest units. */
  inputAmount: string;
  slippageBps?: string;
  /** What others take of the input. */
  fees: readonly { recipient: string; bps: number }[];
}

/** What a provider would have the user call, in the one form that is ever signed ... */
export interface EvmOffer {
  call: { to: string; data: string; value: string };
  /** Who takes the input token; null for the native asset. */
  spender: string | null;
}

/** ... and what it would have a wallet of Solana sign. Addresses in base58, data in hex. */
export interface SolanaOffer {
  instructions: readonly {
    program: string;
    accounts: readonly { key: string; signer: boolean; writable: boolean }[];
    data: string;
  }[];
  lookupTables: readonly string[];
}

export type SwapOffer = OfferedAmounts & (EvmOffer | SolanaOffer);

export interface OfferedAmounts {
  /** The provider's own, by which it is asked what became of it. */
  requestId: string;
  /** Net of all fees. */
  outputAmount: string;
  minOutputAmount: string;
  slippageBps?: string;
  seconds?: string;
}

export type SwapProgress =
  | { status: "PENDING" }
  | { status: "COMPLETED"; hashes: string[] }
  | { status: "FAILED"; reason?: string };

/** What a swap came to, as far as the provider knows yet. */
export interface SwapSettlement {
  outputAmount?: string;
  /** `token` is null for the native asset of the chain. */
  refund?: { chainId: number; token: string | null; amount: string; transactionHash?: string };
}

/** What is to be signed so that fees are paid out. */
export interface ClaimOrder {
  requestId: string;
  /** 32 bytes, which are signed as a message (EIP-191). */
  message: Uint8Array;
  /** As the provider wants it back. */
  body: Record<string, unknown>;
}

/** Sends one request, within the bounds of everybody; `path` begins with a slash. Resolves to the object in an answer of 200. */
export type AskProvider = (
  request: Pick<OutboundRequest, "method"> & { path: string; body?: object },
) => Promise<Record<string, unknown>>;

export interface SwapProvider {
  name: string;
  offer(order: SwapOrder, ask: AskProvider): Promise<SwapOffer>;
  progressOf(requestId: string, ask: AskProvider): Promise<SwapProgress>;
  settlementOf(requestId: string, originChainId: number, ask: AskProvider): Promise<SwapSettlement>;
  /** Undefined where nothing has accrued. */
  claimFor(receiver: string, ask: AskProvider): Promise<ClaimOrder | undefined>;
  /** @param signature 0x hex: r, s and v */
  permit(claim: ClaimOrder, signature: string, ask: AskProvider): Promise<void>;
  /** What an answer other than 200 means. */
  problemIn(answer: OutboundAnswer): SwapProblem;
}

/** Why a provider did not do it. `message` says what it did, in words that may be shown. */
export class SwapProblem extends Error {
  /**
   * `order`: it does not take what was asked; `offer`: what it offers is not to be signed; `account`: it does not take the key;
   * `provider`: it gave no usable answer, and may give one later.
   */
  readonly of: "order" | "offer" | "account" | "provider";
  /** Where it asks to be left alone for so long. */
  readonly pauseMs: number | undefined;

  constructor(of: SwapProblem["of"], message: string, pauseMs?: number) {
    super(message);
    this.name = "SwapProblem";
    this.of = of;
    this.pauseMs = pauseMs;
  }
}

/** @throws SwapProblem */
export function objectOf({ body, truncated }: OutboundAnswer): Record<string, unknown> {
  const refuse = (): never => {
    throw new SwapProblem("provider", "it answered with something that is no JSON object");
  };
  return truncated ? refuse() : parseJsonObject(body, refuse);
}
