import assert from "node:assert/strict";
import { test } from "node:test";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { p2pkh, p2sh, p2tr, p2wpkh, p2wsh, Transaction } from "@scure/btc-signer";
import fc from "fast-check";
import { provedFee } from "./fee.ts";
import { parsePsbt } from "./psbt.ts";
import {
  IN_NON_WITNESS_UTXO,
  IN_WITNESS_UTXO,
  type PsbtMap,
  parsePsbtMaps,
  recordOf,
  serializePsbt,
} from "./psbt-maps.ts";
import { inputsToSign } from "./signing.ts";

const key = secp256k1.getPublicKey(Buffer.alloc(32, 1));
const otherKey = secp256k1.getPublicKey(Buffer.alloc(32, 2));

const single = (publicKey: Uint8Array) => ({
  type: "pk" as const,
  script: Buffer.concat([Buffer.of(33), publicKey, Buffer.of(0xac)]),
});
const legacy = {
  P2PKH: (publicKey: Uint8Array) => p2pkh(publicKey),
  P2SH: (publicKey: Uint8Array) => p2sh(single(publicKey)),
};
const kinds = {
  ...legacy,
  P2WPKH: (publicKey: Uint8Array) => p2wpkh(publicKey),
  P2WSH: (publicKey: Uint8Array) => p2wsh(single(publicKey)),
  P2TR: (publicKey: Uint8Array) => p2tr(publicKey.subarray(1)),
};

interface Spent {
  kind: keyof typeof kinds;
  /** Whether the previous transaction is included in addition to the output; legacy inputs always have only the transaction. */
  proved?: boolean;
  /** Belongs to another key. */
  foreign?: boolean;
  /** Already finalized by its owner: nothing is signed in it. */
  final?: boolean;
}

const AMOUNT = 100_000n;
const PAID = 1_000n;

/** The PSBT of a transaction that spends these outputs; `lie` is added to the stated amount of one input. */
function psbtOf(inputs: readonly Spent[], lie?: { index: number; by: bigint }): Uint8Array {
  const transaction = new Transaction({ disableScriptCheck: true });
  for (const [index, { kind, proved = false, foreign = false, final = false }] of inputs.entries()) {
    const { script, ...scripts } = kinds[kind](foreign ? otherKey : key) as { script: Uint8Array };
    const previous = new Transaction({ lockTime: index });
    previous.addInput({ txid: Buffer.alloc(32, 7), index: 0 });
    previous.addOutput({ script, amount: AMOUNT });
    const isLegacy = kind in legacy;
    const amount = AMOUNT + (lie?.index === index ? lie.by : 0n);
    transaction.addInput(
      {
        txid: previous.id,
        index: 0,
        ...scripts,
        ...(isLegacy ? {} : { witnessUtxo: { script, amount } }),
        ...(isLegacy || proved ? { nonWitnessUtxo: previous.toBytes() } : {}),
        ...(final ? { finalScriptSig: Buffer.of(0x51) } : {}),
      },
      true,
    );
  }
  transaction.addOutput({ script: p2wpkh(otherKey).script, amount: PAID }, true);
  return transaction.toPSBT();
}

const feeOf = (inputs: readonly Spent[], publicKey: Uint8Array | undefined = key) =>
  provedFee(parsePsbt(psbtOf(inputs), "psbt"), publicKey);
const feeOfAll = (inputs: readonly Spent[]) => ({ fee: BigInt(inputs.length) * AMOUNT - PAID });

const wpkh: Spent = { kind: "P2WPKH" };
const wsh: Spent = { kind: "P2WSH" };
const tr: Spent = { kind: "P2TR" };
const pkh: Spent = { kind: "P2PKH" };
const proved = (spent: Spent): Spent => ({ ...spent, proved: true });
const foreign = (spent: Spent): Spent => ({ ...spent, foreign: true });
const final = (spent: Spent): Spent => ({ ...spent, final: true });

