import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeErrorResult, parseAbi } from "viem";
import { callReverted, delegateIn, nonceInSponsorData, sponsorData } from "./gas-station.ts";

/** What is read in the station's data; test/chains/gas-station.test.ts has the contract itself. */

const account = `0x${"aa".repeat(20)}`;

test("the nonce of an execution is read in the data that carry it", () => {
  const calls = [{ to: `0x${"bb".repeat(20)}`, value: 3n, data: "0x1234" }];
  for (const nonce of [0n, 5n, 2n ** 256n - 1n]) {
    assert.equal(nonceInSponsorData(sponsorData(account, { nonce, deadline: 99n, calls }, "0xcd")), nonce);
  }
});

test("an account delegates to the contract that its code names, and with code of its own to none", () => {
  const [contract, other] = ["ab".repeat(20), "cd".repeat(20)];
  assert.equal(delegateIn(`0xef0100${contract}`), `0x${contract}`);
  for (const code of [
    "0x",
    `0xef0100${contract}00`,
    `0xef0100${contract.slice(2)}`,
    `0xef0200${other}`,
    "0x60016000",
  ]) {
    assert.equal(delegateIn(code), undefined, code);
  }
});

test("which call of a batch reverted is read in the station's error alone", () => {
  const abi = parseAbi(["error CallReverted(uint256,bytes)", "error Other(uint256,bytes)"]);
  const said = (errorName: "CallReverted" | "Other", index: bigint) =>
    encodeErrorResult({ abi, errorName, args: [index, "0xdead"] });
  assert.deepEqual(callReverted(said("CallReverted", 3n)), { index: 3, reason: "0xdead" });
  for (const data of [
    said("Other", 3n),
    said("CallReverted", 2n ** 53n),
    said("CallReverted", 3n).slice(0, -64),
    "0x",
  ]) {
    assert.equal(callReverted(data), undefined, data);
  }
});
