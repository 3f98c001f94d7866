import { erc20 } from "../../chains/evm/erc20.ts";
import { batchData, delegateIn, TRIAL_CODE } from "../../chains/evm/gas-station.ts";
import type { EvmChain } from "../../chains/evm/networks.ts";
import { readContracts, wordIn } from "../../nodes/evm-reads.ts";
import { NATIVE_LOGS, type Simulated, type SimulatedLog, simulate } from "../../nodes/evm-simulation.ts";
import { codeAt } from "../../nodes/evm-state.ts";
import type { EvmNodes } from "../../nodes/pool.ts";
import type { Reader } from "../../storage/engine.ts";
import type { TxError } from "../sending/model.ts";
import { batchError, type PlannedCall, revertError } from "../sending/store.ts";

/** The calls that a wallet makes for a swap, and a simulation of their effects. Addresses and data are lowercase 0x hex. */

/** A swap to execute. */
export interface SwapCalls {
  chain: EvmChain;
  wallet: string;
  /** The contract; null for the chain's native asset. */
  inputToken: string | null;
  inputAmount: bigint;
  call: PlannedCall;
  /** The contract that takes the input token; null for the native asset. */
  spender: string | null;
  /** The output token and its minimum amount, if the output is on the same chain. */
  output: { token: string | null; least: bigint } | undefined;
}

/** The sender of read-only calls. */
const NOBODY = `0x${"00".repeat(20)}`;
const approve = (token: string, spender: string, amount: bigint): PlannedCall => ({
  ...erc20.approve(token, spender, amount),
  value: "0",
});

/**
 * The calls of a swap. For the native asset this is one call. For a token it is an atomic batch that approves the spender for exactly this
 * amount and revokes the approval at the end. An existing allowance is reset first, because some tokens change an allowance only from or to
 * zero.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function callsOf(
  evm: EvmNodes,
  { chain, wallet, inputToken, inputAmount, call, spender }: SwapCalls,
): Promise<PlannedCall[]> {
  if (inputToken === null || spender === null) return [call];
  const [allowed] = await readContracts(evm, chain, [erc20.allowance(inputToken, wallet, spender)]);
  const reset = approve(inputToken, spender, 0n);
  return [...(wordIn(allowed) === 0n ? [] : [reset]), approve(inputToken, spender, inputAmount), call, reset];
}

/**
 * Simulates the calls on the chain's current state, and returns why they are not the agreed swap; undefined if they are. They must succeed,
 * yield at least the minimum output, and take nothing but the input.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function faultOf(
  { evm, read, organizationId, station }: { evm: EvmNodes; read: Reader; organizationId: string; station: string },
  swap: SwapCalls,
  calls: readonly PlannedCall[],
): Promise<TxError | undefined> {
  const { chain, wallet, inputToken, spender, output } = swap;
  const questions = [
    ...(inputToken === null ? [] : [erc20.balanceOf(inputToken, wallet)]),
    ...(output?.token ? [erc20.balanceOf(output.token, wallet)] : []),
  ].map((one) => ({ from: NOBODY, ...one }));
  const left =
    inputToken !== null && spender !== null ? [{ from: NOBODY, ...erc20.allowance(inputToken, wallet, spender) }] : [];
  const isBatch = calls.length > 1;
  const codes = isBatch && delegateIn(await codeAt(evm, chain, wallet)) !== station ? { [wallet]: TRIAL_CODE } : {};
  const results = await simulate(evm, chain, [...questions, trialOf(wallet, calls), ...questions, ...left], codes);
  const failed = (message: string): TxError => ({ message: `the swap was not sent: ${message}` });
  if (!Array.isArray(results)) return failed(results.revert.message);
  const trial = results[questions.length] as Simulated;
  if ("revert" in trial) {
    const text = "the swap was not sent because it would revert";
    return isBatch
      ? batchError(read, organizationId, text, { to: wallet, calls }, trial.revert)
      : revertError(read, organizationId, text, swap.call.to, trial.revert);
  }
  const before = results.slice(0, questions.length).map(amountIn);
  const after = results.slice(questions.length + 1).map(amountIn);
  const problem = problemOf(swap, trial.logs, before, after);
  return problem === undefined ? undefined : failed(problem);
}

function trialOf(wallet: string, calls: readonly PlannedCall[]) {
  const [only] = calls;
  if (calls.length === 1 && only) return { from: wallet, ...only, value: BigInt(only.value) };
  const data = batchData(calls.map(({ to, value, data }) => ({ to, value: BigInt(value), data })));
  return { from: wallet, to: wallet, data };
}

const amountIn = (one: Simulated): bigint | undefined => ("answer" in one ? wordIn(one.answer) : undefined);

/** The last item of `after` is the remaining allowance, if the input is a token. */
function problemOf(
  { wallet, inputToken, inputAmount, spender, output }: SwapCalls,
  logs: readonly SimulatedLog[],
  before: (bigint | undefined)[],
  after: (bigint | undefined)[],
): string | undefined {
  const native = netOf(logs.filter(({ address }) => address === NATIVE_LOGS).map(transferIn), wallet);
  const gainOf = (token: string | null, place: number): bigint | undefined => {
    if (token === null) return native;
    const [was, is] = [before[place], after[place]];
    return was === undefined || is === undefined ? undefined : is - was;
  };
  const spent = gainOf(inputToken, 0);
  if (spent === undefined) return `${inputToken} does not tell its balances, as ERC-20 has it`;
  if (-spent > inputAmount) return "it would take more than the amount that is swapped";
  if (inputToken !== null && native < 0n) return "it would take the chain's native asset along";
  if (output) {
    const gain = gainOf(output.token, inputToken === null ? 0 : 1);
    if (gain === undefined) return `${output.token} does not tell its balances, as ERC-20 has it`;
    if (gain < output.least)
      return `it would bring ${gain} of the output token, but at least ${output.least} were agreed`;
  }
  if (inputToken !== null && after.at(-1) !== 0n) return "it would leave something allowed of the input token";
  return otherMove(logs, wallet, inputToken, spender);
}

