import assert from "node:assert/strict";
import { it } from "node:test";
import { MAX_FEE_PER_GAS } from "../../../kernel/limits.ts";
import { nextNonce } from "./nonces.ts";
import { plannedFees, raisedFees } from "./transaction.ts";

const GWEI = 1_000_000_000n;
const quote = { baseFee: 10n * GWEI, tip: GWEI };

it("fees that nobody named have room for a rising base fee, and their bounds for replacements", () => {
  assert.deepEqual(plannedFees({}, quote), {
    fees: { maxFeePerGas: 21n * GWEI, maxPriorityFeePerGas: GWEI },
    highest: { maxFeePerGas: 42n * GWEI + 1_000_000n, maxPriorityFeePerGas: 2n * GWEI + 1_000_000n },
  });
});

it("fees that the caller named are used as they are, and are the highest", () => {
  const own = { maxFeePerGas: 5n, maxPriorityFeePerGas: 3n };
  assert.deepEqual(plannedFees(own, quote), { fees: own, highest: own });
  const onlyMax = { maxFeePerGas: 5n, maxPriorityFeePerGas: 5n };
  assert.deepEqual(plannedFees({ maxFeePerGas: 5n }, quote), { fees: onlyMax, highest: onlyMax });
  const onlyTip = { maxFeePerGas: 20n * GWEI + 7n, maxPriorityFeePerGas: 7n };
  assert.deepEqual(plannedFees({ maxPriorityFeePerGas: 7n }, quote), { fees: onlyTip, highest: onlyTip });
});

it("a node that names absurd fees is not followed", () => {
  const { fees, highest } = plannedFees({}, { baseFee: 10n ** 30n, tip: 10n ** 30n });
  for (const { maxFeePerGas, maxPriorityFeePerGas } of [fees, highest]) {
    assert.deepEqual([maxFeePerGas, maxPriorityFeePerGas], [MAX_FEE_PER_GAS, MAX_FEE_PER_GAS]);
  }
});

it("a replacement has a tenth more of both, or what the chain costs, and never more than the highest", () => {
  const { fees, highest } = plannedFees({}, quote);
  const raised = raisedFees(fees, quote, highest);
  assert.deepEqual(raised, { maxFeePerGas: (21n * GWEI * 11n) / 10n, maxPriorityFeePerGas: (GWEI * 11n) / 10n });
  const dear = raisedFees(fees, { baseFee: 15n * GWEI, tip: 2n * GWEI }, highest);
  assert.deepEqual(dear, { maxFeePerGas: 32n * GWEI, maxPriorityFeePerGas: 2n * GWEI });
  assert.deepEqual(raisedFees(fees, { baseFee: 10n ** 20n, tip: 10n ** 20n }, highest), highest);
  assert.equal(raisedFees(highest, quote, highest), undefined);
  let [steps, now] = [0, fees as typeof fees | undefined];
  for (; now; steps++) now = raisedFees(now, quote, highest);
  assert.equal(steps, 8, "seven replacements");
});

it("a tip of nothing is replaced by something", () => {
  const { fees, highest } = plannedFees({}, { baseFee: 7n, tip: 0n });
  const raised = raisedFees(fees, { baseFee: 7n, tip: 0n }, highest);
  assert.deepEqual(raised, { maxFeePerGas: 16n, maxPriorityFeePerGas: 1n });
});

it("the next nonce is the first that nobody has, a gap before those that wait", () => {
  const taken = (...nonces: number[]) => new Map(nonces.map((nonce) => [nonce, ""]));
  assert.equal(nextNonce(4, taken()), 4);
  assert.equal(nextNonce(4, taken(4, 5, 7)), 6);
  assert.equal(nextNonce(4, taken(2, 3)), 4);
});
