/** The BIP-39 word lists of the public API, by its names and in its order. */
export const MNEMONIC_LANGUAGES = [
  "MNEMONIC_LANGUAGE_ENGLISH",
  "MNEMONIC_LANGUAGE_SIMPLIFIED_CHINESE",
  "MNEMONIC_LANGUAGE_TRADITIONAL_CHINESE",
  "MNEMONIC_LANGUAGE_CZECH",
  "MNEMONIC_LANGUAGE_FRENCH",
  "MNEMONIC_LANGUAGE_ITALIAN",
  "MNEMONIC_LANGUAGE_JAPANESE",
  "MNEMONIC_LANGUAGE_KOREAN",
  "MNEMONIC_LANGUAGE_SPANISH",
] as const;
export type MnemonicLanguage = (typeof MNEMONIC_LANGUAGES)[number];

/** Lengths of mnemonics in words, for 128, 160, 192, 224 or 256 bits of entropy (BIP-39). */
export const MNEMONIC_LENGTHS = [12, 15, 18, 21, 24] as const;
export type MnemonicLength = (typeof MNEMONIC_LENGTHS)[number];
