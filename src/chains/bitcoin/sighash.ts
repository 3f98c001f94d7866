import { compactSize, sized } from "./byte-reader.ts";
import { doubleSha256, type RawOutput, type RawTransaction, sha256 } from "./raw-transaction.ts";

/**
 * The digests that inputs sign, covering all inputs and all outputs: SIGHASH_ALL, and SIGHASH_DEFAULT for taproot. Parts common to several
 * inputs are hashed once.
 */
export interface Sighashes {
  /** Before BIP-143: `scriptCode` is the redeem script, or the script of the spent output. */
  readonly legacy: (index: number, scriptCode: Uint8Array) => Buffer;
  /** BIP-143: `scriptCode` is the witness script, or P2PKH of the key's hash. `value` in satoshis. */
  readonly segwit: (index: number, scriptCode: Uint8Array, value: bigint) => Buffer;
  /** BIP-341, key path, no annex. */
  readonly taproot: (index: number) => Buffer;
}

const SIGHASH_ALL = 1;
const SIGHASH_DEFAULT = 0;
/** An outpoint, the length of an empty script, and a sequence number. */
const BLANK_INPUT_BYTES = 36 + 1 + 4;
const TAPROOT_EPOCH = 0;
const TAPROOT_SPEND_TYPE = 0;
const TAP_SIGHASH_TAG = sha256(Buffer.from("TapSighash"));

/** `spent` are the outputs that the inputs spend, in their order. */
export function sighashesOf(transaction: RawTransaction, spent: readonly RawOutput[]): Sighashes {
  const { version, inputs, outputs, locktime } = transaction;
  const versionBytes = int32(version);
  const locktimeBytes = uint32(locktime);
  const outpoints = Buffer.concat(inputs.map(({ outpoint }) => outpoint));
  const sequences = Buffer.concat(inputs.map(({ sequence }) => uint32(sequence)));
  const outputBytes = Buffer.concat(outputs.map(({ bytes }) => bytes));
  const inputAt = (index: number) => inputs[index] ?? outOfRange(index);

  const taprootParts = once(() => [
    sha256(outpoints),
    sha256(...spent.map(({ value }) => uint64(value))),
    sha256(...spent.map(({ script }) => sized(script))),
    sha256(sequences),
    sha256(outputBytes),
  ]);
  const segwitParts = once(() => ({
    outpoints: doubleSha256(outpoints),
    sequences: doubleSha256(sequences),
    outputs: doubleSha256(outputBytes),
  }));
  const blankInputs = once(() =>
    Buffer.concat(inputs.flatMap(({ outpoint, sequence }) => [outpoint, Buffer.of(0), uint32(sequence)])),
  );

  return {
    legacy(index, scriptCode) {
      const { outpoint, sequence } = inputAt(index);
      const before = blankInputs().subarray(0, index * BLANK_INPUT_BYTES);
      const after = blankInputs().subarray((index + 1) * BLANK_INPUT_BYTES);
      const allInputs = [before, outpoint, sized(scriptCode), uint32(sequence), after];
      const counted = [compactSize(inputs.length), ...allInputs, compactSize(outputs.length), outputBytes];
      return doubleSha256(versionBytes, ...counted, locktimeBytes, uint32(SIGHASH_ALL));
    },
    segwit(index, scriptCode, value) {
      const { outpoint, sequence } = inputAt(index);
      const common = segwitParts();
      const own = [outpoint, sized(scriptCode), uint64(value), uint32(sequence)];
      const end = [common.outputs, locktimeBytes, uint32(SIGHASH_ALL)];
      return doubleSha256(versionBytes, common.outpoints, common.sequences, ...own, ...end);
    },
    taproot(index) {
      inputAt(index);
      const start = [Buffer.of(TAPROOT_EPOCH, SIGHASH_DEFAULT), versionBytes, locktimeBytes];
      const message = [...start, ...taprootParts(), Buffer.of(TAPROOT_SPEND_TYPE), uint32(index)];
      return sha256(TAP_SIGHASH_TAG, TAP_SIGHASH_TAG, ...message);
    },
  };
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function outOfRange(index: number): never {
  throw new RangeError(`there is no input ${index}`);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}
