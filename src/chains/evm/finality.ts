import type { EvmChain } from "./networks.ts";

/** How many blocks must follow a block before it counts as final. */
const depths: Record<EvmChain, number> = {
  "eip155:1": 32,
  "eip155:11155111": 12,
  "eip155:8453": 10,
  "eip155:84532": 5,
  "eip155:137": 30,
  "eip155:80002": 12,
  "eip155:56": 15,
  "eip155:97": 15,
  "eip155:10": 10,
  "eip155:11155420": 10,
  "eip155:143": 10,
  "eip155:10143": 10,
  "eip155:42161": 10,
  "eip155:4217": 10,
  "eip155:42431": 5,
  "eip155:421614": 5,
};

export const finalityDepthOf = (chain: EvmChain): number => depths[chain];
