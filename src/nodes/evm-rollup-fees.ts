import { callData, words } from "../chains/evm/call-data.ts";
import type { EvmChain } from "../chains/evm/networks.ts";
import { toHex } from "../kernel/bytes.ts";
import { readContracts, wordIn } from "./evm-reads.ts";
import { integerIn, type Members } from "./hex-values.ts";
import type { EvmNodes } from "./pool.ts";

/** What a chain of the OP stack charges in addition to gas: for publishing a transaction's data, and a fee of its operator. */

/** The gas price oracle of every chain of the OP stack, a predeploy. */
const ORACLE = "0x420000000000000000000000000000000000000f";
const GET_L1_FEE = callData("getL1Fee(bytes)");

/**
 * The current fee for publishing a transaction, in wei. 0 if there is no oracle, as on a local node.
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

/**
 * The current fee of the chain's operator for this much gas, in wei, by the formula of the chain's latest upgrade. 0 if there is no oracle, and
 * if the oracle has no such function, as before the upgrade Isthmus.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function operatorFee(evm: EvmNodes, chain: EvmChain, gas: bigint): Promise<bigint> {
  const [answer] = await readContracts(evm, chain, [{ to: ORACLE, data: callData("getOperatorFee(uint256)", gas) }]);
  return wordIn(answer) ?? 0n;
}

/** The type of transactions that the underlying chain caused, which pay neither fee. */
const DEPOSIT = "0x7e";

/** Both fees according to a transaction's receipt, in wei; 0 on chains that have none. */
export function rollupFeesIn(receipt: Members): bigint {
  if (receipt.type === DEPOSIT) return 0n;
  const { gasUsed, l1Fee, operatorFeeScalar, operatorFeeConstant, daFootprintGasScalar } = receipt;
  const scaled = (integerIn(gasUsed) ?? 0n) * (integerIn(operatorFeeScalar) ?? 0n);
  // The upgrade Jovian changed the unit of the scalar, and added the other one to receipts.
  const byGas = integerIn(daFootprintGasScalar) === undefined ? scaled / 1_000_000n : scaled * 100n;
  return (integerIn(l1Fee) ?? 0n) + byGas + (integerIn(operatorFeeConstant) ?? 0n);
}
