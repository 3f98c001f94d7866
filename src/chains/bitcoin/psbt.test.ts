import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { schnorr, secp256k1 } from "@noble/curves/secp256k1.js";
import { p2pkh, p2sh, p2tr, p2wpkh, p2wsh, Transaction } from "@scure/btc-signer";
import { taprootTweakPrivKey } from "@scure/btc-signer/utils.js";
import fc from "fast-check";
import { toHex } from "../../kernel/bytes.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_PSBT_BYTES, MAX_PSBT_INPUTS, MAX_PSBT_RECORDS } from "../../kernel/limits.ts";
import { bitcoinFacts } from "./facts.ts";
import { parsePsbt } from "./psbt.ts";
import { type PsbtMaps, type PsbtRecord, parsePsbtMaps, psbtRecord, serializePsbt } from "./psbt-maps.ts";
import { parseUnsignedTransaction, sha256 } from "./raw-transaction.ts";
import type { BitcoinNetwork } from "./scripts.ts";
import { sighashesOf } from "./sighash.ts";
import { type InputToSign, inputsToSign, insertSignatures } from "./signing.ts";

const FIELD = "parameters.unsignedTransaction";

type SignedCase = {
  name: string;
  privateKey: string;
  publicKey: string;
  psbt: string;
  signedInputs: number[];
  signed: string;
  fee: string;
  outputs: { kind: string; value: string; script: string; addresses: Record<BitcoinNetwork, string> }[];
};
type SighashCase = {
  name: string;
  kind: "segwit" | "taproot";
  transaction: string;
  index: number;
  scriptCode: string;
  value: string;
  spent: { script: string; value: string }[];
  sighash: string;
};

const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");
const vectors = <Case>(name: string): Case[] =>
  JSON.parse(readFileSync(new URL(`../../../test/vectors/bitcoin-psbt/${name}.json`, import.meta.url), "utf8")).cases;
const signedCases = vectors<SignedCase>("signed");
const caseOf = (name: string): SignedCase => signedCases.find((each) => each.name === name) ?? assert.fail(name);
const rejection = (): never => assert.fail("unexpected");

/** Signs like the signer: deterministically and with a low s. */
function signed({ index, sighash, kind }: InputToSign, privateKey: Buffer): { index: number; signature: Uint8Array } {
  if (kind === "ecdsa")
    return { index, signature: secp256k1.sign(sighash, privateKey, { prehash: false, lowS: true }) };
  return { index, signature: schnorr.sign(sighash, taprootTweakPrivKey(privateKey), Buffer.alloc(32)) };
}

function signPsbt(psbt: Uint8Array, privateKey: Buffer): Buffer {
  const transaction = parsePsbt(psbt, FIELD);
  const publicKey = secp256k1.getPublicKey(privateKey);
  const signatures = inputsToSign(transaction, publicKey).map((input) => signed(input, privateKey));
  return insertSignatures(transaction, publicKey, signatures);
}

/** The public error of a rejection, as code and reason. */
function refusalOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    assert(error instanceof KeysteadError, `not a public error: ${error}`);
    assert.match(error.code, /^TRANSACTION_(INVALID|UNSUPPORTED)$/);
    return `${error.code}: ${error.message.replace(/^[a-z ]+: `parameters\.unsignedTransaction` /, "")}`;
  }
  return "accepted";
}

test("BIP-174 and BIP-371: valid vectors become the same bytes again", () => {
  const cases = vectors<{ name: string; psbt: string }>("valid");
  assert(cases.length >= 17);
  for (const { name, psbt } of cases) assert.equal(toHex(serializePsbt(parsePsbtMaps(bytes(psbt), FIELD))), psbt, name);
});

test("BIP-174 and BIP-371: invalid vectors are refused", () => {
  const cases = vectors<{ name: string; psbt: string }>("invalid");
  assert(cases.length >= 31);
  for (const { name, psbt } of cases) {
    assert.match(
      refusalOf(() => parsePsbtMaps(bytes(psbt), FIELD)),
      /^TRANSACTION_INVALID: is not a valid PSBT: /,
      name,
    );
  }
});

