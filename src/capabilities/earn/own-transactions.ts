import { type Static, Type } from "typebox";
import type { ContractCall } from "../../chains/evm/call-data.ts";
import type { EvmChain } from "../../chains/evm/networks.ts";
import type { PolicyFacts } from "../../engine/operations.ts";
import type { Services } from "../../engine/services.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import type { IdFor } from "../../kernel/ids.ts";
import { estimateGas, estimateRehearsed, feeQuote, type Revert } from "../../nodes/evm-calls.ts";
import type { EvmNodes } from "../../nodes/pool.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import {
  digitsOf,
  factsOfSeveral,
  gasWithRoom,
  type Plan,
  planExecution,
  plannedFees,
  queueOwn,
  revertError,
  SponsoredPlan,
  UNSENT,
  withinFeeCap,
} from "../sending/store.ts";
import { findSigningKey } from "../signing/store.ts";
import { type NewSponsoredSend, planSponsored, sponsorSend } from "../sponsoring/store.ts";
import { addRequest } from "./store.ts";

/**
 * A wallet's calls: the last one is the purpose, the ones before it are approvals. They are sent either as transactions that the wallet signs and
 * pays for, one after the other, or as one batch that this service pays for.
 */

export const Transactions = Type.Object({ transactions: Type.Array(SponsoredPlan, { minItems: 1, maxItems: 3 }) });
export type Transactions = Static<typeof Transactions>;

/** Used if no node can simulate several calls together: far more than any vault needs. Unused gas is not paid for. */
const GAS_WITHOUT_ESTIMATE = 2_000_000n;

/**
 * The gas that a call may need beyond its estimate for each storage slot that an earlier call cleared, in the same request or in an earlier
 * pending one. Setting a cleared slot costs this much more than changing a set one (EIP-2929), but not within one transaction, which is how the
 * calls are estimated. Unused gas is not paid for.
 */
const GAS_OF_A_PLACE = 17_100n;
/** The slots of a deposit or withdrawal: shares and total shares of wrapper and vault, the vault's assets, the wrapper's state, an allowance. */
const CLEARED_PLACES = 8n;

interface Planning {
  evm: EvmNodes;
  read: Reader;
  organizationId: string;
}

type OwnCalls = readonly [ContractCall, ...ContractCall[]];

/** The calling account, and whether this service pays. */
interface Caller {
  chain: EvmChain;
  from: string;
  sponsor: boolean | undefined;
}

/**
 * Plans how a wallet's calls are sent. Calls that would revert are planned as failed and never sent.
 *
 * @throws KeysteadError SIGNING_RESOURCE_NOT_FOUND, CHAIN_NOT_CONFIGURED, CHAIN_UNAVAILABLE
 */
export async function planCalls(
  { assets, gasStations, ...planning }: Planning & Pick<Services, "assets" | "gasStations">,
  { chain, from, sponsor }: Caller,
  calls: OwnCalls,
): Promise<Transactions> {
  if (sponsor !== true) return planTransactions(planning, { chain, from }, calls);
  await findSigningKey(planning.read, planning.organizationId, from);
  await planning.evm.requireChain(chain);
  const wanted = { caip2: chain, account: from, calls: calls.map(({ to, data }) => ({ to, data, value: "0" })) };
  const through = { ...planning, station: gasStations.of(chain) };
  const paid = (call: Parameters<typeof planSponsored>[1]) => planSponsored({ ...planning, assets }, call);
  return { transactions: [await planExecution(through, wanted, paid)] };
}

/**
 * Plans gas and fees for calls that an account sends one after the other. If one of them would revert, none is sent: the first is planned as
 * failed, and the others depend on it.
 *
 * @throws KeysteadError SIGNING_RESOURCE_NOT_FOUND, CHAIN_NOT_CONFIGURED, CHAIN_UNAVAILABLE, FEE_CAP_EXCEEDED
 */
