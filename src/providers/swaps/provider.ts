import { parseJsonObject } from "../../crypto/json-object.ts";
import type { OutboundAnswer, OutboundRequest } from "../../delivery/outbound.ts";

/** The interface of swap providers, their answers and their errors. Ethereum addresses are lowercase. */

/** The swap that a user wants. */
export interface SwapOrder {
  /** CAIP-2. */
  originChain: string;
  destinationChain: string;
  /** The payer, who also receives the output and any refund. */
  user: string;
  /** Contracts or mints. Null for the chain's native asset. */
  inputToken: string | null;
  outputToken: string | null;
  /** Decimal digits, in the smallest unit. */
  inputAmount: string;
  slippageBps?: string;
  /** The parts of the input that others receive. */
  fees: readonly { recipient: string; bps: number }[];
}

/** The call that a provider offers on an Ethereum chain, in the only form that is ever signed. */
export interface EvmOffer {
  call: { to: string; data: string; value: string };
  /** The spender of the input token. Null for the native asset. */
  spender: string | null;
}

/** The instructions that a provider offers for a wallet on Solana. Addresses are base58, data is hex. */
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
  /** The provider's id, for queries about the status. */
  requestId: string;
  /** After all fees. */
  outputAmount: string;
  minOutputAmount: string;
  slippageBps?: string;
  seconds?: string;
}

export type SwapProgress =
  | { status: "PENDING" }
  | { status: "COMPLETED"; hashes: string[] }
  | { status: "FAILED"; reason?: string };

/** The result of a swap, as far as the provider knows it. */
export interface SwapSettlement {
  outputAmount?: string;
  /** `token` is null for the chain's native asset. */
  refund?: { chainId: number; token: string | null; amount: string; transactionHash?: string };
}

/** What must be signed to have fees paid out. */
export interface ClaimOrder {
  requestId: string;
  /** 32 bytes, signed as a message (EIP-191). */
  message: Uint8Array;
  /** The body that the provider expects with the signature. */
  body: Record<string, unknown>;
}

/**
 * Sends one request, within the bounds for all of them. `path` begins with a slash. Resolves to the JSON object in an answer with status
 * 200.
 */
export type AskProvider = (
  request: Pick<OutboundRequest, "method"> & { path: string; body?: object },
) => Promise<Record<string, unknown>>;

export interface SwapProvider {
  name: string;
  offer(order: SwapOrder, ask: AskProvider): Promise<SwapOffer>;
  progressOf(requestId: string, ask: AskProvider): Promise<SwapProgress>;
  settlementOf(requestId: string, originChainId: number, ask: AskProvider): Promise<SwapSettlement>;
  /** Undefined if no fees have accrued. */
  claimFor(receiver: string, ask: AskProvider): Promise<ClaimOrder | undefined>;
  /** @param signature 0x hex: r, s and v */
  permit(claim: ClaimOrder, signature: string, ask: AskProvider): Promise<void>;
  /** The problem in an answer with any status other than 200. */
  problemIn(answer: OutboundAnswer): SwapProblem;
}

/** Why a provider failed. `message` describes what it did and may be shown. */
export class SwapProblem extends Error {
  /**
   * `order`: the provider rejected the order; `offer`: its offer must not be signed; `account`: it rejected the API key; `provider`: it
   * gave no usable answer, and may give one later.
   */
  readonly of: "order" | "offer" | "account" | "provider";
  /** How long the provider asked not to be called, if it did. */
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