test("BIP-143 and BIP-341: hash vectors", () => {
  const cases = vectors<SighashCase>("sighashes");
  assert(cases.length >= 4);
  for (const { name, kind, transaction, index, scriptCode, value, spent = [], sighash } of cases) {
    const outputs = spent.map((each) => ({
      script: bytes(each.script),
      value: BigInt(each.value),
      bytes: Buffer.alloc(0),
    }));
    const sighashes = sighashesOf(parseUnsignedTransaction(bytes(transaction), rejection), outputs);
    const actual =
      kind === "taproot" ? sighashes.taproot(index) : sighashes.segwit(index, bytes(scriptCode), BigInt(value));
    assert.equal(toHex(actual), sighash, name);
  }
});

test("what another library signs is signed to the same bytes", () => {
  assert(signedCases.length >= 70);
  for (const { name, privateKey, publicKey, psbt, signedInputs, signed: expected } of signedCases) {
    const toSign = inputsToSign(parsePsbt(bytes(psbt), FIELD), bytes(publicKey));
    assert.deepEqual(
      toSign.map(({ index }) => index),
      signedInputs,
      name,
    );
    assert.equal(toHex(signPsbt(bytes(psbt), bytes(privateKey))), expected, name);
  }
});

test("facts agree with another library", () => {
  const networks: BitcoinNetwork[] = ["MAINNET", "TESTNET", "SIGNET", "REGTEST"];
  const types = new Set<string>();
  for (const { name, psbt, fee, outputs } of signedCases) {
    for (const network of networks) {
      const transaction = parsePsbt(bytes(psbt), FIELD);
      assert.equal(String(transaction.statedFee), fee, name);
      const facts = bitcoinFacts(transaction, network);
      const expected = outputs.map(({ kind, value, script, addresses }) => ({
        value: BigInt(value),
        script_pubkey: script,
        address: addresses[network],
        address_type: addresses[network] === "" ? "" : kind,
      }));
      assert.deepEqual(facts.outputs, expected, name);
      for (const { address_type } of facts.outputs) types.add(address_type);
    }
  }
  assert.deepEqual([...types].sort(), ["", "P2PKH", "P2SH", "P2TR", "P2WPKH", "P2WSH"]);
});

test("facts: version, inputs and lock time", () => {
  const facts = (name: string) => bitcoinFacts(parsePsbt(bytes(caseOf(name).psbt), FIELD), "MAINNET");
  assert.deepEqual(facts("locked until a block").locktime, { amount: 499_999_999, type: "Blocks" });
  assert.deepEqual(facts("locked until a time").locktime, { amount: 500_000_000, type: "Seconds" });
  assert.equal(facts("version 3").version, "3");
  const oracle = Transaction.fromPSBT(bytes(caseOf("three inputs: P2WPKH").psbt));
  const expected = [0, 1, 2].map((i) => {
    const { txid = assert.fail(), index, sequence } = oracle.getInput(i);
    return { tx_id: toHex(txid), vout: index, sequence };
  });
  assert.deepEqual(facts("three inputs: P2WPKH").inputs, expected);
});

const privateKeys = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((each) => Buffer.from(each))
  .filter((each) => {
    return secp256k1.utils.isValidSecretKey(each);
  });
const amounts = fc.bigInt({ min: 1n, max: 1_000_000_000_000n });

type Kind = (publicKey: Uint8Array) => {
  script: Uint8Array;
  redeemScript?: Uint8Array;
  witnessScript?: Uint8Array;
  tapInternalKey?: Uint8Array;
};
const singleKey = (publicKey: Uint8Array) => ({
  type: "pk" as const,
  script: Buffer.concat([Buffer.of(33), publicKey, Buffer.of(0xac)]),
});
const kinds: readonly Kind[] = [
  (key) => p2pkh(key),
  (key) => p2sh(singleKey(key)),
  (key) => p2wpkh(key),
  (key) => p2wsh(singleKey(key)),
  (key) => p2tr(key.subarray(1)),
];

