import { fail } from "../../kernel/errors.ts";
import { byteReader, type Refuse, refusalOf } from "./byte-reader.ts";
import {
  IN_FINAL_SCRIPTSIG,
  IN_FINAL_SCRIPTWITNESS,
  IN_NON_WITNESS_UTXO,
  IN_REDEEM_SCRIPT,
  IN_SIGHASH_TYPE,
  IN_TAP_LEAF_SCRIPT,
  IN_TAP_SCRIPT_SIG,
  IN_WITNESS_SCRIPT,
  IN_WITNESS_UTXO,
  type PsbtMap,
  type PsbtMaps,
  parsePsbtMaps,
  recordOf,
} from "./psbt-maps.ts";
import { parseSignedTransaction, type RawInput, type RawOutput, readOutput, sha256 } from "./raw-transaction.ts";
import { type Destination, destinationOf, hash160, isWitnessProgram, readScript } from "./scripts.ts";

/** The output that an input spends, and what is needed to sign it. */
export interface BitcoinInput {
  /** The spent output, as stated in the PSBT. */
  readonly spent: RawOutput;
  /** Whether the PSBT includes the transaction with that output, whose hash is in the outpoint. */
  readonly isProved: boolean;
  /** Undefined if the input is finalized: nothing more is signed in it. */
  readonly spend: Spend | undefined;
}

/** How an input is signed. `script` is the redeem or witness script, `pushes` the keys that it pushes. */
export type Spend =
  | { readonly type: "P2PKH" | "P2WPKH" | "P2TR"; readonly program: Buffer }
  | { readonly type: "P2SH" | "P2WSH"; readonly script: Buffer; readonly pushes: readonly Buffer[] };

/** A PSBT that can be signed. */
export interface BitcoinTransaction {
  /** The request's field that it came in, for errors. */
  readonly field: string;
  readonly maps: PsbtMaps;
  /** In the order of the unsigned transaction, one for each of its inputs. */
  readonly inputs: readonly BitcoinInput[];
  /** The fee according to the stated amounts, in satoshis; not negative. `provedFee` says whether it is true. */
  readonly statedFee: bigint;
}

const SIGHASH_DEFAULT = 0;
const SIGHASH_ALL = 1;
/** Consensus limits for the scripts that a spender supplies (BIP-16; BIP-141). */
const MAX_REDEEM_SCRIPT_BYTES = 520;
const MAX_WITNESS_SCRIPT_BYTES = 10_000;
/** The outpoint of a coinbase input, which spends nothing. */
const COINBASE = Buffer.from(`${"00".repeat(32)}ffffffff`, "hex");

/**
 * Parses a PSBT of version 0 whose inputs spend P2PKH, P2SH, P2WPKH, P2WSH or P2TR outputs (P2TR by the key path), or are finalized.
 * `field` names the request's field in errors.
 *
 * @throws KeysteadError TRANSACTION_INVALID; TRANSACTION_UNSUPPORTED for valid PSBTs that Keystead does not sign
 */
export function parsePsbt(bytes: Uint8Array, field: string): BitcoinTransaction {
  const maps = parsePsbtMaps(bytes, field);
  const refuse = refusalOf(field);
  const { inputs: unsigned, outputs } = maps.unsigned;
  if (unsigned.length === 0) refuse("has no inputs");
  if (outputs.length === 0) refuse("has no outputs");
  refuseRepeated(unsigned, refuse);
  const inputs = unsigned.map((input, i) => readInput(input, maps.inputs[i] ?? [], `input ${i}`, field));
  const spent = inputs.reduce((sum, input) => sum + input.spent.value, 0n);
  const paid = outputs.reduce((sum, output) => sum + output.value, 0n);
  if (paid > spent) refuse(`pays ${paid} satoshis and spends ${spent}`);
  return { field, maps, inputs, statedFee: spent - paid };
}

function refuseRepeated(inputs: readonly RawInput[], refuse: Refuse): void {
  const seen = new Set<string>();
  for (const [i, { outpoint }] of inputs.entries()) {
    if (outpoint.equals(COINBASE)) refuse(`has an input ${i} that spends nothing`);
    const name = outpoint.toString("hex");
    if (seen.has(name)) refuse(`has an input ${i} that spends what another input spends`);
    seen.add(name);
  }
}

function readInput(input: RawInput, map: PsbtMap, name: string, field: string): BitcoinInput {
  const refuse: Refuse = (reason) => refusalOf(field)(`has an ${name} that ${reason}`);
  const spent = spentOutput(input, map, refuse);
  const isProved = recordOf(map, IN_NON_WITNESS_UTXO) !== undefined;
  const isFinal = recordOf(map, IN_FINAL_SCRIPTSIG) ?? recordOf(map, IN_FINAL_SCRIPTWITNESS);
  if (isFinal !== undefined) return { spent, isProved, spend: undefined };
  const unsupported: Refuse = (reason) => {
    return fail("TRANSACTION_UNSUPPORTED", {
      field,
      reason: `has an ${name} that ${reason}; sign its hash with sign_raw_payload`,
    });
  };
  const destination =
    destinationOf(spent.script) ?? unsupported("spends an output other than P2PKH, P2SH, P2WPKH, P2WSH and P2TR");
  checkUtxos(destination, map, refuse);
  checkSighashType(destination, map, refuse, unsupported);
  return { spent, isProved, spend: spendOf(destination, map, refuse, unsupported) };
}

