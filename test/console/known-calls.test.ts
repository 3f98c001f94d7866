import assert from "node:assert/strict";
import { it } from "node:test";
import { encodeFunctionData, erc20Abi, getAddress, maxUint256 } from "viem";
import { callWords } from "../../console/src/parts/known-calls.ts";

it("calls of tokens are told however their data is written: the API takes it without prefix and in capitals too", () => {
  const spender = getAddress("0x00000000000000000000000000000000000000aa");
  const told = { address: spender.toLowerCase(), amount: String(maxUint256) };
  for (const [functionName, verb] of [
    ["approve", "Lets a token be moved by"],
    ["transfer", "Transfers a token to"],
  ] as const) {
    const data = encodeFunctionData({ abi: erc20Abi, functionName, args: [spender, maxUint256] });
    for (const written of [data, data.slice(2), data.slice(2).toUpperCase(), `0x${data.slice(2).toUpperCase()}`]) {
      const words = callWords(written);
      assert.deepEqual(words && { ...words, address: words.address.toLowerCase() }, { ...told, verb }, written);
    }
    assert.equal(callWords(data.slice(0, -2)), undefined);
    assert.equal(callWords(`${data}00`), undefined);
    assert.equal(callWords(`${data.slice(0, 10)}01${data.slice(12)}`), undefined);
  }
});
