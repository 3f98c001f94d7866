import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeFunctionData, erc20Abi, multicall3Abi, serializeTransaction } from "viem";
import { Transaction } from "viem/tempo";
import { decodeCall, parseContractInterface } from "../../src/chains/evm/contract-interface.ts";
import { ethereumFacts, parseUnsignedTransaction } from "../../src/chains/evm/transaction.ts";
import { parseUnsignedTempoTransaction, tempoFacts } from "../../src/chains/tempo/transaction.ts";
import { bytesFromHex } from "../../src/kernel/bytes.ts";
import { Budget } from "../../src/policy/budget.ts";
import { compile } from "../../src/policy/compile.ts";
import { PolicyError } from "../../src/policy/errors.ts";
import type { ConditionFacts, EthereumTransactionFacts, TempoTransactionFacts } from "../../src/policy/facts.ts";

const activity = { type: "ACTIVITY_TYPE_SIGN_TRANSACTION_V2" };
const from = `0x${"Fa".repeat(20)}`;
const token = `0x${"70".repeat(20)}` as const;
const alice = `0x${"a1".repeat(20)}` as const;
const bytesOf = (hex: string) => bytesFromHex(hex.slice(2)) ?? assert.fail(hex);

function ethereum(transaction: object, abi?: unknown): ConditionFacts {
  const parsed = parseUnsignedTransaction(bytesOf(serializeTransaction(transaction as never)), "x");
  const call =
    abi === undefined ? undefined : decodeCall(parseContractInterface(JSON.stringify(abi), "x"), parsed.data);
  const tx: EthereumTransactionFacts = ethereumFacts(parsed, from, call);
  return { activity, eth: { tx } };
}

function outcome(condition: string, facts: ConditionFacts): boolean | string {
  try {
    return compile(condition, "condition").evaluate(facts, new Budget(Number.POSITIVE_INFINITY));
  } catch (error) {
    if (error instanceof PolicyError) return error.code;
    throw error;
  }
}

const dynamic = { type: "eip1559", chainId: 8453, nonce: 1, gas: 60_000n, maxFeePerGas: 9n, maxPriorityFeePerGas: 2n };

test("conditions on a token transfer", () => {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [alice, 10n ** 30n] });
  const facts = ethereum({ ...dynamic, to: token, data }, erc20Abi);
  const upper = alice.toUpperCase().replace("0X", "0x");
  const conditions: [string, boolean | string][] = [
    [`eth.tx.from == '0x${"fA".repeat(20)}' && eth.tx.to == '${token}' && eth.tx.value == 0`, true],
    ["eth.tx.chain_id == '8453' && eth.tx.nonce == 1 && eth.tx.gas <= 60000 && eth.tx.type == 'TYPE_2'", true],
    ["eth.tx.gas_price == 9 && eth.tx.max_fee_per_gas == 9 && eth.tx.max_priority_fee_per_gas == 2", true],
    [`eth.tx.data[0..10] == '0xa9059cbb' && eth.tx.data[34..74] == '${upper.slice(2)}'`, true],
    ["eth.tx.function_name == 'transfer' && eth.tx.function_signature == '0xA9059CBB'", true],
    [`eth.tx.contract_call_args['recipient'] == '${upper}'`, true],
    ["eth.tx.contract_call_args['amount'] <= 1000000000000000000000000000000", true],
    ["eth.tx.contract_call_args['amount'] < 1000000000000000000000000000000", false],
    ["eth.tx.contract_call_args['wad'] < 1", "MISSING_FACT"],
    ["eth.tx.max_fee_per_blob_gas == 0", "MISSING_FACT"],
  ];
  for (const [condition, expected] of conditions) assert.equal(outcome(condition, facts), expected, condition);
});

test("what cannot be decoded, or has no interface, has no function", () => {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [alice, 1n] });
  for (const facts of [
    ethereum({ ...dynamic, to: token, data }),
    ethereum({ ...dynamic, to: token, data: `${data}00` }, erc20Abi),
  ]) {
    assert.equal(outcome("eth.tx.function_name == 'transfer'", facts), "MISSING_FACT");
    assert.equal(outcome("eth.tx.contract_call_args['amount'] == 1", facts), "MISSING_FACT");
  }
});

test("conditions on a batch of calls, a creation and a legacy transaction", () => {
  const calls = [{ target: alice, allowFailure: false, callData: "0x" }] as const;
  const data = encodeFunctionData({ abi: multicall3Abi, functionName: "aggregate3", args: [calls] });
  const batch = ethereum({ ...dynamic, to: token, data }, multicall3Abi);
  const each = `eth.tx.contract_call_args['calls'].all(call, call[0] == '${alice}' && call[1] == false)`;
  assert.equal(outcome(each, batch), true);
  const creation = ethereum({ ...dynamic, data: "0xfe" });
  assert.equal(outcome("eth.tx.to == '' && eth.tx.chain_id == '8453'", creation), true);
  const legacy = ethereum({ type: "legacy", nonce: 0, gas: 21_000n, gasPrice: 7n, to: token, value: 2n ** 255n });
  assert.equal(outcome("eth.tx.type == 'LEGACY' && eth.tx.gas_price == 7 && eth.tx.value > 1", legacy), true);
  assert.equal(outcome("eth.tx.chain_id == 1", legacy), "MISSING_FACT");
});

test("conditions on a Tempo transaction", async () => {
  const input = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [alice, 1n] });
  const calls = [{ to: token, data: input }, { data: "0xfe" }];
  const sent = { type: "tempo", chainId: 4217, calls, feeToken: token, gas: 5n, maxFeePerGas: 9n, validBefore: 50 };
  const unsigned = await Transaction.serialize(sent as never);
  const tx: TempoTransactionFacts = tempoFacts(parseUnsignedTempoTransaction(bytesOf(unsigned), "x"), from);
  const facts = { activity, tempo: { tx } };
  const conditions = [
    `tempo.tx.chain_id == 4217 && tempo.tx.from == '${from.toLowerCase()}' && tempo.tx.fee_token == '${token}'`,
    "tempo.tx.nonce == 0 && tempo.tx.gas_limit == 5 && tempo.tx.valid_before == 50 && tempo.tx.valid_after == 0",
    "tempo.tx.max_fee_per_gas == 9 && tempo.tx.max_priority_fee_per_gas == 0",
    `tempo.tx.calls[0].input[34..74] == '${alice.slice(2)}' && tempo.tx.calls[0].function_signature == '0xa9059cbb'`,
    "tempo.tx.calls.count() == 2 && tempo.tx.calls[1].to == '' && tempo.tx.calls[1].function_signature == ''",
  ];
  for (const condition of conditions) assert.equal(outcome(condition, facts), true, condition);
});
