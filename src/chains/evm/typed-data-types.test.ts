import assert from "node:assert/strict";
import { test } from "node:test";
import { refusalOf } from "./payload.ts";
import { arrayOf, encodeType, fixedBytesOf, integerOf, parseTypes } from "./typed-data-types.ts";

const refuse = refusalOf("parameters.payload", "typed data");

test("encodeType: the specification's example", () => {
  const types = parseTypes(
    {
      Transaction: [
        { name: "from", type: "Person" },
        { name: "to", type: "Person" },
        { name: "tx", type: "Asset" },
      ],
      Person: [
        { name: "wallet", type: "address" },
        { name: "name", type: "string" },
      ],
      Asset: [
        { name: "token", type: "address" },
        { name: "amount", type: "uint256" },
      ],
    },
    {},
    refuse,
  );
  const text =
    "Transaction(Person from,Person to,Asset tx)Asset(address token,uint256 amount)Person(address wallet,string name)";
  assert.equal(encodeType("Transaction", types), text);
  assert.equal(encodeType("EIP712Domain", types), "EIP712Domain()");
});

test("the domain's type is completed in the standard order", () => {
  const domain = { salt: "", chainId: 1, name: "n", version: null };
  assert.equal(
    encodeType("EIP712Domain", parseTypes({}, domain, refuse)),
    "EIP712Domain(string name,uint256 chainId,bytes32 salt)",
  );
});

test("elementary types are taken apart", () => {
  assert.deepEqual(integerOf("uint8"), { signed: false, bits: 8 });
  assert.deepEqual(integerOf("int256"), { signed: true, bits: 256 });
  for (const type of ["uint", "uint9", "uint257", "int08", "Int8", "uint8[]"]) assert.equal(integerOf(type), undefined);
  assert.equal(fixedBytesOf("bytes1"), 1);
  assert.equal(fixedBytesOf("bytes32"), 32);
  for (const type of ["bytes", "bytes0", "bytes33", "bytes32[]"]) assert.equal(fixedBytesOf(type), undefined);
});

test("arrays are taken apart from the right", () => {
  assert.deepEqual(arrayOf("P[2][]"), { element: "P[2]", length: undefined });
  assert.deepEqual(arrayOf("P[2]"), { element: "P", length: 2 });
  assert.equal(arrayOf("P"), undefined);
});

test("a chain of as many structs as there may be is no burden", () => {
  const structs = Array.from({ length: 63 }, (_, i) => [
    `S${i}`,
    [
      { name: "a", type: `S${(i + 1) % 63}[]` },
      { name: "b", type: `S${(i + 7) % 63}[]` },
    ],
  ]);
  const types = parseTypes(Object.fromEntries(structs), {}, refuse);
  assert.equal(encodeType("S0", types).match(/\(/g)?.length, 63);
});
