/** The chains that the API supports, by their CAIP-2 identifiers. */
export const evmChains = [
  "eip155:1",
  "eip155:11155111",
  "eip155:8453",
  "eip155:84532",
  "eip155:137",
  "eip155:80002",
  "eip155:56",
  "eip155:97",
  "eip155:10",
  "eip155:11155420",
  "eip155:143",
  "eip155:10143",
  "eip155:42161",
  "eip155:4217",
  "eip155:42431",
  "eip155:421614",
] as const;
export type EvmChain = (typeof evmChains)[number];

export const isEvmChain = (text: string): text is EvmChain => (evmChains as readonly string[]).includes(text);

/** The reference part of the identifier, which in this namespace is the chain id (EIP-155). */
export const chainIdOf = (chain: EvmChain): bigint => BigInt(chain.slice(chain.indexOf(":") + 1));

/** Rollups of the OP stack, which charge a fee in addition to gas for the data that they publish on the underlying chain. */
const opStack: readonly EvmChain[] = ["eip155:8453", "eip155:84532", "eip155:10", "eip155:11155420"];

export const isOpStack = (chain: EvmChain): boolean => opStack.includes(chain);
