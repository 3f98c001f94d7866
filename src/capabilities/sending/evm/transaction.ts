import { type Static, Type } from "typebox";
import { wholeUnits } from "../../../chains/evm/assets.ts";
import { chainIdOf, type EvmChain, evmChains } from "../../../chains/evm/networks.ts";
import { decodeRevert } from "../../../chains/evm/revert.ts";
import type { EvmTransaction } from "../../../chains/evm/transaction.ts";
import { OneOf } from "../../../engine/fields.ts";
import { fail } from "../../../kernel/errors.ts";
import { MAX_FEE_PER_GAS } from "../../../kernel/limits.ts";
import type { EvmCall, FeeQuote, Revert } from "../../../nodes/evm-calls.ts";
import type { EvmNodes, Payer } from "../../../nodes/pool.ts";
import type { Reader } from "../../../storage/engine.ts";
import { interfaceOfContract } from "../../signing/model.ts";
import { TxError } from "../model.ts";

/** A transaction to send, before it has a nonce: the parts that the decision fixes, and those that may still change. */

const Quantity = Type.String();

const PlannedCall = Type.Object({ to: Type.String(), value: Quantity, data: Type.String() });
export type PlannedCall = Static<typeof PlannedCall>;

/** What is fixed when the request arrives. Quantities are digits, everything else is lowercase 0x hex. */
export const Plan = Type.Object({
  caip2: OneOf(evmChains),
  from: Type.String(),
  to: Type.String(),
  value: Quantity,
  data: Type.String(),
  gas: Quantity,
  /** The nonce that the caller named; otherwise the transaction gets one when it is signed. */
  nonce: Type.Optional(Type.Integer()),
  /** The initial fees ... */
  fees: Type.Object({ maxFeePerGas: Quantity, maxPriorityFeePerGas: Quantity }),
  /** ... and the highest that replacements may have; the same if the caller named a fee. */
  highest: Type.Object({ maxFeePerGas: Quantity, maxPriorityFeePerGas: Quantity }),
  /** For sponsored transactions: US dollars for one unit of the chain's native asset, if known. */
  nativePrice: Type.Optional(Type.String()),
  /** For sponsored transactions: the greatest expected fees of a rollup, for data and its operator, in addition to gas, in wei. */
  dataFee: Type.Optional(Quantity),
  /** Present if it is not sent because it would revert. */
  revert: Type.Optional(TxError),
  /** The time, in milliseconds, from which it is too late to sign it for the first time, and the error for that. */
  late: Type.Optional(Type.Object({ from: Type.Integer(), message: Type.String() })),
  /** The contract that becomes the account's code by its own authorization (EIP-7702); zeros remove the code. */
  authorize: Type.Optional(Type.String()),
  /** The calls of a batch. */
  calls: Type.Optional(Type.Array(PlannedCall)),
  /** What the account signs if another account pays: `from` calls the gas station `to`, with data that are assembled when it is signed. */
  execution: Type.Optional(
    Type.Object({
      account: Type.String(),
      calls: Type.Array(PlannedCall),
      /** In seconds since 1970. This and the account's nonce at the gas station are present if the caller named them. */
      deadline: Type.Optional(Quantity),
      nonce: Type.Optional(Quantity),
    }),
  ),
});
export type Plan = Static<typeof Plan>;

/** Adds a tenth to an estimate, because a contract may take another path by the time of the block. A plain transfer needs no reserve. */
export const gasWithRoom = (gas: bigint): bigint => (gas === PLAIN_TRANSFER_GAS ? gas : (gas * 11n) / 10n);
const PLAIN_TRANSFER_GAS = 21_000n;

/** Wei per unit of gas. */
export interface Fees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** Base fees can double within six full blocks, so the initial fees allow for that ... */
const BASE_FEE_ROOM = 2n;
/** ... and replacements for the same again, if the caller left the fees open. */
const REPLACEMENT_ROOM = 2n;
/** In wei, added to that: on chains without tips, twice zero would leave no room. */
const TIP_ROOM = 1_000_000n;

