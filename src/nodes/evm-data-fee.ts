import { callData, words } from "../chains/evm/call-data.ts";
import type { EvmChain } from "../chains/evm/networks.ts";
import { toHex } from "../kernel/bytes.ts";
import { integerIn } from "./hex-values.ts";
import type { EvmNodes } from "./pool.ts";

/** Where the gas price oracle of each chain of the OP stack is (its predeploys). */
const ORACLE = "0x420000000000000000000000000000000000000f";
const GET_L1_FEE = callData("getL1Fee(bytes)");

/**
 * What a chain of the OP stack takes now, beside gas, for publishing a transaction; in wei. 0 where no oracle is, as on a
 * local node.
 *
 * @param transaction as it is before it is signed: room for the signature is the oracle's
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export function dataFee(evm: EvmNodes, chain: EvmChain, transaction: Uint8Array): Promise<bigint> {
  const digits = toHex(transaction);
  const data = `${GET_L1_FEE}${words(32, transaction.length)}${digits.padEnd(Math.ceil(digits.length / 64) * 64, "0")}`;
  return evm.call(chain, {
    method: "eth_call",
    params: [{ to: ORACLE, data }, "latest"],
    read: (answer) => {
      if (!("result" in answer)) return undefined;
      return answer.result === "0x" ? 0n : integerIn(answer.result);
    },
  });
}
