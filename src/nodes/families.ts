import type { EvmChain } from "../chains/evm/networks.ts";
import { chainOfGenesis, isHash, type SolanaChain } from "../chains/solana/networks.ts";

/** The differences between nodes of the families of chains. */

export type Chain = EvmChain | SolanaChain;

export interface ChainFamily {
  /** The call that returns which chain a node serves. */
  identityMethod: string;
  /** The CAIP-2 identifier for the result of that call. Undefined if the result is not valid. */
  chainIn: (result: unknown) => string | undefined;
  /** Error codes with which a node says that it cannot be used for now, with their descriptions. */
  restingCodes: Readonly<Record<number, string>>;
}

/** By CAIP-2 namespace. */
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
