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

/** Settling what is sent: gas, fees, and whether it would revert. All throw CHAIN_NOT_CONFIGURED, CHAIN_UNAVAILABLE and FEE_CAP_EXCEEDED. */

/** Calls that an account makes; what is not given is settled here. Addresses and data lowercase 0x hex. */
export interface WantedCalls {
  caip2: EvmChain;
  account: string;
  calls: readonly PlannedCall[];
  /** Digits, all of them. */
  gasLimit?: string | undefined;
  /** The account's own nonce, and fees, of what it pays for itself. */
  nonce?: string | undefined;
  fees?: Partial<Fees>;
  /** Seconds since 1970, and the gas station's nonce of the account, of what the sponsor pays for. */
  deadline?: string | undefined;
  stationNonce?: string | undefined;
  /** Why they are planned as what is never sent. */
  fault?: TxError | undefined;
}

export interface Planning {
  evm: EvmNodes;
  read: Reader;
  organizationId: string;
}

/** Where calls go through the gas station. */
export interface Through extends Planning {
  station: string;
}

/** Plans a call of the sponsor's, as `planSponsored` of the sponsoring does. */
type PlanSponsored = (call: {
  chain: EvmChain;
  to: string;
  gasLimit: bigint;
  execution: Plan["execution"];
}) => Promise<Plan>;

/** One call, which the account pays for. */
export async function planCall(
  { evm, read, organizationId }: Planning,
  { caip2, account, calls, nonce, gasLimit, fault, fees: own = {} }: WantedCalls,
): Promise<Plan> {
  const [only] = calls;
  const sent = { from: account, ...(only as PlannedCall) };
  const isTried = !fault && gasLimit === undefined;
  // At the same time: neither needs the other's answer.
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

/** Several calls that the account pays for itself: it takes on the station's code and calls itself. */
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

/** Calls that the sponsor pays for: it calls the station with what the account signs when its turn comes. */
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
    // No node can be told to try it: what the caller names is taken, within the bound.
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
 * The gas that the sponsor pays for: that of the estimate, or what the caller named where it is enough.
 *
 * @throws KeysteadError FIELD_INVALID
 */
function gasWithin(estimate: bigint, calls: number, named: bigint | undefined): bigint {
  const gas = gasOfSponsored(estimate, calls);
  const least = leastGasOfSponsored(estimate, calls);
  if (least > MAX_SPONSORED_GAS) {
    refuse("calls", `take ${least} units of gas, and the service pays for at most ${MAX_SPONSORED_GAS}`);
  }
  if (named === undefined) return gas < MAX_SPONSORED_GAS ? gas : MAX_SPONSORED_GAS;
  if (named < least) refuse("gasLimit", `is less than the ${least} units that the calls take; name more, or none`);
  return named;
}
