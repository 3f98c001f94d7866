import { isAscii } from "node:buffer";
import { pbkdf2Sync, randomBytes } from "node:crypto";
import { entropyToMnemonic, mnemonicToEntropy } from "@scure/bip39";
import { wordlist as czech } from "@scure/bip39/wordlists/czech.js";
import { wordlist as english } from "@scure/bip39/wordlists/english.js";
import { wordlist as french } from "@scure/bip39/wordlists/french.js";
import { wordlist as italian } from "@scure/bip39/wordlists/italian.js";
import { wordlist as japanese } from "@scure/bip39/wordlists/japanese.js";
import { wordlist as korean } from "@scure/bip39/wordlists/korean.js";
import { wordlist as simplifiedChinese } from "@scure/bip39/wordlists/simplified-chinese.js";
import { wordlist as spanish } from "@scure/bip39/wordlists/spanish.js";
import { wordlist as traditionalChinese } from "@scure/bip39/wordlists/traditional-chinese.js";
import { wipe } from "../kernel/bytes.ts";
import { MNEMONIC_LANGUAGES, type MnemonicLanguage, type MnemonicLength } from "./mnemonic-languages.ts";

const wordlists: Record<MnemonicLanguage, string[]> = {
  MNEMONIC_LANGUAGE_ENGLISH: english,
  MNEMONIC_LANGUAGE_SIMPLIFIED_CHINESE: simplifiedChinese,
  MNEMONIC_LANGUAGE_TRADITIONAL_CHINESE: traditionalChinese,
  MNEMONIC_LANGUAGE_CZECH: czech,
  MNEMONIC_LANGUAGE_FRENCH: french,
  MNEMONIC_LANGUAGE_ITALIAN: italian,
  MNEMONIC_LANGUAGE_JAPANESE: japanese,
  MNEMONIC_LANGUAGE_KOREAN: korean,
  MNEMONIC_LANGUAGE_SPANISH: spanish,
};

/** Three words encode 32 bits of entropy and one bit of checksum. */
const ENTROPY_BYTES_PER_WORD = 4 / 3;
const SEED_ROUNDS = 2048;
const SEED_BYTES = 64;

/** A random mnemonic in English. */
export function generateMnemonic(length: MnemonicLength): string {
  const entropy = randomBytes(length * ENTROPY_BYTES_PER_WORD);
  try {
    return mnemonicFromEntropy(entropy, "MNEMONIC_LANGUAGE_ENGLISH");
  } finally {
    wipe(entropy);
  }
}

/** @param entropy 16, 20, 24, 28 or 32 bytes */
export function mnemonicFromEntropy(entropy: Uint8Array, language: MnemonicLanguage): string {
  return entropyToMnemonic(entropy, wordlists[language]);
}

/**
 * The entropy of a mnemonic in one language, or undefined if it is not valid in that language: 12, 15, 18, 21 or 24 words of the list,
 * separated by one space, with a correct checksum. The comparison uses NFKD, so that composed letters and the wide space of Japanese are
 * accepted. The caller wipes the entropy.
 */
export function entropyOfMnemonic(mnemonic: string, language: MnemonicLanguage): Uint8Array | undefined {
  try {
    return mnemonicToEntropy(mnemonic, wordlists[language]);
  } catch {
    return undefined;
  }
}

/**
 * The language in which a mnemonic is valid, or undefined if there is none. Word lists overlap, so it can be valid in several; the first
 * one in the order of the public API is returned. The seed does not depend on the language.
 */
export function languageOfMnemonic(mnemonic: string): MnemonicLanguage | undefined {
  return MNEMONIC_LANGUAGES.find((language) => {
    const entropy = entropyOfMnemonic(mnemonic, language);
    if (entropy) wipe(entropy);
    return entropy !== undefined;
  });
}

/**
 * The words of `language` for the entropy of a valid mnemonic; the words themselves if they are in that language. BIP-39 derives seeds from
 * words, not from entropy, so words of another language have another seed and other keys.
 */
export function translateMnemonic(mnemonic: string, language: MnemonicLanguage): string {
  const already = entropyOfMnemonic(mnemonic, language);
  if (already) {
    wipe(already);
    return mnemonic;
  }
  const own = languageOfMnemonic(mnemonic);
  const entropy = own && entropyOfMnemonic(mnemonic, own);
  if (!entropy) throw new RangeError("the words are no mnemonic");
  try {
    return mnemonicFromEntropy(entropy, language);
  } finally {
    wipe(entropy);
  }
}

/** The 64-byte seed of a mnemonic and a passphrase, both in UTF-8. The caller wipes it. */
export function mnemonicSeed(mnemonic: Uint8Array, passphrase: Uint8Array = new Uint8Array()): Buffer {
  const password = normalized(mnemonic);
  const tail = normalized(passphrase);
  const salt = Buffer.concat([Buffer.from("mnemonic"), tail]);
  try {
    return pbkdf2Sync(password, salt, SEED_ROUNDS, SEED_BYTES, "sha512");
  } finally {
    wipe(password, tail, salt);
  }
}

/** The NFKD form of UTF-8, always a copy. ASCII is already in NFKD, so most secrets never become a string, which could not be wiped. */
function normalized(bytes: Uint8Array): Buffer {
  const copy = Buffer.from(bytes);
  if (isAscii(bytes)) return copy;
  try {
    return Buffer.from(copy.toString("utf8").normalize("NFKD"), "utf8");
  } finally {
    wipe(copy);
  }
}
