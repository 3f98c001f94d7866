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

/** What requests about chains name, and what answers show of assets. */

/** Of an account on an Ethereum chain. */
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

/** The spellings under which histories, balances and assets of Solana are asked for. */
export const solanaSpellings = [...solanaChains, "solana:mainnet", "solana:devnet"] as const;

/** All chains of which balances and assets are told, under all these names. */
export const chainSpellings = [...evmChains, ...solanaSpellings] as const;

/** The cluster that a request means. */
export const solanaChainOf = (spelling: (typeof solanaSpellings)[number]): SolanaChain =>
  canonicalSolanaChain(spelling);

/** The chain that a request means. */
export const chainOf = (spelling: (typeof chainSpellings)[number]): Chain =>
  isEvmChain(spelling) ? spelling : solanaChainOf(spelling);

/** Of an account on a cluster of Solana. */
const SOLANA_ADDRESS = "^[1-9A-HJ-NP-Za-km-z]{32,44}$";
export const SolanaAddress = Type.String({
  pattern: SOLANA_ADDRESS,
  description: "a Solana address in base58",
});

/** Of an account on any of these chains. */
export const AccountAddress = Type.String({
  pattern: `${EVM_ADDRESS}|${SOLANA_ADDRESS}`,
  description: "an Ethereum address, 0x and 40 hex digits, or one of Solana in base58",
});

/** @throws KeysteadError FIELD_INVALID for an address of the other kind of chains */
export function requireAddressOn(chain: Chain, address: string): void {
  const isOfEvm = address.startsWith("0x");
  if (isOfEvm === isEvmChain(chain)) return;
  fail("FIELD_INVALID", { field: "address", reason: `is no address of ${chain}; name one of that chain` });
}

/** The format of the addresses whose transactions on a chain are followed. */
export const formatOn = (chain: Chain): FollowedFormat =>
  isSolanaChain(chain) ? "ADDRESS_FORMAT_SOLANA" : "ADDRESS_FORMAT_ETHEREUM";

/** An address as answers and events spell it: of Ethereum with its checksum. */
export const spelledOn = (chain: Chain, address: string): string =>
  isSolanaChain(chain) ? address : withChecksum(address);

/** An amount for people's eyes; nothing is to be computed with it. */
export const Display = Type.Object(
  {
    crypto: Type.Optional(Type.String()),
    /** Absent where the asset has no price. */
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

/** CAIP-19 of what a fee was paid in: a token, or the native asset for null. */
export const feeAssetId = (assets: AssetBook, chain: Chain, token: string | null): string =>
  token === null ? (assets.assetOf(chain, null)?.caip19 ?? `${chain}/slip44:60`) : tokenId(chain, token);

/**
 * Refuses an address that is not one of the organization's wallet accounts.
 *
 * @throws KeysteadError FIELD_INVALID for that of a private key, RESOURCE_NOT_FOUND
 */
export async function requireWalletAddress(
  read: Reader,
  { organizationId, caip2, address }: { organizationId: string; caip2: Chain; address: string },
): Promise<void> {
  if (await hasAccountAt(read, organizationId, formatOn(caip2), address)) return;
  if (await hasPrivateKeyAt(read, organizationId, address)) {
    fail("FIELD_INVALID", {
      field: "address",
      reason: "is the address of a private key; only those of wallet accounts are followed: name one of these",
    });
  }
  fail("RESOURCE_NOT_FOUND", { kind: "wallet account", id: address, organizationId });
}
