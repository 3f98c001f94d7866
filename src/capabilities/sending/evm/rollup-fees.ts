import { sponsorData } from "../../../chains/evm/gas-station.ts";
import { isOpStack } from "../../../chains/evm/networks.ts";
import { type EvmTransaction, serializeUnsigned } from "../../../chains/evm/transaction.ts";
import { toHex } from "../../../kernel/bytes.ts";
import { dataFee, operatorFee } from "../../../nodes/evm-rollup-fees.ts";
import type { EvmNodes } from "../../../nodes/pool.ts";
import { batchOf } from "./batches.ts";
import { feesOf, type Plan, transactionOf } from "./transaction.ts";

/** The fees of rollups for a transaction's data and for their operator, which the signed fees do not limit. */

/**
 * The fee for data follows the fees of the underlying chain, which may double before a block includes the transaction. The operator's fee
 * changes only when its operator changes it.
 */
const DATA_FEE_ROOM = 2n;

/**
 * Adds to a sponsored plan the greatest fees that a rollup is expected to charge now in addition to gas. The operator's is for all the gas of
 * the plan, because the chain takes that much at first and gives the rest back.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function withRollupFees(evm: EvmNodes, plan: Plan): Promise<Plan> {
  // A plan that would revert has no gas and is never sent.
  if (!isOpStack(plan.caip2) || plan.gas === "0") return plan;
  const [ofData, ofOperator] = await Promise.all([
    dataFee(evm, plan.caip2, serializeUnsigned(standInFor(plan))),
    operatorFee(evm, plan.caip2, BigInt(plan.gas)),
  ]);
  const { dataFee: _, ...others } = plan;
  const fees = DATA_FEE_ROOM * ofData + ofOperator;
  return fees === 0n ? others : { ...others, dataFee: String(fees) };
}

/** A placeholder for the signed transaction: as long as that can get, and not easier to compress. */
function standInFor(plan: Plan): EvmTransaction {
  const { from: payer, to, execution } = plan;
  const whole = transactionOf(plan, { ...feesOf(plan.highest), nonce: Number.MAX_SAFE_INTEGER });
  if (!execution) return whole;
  const { account, calls } = execution;
  const signed = { payer, nonce: LONG_NUMBER, deadline: LONG_NUMBER, calls: batchOf(calls) };
  const [r, s] = [BigInt(unlike(32, 66)), BigInt(unlike(32, 98))];
  const authorization = { chainId: whole.chainId, address: to, nonce: LONG_NUMBER, yParity: 1n, r, s };
  const data = sponsorData(account, signed, unlike(65, 1));
  return { ...whole, data, type: "TYPE_4", authorizationList: [authorization] };
}

const LONG_NUMBER = 2n ** 64n - 1n;

/** Distinct consecutive bytes, as an incompressible placeholder for signatures. */
const unlike = (count: number, first: number): `0x${string}` =>
  `0x${toHex(Uint8Array.from({ length: count }, (_, index) => first + index))}`;