test("hashes, fees and signatures agree with btc-signer on random transactions", () => {
  const transactions = fc.record({
    privateKey: privateKeys,
    version: fc.constantFrom(1, 2),
    lockTime: fc.nat(),
    inputs: fc.array(
      fc.record({ kind: fc.constantFrom(...kinds), value: amounts, before: fc.nat(3), sequence: fc.nat() }),
      { minLength: 1, maxLength: 6 },
    ),
    outputs: fc.array(fc.record({ kind: fc.constantFrom(...kinds), share: fc.nat(1000) }), {
      minLength: 1,
      maxLength: 6,
    }),
  });
  fc.assert(
    fc.property(transactions, ({ privateKey, version, lockTime, inputs, outputs }) => {
      const publicKey = secp256k1.getPublicKey(privateKey);
      const oracle = new Transaction({ version, lockTime, allowUnknownOutputs: true, disableScriptCheck: true });
      for (const [i, { kind, value, before, sequence }] of inputs.entries()) {
        const spent = new Transaction({ lockTime: i });
        spent.addInput({ txid: Buffer.alloc(32, i + 1), index: 0 });
        for (let j = 0; j < before; j++) spent.addOutput({ script: p2wpkh(publicKey).script, amount: 1n });
        const { script, redeemScript, witnessScript, tapInternalKey } = kind(publicKey);
        spent.addOutput({ script, amount: value });
        const isLegacy = kind === kinds[0] || kind === kinds[1];
        oracle.addInput({
          txid: spent.id,
          index: before,
          sequence,
          ...(isLegacy ? { nonWitnessUtxo: spent.toBytes() } : { witnessUtxo: { script, amount: value } }),
          ...(redeemScript && { redeemScript }),
          ...(witnessScript && { witnessScript }),
          ...(tapInternalKey && { tapInternalKey }),
        });
      }
      const total = inputs.reduce((sum, { value }) => sum + value, 0n);
      for (const { kind, share } of outputs) {
        oracle.addOutput({ script: kind(publicKey).script, amount: (total * BigInt(share)) / 6000n });
      }
      const psbt = oracle.toPSBT();
      assert.equal(parsePsbt(psbt, FIELD).statedFee, oracle.fee);
      const ours = signPsbt(psbt, privateKey);
      assert.equal(oracle.sign(privateKey, undefined, Buffer.alloc(32)), inputs.length);
      assert.equal(toHex(ours), toHex(oracle.toPSBT()));
    }),
    { numRuns: 60 },
  );
});

/** A PSBT with changed records. */
function changed(name: string, change: (maps: PsbtMaps) => Partial<PsbtMaps>): Buffer {
  const maps = parsePsbtMaps(bytes(caseOf(name).psbt), FIELD);
  return serializePsbt({ ...maps, ...change(maps) });
}
const record = (type: number, value: string, keyData = ""): PsbtRecord =>
  psbtRecord(type, bytes(keyData), bytes(value));
/** The first input's map with records replaced by type, or added. */
const withInput = (name: string, ...records: PsbtRecord[]): Buffer =>
  changed(name, ({ inputs: [first = [], ...rest] }) => {
    const types = records.map(({ type }) => type);
    return { inputs: [[...first.filter(({ type }) => !types.includes(type)), ...records], ...rest] };
  });
const withoutInput = (name: string, unwanted: number): Buffer =>
  changed(name, ({ inputs: [first = [], ...rest] }) => ({
    inputs: [first.filter(({ type }) => type !== unwanted), ...rest],
  }));
/** The PSBT with a changed unsigned transaction and the same number of maps. */
const withUnsigned = (name: string, change: (hex: string) => string): Buffer =>
  changed(name, ({ global: [unsigned, ...rest] }) => ({
    global: [record(0, change(toHex(unsigned?.value ?? assert.fail()))), ...rest],
  }));
const recordIn = (name: string, type: number): string =>
  toHex(
    parsePsbtMaps(bytes(caseOf(name).psbt), FIELD).inputs[0]?.find((each) => each.type === type)?.value ??
      assert.fail(),
  );

