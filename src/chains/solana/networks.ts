/** The clusters that the API supports, by their CAIP-2 identifiers: the first 32 characters of the hash of their genesis. */
export const solanaChains = [
  "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
  "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
] as const;
export type SolanaChain = (typeof solanaChains)[number];

const [mainnet, devnet] = solanaChains;

/** Whether a text is like 32 bytes in base58, judged only by its characters and length. */
export const isHash = (text: string): boolean => /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text);

/** Every spelling that requests may use: the cluster's name, its identifier, and the full hash. */
const canonical = {
  "solana:mainnet": mainnet,
  [mainnet]: mainnet,
  "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d": mainnet,
  "solana:devnet": devnet,
  [devnet]: devnet,
  "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG": devnet,
} as const satisfies Record<string, SolanaChain>;
export type SolanaChainSpelling = keyof typeof canonical;

export const solanaChainSpellings = Object.keys(canonical) as readonly SolanaChainSpelling[];

export const canonicalSolanaChain = (spelling: SolanaChainSpelling): SolanaChain => canonical[spelling];

export const isSolanaChain = (text: string): text is SolanaChain => (solanaChains as readonly string[]).includes(text);

/** The identifier of the chain with this genesis, in base58. */
export const chainOfGenesis = (hash: string): string => `solana:${hash.slice(0, 32)}`;