/** @param own the fees that the caller named */
export function plannedFees(own: Partial<Fees>, { baseFee, tip }: FeeQuote): { fees: Fees; highest: Fees } {
  const bounded = (fee: bigint) => (fee > MAX_FEE_PER_GAS ? MAX_FEE_PER_GAS : fee);
  const usualTip = own.maxPriorityFeePerGas ?? bounded(tip);
  const maxFeePerGas = own.maxFeePerGas ?? atLeast(bounded(BASE_FEE_ROOM * baseFee + usualTip), usualTip);
  const fees = { maxFeePerGas, maxPriorityFeePerGas: usualTip < maxFeePerGas ? usualTip : maxFeePerGas };
  if (own.maxFeePerGas !== undefined || own.maxPriorityFeePerGas !== undefined) return { fees, highest: fees };
  const highest = {
    maxFeePerGas: atLeast(bounded(REPLACEMENT_ROOM * fees.maxFeePerGas + TIP_ROOM), fees.maxFeePerGas),
    maxPriorityFeePerGas: atLeast(
      bounded(REPLACEMENT_ROOM * fees.maxPriorityFeePerGas + TIP_ROOM),
      fees.maxPriorityFeePerGas,
    ),
  };
  return { fees, highest };
}

const REMEDIES: Record<Payer, (chain: EvmChain) => string> = {
  account: (chain) =>
    `set \`maxFeePerGas\` if the request allows it, or ask the operator of this server to raise \`chains.${chain}.txFeeCap\``,
  sponsor: (chain) =>
    `submit it again when fees are lower, or ask the operator of this server to raise \`chains.${chain}.sponsoredTxFeeCap\``,
};

/**
 * Keeps a plan whose fees and gas come from nodes within the operator's cap, including its replacements.
 *
 * @param own the fees that the caller named; the cap does not apply to those
 * @throws KeysteadError FEE_CAP_EXCEEDED
 */
export function withinFeeCap(evm: Pick<EvmNodes, "feeCap">, plan: Plan, payer: Payer, own: Partial<Fees> = {}): Plan {
  const { caip2: chain } = plan;
  if (own.maxFeePerGas !== undefined || plan.revert) return plan;
  const cap = evm.feeCap(chain, payer);
  requireAtMost(cap, chain, payer, greatestFees(plan, feesOf(plan.fees)));
  return { ...plan, highest: digitsOf(feesWithin(cap, plan, feesOf(plan.highest))) };
}

function requireAtMost(cap: bigint, chain: EvmChain, payer: Payer, fees: bigint): void {
  if (fees <= cap) return;
  const whole = (wei: bigint) => wholeUnits(wei, NATIVE_DECIMALS);
  fail("FEE_CAP_EXCEEDED", { chain, fees: whole(fees), cap: whole(cap), remedy: REMEDIES[payer](chain) });
}

const NATIVE_DECIMALS = 18;

/**
 * Refuses to sign a sponsored transaction if what a rollup charges in addition to gas exceeds the cap by itself: no signed fee limits that.
 *
 * @throws KeysteadError FEE_CAP_EXCEEDED
 */
export const requireRollupFeesWithinCap = (
  evm: Pick<EvmNodes, "feeCap">,
  { caip2, dataFee = "0" }: Pick<Plan, "caip2" | "dataFee">,
): void => requireAtMost(evm.feeCap(caip2, "sponsor"), caip2, "sponsor", BigInt(dataFee));

/** The fees of a plan, reduced so that the total does not exceed the cap. */
export function feesWithin(
  cap: bigint,
  { gas, dataFee = "0" }: Pick<Plan, "gas" | "dataFee">,
  { maxFeePerGas, maxPriorityFeePerGas }: Fees,
): Fees {
  const left = cap - BigInt(dataFee);
  const most = gas === "0" ? maxFeePerGas : atMost(maxFeePerGas, left > 0n ? left / BigInt(gas) : 0n);
  return { maxFeePerGas: most, maxPriorityFeePerGas: atMost(maxPriorityFeePerGas, most) };
}

