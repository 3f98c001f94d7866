import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KeysteadError } from "../../../kernel/errors.ts";
import { MAX_FEE_PER_GAS } from "../../../kernel/limits.ts";
import { hasGap, nextNonce, strangersBetween } from "./nonces.ts";
import {
  callOfPlan,
  digitsOf,
  feesOf,
  feesWithin,
  gasWithRoom,
  greatestCost,
  type Plan,
  plannedFees,
  raisedFees,
  requireRollupFeesWithinCap,
  transactionOf,
  withinFeeCap,
} from "./transaction.ts";

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

describe("fees that come of what nodes said", () => {
  const ETHER = 10n ** 18n;
  const evm = { feeCap: (_: string, payer: string) => (payer === "sponsor" ? ETHER / 2n : ETHER) };
  const planOf = (gas: bigint, maxFeePerGas: bigint): Plan => {
    const { fees, highest } = plannedFees({}, { baseFee: (maxFeePerGas - GWEI) / 2n, tip: GWEI });
    const quantities = { value: "0", data: "0x", gas: String(gas), fees: digitsOf(fees), highest: digitsOf(highest) };
    return { caip2: "eip155:1", from: "0x", to: "0x", ...quantities };
  };
  const codeOf = (act: () => unknown) => {
    try {
      act();
    } catch (error) {
      return error as KeysteadError;
    }
    return undefined;
  };

  it("may come to what the operator says and no more, replacements too", () => {
    const plan = planOf(1_000_000n, 1001n * GWEI);
    assert.match(
      codeOf(() => withinFeeCap(evm, plan, "account"))?.message ?? "",
      /the nodes of eip155:1, the transaction could cost 1\.001 of its native asset in fees, and this service relies on nodes for at most 1; set `maxFeePerGas` if .* raise `chains\.eip155:1\.txFeeCap`/,
    );
    const within = withinFeeCap(evm, planOf(1_000_000n, 999n * GWEI), "account");
    assert.equal(within.fees.maxFeePerGas, String(999n * GWEI));
    assert.equal(within.highest.maxFeePerGas, String(1000n * GWEI));
    assert.match(
      codeOf(() => withinFeeCap(evm, within, "sponsor"))?.message ?? "",
      /0\.999 of its native asset .* relies on nodes for at most 0\.5; .* when fees are lower, .* `chains\.eip155:1\.sponsoredTxFeeCap`/,
    );
  });

  it("are the caller's where the caller names them", () => {
    const plan = planOf(1_000_000n, 5001n * GWEI);
    assert.equal(withinFeeCap(evm, plan, "account", { maxFeePerGas: 5001n * GWEI }), plan);
    assert.ok(codeOf(() => withinFeeCap(evm, plan, "account", { maxPriorityFeePerGas: GWEI })));
  });

  it("hide no revert: what is not sent anyway costs nothing", () => {
    const plan: Plan = { ...planOf(1_000_000n, 5001n * GWEI), revert: { message: "it would revert" } };
    assert.equal(withinFeeCap(evm, plan, "account"), plan);
  });

  it("are cut where a transaction has to be signed now", () => {
    const fees = { maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: 2n * GWEI };
    assert.deepEqual(feesWithin(GWEI * 100n, { gas: "100" }, fees), { maxFeePerGas: GWEI, maxPriorityFeePerGas: GWEI });
    assert.deepEqual(feesWithin(GWEI * 300n, { gas: "100" }, fees), fees);
    assert.deepEqual(feesWithin(GWEI, { gas: "0" }, fees), fees);
  });

  it("leave of the cap what a rollup takes for data", () => {
    const fees = { maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: 2n * GWEI };
    const nothing = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n };
    const half = { gas: "100", dataFee: String(GWEI * 50n) };
    assert.deepEqual(feesWithin(GWEI * 150n, half, fees), { maxFeePerGas: GWEI, maxPriorityFeePerGas: GWEI });
    assert.deepEqual(feesWithin(GWEI * 40n, half, fees), nothing);
    const plan = { ...planOf(1_000_000n, 400n * GWEI), dataFee: String(ETHER / 10n) };
    assert.equal(withinFeeCap(evm, plan, "sponsor").highest.maxFeePerGas, String(400n * GWEI));
    const dearer = { ...plan, dataFee: String(ETHER / 10n + 1n) };
    assert.match(
      codeOf(() => withinFeeCap(evm, dearer, "sponsor"))?.message ?? "",
      /could cost 0\.500000000000000001 /,
    );
  });
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

it("there is no replacement where either fee would exceed the highest, and one where both just reach it", () => {
  const now = { maxFeePerGas: 100n, maxPriorityFeePerGas: 10n };
  const raised = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint) =>
    raisedFees(now, { baseFee: 1n, tip: 1n }, { maxFeePerGas, maxPriorityFeePerGas });
  assert.deepEqual(raised(110n, 11n), { maxFeePerGas: 110n, maxPriorityFeePerGas: 11n });
  assert.equal(raised(109n, 100n), undefined);
  assert.equal(raised(1000n, 10n), undefined);
});

