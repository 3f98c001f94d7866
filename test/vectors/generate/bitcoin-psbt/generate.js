import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import * as bitcoin from "bitcoinjs-lib";
import { ECPairFactory } from "ecpair";
import * as ecc from "tiny-secp256k1";

/** Writes PSBTs and what bitcoinjs-lib makes of them with one key to test/vectors/bitcoin-psbt/signed.json; run `npm ci` here first. */

bitcoin.initEccLib(ecc);
const ECPair = ECPairFactory(ecc);
const sha256 = (text) => createHash("sha256").update(text).digest();
const keyOf = (name) => ECPair.fromPrivateKey(sha256(`keystead psbt ${name}`));
const key = keyOf("own");
const others = [keyOf("second"), keyOf("third")];
const xOnly = (publicKey) => publicKey.slice(1);
const hex = (bytes) => Buffer.from(bytes).toString("hex");

const { payments, networks } = bitcoin;
const multisig = (m, keys) =>
  payments.p2ms({ m, pubkeys: keys.map(({ publicKey }) => publicKey).sort(Buffer.compare) });
const singleKey = (signer) => payments.p2pk({ pubkey: signer.publicKey });

/** What each kind of output is paid to, and what an input that spends it brings along. */
const kinds = {
  P2PKH: (signer) => ({ payment: payments.p2pkh({ pubkey: signer.publicKey }), isLegacy: true }),
  P2WPKH: (signer) => ({ payment: payments.p2wpkh({ pubkey: signer.publicKey }) }),
  "P2SH multisig": (signer) => {
    const payment = payments.p2sh({ redeem: multisig(2, [signer, ...others]) });
    return { payment, isLegacy: true, redeemScript: payment.redeem.output };
  },
  "P2SH single key": (signer) => {
    const payment = payments.p2sh({ redeem: singleKey(signer) });
    return { payment, isLegacy: true, redeemScript: payment.redeem.output };
  },
  "P2WSH multisig": (signer) => {
    const payment = payments.p2wsh({ redeem: multisig(2, [signer, ...others]) });
    return { payment, witnessScript: payment.redeem.output };
  },
  "P2WSH single key": (signer) => {
    const payment = payments.p2wsh({ redeem: singleKey(signer) });
    return { payment, witnessScript: payment.redeem.output };
  },
  P2TR: (signer) => ({
    payment: payments.p2tr({ internalPubkey: xOnly(signer.publicKey) }),
    tapInternalKey: xOnly(signer.publicKey),
  }),
};

let funded = 0;

/** A transaction that pays to a script in its second output, with or without a witness of its own. */
function funding(script, value, hasWitness) {
  const transaction = new bitcoin.Transaction();
  transaction.version = 2;
  transaction.addInput(sha256(`funding ${funded++}`), 7, 0xfffffffd, Buffer.from(hasWitness ? "" : "0151", "hex"));
  if (hasWitness) transaction.setWitness(0, [sha256("witness"), Buffer.alloc(0)]);
  transaction.addOutput(payments.p2wpkh({ pubkey: others[0].publicKey }).output, 12_345n);
  transaction.addOutput(script, value);
  return transaction;
}

function addInput(psbt, { kind, signer = key, value = 100_000n, sequence, sighashType }) {
  const { payment, isLegacy = false, ...more } = kinds[kind](signer);
  const transaction = funding(payment.output, value, funded % 2 === 0);
  const utxo = isLegacy
    ? { nonWitnessUtxo: transaction.toBuffer() }
    : { witnessUtxo: { script: payment.output, value } };
  psbt.addInput({
    hash: transaction.getId(),
    index: 1,
    ...(sequence === undefined ? {} : { sequence }),
    ...(sighashType === undefined ? {} : { sighashType }),
    ...utxo,
    ...more,
  });
}

const outputs = {
  P2PKH: payments.p2pkh({ pubkey: others[1].publicKey }).output,
  P2SH: payments.p2sh({ redeem: singleKey(others[1]) }).output,
  P2WPKH: payments.p2wpkh({ pubkey: others[1].publicKey }).output,
  P2WSH: payments.p2wsh({ redeem: singleKey(others[1]) }).output,
  P2TR: payments.p2tr({ internalPubkey: xOnly(others[1].publicKey) }).output,
  OP_RETURN: payments.embed({ data: [Buffer.from("keystead")] }).output,
  P2PK: singleKey(others[1]).output,
};

function make({ name, inputs, to = ["P2WPKH"], version = 2, locktime = 0, firstSigners = [], unknown = [] }) {
  const psbt = new bitcoin.Psbt({ network: networks.bitcoin });
  psbt.setVersion(version);
  psbt.setLocktime(locktime);
  for (const input of inputs) addInput(psbt, input);
  const value = 90_000n * BigInt(inputs.length);
  to.forEach((kind, i) => {
    const share = kind === "OP_RETURN" ? 0n : value / BigInt(to.length) - BigInt(i);
    psbt.addOutput({ script: outputs[kind], value: share });
  });
  for (const each of unknown) {
    if (each.at === "global") psbt.addUnknownKeyValToGlobal(each.record);
    else if (each.at === "output") psbt.addUnknownKeyValToOutput(0, each.record);
    else psbt.addUnknownKeyValToInput(0, each.record);
  }
  for (const signer of firstSigners) signAll(psbt, signer);
  const unsigned = psbt.toHex();
  const signed = signAll(psbt, key);
  return {
    name,
    privateKey: hex(key.privateKey),
    publicKey: hex(key.publicKey),
    psbt: unsigned,
    signedInputs: signed,
    signed: psbt.toHex(),
    fee: String(feeOf(psbt)),
    outputs: psbt.txOutputs.map((output, i) => ({
      kind: to[i],
      value: String(output.value),
      script: hex(output.script),
      addresses: addressesOf(output.script),
    })),
  };
}