const refusals: [name: string, psbt: () => Buffer, reason: string][] = [
  [
    "version 2",
    () => changed("one input: P2WPKH", ({ global }) => ({ global: [...global, record(0xfb, "02000000")] })),
    "TRANSACTION_UNSUPPORTED: is a PSBT of version 2; send version 0 (BIP-174)",
  ],
  [
    "a version 2 record",
    () => withInput("one input: P2WPKH", record(0x0f, "00000000")),
    "TRANSACTION_INVALID: is not a valid PSBT: it has a record of type 15 in the map of input 0 that only version 2 has",
  ],
  [
    "a map too many",
    () => Buffer.concat([bytes(caseOf("one input: P2WPKH").psbt), Buffer.of(0)]),
    "TRANSACTION_INVALID: is not a valid PSBT: it goes on after the map of the last output",
  ],
  ["no magic", () => Buffer.alloc(0), "TRANSACTION_INVALID: is not a valid PSBT: it does not begin with `psbt` and ff"],
  [
    "a legacy input without its transaction",
    () => withoutInput("one input: P2PKH", 0),
    "TRANSACTION_INVALID: has an input 0 that has neither a witness_utxo nor a non_witness_utxo, so that its amount is not known",
  ],
  [
    "a legacy input with a witness_utxo",
    () => {
      const script = `76a914${"11".repeat(20)}88ac`;
      return withInput("one input: P2WPKH", record(1, `a086010000000000${"19"}${script}`));
    },
    "TRANSACTION_INVALID: has an input 0 that spends a P2PKH output and has no non_witness_utxo",
  ],
  [
    "two outputs that differ",
    () => withInput("one input: P2PKH", record(1, `a086010000000000160014${"11".repeat(20)}`)),
    "TRANSACTION_INVALID: has an input 0 that has a witness_utxo and a non_witness_utxo that differ",
  ],
  [
    "both outputs, the same",
    () => {
      const { scriptPubkey, value } = spentOf("one input: P2PKH");
      return withInput("one input: P2PKH", record(1, `${value}${scriptPubkey}`));
    },
    "TRANSACTION_INVALID: has an input 0 that spends a P2PKH output and has a witness_utxo; leave it out, non_witness_utxo is enough",
  ],
  [
    "another transaction",
    () => {
      const other = recordIn("one input: P2SH multisig", 0);
      return withInput("one input: P2PKH", record(0, other));
    },
    "TRANSACTION_INVALID: has an input 0 that has a non_witness_utxo that is another transaction than it spends",
  ],
  [
    "a previous transaction marked as having witnesses",
    () => {
      const input = `01${"11".repeat(36)}00ffffffff`;
      return withInput("one input: P2PKH", record(0, `020000000001${input}010000000000000000000000000000`));
    },
    "TRANSACTION_INVALID: has an input 0 that has a non_witness_utxo that is marked as having witnesses and has none",
  ],
  [
    "an output that is not there",
    () => withUnsigned("one input: P2PKH", (hex) => `${hex.slice(0, 74)}02${hex.slice(76)}`),
    "TRANSACTION_INVALID: has an input 0 that spends an output that its non_witness_utxo does not have",
  ],
  [
    "no redeem script",
    () => withoutInput("one input: P2SH multisig", 4),
    "TRANSACTION_INVALID: has an input 0 that spends a P2SH output and has no redeem_script",
  ],
  [
    "another redeem script",
    () => withInput("one input: P2SH multisig", record(4, "51")),
    "TRANSACTION_INVALID: has an input 0 that has a redeem_script whose hash is not in the output that it spends",
  ],
  [
    "no witness script",
    () => withoutInput("one input: P2WSH multisig", 5),
    "TRANSACTION_INVALID: has an input 0 that spends a P2WSH output and has no witness_script",
  ],
  [
    "another witness script",
    () => withInput("one input: P2WSH multisig", record(5, "51")),
    "TRANSACTION_INVALID: has an input 0 that has a witness_script whose hash is not in the output that it spends",
  ],
  [
    "a taproot script",
    () => withInput("one input: P2TR", record(0x15, "51c0", `c0${"11".repeat(32)}`)),
    "TRANSACTION_UNSUPPORTED: has an input 0 that spends a taproot output by a script; sign its hash with sign_raw_payload",
  ],
  [
    "SIGHASH_NONE",
    () => withInput("one input: P2WPKH", record(3, "02000000")),
    "TRANSACTION_UNSUPPORTED: has an input 0 that asks for the signature hash type 2, where SIGHASH_ALL alone is signed; sign its hash with sign_raw_payload",
  ],
  [
    "SIGHASH_ALL with ANYONECANPAY",
    () => withInput("one input: P2WPKH", record(3, "81000000")),
    "TRANSACTION_UNSUPPORTED: has an input 0 that asks for the signature hash type 129, where SIGHASH_ALL alone is signed; sign its hash with sign_raw_payload",
  ],
  [
    "SIGHASH_ALL of taproot",
    () => withInput("one input: P2TR", record(3, "01000000")),
    "TRANSACTION_UNSUPPORTED: has an input 0 that asks for the signature hash type 1, where SIGHASH_DEFAULT alone is signed; sign its hash with sign_raw_payload",
  ],
  [
    "SIGHASH_DEFAULT of ECDSA",
    () => withInput("one input: P2WPKH", record(3, "00000000")),
    "TRANSACTION_INVALID: has an input 0 that asks for SIGHASH_DEFAULT, which is for taproot alone",
  ],
  [
    "an output kind without address",
    () => withInput("one input: P2WPKH", record(1, "a0860100000000000151")),
    "TRANSACTION_UNSUPPORTED: has an input 0 that spends an output other than P2PKH, P2SH, P2WPKH, P2WSH and P2TR; sign its hash with sign_raw_payload",
  ],
  [
    "bytes after a witness_utxo",
    () => withInput("one input: P2WPKH", record(1, `a086010000000000160014${"11".repeat(20)}00`)),
    "TRANSACTION_INVALID: has an input 0 that has a witness_utxo that goes on after its end",
  ],
  [
    "more paid than spent",
    () => withInput("one input: P2WPKH", record(1, `8f5f010000000000160014${"11".repeat(20)}`)),
    "TRANSACTION_INVALID: pays 90000 satoshis and spends 89999",
  ],
  [
    "more than all bitcoin",
    () => withInput("one input: P2WPKH", record(1, `0140075af0750700160014${"11".repeat(20)}`)),
    "TRANSACTION_INVALID: has an input 0 that has a witness_utxo that has an output of more than 21 million bitcoin",
  ],
  [
    "the same input twice",
    () => withUnsigned("three inputs: P2WPKH", (hex) => hex.slice(0, 92) + hex.slice(10, 82) + hex.slice(164)),
    "TRANSACTION_INVALID: has an input 1 that spends what another input spends",
  ],
  [
    "a coinbase",
    () => withUnsigned("one input: P2WPKH", (hex) => `${hex.slice(0, 10)}${"00".repeat(32)}ffffffff${hex.slice(82)}`),
    "TRANSACTION_INVALID: has an input 0 that spends nothing",
  ],
  ["no inputs", () => bytes("70736274ff01000a0200000000000000000000"), "TRANSACTION_INVALID: has no inputs"],
  [
    "too many bytes",
    () => Buffer.alloc(MAX_PSBT_BYTES + 1),
    `TRANSACTION_INVALID: is not a valid PSBT: it has more than ${MAX_PSBT_BYTES} bytes`,
  ],
  [
    "too many records",
    () =>
      changed("one input: P2WPKH", ({ global }) => ({
        global: [
          ...global,
          ...Array.from({ length: MAX_PSBT_RECORDS }, (_, i) => record(0xf0, "", i.toString(16).padStart(8, "0"))),
        ],
      })),
    `TRANSACTION_INVALID: is not a valid PSBT: it has more than ${MAX_PSBT_RECORDS} records`,
  ],
  [
    "too many inputs",
    () => manyInputs(MAX_PSBT_INPUTS + 1),
    `TRANSACTION_INVALID: is not a valid PSBT: it has more than ${MAX_PSBT_INPUTS} inputs`,
  ],
  [
    "a count without an end",
    () => bytes("70736274ff01000f02000000feffffffff00000000000000"),
    "TRANSACTION_INVALID: is not a valid PSBT: it has an unsigned transaction that ends in the middle of a value",
  ],
  [
    "a length that could be shorter",
    () => bytes("70736274fffd0100"),
    "TRANSACTION_INVALID: is not a valid PSBT: it has a length that is not in its shortest form",
  ],
];

