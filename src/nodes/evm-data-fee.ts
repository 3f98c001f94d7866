import { callData, words } from "../chains/evm/call-data.ts";
import type { EvmChain } from "../chains/evm/networks.ts";
import { toHex } from "../kernel/bytes.ts";
import { integerIn } from "./hex-values.ts";
import type { EvmNodes } from "./pool.ts";

/** The gas price oracle of every chain of the OP stack, a predeploy. */
const ORACLE = "0x420000000000000000000000000000000000000f";
const GET_L1_FEE = callData("getL1Fee(bytes)");

/**
 * What a chain of the OP stack currently charges, in addition to gas, for publishing a transaction, in wei. 0 if there is no oracle, as on
 * a local node.
 *
 * @param transaction the unsigned transaction; the oracle itself adds room for the signature
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