/** The spent outputs, and the inputs whose amounts must be proved. */
const cases: [name: string, inputs: Spent[], ...unproved: number[]][] = [
  ["one witness input signs its own amount", [wpkh]],
  ["... of a script too", [wsh]],
  ["of two witness inputs neither signs the other's amount", [wpkh, wpkh], 0, 1],
  ["... whoever signs the other", [foreign(wpkh), wpkh], 0],
  [
    "... also where one of them is proved: its signature can be had with a lie about the other",
    [proved(wpkh), wpkh],
    1,
  ],
  ["... but where another key signs the proved one, the own amount is signed", [foreign(proved(wpkh)), wpkh]],
  ["two that are proved", [proved(wpkh), proved(wsh)]],
  ["a taproot signature covers the amounts of all inputs", [tr, tr]],
  ["... those of others too", [tr, foreign(tr), foreign(wpkh)]],
  ["... and three, of two keys", [foreign(wpkh), wpkh, wsh], 0, 1, 2],
  ["a witness input beside taproot does not sign its amount", [wpkh, tr], 1],
  ["... nor does it where another key signs there", [foreign(tr), wpkh], 0],
  ["... and the taproot amount needs no proof but for the witness input's sake", [wpkh, proved(tr)]],
  ["... nor the witness input's but for another one's", [proved(wpkh), tr], 1],
  ["legacy inputs are always proved", [pkh, { kind: "P2SH" }]],
  ["a legacy signature covers no amount", [pkh, wpkh], 1],
  ["... not even one of taproot", [pkh, tr], 1],
  ["... unless another key makes it", [foreign(pkh), wpkh]],
  ["what is final is an amount as well", [final(wpkh), wpkh], 0],
  ["... which taproot covers", [final(wpkh), tr]],
  ["... and its transaction proves", [final(proved(wpkh)), wpkh]],
];

test("the fee is known where signatures or previous transactions prove every amount", () => {
  for (const [name, inputs, ...unproved] of cases) {
    assert.deepEqual(feeOf(inputs), unproved.length === 0 ? feeOfAll(inputs) : { unproved }, name);
  }
});

test("without a signature only previous transactions prove amounts", () => {
  const nobody = secp256k1.getPublicKey(Buffer.alloc(32, 3));
  for (const publicKey of [undefined, nobody]) {
    const fee = (inputs: Spent[]) => provedFee(parsePsbt(psbtOf(inputs), "psbt"), publicKey);
    assert.deepEqual(fee([tr]), { unproved: [0] });
    assert.deepEqual(fee([proved(wpkh), wpkh]), { unproved: [1] });
    assert.deepEqual(fee([proved(tr), pkh]), feeOfAll([tr, pkh]));
  }
});

test("an input that claims to be signed already proves nothing", () => {
  const transaction = Transaction.fromPSBT(psbtOf([wpkh, wpkh]), { disableScriptCheck: true });
  transaction.updateInput(1, { partialSig: [[key, Buffer.from("3006020101020101", "hex")]] }, true);
  assert.deepEqual(provedFee(parsePsbt(transaction.toPSBT(), "psbt"), key), { unproved: [1] });
});

test("a lie about an amount makes every signature another one exactly where the fee is known", () => {
  const spent = fc.record({
    kind: fc.constantFrom(...(Object.keys(kinds) as Spent["kind"][])),
    proved: fc.boolean(),
    foreign: fc.boolean(),
  });
  const known = { yes: 0, no: 0 };
  fc.assert(
    fc.property(fc.array(spent, { minLength: 1, maxLength: 4 }), fc.boolean(), (inputs, upwards) => {
      fc.pre(inputs.some((each) => !each.foreign));
      const sighashes = (lie?: { index: number; by: bigint }) =>
        inputsToSign(parsePsbt(psbtOf(inputs, lie), "psbt"), key).map(({ sighash }) => sighash.toString("hex"));
      const honest = sighashes();
      const deceived = inputs.some(({ kind, proved }, index) => {
        if (proved || kind in legacy) return false;
        const lied = sighashes({ index, by: upwards ? 5n : -5n });
        return lied.some((sighash, at) => sighash === honest[at]);
      });
      assert.equal("fee" in feeOf(inputs), !deceived);
      known[deceived ? "no" : "yes"]++;
    }),
    { numRuns: 200 },
  );
  assert(known.yes > 20 && known.no > 20, JSON.stringify(known));
});

test("a previous transaction of another amount, or that is another one, is refused", () => {
  for (const kind of ["P2WPKH", "P2WSH", "P2TR"] as const) {
    const honest = psbtOf([{ kind, proved: true }]);
    const withRecordOf = (type: number, other: Uint8Array) => {
      const maps = parsePsbtMaps(honest, "psbt");
      const [theirs = []] = parsePsbtMaps(other, "psbt").inputs;
      const inputs = maps.inputs.map((map) =>
        map.map((record) => (record.type === type ? recordOf(theirs, type) : record)),
      );
      return serializePsbt({ ...maps, inputs: inputs as PsbtMap[] });
    };
    assert.deepEqual(provedFee(parsePsbt(honest, "psbt"), key), feeOfAll([tr]));
    const lied = withRecordOf(IN_WITNESS_UTXO, psbtOf([{ kind }], { index: 0, by: 1n }));
    assert.throws(() => parsePsbt(lied, "psbt"), /input 0 that has a witness_utxo and a non_witness_utxo that differ/);
    const another = withRecordOf(IN_NON_WITNESS_UTXO, psbtOf([pkh]));
    assert.throws(() => parsePsbt(another, "psbt"), /a non_witness_utxo that is another transaction than it spends/);
  }
});
