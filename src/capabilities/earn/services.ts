import type { EvmChain } from "../../chains/evm/networks.ts";

/** What Earn needs of the house beside what the engine has for all. */

declare module "../../engine/services.ts" {
  interface Services {
    /** The operator's vaults to earn in, and what the service takes. */
    earn: EarnSettings;
  }
}

/** The chains that vaults to earn in can be on ... */
export const earnChains = [
  "eip155:1",
  "eip155:8453",
  "eip155:42161",
  "eip155:137",
  "eip155:56",
  "eip155:4217",
] as const satisfies readonly EvmChain[];
export type EarnChain = (typeof earnChains)[number];
/** ... and their protocols. */
export const earnProviders = ["EARN_PROVIDER_MORPHO", "EARN_PROVIDER_AAVE"] as const;
export type EarnProvider = (typeof earnProviders)[number];

/** A vault of the catalog. */
export interface EarnEntry {
  /** Lowercase. */
  vaultAddress: string;
  chainCaip2: EarnChain;
  provider: EarnProvider;
  name: string;
  /** Empty where the protocol has none. */
  curator: string;
}

export interface EarnSettings {
  /** The service's part of what vaults earn, in basis points; of wrappers that are deployed from now on. */
  serviceFeeBps: number;
  /** Lowercase; that of the sponsor unless it is set. */
  serviceFeeWallet: string | undefined;
  vaults: readonly EarnEntry[];
}
