import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { HDKey } from "@scure/bip32";
import { mnemonicToSeedSync } from "@scure/bip39";
import fc from "fast-check";
import { masterNode } from "./hd-keys.ts";
import { MNEMONIC_LANGUAGES, MNEMONIC_LENGTHS, type MnemonicLanguage } from "./mnemonic-languages.ts";
import {
  entropyOfMnemonic,
  generateMnemonic,
  languageOfMnemonic,
  mnemonicFromEntropy,
  mnemonicSeed,
  translateMnemonic,
} from "./mnemonics.ts";

interface Vector {
  language: MnemonicLanguage;
  entropy: string;
  mnemonic: string;
  seed: string;
  masterKey: string;
}
const { valid, passphrase } = JSON.parse(
  readFileSync(new URL("../../test/vectors/bip39/mnemonics.json", import.meta.url), "utf8"),
) as { valid: Vector[]; passphrase: string };

const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("hex");
const utf8 = (text: string) => Buffer.from(text, "utf8");
const sameWords = (one: string, other: string) => assert.equal(one.normalize("NFKD"), other.normalize("NFKD"));

describe("the published mnemonics", () => {
  it("are there in all nine languages and five lengths", () => {
    assert.ok(valid.length >= 200);
    assert.deepEqual(new Set(valid.map(({ language }) => language)), new Set(MNEMONIC_LANGUAGES));
  });

  for (const language of MNEMONIC_LANGUAGES) {
    it(`in ${language} have their entropy, their words, their seed and the master key of that`, () => {
      const vectors = valid.filter((vector) => vector.language === language);
      assert.equal(vectors.length, 24);
      for (const { entropy, mnemonic, seed, masterKey } of vectors) {
        assert.equal(hex(entropyOfMnemonic(mnemonic, language)), entropy);
        sameWords(mnemonicFromEntropy(Buffer.from(entropy, "hex"), language), mnemonic);
        for (const form of ["NFC", "NFD", "NFKC", "NFKD"]) {
          const written = mnemonic.normalize(form);
          assert.equal(hex(entropyOfMnemonic(written, language)), entropy);
          assert.equal(hex(mnemonicSeed(utf8(written), utf8(passphrase))), seed);
        }
        const { privateKey, chainCode } = HDKey.fromExtendedKey(masterKey);
        const master = masterNode("CURVE_SECP256K1", Buffer.from(seed, "hex"));
        assert.equal(hex(master.secret), hex(privateKey as Uint8Array));
        assert.equal(hex(master.chainCode), hex(chainCode as Uint8Array));
      }
    });
  }

  it("are known by their language, where no other has the same words", () => {
    let elsewhere = 0;
    for (const { language, mnemonic } of valid) {
      const found = languageOfMnemonic(mnemonic);
      if (found === language) continue;
      elsewhere++;
      // The two Chinese lists share characters, at the same indexes.
      assert.equal(language, "MNEMONIC_LANGUAGE_TRADITIONAL_CHINESE");
      assert.equal(found, "MNEMONIC_LANGUAGE_SIMPLIFIED_CHINESE");
    }
    assert.ok(elsewhere < 24);
  });
});

describe("a Japanese mnemonic", () => {
  // bip32JP, test_JP_BIP39.json, first vector
  it("takes a passphrase that NFKD changes", () => {
    const mnemonic = `${"あいこくしん　".repeat(11)}あおぞら`;
    assert.equal(
      hex(mnemonicSeed(utf8(mnemonic), utf8("㍍ガバヴァぱばぐゞちぢ十人十色"))),
      "a262d6fb6122ecf45be09c50492b31f92e9beb7d9a845987a02cefda57a15f9c467a17872029a9e92299b5cbdf306e3a0ee620245cbd508959b6cb7ca637bd55",
    );
  });
});

