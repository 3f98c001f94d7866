import { sponsorData } from "../../../chains/evm/gas-station.ts";
import { isOpStack } from "../../../chains/evm/networks.ts";
import { type EvmTransaction, serializeUnsigned } from "../../../chains/evm/transaction.ts";
import { toHex } from "../../../kernel/bytes.ts";
import { dataFee } from "../../../nodes/evm-data-fee.ts";
import type { EvmNodes } from "../../../nodes/pool.ts";
import { batchOf } from "./batches.ts";
import { feesOf, type Plan, transactionOf } from "./transaction.ts";

/** What rollups take for a transaction's data, which no signed fee bounds. */

/** It follows the fees of the chain below, which may double until the transaction is in a block, as base fees may. */
const DATA_FEE_ROOM = 2n;

/**
 * A plan of what the service pays for, with the most that a rollup is taken to ask for its data.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function withDataFee(evm: EvmNodes, plan: Plan): Promise<Plan> {
  // What would revert has no gas, and is never sent.
  if (!isOpStack(plan.caip2) || plan.gas === "0") return plan;
  const fee = await dataFee(evm, plan.caip2, serializeUnsigned(standInFor(plan)));
  return fee === 0n ? plan : { ...plan, dataFee: String(DATA_FEE_ROOM * fee) };
}

/** The transaction before anything of it is signed: as long as it can get, and no easier to compress. */
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

/** Bytes from one on, none of which comes twice: in the place of signatures. */
const unlike = (count: number, first: number): `0x${string}` =>
  `0x${toHex(Uint8Array.from({ length: count }, (_, index) => first + index))}`;
