import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_DECISION_STEPS, MAX_REQUEST_STEPS } from "../../kernel/limits.ts";
import { OutOfBudget } from "../../policy/budget.ts";
import { type DecisionBudget, RequestBudget } from "./budget.ts";

/** Turns of the event loop while something is done. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isDone = true;
  return turns;
}

async function spendAll(budget: DecisionBudget, each: number, onTurn = () => {}): Promise<number> {
  let spent = 0;
  try {
    for (;;) {
      const turn = await budget.turn();
      onTurn();
      turn.spend(each);
      spent += each;
    }
  } catch (error) {
    assert.ok(error instanceof OutOfBudget);
    return spent;
  }
}

test("a request gets so many steps, and others have their turn in between", async () => {
  let spent = 0;
  const turns = await turnsDuring(async () => {
    spent = await spendAll(new RequestBudget("o"), 50_000);
  });
  assert.equal(spent, MAX_REQUEST_STEPS);
  assert.ok(turns >= MAX_REQUEST_STEPS / 250_000 - 1, String(turns));
});

test("many requests together spend no more in one round of the event loop than one of them", async () => {
  const requests = Array.from({ length: 20 }, () => new RequestBudget("o", 200_000));
  const turns = await turnsDuring(() => Promise.all(requests.map((budget) => spendAll(budget, 50_000))));
  assert.ok(turns >= 15, String(turns));
});

test("one organization's many requests do not keep another's waiting", async () => {
  const order: string[] = [];
  const many = Array.from({ length: 20 }, () => new RequestBudget("many"));
  const work = many.map((budget) => spendAll(budget, 400_000, () => order.push("many")));
  work.push(spendAll(new RequestBudget("one", 400_000), 200_000, () => order.push("one")));
  await Promise.all(work);
  const last = order.lastIndexOf("one");
  assert.ok(last < 60, `its turns are at ${order.flatMap((name, index) => (name === "one" ? [index] : []))}`);
});

test("what is evaluated at a time gets a part of them", async () => {
  const budget = new RequestBudget("o");
  const turn = await budget.turn();
  assert.equal(turn.left, MAX_DECISION_STEPS);
  assert.throws(() => turn.spend(MAX_DECISION_STEPS + 1), OutOfBudget);
  assert.equal((await budget.turn()).left, MAX_DECISION_STEPS);
});

test("the last turn is cut, and then there is none", async () => {
  const budget = new RequestBudget("o", 1000);
  const turn = await budget.turn();
  assert.deepEqual([turn.left, turn.isCut], [1000, true]);
  turn.spend(900);
  assert.equal((await budget.turn()).left, 100);
});

test("a transaction gets one turn altogether, without a pause", async () => {
  const budget = new RequestBudget("o");
  let spent = 0;
  const turns = await turnsDuring(async () => {
    spent = await spendAll(budget.inTransaction(), 10_000);
  });
  assert.equal(spent, MAX_DECISION_STEPS);
  assert.ok(turns <= 1, String(turns));
  const rest = await spendAll(budget, 10_000);
  assert.equal(rest, MAX_REQUEST_STEPS - MAX_DECISION_STEPS, "what it spent is the request's");
});
