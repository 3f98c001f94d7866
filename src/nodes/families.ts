import type { EvmChain } from "../chains/evm/networks.ts";
import { chainOfGenesis, isHash, type SolanaChain } from "../chains/solana/networks.ts";

/** What the nodes of each family of chains have of their own; all else is common to them. */

export type Chain = EvmChain | SolanaChain;

export interface ChainFamily {
  /** The call that a node is asked which chain it serves with ... */
  identityMethod: string;
  /** ... and the CAIP-2 identifier that its result means; undefined where it means none. */
  chainIn: (result: unknown) => string | undefined;
  /** Codes of errors with which a node says that it is of no use for now, and what each says. */
  restingCodes: Readonly<Record<number, string>>;
}

/** By the namespaces of CAIP-2. */
const families: Record<string, ChainFamily> = {
  eip155: {
    identityMethod: "eth_chainId",
    chainIn: (id) => (typeof id === "string" && /^0x[0-9a-f]{1,16}$/i.test(id) ? `eip155:${BigInt(id)}` : undefined),
    // EIP-1474.
    restingCodes: { [-32_005]: "takes no more requests now" },
  },
  solana: {
    identityMethod: "getGenesisHash",
    chainIn: (hash) => (typeof hash === "string" && isHash(hash) ? chainOfGenesis(hash) : undefined),
    restingCodes: { [-32_005]: "is behind its chain" },
  },
};

export const familyOf = (chain: Chain): ChainFamily => families[chain.slice(0, chain.indexOf(":"))] as ChainFamily;
