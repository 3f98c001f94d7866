import {
  batchData,
  callReverted,
  delegateIn,
  GAS_STATION_INTERFACE,
  TRIAL_CODE,
} from "../../../chains/evm/gas-station.ts";
import { decodeRevert } from "../../../chains/evm/revert.ts";
import { estimateGas, type Revert } from "../../../nodes/evm-calls.ts";
import { codeAt } from "../../../nodes/evm-state.ts";
import type { EvmNodes } from "../../../nodes/pool.ts";
import type { Reader } from "../../../storage/engine.ts";
import { interfaceOfContract } from "../../signing/model.ts";
import type { TxError } from "../model.ts";
import type { Plan, PlannedCall } from "./transaction.ts";

/** Calls of an account that go through the gas station: several at once, or paid for by the sponsor. */

/** Gas that the estimate of a batch does not include: the authorization, and the call of an account that has code. */
const AUTHORIZATION_GAS = 35_000n;
/** Gas for the station's own work: the signature, the nonce and forwarding; and for each call its digest. */
const SPONSORED_GAS = 80_000n;
const SPONSORED_CALL_GAS = 2_500n;

export const batchOf = (calls: readonly PlannedCall[]) =>
  calls.map(({ to, value, data }) => ({ to, value: BigInt(value), data }));

/** The gas of an account's calls, or why they would revert; `station` is the contract whose code runs them. */
export async function estimateBatch(
  evm: EvmNodes,
  { caip2, account, station, calls }: { caip2: Plan["caip2"]; account: string; station: string; calls: PlannedCall[] },
): Promise<{ gas: bigint } | { revert: Revert }> {
  const isDelegated = delegateIn(await codeAt(evm, caip2, account)) === station;
  const call = { from: account, to: account, value: 0n, data: batchData(batchOf(calls)) };
  return estimateGas(evm, caip2, call, isDelegated ? undefined : { [account]: TRIAL_CODE });
}

/** An estimate with reserves, including for what it does not cover. */
export const gasOfBatch = (estimate: bigint): bigint => (estimate * 11n) / 10n + AUTHORIZATION_GAS;
export const gasOfSponsored = (estimate: bigint, calls: number): bigint =>
  leastGasOfSponsored((estimate * 115n) / 100n, calls);
/** With less gas than this the calls would run out of gas, and the sponsor would pay for nothing. */
export const leastGasOfSponsored = (estimate: bigint, calls: number): bigint =>
  estimate + AUTHORIZATION_GAS + SPONSORED_GAS + SPONSORED_CALL_GAS * BigInt(calls);

/** A revert of a batch as the API shows it: the station's error, and the error of the call that it names. */
export async function batchError(
  read: Reader,
  organizationId: string,
  text: string,
  { to, calls }: { to: string; calls: readonly PlannedCall[] },
  { message, data }: Revert,
): Promise<TxError> {
  const outer = decodeRevert(to, data, message, GAS_STATION_INTERFACE);
  const reverted = callReverted(data);
  const call = reverted && calls[reverted.index];
  if (!reverted || !call) {
    return { message: `${text}: ${outer.displayMessage}`, revertChain: [outer], eth: { revertChain: [outer] } };
  }
  const known = await interfaceOfContract(read, organizationId, call.to);
  const inner = decodeRevert(call.to, reverted.reason, "execution reverted", known);
  const revertChain = [outer, inner];
  const which = calls.length === 1 ? "" : ` in calls.${reverted.index}`;
  return { message: `${text}${which}: ${inner.displayMessage}`, revertChain, eth: { revertChain } };
}