function spentOf(name: string): { scriptPubkey: string; value: string } {
  const { spent } = parsePsbt(bytes(caseOf(name).psbt), FIELD).inputs[0] ?? assert.fail();
  const all = toHex(spent.bytes);
  return { value: all.slice(0, 16), scriptPubkey: all.slice(16) };
}

function manyInputs(count: number): Buffer {
  const transaction = new Transaction({ disableScriptCheck: true });
  const { script } = p2wpkh(bytes(caseOf("one input: P2WPKH").publicKey));
  for (let i = 0; i < count; i++) {
    transaction.addInput({ txid: Buffer.alloc(32, 7), index: i, witnessUtxo: { script, amount: 1n } }, true);
  }
  transaction.addOutput({ script, amount: 1n }, true);
  return Buffer.from(transaction.toPSBT());
}

test("what cannot be signed is refused, with what to do", () => {
  assert(refusals.length >= 30);
  for (const [name, psbt, reason] of refusals)
    assert.equal(
      refusalOf(() => parsePsbt(psbt(), FIELD)),
      reason,
      name,
    );
});

test("P2SH around a witness program is refused", () => {
  for (const program of [`0014${"11".repeat(20)}`, `0020${"11".repeat(32)}`]) {
    const redeemScript = bytes(program);
    const { script } = p2sh({ type: "wpkh", script: redeemScript });
    const spent = new Transaction();
    spent.addInput({ txid: Buffer.alloc(32, 1), index: 0 });
    spent.addOutput({ script, amount: 100_000n });
    const transaction = new Transaction({ disableScriptCheck: true });
    transaction.addInput({ txid: spent.id, index: 0, nonWitnessUtxo: spent.toBytes(), redeemScript });
    transaction.addOutput({ script, amount: 1n });
    const expected =
      "TRANSACTION_UNSUPPORTED: has an input 0 that spends a witness program wrapped in P2SH; sign its hash with sign_raw_payload";
    assert.equal(
      refusalOf(() => parsePsbt(transaction.toPSBT(), FIELD)),
      expected,
    );
  }
});