function addressesOf(script) {
  try {
    return {
      MAINNET: bitcoin.address.fromOutputScript(script, networks.bitcoin),
      TESTNET: bitcoin.address.fromOutputScript(script, networks.testnet),
      SIGNET: bitcoin.address.fromOutputScript(script, networks.testnet),
      REGTEST: bitcoin.address.fromOutputScript(script, networks.regtest),
    };
  } catch {
    return { MAINNET: "", TESTNET: "", SIGNET: "", REGTEST: "" };
  }
}

function feeOf(psbt) {
  const spent = psbt.data.inputs.map((input, i) =>
    input.witnessUtxo === undefined
      ? bitcoin.Transaction.fromBuffer(input.nonWitnessUtxo).outs[psbt.txInputs[i].index].value
      : input.witnessUtxo.value,
  );
  const sum = (values) => values.reduce((total, value) => total + value, 0n);
  return sum(spent) - sum(psbt.txOutputs.map(({ value }) => value));
}

/** Signs what a key can; the indexes of those inputs. */
function signAll(psbt, signer) {
  const tweaked = signer.tweak(bitcoin.crypto.taggedHash("TapTweak", xOnly(signer.publicKey)));
  return psbt.data.inputs.flatMap((input, index) => {
    try {
      psbt.signInput(index, input.tapInternalKey === undefined ? signer : tweaked);
      return [index];
    } catch (error) {
      if (!/Can not sign|pubkey/i.test(error.message)) throw error;
      return [];
    }
  });
}

const { SIGHASH_ALL } = bitcoin.Transaction;
const unknown = (at, name, value) => ({
  at,
  record: { key: Buffer.from(name, "hex"), value: Buffer.from(value, "hex") },
});
const all = Object.keys(kinds);
const cases = [
  ...all.map((kind) => ({ name: `one input: ${kind}`, inputs: [{ kind }] })),
  ...all.map((kind) => ({
    name: `three inputs: ${kind}`,
    inputs: [{ kind }, { kind, value: 95_001n }, { kind, sequence: 5 }],
  })),
  ...all.flatMap((first) =>
    all
      .filter((second) => second !== first)
      .map((second) => ({
        name: `${first} beside another key's ${second}`,
        inputs: [{ kind: first }, { kind: second, signer: others[0] }],
        to: ["P2TR", "P2WPKH"],
      })),
  ),
  { name: "every kind of input and output", inputs: all.map((kind) => ({ kind })), to: Object.keys(outputs) },
  ...Object.keys(outputs).map((to) => ({ name: `to ${to}`, inputs: [{ kind: "P2WPKH" }], to: [to] })),
  { name: "version 1", version: 1, inputs: [{ kind: "P2WPKH" }] },
  { name: "version 3", version: 3, inputs: [{ kind: "P2TR" }] },
  { name: "locked until a block", locktime: 499_999_999, inputs: [{ kind: "P2WPKH", sequence: 0xfffffffe }] },
  { name: "locked until a time", locktime: 500_000_000, inputs: [{ kind: "P2TR", sequence: 0 }] },
  {
    name: "says SIGHASH_ALL",
    inputs: [
      { kind: "P2WPKH", sighashType: SIGHASH_ALL },
      { kind: "P2PKH", sighashType: SIGHASH_ALL },
    ],
  },
  { name: "signed by another before: P2WSH", inputs: [{ kind: "P2WSH multisig" }], firstSigners: [others[0]] },
  { name: "signed by two others before: P2SH", inputs: [{ kind: "P2SH multisig" }], firstSigners: others },
  {
    name: "unknown records everywhere",
    inputs: [{ kind: "P2WSH multisig" }],
    firstSigners: [others[1]],
    unknown: [
      unknown("global", "fc086b657973746561640001", "aa"),
      unknown("input", "f001", ""),
      unknown("input", "fc086b657973746561640002", "00ff"),
      unknown("output", "f1", "01"),
    ],
  },
  { name: "forty inputs", inputs: Array.from({ length: 40 }, (_, i) => ({ kind: i % 2 === 0 ? "P2WPKH" : "P2TR" })) },
];
const made = cases.map(make);
const text = `{\n  "source": "bitcoinjs-lib 7.0.5; see ../generate/bitcoin-psbt",\n  "cases": [\n${made.map((each) => `    ${JSON.stringify(each)}`).join(",\n")}\n  ]\n}\n`;
writeFileSync(new URL("../../bitcoin-psbt/signed.json", import.meta.url), text);
process.stdout.write(`${made.length} cases\n`);
