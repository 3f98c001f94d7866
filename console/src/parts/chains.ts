/** Chains by their CAIP-2 names, as people call them. */
export const CHAIN_NAMES: Record<string, string> = {
  "eip155:1": "Ethereum",
  "eip155:11155111": "Ethereum Sepolia",
  "eip155:8453": "Base",
  "eip155:84532": "Base Sepolia",
  "eip155:137": "Polygon",
  "eip155:80002": "Polygon Amoy",
  "eip155:56": "BNB Smart Chain",
  "eip155:97": "BNB Smart Chain Testnet",
  "eip155:10": "OP Mainnet",
  "eip155:11155420": "OP Sepolia",
  "eip155:143": "Monad",
  "eip155:10143": "Monad Testnet",
  "eip155:42161": "Arbitrum One",
  "eip155:421614": "Arbitrum Sepolia",
  "eip155:4217": "Tempo",
  "eip155:42431": "Tempo Testnet",
  "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp": "Solana",
  "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1": "Solana Devnet",
};

export interface Unit {
  symbol: string;
  decimals: number;
}

const ETHER_DECIMALS = 18;
/** Of a chain without a coin, and of one whose coin is not known here. */
const NO_NAME = "of the native unit";
const SYMBOLS: Record<string, string> = {
  "eip155:137": "POL",
  "eip155:80002": "POL",
  "eip155:56": "BNB",
  "eip155:97": "tBNB",
  "eip155:143": "MON",
  "eip155:10143": "MON",
  "eip155:4217": NO_NAME,
  "eip155:42431": NO_NAME,
};

const SOL: Unit = { symbol: "SOL", decimals: 9 };

const BITCOIN_DECIMALS = 8;

/** Of Bitcoin's main network, or of one for tests, whose coins are worth nothing. */
export const bitcoinUnit = (isTest: boolean): Unit => ({ symbol: isTest ? "tBTC" : "BTC", decimals: BITCOIN_DECIMALS });

export const TRX: Unit = { symbol: "TRX", decimals: 6 };

/** What fees are paid in on a chain. */
export function nativeOf(caip2: string): Unit {
  if (caip2.startsWith("solana:")) return SOL;
  const symbol = Object.hasOwn(CHAIN_NAMES, caip2) ? (SYMBOLS[caip2] ?? "ETH") : NO_NAME;
  return { symbol, decimals: ETHER_DECIMALS };
}
