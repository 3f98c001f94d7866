import { sponsorData } from "../../../chains/evm/gas-station.ts";
import { isOpStack } from "../../../chains/evm/networks.ts";
import { type EvmTransaction, serializeUnsigned } from "../../../chains/evm/transaction.ts";
import { toHex } from "../../../kernel/bytes.ts";
import { dataFee } from "../../../nodes/evm-data-fee.ts";
import type { EvmNodes } from "../../../nodes/pool.ts";
import { batchOf } from "./batches.ts";
import { feesOf, type Plan, transactionOf } from "./transaction.ts";

/** The fee of rollups for a transaction's data, which the signed fees do not limit. */

/** The fee follows the fees of the underlying chain, which may double before a block includes the transaction. */
const DATA_FEE_ROOM = 2n;

/**
 * Adds to a sponsored plan the greatest fee that a rollup is expected to charge for its data.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function withDataFee(evm: EvmNodes, plan: Plan): Promise<Plan> {
  // A plan that would revert has no gas and is never sent.
  if (!isOpStack(plan.caip2) || plan.gas === "0") return plan;
  const fee = await dataFee(evm, plan.caip2, serializeUnsigned(standInFor(plan)));
  return fee === 0n ? plan : { ...plan, dataFee: String(DATA_FEE_ROOM * fee) };
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