it("a tip of nothing is replaced by something", () => {
  const { fees, highest } = plannedFees({}, { baseFee: 7n, tip: 0n });
  const raised = raisedFees(fees, { baseFee: 7n, tip: 0n }, highest);
  assert.deepEqual(raised, { maxFeePerGas: 16n, maxPriorityFeePerGas: 1n });
});

it("what a rollup takes beyond gas may come to the sponsor's cap and no more, since no signed fee limits it", () => {
  const evm = { feeCap: (_: string, payer: string) => (payer === "sponsor" ? 100n : 10_000n) };
  const charged = (dataFee?: string) =>
    requireRollupFeesWithinCap(evm, { caip2: "eip155:10", ...(dataFee === undefined ? {} : { dataFee }) });
  charged();
  charged("100");
  assert.throws(() => charged("101"), { code: "FEE_CAP_EXCEEDED", message: /sponsoredTxFeeCap/ });
});

it("an estimate of gas has a tenth more, and a plain transfer exactly what it takes", () => {
  assert.equal(gasWithRoom(21_000n), 21_000n);
  assert.equal(gasWithRoom(21_001n), 23_101n);
  assert.equal(gasWithRoom(100_000n), 110_000n);
});

describe("a plan", () => {
  const fees = { maxFeePerGas: 30n, maxPriorityFeePerGas: 2n };
  const plan: Plan = {
    caip2: "eip155:8453",
    from: "0xaa",
    to: "0xbb",
    value: "1000",
    data: "0xcc",
    gas: "50000",
    fees: digitsOf(fees),
    highest: digitsOf(fees),
  };

  it("is signed as it was decided on, with its nonce and fees, for its chain", () => {
    assert.deepEqual(feesOf(digitsOf(fees)), fees);
    assert.deepEqual(transactionOf(plan, { nonce: 7, ...fees }), {
      type: "TYPE_2",
      chainId: 8453n,
      nonce: 7n,
      maxPriorityFeePerGas: 2n,
      maxFeePerGas: 30n,
      gas: 50_000n,
      to: "0xbb",
      value: 1000n,
      data: "0xcc",
      accessList: [],
    });
    assert.deepEqual(callOfPlan(plan), { from: "0xaa", to: "0xbb", value: 1000n, data: "0xcc", gas: 50_000n });
  });

  it("costs at most all of its gas at the fee, what it sends, and what a rollup takes for data", () => {
    assert.equal(greatestCost(plan, fees), 50_000n * 30n + 1000n);
    assert.equal(greatestCost({ ...plan, dataFee: "7" }, fees), 50_000n * 30n + 1000n + 7n);
  });
});

const taken = (...nonces: number[]) => new Map(nonces.map((nonce) => [nonce, ""]));

it("those that wait and were not sent here are counted", () => {
  assert.equal(strangersBetween(4, 4, taken()), 0);
  assert.equal(strangersBetween(4, 7, taken()), 3);
  assert.equal(strangersBetween(4, 7, taken(4, 6)), 1);
  // Before and after those that wait, what was sent here counts for nothing.
  assert.equal(strangersBetween(4, 7, taken(3, 7, 8)), 3);
});

it("a nonce waits behind a gap if no transaction has one before it", () => {
  assert.equal(hasGap(4, taken()), false);
  assert.equal(hasGap(4, taken(4, 5)), false);
  assert.equal(hasGap(4, taken(2, 3)), false);
  assert.equal(hasGap(4, taken(5)), true);
  assert.equal(hasGap(4, taken(4, 6)), true);
});

it("the next nonce is the first that nobody has, a gap before those that wait", () => {
  assert.equal(nextNonce(4, taken()), 4);
  assert.equal(nextNonce(4, taken(4, 5, 7)), 6);
  assert.equal(nextNonce(4, taken(2, 3)), 4);
});