describe("any entropy", () => {
  const entropies = fc
    .constantFrom(16, 20, 24, 28, 32)
    .chain((length) => fc.uint8Array({ minLength: length, maxLength: length }));
  const languages = fc.constantFrom(...MNEMONIC_LANGUAGES);

  it("comes back from its words, in whichever language", () => {
    fc.assert(
      fc.property(entropies, languages, (entropy, language) => {
        const mnemonic = mnemonicFromEntropy(entropy, language);
        assert.equal(hex(entropyOfMnemonic(mnemonic, language)), hex(entropy));
        assert.ok(languageOfMnemonic(mnemonic));
      }),
      { numRuns: 200 },
    );
  });

  it("stays what it is when its words are translated", () => {
    fc.assert(
      fc.property(entropies, languages, (entropy, language) => {
        const translated = translateMnemonic(mnemonicFromEntropy(entropy, "MNEMONIC_LANGUAGE_ENGLISH"), language);
        assert.equal(hex(entropyOfMnemonic(translated, language)), hex(entropy));
        const back = translateMnemonic(translated, "MNEMONIC_LANGUAGE_ENGLISH");
        if (languageOfMnemonic(translated) === language) {
          assert.equal(back, mnemonicFromEntropy(entropy, "MNEMONIC_LANGUAGE_ENGLISH"));
        }
      }),
      { numRuns: 200 },
    );
  });

  it("has the seed that another implementation finds, under any passphrase", () => {
    fc.assert(
      fc.property(entropies, languages, fc.string({ unit: "grapheme" }), (entropy, language, passphrase) => {
        const mnemonic = mnemonicFromEntropy(entropy, language);
        assert.equal(
          hex(mnemonicSeed(utf8(mnemonic), utf8(passphrase))),
          hex(mnemonicToSeedSync(mnemonic, passphrase)),
        );
      }),
      { numRuns: 25 },
    );
  });
});

describe("a translation", () => {
  it("to the language that the words have leaves them as they are, byte for byte", () => {
    for (const { language, mnemonic } of valid) {
      for (const form of ["NFC", "NFKD"]) {
        assert.equal(translateMnemonic(mnemonic.normalize(form), language), mnemonic.normalize(form));
      }
    }
  });

  it("has another seed", () => {
    const english = valid[0]?.mnemonic as string;
    const spanish = translateMnemonic(english, "MNEMONIC_LANGUAGE_SPANISH");
    assert.notDeepEqual(mnemonicSeed(utf8(spanish)), mnemonicSeed(utf8(english)));
  });
});

describe("what is no mnemonic", () => {
  const words = `${"abandon ".repeat(11)}about`;
  const cases: Record<string, string> = {
    "no words": "",
    "eleven words": "abandon ".repeat(11).trim(),
    "thirteen words": `${words} about`,
    "a wrong checksum": `${"abandon ".repeat(11)}abandon`,
    "an unknown word": `${"abandon ".repeat(11)}aboot`,
    "a capital letter": words.replace("abandon", "Abandon"),
    "a space before": ` ${words}`,
    "a space after": `${words} `,
    "two spaces between": words.replace(" ", "  "),
    "tabs between": words.replaceAll(" ", "\t"),
    "a line break": `${words}\n`,
    "words of two languages": `${"abandon ".repeat(11)}ábaco`,
    "a list that the public API does not name": "abacate ".repeat(11).concat("abater"),
    "half a surrogate pair": `${words.slice(0, -5)}\ud800`,
    "shortened words": words.replaceAll("abandon", "aban"),
    "a very long text": "abandon ".repeat(100_000),
  };
  for (const [name, text] of Object.entries(cases)) {
    it(`is refused: ${name}`, () => {
      assert.equal(languageOfMnemonic(text), undefined);
      assert.throws(() => translateMnemonic(text, "MNEMONIC_LANGUAGE_FRENCH"), RangeError);
    });
  }
});

describe("a fresh mnemonic", () => {
  for (const length of MNEMONIC_LENGTHS) {
    it(`of ${length} words is valid and no other`, () => {
      const seen = new Set<string>();
      for (let count = 0; count < 20; count++) {
        const mnemonic = generateMnemonic(length);
        assert.equal(mnemonic.split(" ").length, length);
        assert.equal(languageOfMnemonic(mnemonic), "MNEMONIC_LANGUAGE_ENGLISH");
        seen.add(mnemonic);
      }
      assert.equal(seen.size, 20);
    });
  }
});