test("a redeem script with OP_CODESEPARATOR, or one that ends in a push, is refused", () => {
  const key = bytes(caseOf("one input: P2WPKH").publicKey);
  const scripts: [string, string][] = [
    [
      `ab21${toHex(key)}ac`,
      "TRANSACTION_UNSUPPORTED: has an input 0 that has a witness_script with OP_CODESEPARATOR; sign its hash with sign_raw_payload",
    ],
    [`21${toHex(key)}`, "accepted"],
    [
      `22${toHex(key)}`,
      "TRANSACTION_INVALID: has an input 0 that has a witness_script that ends in the middle of a push",
    ],
    [`4d2100${toHex(key)}`, "accepted"],
    ["4d21", "TRANSACTION_INVALID: has an input 0 that has a witness_script that ends in the middle of a push"],
    ["02abab", "accepted"],
  ];
  for (const [witnessScript, expected] of scripts) {
    const script = Buffer.concat([bytes("0020"), sha256(bytes(witnessScript))]);
    const transaction = new Transaction({ disableScriptCheck: true });
    const witnessUtxo = { script, amount: 5n };
    transaction.addInput({ txid: Buffer.alloc(32, 1), index: 0, witnessUtxo, witnessScript: bytes(witnessScript) });
    transaction.addOutput({ script, amount: 1n });
    assert.equal(
      refusalOf(() => parsePsbt(transaction.toPSBT(), FIELD)),
      expected,
      witnessScript,
    );
  }
});

test("a key that signs nothing, or nothing more, is told so", () => {
  const { psbt, signed: done, publicKey } = caseOf("every kind of input and output");
  const other = secp256k1.getPublicKey(Buffer.alloc(32, 9));
  const refusal = (hex: string, key: Uint8Array) => refusalOf(() => inputsToSign(parsePsbt(bytes(hex), FIELD), key));
  assert.equal(refusal(psbt, other), "TRANSACTION_INVALID: has no input that this key signs");
  const again = "TRANSACTION_INVALID: is already signed by this key wherever it can sign";
  assert.equal(refusal(done, bytes(publicKey)), again);
});

