import assert from "node:assert/strict";
import { test } from "node:test";
import { Interface } from "ethers";
import fc from "fast-check";
import { type Abi, encodeFunctionData, erc20Abi, erc721Abi, multicall3Abi, toFunctionSelector } from "viem";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_CONTRACT_FUNCTIONS, MAX_SMART_CONTRACT_INTERFACE_BYTES } from "../../kernel/limits.ts";
import { memorySizeOf } from "../../kernel/memory-size.ts";
import { decodeCall, parseContractInterface } from "./contract-interface.ts";

const parse = (abi: unknown) => parseContractInterface(JSON.stringify(abi), "parameters.smartContractInterface");
const alice = `0x${"a1".repeat(20)}` as const;
const bob = `0x${"b0".repeat(20)}` as const;

test("published interfaces: the selectors of viem and ethers", () => {
  for (const abi of [erc20Abi, erc721Abi, multicall3Abi] as unknown as Abi[]) {
    const functions = abi.filter((entry) => entry.type === "function");
    const selectors = [...parse(abi).keys()].sort();
    assert(selectors.length >= 1);
    assert.deepEqual(selectors, functions.map((entry) => toFunctionSelector(entry)).sort());
    const theirs = new Interface(JSON.stringify(abi)).fragments.filter((each) => each.type === "function");
    assert.deepEqual(selectors, theirs.map((each) => (each as unknown as { selector: string }).selector).sort());
  }
});

test("a call is decoded by names", () => {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [alice, 5n] });
  const decoded = {
    function_name: "transfer",
    function_signature: "0xa9059cbb",
    contract_call_args: { recipient: alice, amount: 5n },
  };
  assert.deepEqual(decodeCall(parse(erc20Abi), data), decoded);
  assert.deepEqual(decodeCall(parse({ contractName: "Token", abi: erc20Abi, bytecode: "0x" }), data), decoded);
});

test("tuples go by position, overloads by selector, unnamed parameters by theirs", () => {
  const calls = [
    { target: alice, allowFailure: true, callData: "0x1234" },
    { target: bob, allowFailure: false, callData: "0x" },
  ] as const;
  const batch = encodeFunctionData({ abi: multicall3Abi, functionName: "aggregate3", args: [calls] });
  assert.deepEqual(decodeCall(parse(multicall3Abi), batch)?.contract_call_args, {
    calls: [
      [alice, true, "0x1234"],
      [bob, false, "0x"],
    ],
  });
  const overloaded = [
    {
      type: "function",
      name: "f",
      inputs: [{ type: "uint256" }, { name: "", type: "bool" }, { name: "z", type: "int8" }],
    },
    { name: "f", inputs: [] },
  ];
  const contract = parse(overloaded);
  const abi = [{ ...overloaded[0], outputs: [], stateMutability: "view" }] as unknown as Abi;
  const data = encodeFunctionData({ abi, functionName: "f", args: [7n, true, -1] });
  assert.deepEqual(decodeCall(contract, data)?.contract_call_args, { "0": 7n, "1": true, z: -1n });
  assert.deepEqual(decodeCall(contract, "0x26121ff0"), {
    function_name: "f",
    function_signature: "0x26121ff0",
    contract_call_args: {},
  });
});

test("parameters may be called like what every object has", () => {
  const inputs = ["constructor", "__proto__", "toString"].map((name) => ({ name, type: "bool" }));
  const abi = [{ type: "function", name: "f", inputs, outputs: [], stateMutability: "view" }] as unknown as Abi;
  const data = encodeFunctionData({ abi, functionName: "f", args: [true, false, true] });
  const { contract_call_args: args } = decodeCall(parse(abi), data) ?? assert.fail();
  assert.deepEqual(Object.entries(args), [
    ["constructor", true],
    ["__proto__", false],
    ["toString", true],
  ]);
  assert.equal(Object.getPrototypeOf(args), Object.prototype);
});

test("what is no call of the interface has no facts", () => {
  const contract = parse(erc20Abi);
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [alice, 5n] });
  const others = [
    "0x",
    "0xa9",
    "0xa9059c",
    "0xa9059cbb",
    "0x12345678",
    data.slice(0, -2),
    `${data}00`,
    `${data}${"00".repeat(32)}`,
  ];
  for (const other of others) assert.equal(decodeCall(contract, other), undefined, other);
  assert.equal(decodeCall(contract, data.replace("0xa9059cbb00", "0xa9059cbb01")), undefined);
  assert.equal(decodeCall(parse([]), data), undefined);
});

