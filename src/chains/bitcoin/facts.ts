import { toHex } from "../../kernel/bytes.ts";
import type { BitcoinTransaction } from "./psbt.ts";
import type { RawOutput } from "./raw-transaction.ts";
import { type AddressType, addressOf, type BitcoinNetwork, destinationOf } from "./scripts.ts";

/** A transaction as policies see it, under the names of the policy language, without its fee. Amounts in satoshis. */
export interface BitcoinFacts {
  version: string;
  inputs: { tx_id: string; vout: number; sequence: number }[];
  outputs: { value: bigint; script_pubkey: string; address: string; address_type: AddressType | "" }[];
  locktime: { amount: number; type: "Seconds" | "Blocks" };
}

/** Lock times from this value on are seconds since 1970; smaller ones are block heights. */
const LOCKTIME_THRESHOLD = 500_000_000;

/** `network` determines the form of the outputs' addresses. For an output without an address, the address and its type are ''. */
export function bitcoinFacts({ maps }: BitcoinTransaction, network: BitcoinNetwork): BitcoinFacts {
  const { version, inputs, outputs, locktime } = maps.unsigned;
  return {
    version: String(version),
    inputs: inputs.map(({ outpoint, sequence }) => ({
      tx_id: toHex(Buffer.from(outpoint.subarray(0, 32)).reverse()),
      vout: outpoint.readUInt32LE(32),
      sequence,
    })),
    outputs: outputs.map((output) => outputFacts(output, network)),
    locktime: { amount: locktime, type: locktime < LOCKTIME_THRESHOLD ? "Blocks" : "Seconds" },
  };
}

function outputFacts({ value, script }: RawOutput, network: BitcoinNetwork): BitcoinFacts["outputs"][number] {
  const destination = destinationOf(script);
  return {
    value,
    script_pubkey: toHex(script),
    address: destination === undefined ? "" : addressOf(destination, network),
    address_type: destination?.type ?? "",
  };
}
