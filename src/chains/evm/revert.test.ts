import assert from "node:assert/strict";
import { it } from "node:test";
import { encodeAbiParameters, encodeErrorResult, parseAbi } from "viem";
import { decodeRevert } from "./revert.ts";

const CONTRACT = "0x00000000000000000000000000000000000000Aa";
const MESSAGE = "execution reverted";
const address = CONTRACT.toLowerCase();

it("tells what the node said where nothing was returned", () => {
  const native = { nativeType: "execution_reverted", message: MESSAGE };
  assert.deepEqual(decodeRevert(CONTRACT, "0x", MESSAGE), {
    address,
    errorType: "native",
    displayMessage: MESSAGE,
    native,
  });
});

it("reads the errors of Solidity itself", () => {
  const text = encodeAbiParameters([{ type: "string" }], ["no"]).slice(2);
  assert.equal(decodeRevert(CONTRACT, `0x08c379a0${text}`, MESSAGE).native?.message, "no");
  const code = encodeAbiParameters([{ type: "uint256" }], [0x32n]).slice(2);
  const { native, displayMessage } = decodeRevert(CONTRACT, `0x4e487b71${code}`, MESSAGE);
  assert.deepEqual(native, { nativeType: "panic", message: "array index out of bounds", panicCode: "50" });
  assert.equal(displayMessage, "panic 0x32: array index out of bounds");
});

it("shows what only begins like one as it is", () => {
  const data = "0x08c379a0ff";
  assert.deepEqual(decodeRevert(CONTRACT, data, MESSAGE).unknown, { selector: "0x08c379a0", data });
});

it("names the contract's own errors by its interface, in either form, and no others", () => {
  const abi = parseAbi(["error Nested((uint8 a, address[] b) pair, string)", "error Other()", "function f()"]);
  const who = "0x00000000000000000000000000000000000000bb";
  const data = encodeErrorResult({ abi, errorName: "Nested", args: [{ a: 1, b: [who] }, "x"] });
  for (const json of [JSON.stringify(abi), JSON.stringify({ abi })]) {
    const { errorType, custom } = decodeRevert(CONTRACT, data, MESSAGE, json);
    assert.equal(errorType, "custom");
    assert.deepEqual(custom, { errorName: "Nested", paramsJson: JSON.stringify({ pair: ["1", [who]], 1: "x" }) });
  }
  assert.equal(decodeRevert(CONTRACT, data, MESSAGE, JSON.stringify(parseAbi(["error Other()"]))).errorType, "unknown");
  assert.equal(decodeRevert(CONTRACT, data, MESSAGE).errorType, "unknown");
});

it("passes over errors that an interface declares badly", () => {
  const json = JSON.stringify([
    { type: "error", name: "Bad", inputs: [{ type: "nothing" }] },
    { type: "error", name: "Good" },
  ]);
  const data = encodeErrorResult({ abi: parseAbi(["error Good()"]), errorName: "Good" });
  assert.equal(decodeRevert(CONTRACT, data, MESSAGE, json).custom?.errorName, "Good");
});