/** Topics of ERC-20 and ERC-721, and those of ERC-1155. */
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const APPROVAL = "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925";
const APPROVAL_FOR_ALL = "0x17307eab39ab6107e8899845ad3d59bd9653f200f220920489ca2b5937696c31";
const TRANSFER_SINGLE = "0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62";
const TRANSFER_BATCH = "0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb";

const addressOf = (topic: string | undefined): string => `0x${(topic ?? "").slice(26)}`;

/** Detects transfers of other assets from the wallet, and approvals for anybody but the spender. */
function otherMove(
  logs: readonly SimulatedLog[],
  wallet: string,
  inputToken: string | null,
  spender: string | null,
): string | undefined {
  for (const { address, topics } of logs) {
    const [topic, first, second] = topics;
    if (address === NATIVE_LOGS) continue;
    if (topic === TRANSFER && addressOf(first) === wallet && address !== inputToken)
      return `it would also spend ${address}`;
    if ((topic === TRANSFER_SINGLE || topic === TRANSFER_BATCH) && addressOf(second) === wallet)
      return `it would also spend ${address}`;
    const isApproval = (topic === APPROVAL || topic === APPROVAL_FOR_ALL) && addressOf(first) === wallet;
    if (isApproval && (address !== inputToken || addressOf(second) !== spender))
      return `it would allow ${addressOf(second)} to spend ${address}`;
  }
  return undefined;
}

interface Movement {
  from: string;
  to: string;
  amount: bigint;
}

const transferIn = ({ topics, data }: SimulatedLog): Movement => ({
  from: addressOf(topics[1]),
  to: addressOf(topics[2]),
  amount: data.length === 66 ? BigInt(data) : 0n,
});

/** The amount received minus the amount sent. */
function netOf(movements: readonly Movement[], wallet: string): bigint {
  let net = 0n;
  for (const { from, to, amount } of movements) {
    if (from === wallet) net -= amount;
    if (to === wallet) net += amount;
  }
  return net;
}