test("interfaces that cannot be read are refused with the place", () => {
  const f = (...inputs: unknown[]) => [{ type: "function", name: "f", inputs }];
  const refused: [unknown, string][] = [
    [null, "it must be a list of ABI entries, or an object with that as `abi`"],
    ["[]", "it must be a list of ABI entries, or an object with that as `abi`"],
    [{}, "it must be a list of ABI entries, or an object with that as `abi`"],
    [{ abi: {} }, "it must be a list of ABI entries, or an object with that as `abi`"],
    [["function f()"], "[0] must be an object"],
    [{ abi: [[]] }, "abi[0] must be an object"],
    [[{ type: 1 }], "[0].type must be a string"],
    [[{ type: "function" }], "[0].name must be an identifier"],
    [[{ type: "function", name: "f(uint256)" }], "[0].name must be an identifier"],
    [[{ type: "function", name: "f", inputs: {} }], "[0].inputs must be a list of parameters"],
    [f("uint256"), "[0].inputs[0] must be an object {name, type}"],
    [f({ name: "a" }), "[0].inputs[0].type must be the name of a type"],
    [f({ name: "a", type: "uint" }), '[0].inputs[0].type has the unknown type "uint"; write "uint256"'],
    [f({ name: "a b", type: "bool" }), "[0].inputs[0].name must be an identifier"],
    [f({ name: "0", type: "bool" }), "[0].inputs[0].name must be an identifier"],
    [f({ name: 0, type: "bool" }), "[0].inputs[0].name must be an identifier"],
    [
      f({ name: "a", type: "bool" }, { name: "a", type: "bool" }),
      '[0].inputs[1] has the name "a" of another parameter',
    ],
    [[...f(), ...f()], '[1] has the selector 0x26121ff0 of another function, "f": no call tells them apart'],
    // Both have the selector of transfer(address,uint256).
    [
      [
        { name: "transfer", inputs: [{ type: "address" }, { type: "uint256" }] },
        { name: "many_msg_babbage", inputs: [{ type: "bytes1" }] },
      ],
      '[1] has the selector 0xa9059cbb of another function, "transfer": no call tells them apart',
    ],
    [
      Array.from({ length: MAX_CONTRACT_FUNCTIONS + 1 }, (_, index) => ({ name: `f${index}` })),
      "it has more than 2000 functions",
    ],
    ["a".repeat(MAX_SMART_CONTRACT_INTERFACE_BYTES), "it is longer than 409600 bytes"],
    [
      f(...Array.from({ length: 1250 }, () => ({ type: `bool${"[]".repeat(16)}` }))),
      "it has more than 20000 lists and array dimensions together",
    ],
  ];
  for (const [abi, reason] of refused) {
    const message = `invalid request body: \`parameters.smartContractInterface\` is not valid JSON ABI: ${reason}`;
    assert.throws(() => parse(abi), { code: "FIELD_INVALID", message });
  }
});

test("no interface that is accepted takes much memory, however it is written", () => {
  const nested = (depth: number, inner: string): string =>
    depth === 0 ? inner : `{"type":"tuple","components":[${nested(depth - 1, inner)},{"type":"bool"}]}`;
  const manyBools = Array.from({ length: 20_000 }, () => '{"type":"bool"}').join(",");
  const shapes: [name: string, json: string][] = [
    ["parameters", functionOf(filled(() => '{"type":"bool"}'))],
    ["dimensions", functionOf(filled(() => `{"type":"bool${"[]".repeat(16)}"}`, 1249))],
    ["arrays that differ", functionOf(filled((index) => `{"type":"bool[${index + 1}]"}`))],
    ["tuples", functionOf(filled(() => '{"type":"tuple","components":[{"type":"bool"}]}', 9000))],
    ["tuples inside one another", functionOf(nested(27, `{"type":"tuple","components":[${manyBools}]}`))],
    ["functions", `[${filled((index) => `{"name":"f${index}"}`, MAX_CONTRACT_FUNCTIONS)}]`],
  ];
  for (const [name, json] of shapes) {
    const size = memorySizeOf(parseContractInterface(json, "x"));
    assert(size < 4 * 1024 * 1024, `${name}: ${size} bytes for ${json.length} characters`);
  }
});

const functionOf = (inputs: string): string => `[{"name":"f","inputs":[${inputs}]}]`;

/** As many elements of a list as fit into an interface, or `most`. */
function filled(element: (index: number) => string, most = Number.POSITIVE_INFINITY): string {
  const elements: string[] = [];
  for (let length = 100; elements.length < most; ) {
    const next = element(elements.length);
    length += next.length + 1;
    if (length > MAX_SMART_CONTRACT_INTERFACE_BYTES) break;
    elements.push(next);
  }
  return elements.join(",");
}

test("the text must be strict JSON", () => {
  const message = "invalid request body: `x` is not valid JSON ABI: ";
  assert.throws(() => parseContractInterface("", "x"), { message: `${message}it is empty; send a JSON object` });
  assert.throws(() => parseContractInterface("[{}", "x"), { message: `${message}it is not valid JSON` });
  assert.throws(() => parseContractInterface('[{"name":"f","name":"g"}]', "x"), {
    message: `${message}\`name\` occurs twice in one object`,
  });
});

test("other entries are not looked at", () => {
  const entries = ["constructor", "event", "error", "fallback", "receive", "of a later day"].map((type) => ({
    type,
    inputs: [{ type: "uint" }],
  }));
  assert.equal(parse(entries).size, 0);
});

test("any JSON is refused with FIELD_INVALID or accepted, never a crash", () => {
  const parameter = fc.record({ name: fc.jsonValue(), type: fc.jsonValue(), components: fc.jsonValue() });
  const entry = fc.record({ name: fc.constantFrom("f", "g"), inputs: fc.oneof(fc.jsonValue(), fc.array(parameter)) });
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.array(entry)), (abi) => {
      try {
        parse(abi);
      } catch (error) {
        assert(error instanceof KeysteadError && error.code === "FIELD_INVALID", String(error));
      }
    }),
  );
});
