import type { EvmChain } from "../../chains/evm/networks.ts";

/** The services that Earn needs in addition to those that the engine gives every operation. */

declare module "../../engine/services.ts" {
  interface Services {
    /** The operator's vaults, and the service's fee. */
    earn: EarnSettings;
  }
}

/** The chains that vaults can be on ... */
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
  /** Empty if the protocol has none. */
  curator: string;
}

export interface EarnSettings {
  /** The service's share of the yield, in basis points. It applies to wrappers that are deployed from now on. */
  serviceFeeBps: number;
  /** Lowercase; the sponsor's wallet if undefined. */
  serviceFeeWallet: string | undefined;
  vaults: readonly EarnEntry[];
}
