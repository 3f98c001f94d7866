import { base58, bech32, bech32m } from "@scure/base";
import { openBase58check } from "./base58check.ts";
import { BITCOIN_MAINNET, BITCOIN_REGTEST, BITCOIN_TESTNET, type BitcoinNetwork } from "./bitcoin.ts";
import { withChecksum } from "./ethereum.ts";

/** Checks for addresses that money is sent to: whatever is sent to a misspelled address is lost. */

/** 0x and 40 hex digits; if they are in mixed case, the case is a checksum (EIP-55). */
export function isEthereumAddress(text: string): boolean {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return false;
  const digits = text.slice(2);
  const isOfOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase();
  return isOfOneCase || text === withChecksum(text);
}

const SOLANA_BYTES = 32;

export function isSolanaAddress(text: string): boolean {
  try {
    return base58.decode(text).length === SOLANA_BYTES;
  } catch {
    return false;
  }
}

/** Version and hash. */
const VERSIONED_BYTES = 21;
const TEST_NETWORKS = [BITCOIN_TESTNET, BITCOIN_REGTEST];

/** Addresses of the main network, or of test networks if requested: P2PKH, P2SH and witness programs (BIP-141, BIP-350). */
export function isBitcoinAddress(text: string, { isTest }: { isTest: boolean }): boolean {
  const networks = [BITCOIN_MAINNET, ...(isTest ? TEST_NETWORKS : [])];
  const versioned = openBase58check(text);
  if (versioned?.length === VERSIONED_BYTES) {
    const [version] = versioned;
    return networks.some(({ pubKeyHash, scriptHash }) => version === pubKeyHash || version === scriptHash);
  }
  return isWitnessProgram(text, networks);
}

const LAST_VERSION = 16;

function isWitnessProgram(text: string, networks: readonly BitcoinNetwork[]): boolean {
  const [old, modern] = [bech32.decodeUnsafe(text), bech32m.decodeUnsafe(text)];
  const decoded = old ?? modern;
  if (!decoded || !networks.some((network) => network.bech32 === decoded.prefix)) return false;
  const [version = LAST_VERSION + 1, ...words] = decoded.words;
  const program = bech32.fromWordsUnsafe(words);
  if (!program || version > LAST_VERSION) return false;
  if (version === 0) return old !== undefined && [20, 32].includes(program.length);
  if (modern === undefined) return false;
  return version === 1 ? program.length === 32 : program.length >= 2 && program.length <= 40;
}
