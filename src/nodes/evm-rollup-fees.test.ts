import assert from "node:assert/strict";
import { it } from "node:test";
import { rollupFeesIn } from "./evm-rollup-fees.ts";

const receipt = {
  type: "0x2",
  gasUsed: "0xf4241",
  l1Fee: "0x7",
  operatorFeeScalar: "0x3",
  operatorFeeConstant: "0x64",
};

it("fees of rollups are for data, and those of the operator by the formula of their upgrade", () => {
  assert.equal(rollupFeesIn(receipt), 7n + 3n + 100n);
  assert.equal(rollupFeesIn({ ...receipt, daFootprintGasScalar: "0x190" }), 7n + 300_000_300n + 100n);
  const { operatorFeeScalar: _, operatorFeeConstant: __, ...earlier } = receipt;
  assert.equal(rollupFeesIn(earlier), 7n);
  assert.equal(rollupFeesIn({ gasUsed: "0x5208" }), 0n);
  assert.equal(rollupFeesIn({ ...receipt, l1Fee: null, operatorFeeConstant: "many" }), 3n);
});

it("what the underlying chain caused pays neither", () => {
  assert.equal(rollupFeesIn({ ...receipt, type: "0x7e" }), 0n);
});