test("a hash type that says what is signed anyway changes nothing", () => {
  for (const [name, type] of [
    ["one input: P2TR", "00000000"],
    ["one input: P2WPKH", "01000000"],
    ["one input: P2PKH", "01000000"],
  ] as const) {
    const { publicKey, psbt } = caseOf(name);
    const sighashes = (each: Buffer) => inputsToSign(parsePsbt(each, FIELD), bytes(publicKey));
    assert.deepEqual(sighashes(withInput(name, record(3, type))), sighashes(bytes(psbt)), name);
  }
});

test("a final input is left alone, and its amount counts", () => {
  const psbt = withInput("three inputs: P2WPKH", record(8, "0101aa"));
  const { publicKey, fee } = caseOf("three inputs: P2WPKH");
  const transaction = parsePsbt(psbt, FIELD);
  assert.equal(String(transaction.statedFee), fee);
  assert.deepEqual(
    inputsToSign(transaction, bytes(publicKey)).map(({ index }) => index),
    [1, 2],
  );
});

test("signatures are inserted once, where there is something to sign, and as 64 bytes", () => {
  const { psbt, publicKey } = caseOf("one input: P2WPKH");
  const transaction = parsePsbt(bytes(psbt), FIELD);
  const insert = (...signatures: { index: number; signature: Uint8Array }[]) =>
    insertSignatures(transaction, bytes(publicKey), signatures);
  const signature = Buffer.alloc(64, 1);
  assert.throws(() => insert({ index: 1, signature }), RangeError);
  assert.throws(() => insert({ index: 0, signature: Buffer.alloc(65) }), RangeError);
  assert.throws(() => insert({ index: 0, signature }, { index: 0, signature }), RangeError);
  assert.throws(() => inputsToSign(transaction, Buffer.alloc(65)), RangeError);
});

test("as many inputs as are allowed are signed", () => {
  const transaction = parsePsbt(manyInputs(MAX_PSBT_INPUTS), FIELD);
  assert.equal(inputsToSign(transaction, bytes(caseOf("one input: P2WPKH").publicKey)).length, MAX_PSBT_INPUTS);
});

test("any change of bytes is refused, or comes out as it went in", () => {
  const sources = [...signedCases.filter(({ psbt }) => psbt.length < 4000), ...vectors<{ psbt: string }>("valid")];
  const change = fc.record({
    source: fc.constantFrom(...sources),
    edits: fc.array(
      fc.record({
        at: fc.double({ min: 0, max: 1, noNaN: true }),
        remove: fc.nat(3),
        insert: fc.uint8Array({ maxLength: 3 }),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  });
  fc.assert(
    fc.property(change, ({ source, edits }) => {
      let psbt = bytes(source.psbt);
      for (const { at, remove, insert } of edits) {
        const start = Math.floor(at * psbt.length);
        psbt = Buffer.concat([psbt.subarray(0, start), insert, psbt.subarray(start + remove)]);
      }
      try {
        const transaction = parsePsbt(psbt, FIELD);
        bitcoinFacts(transaction, "TESTNET");
        assert(serializePsbt(transaction.maps).equals(psbt));
        inputsToSign(transaction, bytes(caseOf("one input: P2WPKH").publicKey));
      } catch (error) {
        if (!(error instanceof KeysteadError)) throw error;
        assert.match(error.code, /^TRANSACTION_/);
      }
    }),
    { numRuns: 3000 },
  );
});

test("any single byte changed or left out is refused, or comes out as it went in", () => {
  const { psbt: hex } = caseOf("unknown records everywhere");
  const psbt = bytes(hex);
  for (let at = 0; at < psbt.length; at++) {
    const changes = [0, 1, 0x80, 0xfd, 0xff].map((byte) => psbt.with(at, byte));
    for (const each of [
      ...changes,
      Buffer.concat([psbt.subarray(0, at), psbt.subarray(at + 1)]),
      psbt.subarray(0, at),
    ]) {
      const refusal = refusalOf(() => assert(serializePsbt(parsePsbt(each, FIELD).maps).equals(each)));
      assert.match(refusal, /^(accepted|TRANSACTION_)/);
    }
  }
});
