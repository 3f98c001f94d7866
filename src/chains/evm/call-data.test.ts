import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeAbiParameters, encodeFunctionData, type Hex, parseAbi, parseAbiParameters } from "viem";
import { callData, encodeCalls, words } from "./call-data.ts";
import { erc20 } from "./erc20.ts";

/** Calls that this service makes itself, as another implementation encodes them. */

const [token, owner, spender] = [1, 2, 0xabcdef].map((number) => `0x${number.toString(16).padStart(40, "0")}`) as [
  Hex,
  Hex,
  Hex,
];

test("a call has the selector of its signature, and a word for each parameter", () => {
  const abi = parseAbi(["function deposit(uint256,address)", "function pause()"]);
  for (const amount of [0n, 1n, 2n ** 256n - 1n]) {
    assert.equal(
      callData("deposit(uint256,address)", amount, owner),
      encodeFunctionData({ abi, functionName: "deposit", args: [amount, owner] }),
    );
  }
  assert.equal(callData("pause()"), encodeFunctionData({ abi, functionName: "pause" }));
});

test("what does not fit into a word is not cut to one", () => {
  for (const value of [2n ** 256n, -1n]) assert.throws(() => words(value), /no word/);
});

test("calls of tokens name the token, and owner, spender and amount in this order", () => {
  const abi = parseAbi([
    "function balanceOf(address)",
    "function allowance(address,address)",
    "function approve(address,uint256)",
  ]);
  assert.deepEqual(erc20.balanceOf(token, owner), {
    to: token,
    data: encodeFunctionData({ abi, functionName: "balanceOf", args: [owner] }),
  });
  assert.deepEqual(erc20.allowance(token, owner, spender), {
    to: token,
    data: encodeFunctionData({ abi, functionName: "allowance", args: [owner, spender] }),
  });
  assert.deepEqual(erc20.approve(token, spender, 7n), {
    to: token,
    data: encodeFunctionData({ abi, functionName: "approve", args: [spender, 7n] }),
  });
});

test("a list of calls is encoded as its type says, whatever the length of their data", () => {
  const lists = [[], [""], ["ab"], ["", "ab".repeat(31), "cd".repeat(32), "ef".repeat(33)], ["01".repeat(100), "02"]];
  for (const list of lists) {
    const calls = list.map((digits, index) => ({ to: index % 2 === 0 ? owner : spender, data: `0x${digits}` as Hex }));
    const parameters = parseAbiParameters("(address to, bytes data)[]");
    assert.equal(`0x${encodeCalls(calls)}`, encodeAbiParameters(parameters, [calls]), JSON.stringify(list));
  }
});
