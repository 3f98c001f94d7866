import { type Static, Type } from "typebox";
import { type Asset, type AssetBook, tokenId, wholeUnits, worthOf } from "../../chains/evm/assets.ts";
import { type EvmChain, evmChains, isEvmChain } from "../../chains/evm/networks.ts";
import { canonicalSolanaChain, isSolanaChain, type SolanaChain, solanaChains } from "../../chains/solana/networks.ts";
import { withChecksum } from "../../crypto/addresses/ethereum.ts";
import { fail } from "../../kernel/errors.ts";
import type { Chain } from "../../nodes/families.ts";
import type { Reader } from "../../storage/engine.ts";
import { hasPrivateKeyAt } from "../private-keys/store.ts";
import { type FollowedFormat, hasAccountAt } from "../wallets/store.ts";

/** The names of chains and addresses in requests, and the form of assets in responses. */

/** The address of an account on an Ethereum chain. */
const EVM_ADDRESS = "^0x[0-9a-fA-F]{40}$";
export const EvmAddress = Type.String({
  pattern: EVM_ADDRESS,
  description: "an Ethereum address: 0x and 40 hex digits",
});

/** The chains whose transactions are listed. */
export const historyChains = [
  "eip155:1",
  "eip155:11155111",
  "eip155:8453",
  "eip155:84532",
  "eip155:137",
  "eip155:80002",
  "eip155:42161",
  "eip155:4217",
  "eip155:42431",
  "eip155:421614",
  "eip155:56",
  "eip155:97",
] as const satisfies readonly EvmChain[];

/** The names that requests for histories, balances and assets accept for Solana clusters. */
export const solanaSpellings = [...solanaChains, "solana:mainnet", "solana:devnet"] as const;

/** All chains that have balances and assets, under all accepted names. */
export const chainSpellings = [...evmChains, ...solanaSpellings] as const;

/** The cluster that a name in a request stands for. */
export const solanaChainOf = (spelling: (typeof solanaSpellings)[number]): SolanaChain =>
  canonicalSolanaChain(spelling);

/** The chain that a name in a request stands for. */
export const chainOf = (spelling: (typeof chainSpellings)[number]): Chain =>
  isEvmChain(spelling) ? spelling : solanaChainOf(spelling);

/** The address of an account on a Solana cluster. */
const SOLANA_ADDRESS = "^[1-9A-HJ-NP-Za-km-z]{32,44}$";
export const SolanaAddress = Type.String({
  pattern: SOLANA_ADDRESS,
  description: "a Solana address in base58",
});

/** The address of an account on any of these chains. */
export const AccountAddress = Type.String({
  pattern: `${EVM_ADDRESS}|${SOLANA_ADDRESS}`,
  description: "an Ethereum address, 0x and 40 hex digits, or a Solana address in base58",
});

/** @throws KeysteadError FIELD_INVALID for an address of the other kind of chain */
export function requireAddressOn(chain: Chain, address: string): void {
  const isOfEvm = address.startsWith("0x");
  if (isOfEvm === isEvmChain(chain)) return;
  fail("FIELD_INVALID", { field: "address", reason: `is not an address on ${chain}; use one of that chain` });
}

/** The format of the addresses whose transactions on a chain are followed. */
export const formatOn = (chain: Chain): FollowedFormat =>
  isSolanaChain(chain) ? "ADDRESS_FORMAT_SOLANA" : "ADDRESS_FORMAT_ETHEREUM";

/** An address as in responses and events: with its checksum for Ethereum. */
export const spelledOn = (chain: Chain, address: string): string =>
  isSolanaChain(chain) ? address : withChecksum(address);

/** An amount for display only. Do not compute with it. */
export const Display = Type.Object(
  {
    crypto: Type.Optional(Type.String()),
    /** Absent if the asset has no price. */
    usd: Type.Optional(Type.String()),
  },
  { $id: "AmountDisplay" },
);

export function displayOf(
  assets: AssetBook,
  { caip19, decimals }: Pick<Asset, "caip19" | "decimals">,
  amount: bigint,
): Static<typeof Display> {
  const price = assets.priceOf(caip19);
  const crypto = wholeUnits(amount, decimals);
  return price === undefined ? { crypto } : { crypto, usd: worthOf(amount, decimals, price) };
}

/** The CAIP-19 id of the asset in which a fee was paid: a token, or the native asset if null. */
export const feeAssetId = (assets: AssetBook, chain: Chain, token: string | null): string =>
  token === null ? (assets.assetOf(chain, null)?.caip19 ?? `${chain}/slip44:60`) : tokenId(chain, token);

/**
 * Refuses an address that is not one of the organization's wallet accounts.
 *
 * @throws KeysteadError FIELD_INVALID for the address of a private key, RESOURCE_NOT_FOUND
 */
export async function requireWalletAddress(
  read: Reader,
  { organizationId, caip2, address }: { organizationId: string; caip2: Chain; address: string },
): Promise<void> {
  if (await hasAccountAt(read, organizationId, formatOn(caip2), address)) return;
  if (await hasPrivateKeyAt(read, organizationId, address)) {
    fail("FIELD_INVALID", {
      field: "address",
      reason: "is the address of a private key; only addresses of wallet accounts are followed, so use one of those",
    });
  }
  fail("RESOURCE_NOT_FOUND", { kind: "wallet account", id: address, organizationId });
}
