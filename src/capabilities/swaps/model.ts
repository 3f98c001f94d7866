import { base58 } from "@scure/base";
import { type Static, Type } from "typebox";
import { type AssetBook, tokenId } from "../../chains/evm/assets.ts";
import { isEvmChain } from "../../chains/evm/networks.ts";
import { SOL } from "../../chains/solana/assets.ts";
import { isHash } from "../../chains/solana/networks.ts";
import { fail } from "../../kernel/errors.ts";
import { type SwapChain, swapCluster } from "./services.ts";

/** Types shared by the operations on swaps. */

export const Token = Type.String({
  maxLength: 255,
  pattern:
    "^[a-z0-9]{3,8}:[0-9A-Za-z]{1,32}/(slip44:[0-9]{1,10}|erc20:0x[0-9a-fA-F]{40}|token:[1-9A-HJ-NP-Za-km-z]{32,44})$",
  description:
    "the CAIP-19 identifier of an asset, such as eip155:8453/slip44:60 or eip155:8453/erc20:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
});

export const Amount = Type.String({
  pattern: "^[1-9][0-9]{0,77}$",
  description: "an amount in the token's smallest units: digits, more than 0",
});

export const Nonce = Type.String({ pattern: "^(0|[1-9][0-9]{0,38})$", description: "a nonce in digits" });

/** Zero to 10,000 basis points; the operations may allow less. */
export const Bps = Type.String({
  pattern: "^(0|[1-9][0-9]{0,3}|10000)$",
  description: "basis points in digits, such as 50 for 0.5 %",
});

export const swapStatuses = ["PENDING", "COMPLETED", "FAILED"] as const;
export const swapKinds = ["SAME_CHAIN", "CROSS_CHAIN"] as const;

/** An asset that a request names. */
export interface SwapToken {
  chain: SwapChain;
  /** The contract in lowercase, or the mint; null for the chain's native asset. */
  address: string | null;
  /** As the API shows it. */
  caip19: string;
  isStable: boolean;
}

/**
 * The asset that a CAIP-19 identifier names.
 *
 * @param chains the chains between which this server swaps
 * @throws KeysteadError FIELD_INVALID
 */
export function tokenOf(assets: AssetBook, chains: readonly SwapChain[], field: string, caip19: string): SwapToken {
  const refuse = (reason: string): never => fail("FIELD_INVALID", { field: `parameters.${field}`, reason });
  const [chain = "", asset = ""] = caip19.split("/");
  const [namespace, reference = ""] = asset.split(":");
  const isSwapped = (isEvmChain(chain) || chain === swapCluster) && chains.includes(chain);
  if (!isSwapped) return refuse(`is on ${chain}, but this server supports swaps only on ${chains.join(", ")}`);
  if (namespace === "slip44") {
    const native = assets.assetOf(chain, null);
    if (native?.caip19 === caip19) return { chain, address: null, caip19, isStable: false };
    return refuse(`is not the native asset of ${chain}, which is ${native?.caip19 ?? "none"}`);
  }
  if (chain === swapCluster) {
    if (namespace !== "token" || !isMint(reference)) return refuse(`does not name a token on ${chain}`);
    if (reference === WRAPPED_SOL) {
      return refuse(`is wrapped SOL, which is not supported; use ${chain}/slip44:${SOL.coinType} for SOL`);
    }
    const isStable = assets.assetOf(chain, reference)?.isStable ?? false;
    return { chain, address: reference, caip19, isStable };
  }
  if (namespace !== "erc20" || /^0x0{40}$/.test(reference)) return refuse(`does not name a token on ${chain}`);
  const address = reference.toLowerCase();
  const isStable = assets.assetOf(chain, address)?.isStable ?? false;
  return { chain, address, caip19: tokenId(chain, address), isStable };
}

/** The mint of wrapped SOL. Requests that swap SOL must name the native asset instead. */
export const WRAPPED_SOL = "So11111111111111111111111111111111111111112";
const isMint = (text: string): boolean => isHash(text) && base58.decode(text).length === 32;

/** Checks that an amount fits: 256 bits on Ethereum chains, 64 bits on Solana. @throws KeysteadError FIELD_INVALID */
export function requireWord(field: string, amount: string, { chain }: SwapToken): void {
  const bits = chain === swapCluster ? 64 : 256;
  if (BigInt(amount) >= 1n << BigInt(bits))
    fail("FIELD_INVALID", { field: `parameters.${field}`, reason: `must fit into ${bits} bits` });
}

export const Quote = Type.Object(
  {
    quoteId: Type.String(),
    provider: Type.String(),
    outputAmount: Type.String(),
    minOutputAmount: Type.String(),
    expiresAt: Type.String(),
    slippageBps: Type.Optional(Type.String()),
    clientFeeBps: Type.String(),
    estimatedTimeSeconds: Type.Optional(Type.String()),
  },
  { $id: "SwapQuote" },
);

export const Refund = Type.Object(
  { asset: Type.String(), amount: Type.String(), txHash: Type.Optional(Type.String()) },
  { $id: "SwapRefund" },
);
export type Refund = Static<typeof Refund>;
