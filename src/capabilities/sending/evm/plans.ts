import { batchData } from "../../../chains/evm/gas-station.ts";
import type { EvmChain } from "../../../chains/evm/networks.ts";
import { fail, KeysteadError } from "../../../kernel/errors.ts";
import { MAX_SPONSORED_GAS } from "../../../kernel/limits.ts";
import { estimateGas, feeQuote } from "../../../nodes/evm-calls.ts";
import type { EvmNodes } from "../../../nodes/pool.ts";
import type { Reader } from "../../../storage/engine.ts";
import type { TxError } from "../model.ts";
import { batchError, batchOf, estimateBatch, gasOfBatch, gasOfSponsored, leastGasOfSponsored } from "./batches.ts";
import {
  digitsOf,
  type Fees,
  gasWithRoom,
  type Plan,
  type PlannedCall,
  plannedFees,
  revertError,
  UNSENT,
  withinFeeCap,
} from "./transaction.ts";

/** Plans transactions: gas, fees, and whether they would revert. All throw CHAIN_NOT_CONFIGURED, CHAIN_UNAVAILABLE and FEE_CAP_EXCEEDED. */

/** Calls of an account; values that are not given are determined here. Addresses and data are lowercase 0x hex. */
export interface WantedCalls {
  caip2: EvmChain;
  account: string;
  calls: readonly PlannedCall[];
  /** Digits, as are all quantities here. */
  gasLimit?: string | undefined;
  /** The account's own nonce, and the fees, if it pays itself. */
  nonce?: string | undefined;
  fees?: Partial<Fees>;
  /** If the sponsor pays: the deadline in seconds since 1970, and the account's nonce at the gas station. */
  deadline?: string | undefined;
  stationNonce?: string | undefined;
  /** If given, the calls are planned but never sent, for this reason. */
  fault?: TxError | undefined;
}

export interface Planning {
  evm: EvmNodes;
  read: Reader;
  organizationId: string;
}

/** Planning for calls through the gas station. */
export interface Through extends Planning {
  station: string;
}

/** Plans a call of the sponsor; see `planSponsored` of the capability `sponsoring`. */
type PlanSponsored = (call: {
  chain: EvmChain;
  to: string;
  gasLimit: bigint;
  execution: Plan["execution"];
}) => Promise<Plan>;

/** Plans one call that the account pays for. */
export async function planCall(
  { evm, read, organizationId }: Planning,
  { caip2, account, calls, nonce, gasLimit, fault, fees: own = {} }: WantedCalls,
): Promise<Plan> {
  const [only] = calls;
  const sent = { from: account, ...(only as PlannedCall) };
  const isTried = !fault && gasLimit === undefined;
  // These run concurrently because neither needs the other's result.
  const [quote, estimate] = await Promise.all([
    feeQuote(evm, caip2),
    isTried ? estimateGas(evm, caip2, { ...sent, value: BigInt(sent.value) }) : undefined,
  ]);
  const { fees, highest } = plannedFees(own, quote);
  const common = {
    caip2,
    ...sent,
    ...(nonce === undefined ? {} : { nonce: Number(nonce) }),
    fees: digitsOf(fees),
    highest: digitsOf(highest),
  };
  if (fault) return { ...common, gas: "0", revert: fault };
  const priced = (gas: string) => withinFeeCap(evm, { ...common, gas }, "account", own);
  if (!estimate) return priced(gasLimit ?? "0");
  if ("gas" in estimate) return priced(String(gasWithRoom(estimate.gas)));
  const revert = await revertError(read, organizationId, UNSENT, sent.to, estimate.revert);
  return { ...common, gas: "0", revert };
}

/** Plans several calls that the account pays for itself: it authorizes the station's code and calls itself. */
export async function planBatch(
  { evm, read, organizationId, station }: Through,
  { caip2, account, calls: wanted, nonce, gasLimit, fault, fees: own = {} }: WantedCalls,
): Promise<Plan> {
  const calls = [...wanted];
  const { fees, highest } = plannedFees(own, await feeQuote(evm, caip2));
  const plan = {
    caip2,
    ...{ from: account, to: account, value: "0", data: batchData(batchOf(calls)) },
    ...(nonce === undefined ? {} : { nonce: Number(nonce) }),
    fees: digitsOf(fees),
    highest: digitsOf(highest),
    authorize: station,
    calls,
  };
  if (fault) return { ...plan, gas: "0", revert: fault };
  const priced = (gas: string) => withinFeeCap(evm, { ...plan, gas }, "account", own);
  if (gasLimit !== undefined) return priced(gasLimit);
  const estimate = await estimateBatch(evm, { caip2, account, station, calls });
  if ("gas" in estimate) return priced(String(gasOfBatch(estimate.gas)));
  return { ...plan, gas: "0", revert: await batchError(read, organizationId, UNSENT, plan, estimate.revert) };
}

/** Plans calls that the sponsor pays for: it calls the station with data that the account signs when it is their turn. */
export async function planExecution(
  { evm, read, organizationId, station }: Through,
  { caip2, account, calls: wanted, gasLimit, fault, deadline, stationNonce }: WantedCalls,
  planSponsored: PlanSponsored,
): Promise<Plan> {
  const calls = [...wanted];
  const execution = {
    account,
    calls,
    ...(deadline === undefined ? {} : { deadline }),
    ...(stationNonce === undefined ? {} : { nonce: stationNonce }),
  };
  const sponsoredBy = (gas: bigint) => planSponsored({ chain: caip2, to: station, gasLimit: gas, execution });
  if (fault) return { ...(await sponsoredBy(0n)), revert: fault };
  const named = gasLimit === undefined ? undefined : BigInt(gasLimit);
  const estimate = await estimateBatch(evm, { caip2, account, station, calls }).catch((error: unknown) => {
    // No node can simulate it, so the caller's gas limit is used, within the bound.
    if (named === undefined || !(error instanceof KeysteadError) || error.code !== "CHAIN_UNAVAILABLE") throw error;
    return { gas: 0n };
  });
  if ("gas" in estimate) return sponsoredBy(gasWithin(estimate.gas, calls.length, named));
  const revert = await batchError(read, organizationId, UNSENT, { to: station, calls }, estimate.revert);
  return { ...(await sponsoredBy(0n)), revert };
}

const refuse = (member: string, reason: string): never =>
  fail("FIELD_INVALID", { field: `parameters.${member}`, reason });

/**
 * The gas that the sponsor pays for: from the estimate, or the caller's limit if that is enough.
 *
 * @throws KeysteadError FIELD_INVALID
 */
function gasWithin(estimate: bigint, calls: number, named: bigint | undefined): bigint {
  const gas = gasOfSponsored(estimate, calls);
  const least = leastGasOfSponsored(estimate, calls);
  if (least > MAX_SPONSORED_GAS) {
    refuse("calls", `take ${least} units of gas, but the service pays for at most ${MAX_SPONSORED_GAS}`);
  }
  if (named === undefined) return gas < MAX_SPONSORED_GAS ? gas : MAX_SPONSORED_GAS;
  if (named < least)
    refuse("gasLimit", `is less than the ${least} units that the calls take; increase it, or leave it out`);
  return named;
}