/**
 * The fees for replacing a transaction. Nodes accept a replacement only if both fees are a tenth higher. Undefined if that would exceed the
 * highest fees.
 */
export function raisedFees(now: Fees, { baseFee, tip }: FeeQuote, highest: Fees): Fees | undefined {
  const least = {
    maxFeePerGas: tenthMore(now.maxFeePerGas),
    maxPriorityFeePerGas: tenthMore(now.maxPriorityFeePerGas),
  };
  if (least.maxFeePerGas > highest.maxFeePerGas) return undefined;
  if (least.maxPriorityFeePerGas > highest.maxPriorityFeePerGas) return undefined;
  const wantedTip = atLeast(tip, least.maxPriorityFeePerGas);
  const maxPriorityFeePerGas = atMost(wantedTip, highest.maxPriorityFeePerGas);
  const wanted = atLeast(BASE_FEE_ROOM * baseFee + maxPriorityFeePerGas, least.maxFeePerGas);
  return { maxFeePerGas: atMost(wanted, highest.maxFeePerGas), maxPriorityFeePerGas };
}

/** Rounded up, and at least 1 more even for zero, so that a replacement is a different transaction. */
const tenthMore = (fee: bigint): bigint => atLeast((fee * 11n + 9n) / 10n, fee + 1n);
const atLeast = (fee: bigint, least: bigint): bigint => (fee < least ? least : fee);
const atMost = (fee: bigint, most: bigint): bigint => (fee > most ? most : fee);

export const feesOf = ({ maxFeePerGas, maxPriorityFeePerGas }: Plan["fees"]): Fees => ({
  maxFeePerGas: BigInt(maxFeePerGas),
  maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas),
});

export const digitsOf = ({ maxFeePerGas, maxPriorityFeePerGas }: Fees): Plan["fees"] => ({
  maxFeePerGas: String(maxFeePerGas),
  maxPriorityFeePerGas: String(maxPriorityFeePerGas),
});

export const callOfPlan = ({ from, to, value, data, gas }: Plan): EvmCall => ({
  from,
  to,
  value: BigInt(value),
  data,
  gas: BigInt(gas),
});

/** The greatest possible cost of a transaction to its payer, in wei. */
export const greatestCost = (plan: Plan, fees: Fees): bigint => greatestFees(plan, fees) + BigInt(plan.value);

const greatestFees = ({ gas, dataFee = "0" }: Plan, { maxFeePerGas }: Fees): bigint =>
  BigInt(gas) * maxFeePerGas + BigInt(dataFee);

/** The transaction as it is signed. */
export const transactionOf = (
  { caip2, to, value, data, gas }: Plan,
  { nonce, maxFeePerGas, maxPriorityFeePerGas }: Fees & { nonce: number },
): Extract<EvmTransaction, { type: "TYPE_2" }> => ({
  type: "TYPE_2",
  chainId: chainIdOf(caip2),
  nonce: BigInt(nonce),
  maxPriorityFeePerGas,
  maxFeePerGas,
  gas: BigInt(gas),
  to,
  value: BigInt(value),
  data,
  accessList: [],
});

/** Precedes the reason of a revert that an estimate found. */
export const UNSENT = "the transaction was not sent because it would revert";

/** A revert as the API shows it, decoded by the interface that the organization stored for the contract. */
export async function revertError(
  read: Reader,
  organizationId: string,
  text: string,
  to: string,
  { message, data }: Revert,
): Promise<TxError> {
  const entry = decodeRevert(to, data, message, await interfaceOfContract(read, organizationId, to));
  const revertChain = [entry];
  return { message: `${text}: ${entry.displayMessage}`, revertChain, eth: { revertChain } };
}