export async function planTransactions(
  { evm, read, organizationId }: Planning,
  { chain: caip2, from }: { chain: EvmChain; from: string },
  calls: OwnCalls,
): Promise<Transactions> {
  await findSigningKey(read, organizationId, from);
  await evm.requireChain(caip2);
  const { fees, highest } = plannedFees({}, await feeQuote(evm, caip2));
  const planOf = ({ to, data }: ContractCall, gas: bigint): Plan => ({
    ...{ caip2, from, to, data, value: "0", gas: String(gas) },
    fees: digitsOf(fees),
    highest: digitsOf(highest),
  });
  const [first] = calls;
  const estimates: bigint[] = [];
  for (const [index, call] of calls.entries()) {
    // A call that follows others can only be simulated together with them.
    const estimate =
      index === 0
        ? await estimateGas(evm, caip2, { from, ...call, value: 0n })
        : await rehearsed(evm, caip2, from, calls.slice(0, index + 1));
    if ("revert" in estimate) {
      const revert = await revertFor({ evm, read, organizationId }, call, estimate.revert);
      return { transactions: [{ ...planOf(first, 0n), revert }, ...calls.slice(1).map((one) => planOf(one, 0n))] };
    }
    // The calls before the last one are approvals, each of which sets one allowance.
    const places = index === calls.length - 1 ? CLEARED_PLACES : 1n;
    estimates.push(gasWithRoom(estimate.gas) + places * GAS_OF_A_PLACE);
  }
  const priced = (plan: Plan) => withinFeeCap(evm, plan, "account");
  return { transactions: calls.map((call, index) => priced(planOf(call, estimates[index] as bigint))) };
}

const revertFor = ({ read, organizationId }: Planning, { to }: ContractCall, revert: Revert) =>
  revertError(read, organizationId, UNSENT, to, revert);

async function rehearsed(evm: EvmNodes, chain: EvmChain, from: string, calls: readonly ContractCall[]) {
  try {
    return await estimateRehearsed(evm, chain, from, calls);
  } catch (error) {
    if (!(error instanceof KeysteadError) || error.code !== "CHAIN_UNAVAILABLE") throw error;
    return { gas: GAS_WITHOUT_ESTIMATE };
  }
}

/** What a deposit's or withdrawal's `run` is given. */
interface Requested {
  tx: Transactor;
  organization: NewSponsoredSend["organization"];
  activityId: string;
  plan: Transactions;
  id: IdFor;
  now: number;
}

/** What the signer records as the purpose where this service pays. */
const PURPOSES = { DEPOSIT: "earn_deposit", WITHDRAW: "earn_withdraw" } as const;

/**
 * Queues the transactions of a deposit or withdrawal and stores the request for them, in the database transaction that stores their activity.
 * Resolves to the request's id.
 *
 * @throws KeysteadError QUOTA_EXCEEDED, and what `sponsorSend` throws
 */
export async function queueRequest(
  { tx, plan, id, ...activity }: Requested,
  { kind, amount }: { kind: keyof typeof PURPOSES; amount: string },
): Promise<string> {
  const requestId = await queueTransactions(tx, { ...activity, purpose: PURPOSES[kind] }, plan, id);
  const { chain, wallet: walletAddress, to: wrapperAddress } = mainOf(plan);
  const organizationId = activity.organization.id;
  const request = { organizationId, id: requestId, kind, wrapperAddress, walletAddress, amount };
  await addRequest(tx, chain, request, activity.now);
  return requestId;
}

/**
 * Queues the transactions. Resolves to the id of the last one, which stands for all.
 *
 * @param purpose what this service pays for, if it does
 */
async function queueTransactions(
  tx: Transactor,
  { organization, purpose, ...activity }: Pick<Requested, "organization" | "activityId" | "now"> & { purpose: string },
  { transactions }: Transactions,
  id: IdFor,
): Promise<string> {
  const ids = transactions.map((_, part) => id(`sendTransaction.${part}`));
  for (const [part, plan] of transactions.entries()) {
    const send = { ...activity, id: ids[part] as string };
    const after = ids[part - 1];
    const progress = { part, ...(after === undefined ? {} : { after }) };
    if (plan.execution) await sponsorSend(tx, { ...send, organization, purpose, plan });
    else await queueOwn(tx, plan, { ...send, organizationId: organization.id, progress });
  }
  return ids.at(-1) as string;
}

/** The facts for policies: those that all transactions share. */
export const factsOf = (read: Reader, organizationId: string, { transactions }: Transactions): Promise<PolicyFacts> =>
  factsOfSeveral(read, organizationId, transactions as [Plan, ...Plan[]]);

/** The last call, which is the purpose of all: its chain, wallet and recipient. */
function mainOf({ transactions }: Transactions): { chain: EvmChain; wallet: string; to: string } {
  const { caip2: chain, from, to, execution } = transactions.at(-1) as Plan;
  if (!execution) return { chain, wallet: from, to };
  return { chain, wallet: execution.account, to: execution.calls.at(-1)?.to ?? to };
}