function spentOutput(input: RawInput, map: PsbtMap, refuse: Refuse): RawOutput {
  const witnessUtxo = recordOf(map, IN_WITNESS_UTXO);
  const nonWitnessUtxo = recordOf(map, IN_NON_WITNESS_UTXO);
  const claimed = witnessUtxo && parseOutput(witnessUtxo.value, refuse);
  const proved = nonWitnessUtxo && outputOfTransaction(nonWitnessUtxo.value, input.outpoint, refuse);
  if (claimed !== undefined && proved !== undefined && !claimed.bytes.equals(proved.bytes)) {
    refuse("has a witness_utxo and a non_witness_utxo that differ");
  }
  return (
    proved ?? claimed ?? refuse("has neither a witness_utxo nor a non_witness_utxo, so that its amount is not known")
  );
}

function parseOutput(bytes: Buffer, refuse: Refuse): RawOutput {
  const refuseUtxo: Refuse = (reason) => refuse(`has a witness_utxo that ${reason}`);
  const reader = byteReader(bytes, refuseUtxo);
  const output = readOutput(reader, refuseUtxo);
  if (!reader.isAtEnd()) refuseUtxo("goes on after its end");
  return output;
}

function outputOfTransaction(bytes: Buffer, outpoint: Buffer, refuse: Refuse): RawOutput {
  const { id, outputs } = parseSignedTransaction(bytes, (reason) => refuse(`has a non_witness_utxo that ${reason}`));
  if (!id.equals(outpoint.subarray(0, 32))) refuse("has a non_witness_utxo that is another transaction than it spends");
  return outputs[outpoint.readUInt32LE(32)] ?? refuse("spends an output that its non_witness_utxo does not have");
}

/**
 * A legacy signature does not cover the amount, so a legacy input must include the transaction that proves it, and nothing else. A witness
 * signature covers its own amount; the input may include the transaction in addition to the output, to prove the fee.
 */
function checkUtxos({ type }: Destination, map: PsbtMap, refuse: Refuse): void {
  const isLegacy = type === "P2PKH" || type === "P2SH";
  const hasOutput = recordOf(map, IN_WITNESS_UTXO) !== undefined;
  if (!isLegacy && !hasOutput) refuse(`spends a ${type} output and has no witness_utxo`);
  if (!isLegacy) return;
  if (recordOf(map, IN_NON_WITNESS_UTXO) === undefined) refuse(`spends a ${type} output and has no non_witness_utxo`);
  if (hasOutput) refuse(`spends a ${type} output and has a witness_utxo; leave it out, non_witness_utxo is enough`);
}

function checkSighashType({ type }: Destination, map: PsbtMap, refuse: Refuse, unsupported: Refuse): void {
  const sighashType = recordOf(map, IN_SIGHASH_TYPE)?.value.readUInt32LE();
  const [signed, name] = type === "P2TR" ? [SIGHASH_DEFAULT, "SIGHASH_DEFAULT"] : [SIGHASH_ALL, "SIGHASH_ALL"];
  if (sighashType === undefined || sighashType === signed) return;
  if (sighashType === SIGHASH_DEFAULT) refuse("asks for SIGHASH_DEFAULT, which is for taproot alone");
  unsupported(`asks for the signature hash type ${sighashType}, where ${name} alone is signed`);
}

function spendOf(destination: Destination, map: PsbtMap, refuse: Refuse, unsupported: Refuse): Spend {
  const { type, program } = destination;
  if (type === "P2SH") {
    const script = recordOf(map, IN_REDEEM_SCRIPT)?.value ?? refuse("spends a P2SH output and has no redeem_script");
    if (!hash160(script).equals(program)) refuse("has a redeem_script whose hash is not in the output that it spends");
    if (isWitnessProgram(script)) unsupported("spends a witness program wrapped in P2SH");
    if (script.length > MAX_REDEEM_SCRIPT_BYTES)
      refuse(`has a redeem_script of more than ${MAX_REDEEM_SCRIPT_BYTES} bytes`);
    return { type, script, pushes: pushesOf(script, "redeem_script", refuse, unsupported) };
  }
  if (type === "P2WSH") {
    const script = recordOf(map, IN_WITNESS_SCRIPT)?.value ?? refuse("spends a P2WSH output and has no witness_script");
    if (!sha256(script).equals(program)) refuse("has a witness_script whose hash is not in the output that it spends");
    if (script.length > MAX_WITNESS_SCRIPT_BYTES) {
      refuse(`has a witness_script of more than ${MAX_WITNESS_SCRIPT_BYTES} bytes`);
    }
    return { type, script, pushes: pushesOf(script, "witness_script", refuse, unsupported) };
  }
  if (recordOf(map, IN_TAP_LEAF_SCRIPT) !== undefined || recordOf(map, IN_TAP_SCRIPT_SIG) !== undefined) {
    unsupported("spends a taproot output by a script");
  }
  return { type, program };
}

function pushesOf(script: Buffer, name: string, refuse: Refuse, unsupported: Refuse): readonly Buffer[] {
  const { pushes, hasCodeSeparator } = readScript(script) ?? refuse(`has a ${name} that ends in the middle of a push`);
  // What is signed would then depend on which of them was executed last.
  if (hasCodeSeparator) unsupported(`has a ${name} with OP_CODESEPARATOR`);
  return pushes;
}
