import { encodeEcdsaDer } from "../../crypto/ecdsa-der.ts";
import { taprootOutputKey } from "../../crypto/taproot.ts";
import { fail } from "../../kernel/errors.ts";
import type { BitcoinTransaction, Spend } from "./psbt.ts";
import {
  IN_PARTIAL_SIG,
  IN_TAP_KEY_SIG,
  type PsbtMap,
  type PsbtRecord,
  psbtRecord,
  serializePsbt,
  withRecord,
} from "./psbt-maps.ts";
import { hash160, payToPublicKeyHash } from "./scripts.ts";
import { type Sighashes, sighashesOf } from "./sighash.ts";

/** `taproot` is signed with BIP-340 under the tweaked output key. */
export type BitcoinSignatureKind = "ecdsa" | "taproot";

export interface InputToSign {
  readonly index: number;
  /** 32 bytes. A getter, because for a legacy input it hashes the whole transaction again. */
  readonly sighash: Buffer;
  readonly kind: BitcoinSignatureKind;
}

export interface InputSignature {
  readonly index: number;
  /** 64 bytes: r ‖ s of ECDSA with a low s, or a BIP-340 signature. */
  readonly signature: Uint8Array;
}

const COMPRESSED_KEY_BYTES = 33;
const SIGNATURE_BYTES = 64;
const SIGHASH_ALL = 1;

/**
 * The inputs that a public key (33 bytes, compressed) must sign and has not signed yet.
 *
 * @throws KeysteadError TRANSACTION_INVALID if there are none
 */
export function inputsToSign(transaction: BitcoinTransaction, publicKey: Uint8Array): InputToSign[] {
  const { field, maps, inputs } = transaction;
  const { isOwner, unsigned } = spendsOf(transaction, publicKey);
  if (!isOwner) fail("TRANSACTION_INVALID", { field, reason: "has no input that this key signs" });
  if (unsigned.length === 0) {
    fail("TRANSACTION_INVALID", { field, reason: "is already signed by this key wherever it can sign" });
  }
  const sighashes = sighashesOf(
    maps.unsigned,
    inputs.map(({ spent }) => spent),
  );
  return unsigned.map(({ index, spend, value }) => inputToSign(index, spend, value, sighashes));
}

/** Whether a public key spends anything in a transaction, and the inputs that it has not signed yet. */
export function spendsOf(
  { maps, inputs }: BitcoinTransaction,
  publicKey: Uint8Array,
): { isOwner: boolean; unsigned: { index: number; spend: Spend; value: bigint }[] } {
  const owns = ownershipOf(publicKey);
  const owned = inputs.flatMap(({ spend, spent: { value } }, index) =>
    spend !== undefined && owns(spend) ? [{ index, spend, value }] : [],
  );
  const unsigned = owned.filter(({ index, spend }) => !hasSignature(maps.inputs[index] ?? [], spend, publicKey));
  return { isOwner: owned.length > 0, unsigned };
}

/** Whether a spend needs a signature by the public key. */
function ownershipOf(publicKey: Uint8Array): (spend: Spend) => boolean {
  if (publicKey.length !== COMPRESSED_KEY_BYTES) throw new RangeError("a compressed public key has 33 bytes");
  const hash = hash160(publicKey);
  let outputKey: Uint8Array | undefined;
  return (spend) => {
    switch (spend.type) {
      case "P2PKH":
      case "P2WPKH":
        return spend.program.equals(hash);
      case "P2SH":
      case "P2WSH":
        return spend.pushes.some((push) => push.equals(publicKey));
      case "P2TR":
        outputKey ??= taprootOutputKey(publicKey.subarray(1));
        return spend.program.equals(outputKey);
    }
  };
}

function hasSignature(map: PsbtMap, spend: Spend, publicKey: Uint8Array): boolean {
  if (spend.type === "P2TR") return map.some(({ type }) => type === IN_TAP_KEY_SIG);
  return map.some(({ type, keyData }) => type === IN_PARTIAL_SIG && keyData.equals(publicKey));
}

function inputToSign(index: number, spend: Spend, value: bigint, sighashes: Sighashes): InputToSign {
  return {
    index,
    get sighash() {
      return sighashOf(index, spend, value, sighashes);
    },
    kind: spend.type === "P2TR" ? "taproot" : "ecdsa",
  };
}

function sighashOf(index: number, spend: Spend, value: bigint, sighashes: Sighashes): Buffer {
  switch (spend.type) {
    case "P2PKH":
      return sighashes.legacy(index, payToPublicKeyHash(spend.program));
    case "P2SH":
      return sighashes.legacy(index, spend.script);
    case "P2WPKH":
      return sighashes.segwit(index, payToPublicKeyHash(spend.program), value);
    case "P2WSH":
      return sighashes.segwit(index, spend.script, value);
    case "P2TR":
      return sighashes.taproot(index);
  }
}

/**
 * The PSBT with the signatures for the inputs of `inputsToSign`, not finalized: DER and SIGHASH_ALL as partial_sig, or 64 bytes as
 * tap_key_sig. All other records stay unchanged, byte for byte.
 */
export function insertSignatures(
  { maps, inputs }: BitcoinTransaction,
  publicKey: Uint8Array,
  signatures: readonly InputSignature[],
): Buffer {
  const signed = [...maps.inputs];
  for (const { index, signature } of signatures) {
    const map = signed[index];
    const input = inputs[index];
    if (map === undefined || input?.spend === undefined)
      throw new RangeError(`there is nothing to sign in input ${index}`);
    if (hasSignature(map, input.spend, publicKey)) throw new RangeError(`input ${index} has a signature already`);
    signed[index] = withRecord(map, signatureRecord(input.spend, publicKey, signature));
  }
  return serializePsbt({ ...maps, inputs: signed });
}

function signatureRecord(spend: Spend, publicKey: Uint8Array, signature: Uint8Array): PsbtRecord {
  if (signature.length !== SIGNATURE_BYTES) throw new RangeError("a signature has 64 bytes");
  if (spend.type === "P2TR") return psbtRecord(IN_TAP_KEY_SIG, Buffer.alloc(0), Buffer.from(signature));
  const der = encodeEcdsaDer(signature);
  return psbtRecord(IN_PARTIAL_SIG, publicKey, Buffer.concat([der, Buffer.of(SIGHASH_ALL)]));
}
