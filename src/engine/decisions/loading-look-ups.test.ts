import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FactRef, FactsNotLoaded } from "../../authority/decisions/facts.ts";
import { Budget, OutOfBudget } from "../../policy/budget.ts";
import type { Policy } from "../../policy/policy.ts";
import type { Reader } from "../../storage/engine.ts";
import type { Organization, PolicyFacts } from "../operations.ts";
import type { Electorate } from "./electorate.ts";
import { LoadingLookUps, onFacts } from "./loading-look-ups.ts";

/** Facts of a decision that are loaded as it asks for them. */

const organization = { id: "sub", parentId: "parent", policiesVersion: 1 } as Organization;
const elector = { voter: { id: "ann" }, mfaPolicies: [] } as never;
const profile = { name: "profile", scope: "true" };
const steps = () => new Budget(1_000_000);

function lookUpsOf({
  intent = { name: "x" } as object,
  told = {} as PolicyFacts,
  policies,
}: {
  intent?: object;
  told?: PolicyFacts;
  policies?: readonly Policy[];
} = {}) {
  const reads: string[] = [];
  const known = new Set<string>();
  let voters: readonly unknown[] | undefined;
  const electorate = {
    knows: (userId: string) => known.has(userId),
    elector: (userId: string) => (userId === "ann" ? elector : undefined),
    get voters() {
      return voters;
    },
    async read(_: Reader, userId: string) {
      reads.push(`user ${userId}`);
      known.add(userId);
    },
    async readVoters() {
      reads.push("voters");
      voters = [];
    },
  } as unknown as Electorate;
  const lookUps = new LoadingLookUps({
    organization,
    activity: { type: "ACTIVITY_TYPE_CREATE_WALLET", resource: "WALLET", action: "CREATE", intent },
    loadActivity: async () => {
      reads.push("activity");
      return told;
    },
    electorate,
    policies,
  });
  const read = {
    kind: "sqlite",
    all: async ({ parameters }: { parameters: unknown[] }) => {
      reads.push(`profile ${parameters.join(" ")}`);
      return parameters.includes("profile") ? [profile] : [];
    },
  } as unknown as Reader;
  return { lookUps, reads, read };
}

const missing = (work: () => unknown): readonly FactRef[] => {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof FactsNotLoaded);
    return error.refs;
  }
  return assert.fail("everything is loaded");
};

describe("facts of a decision", () => {
  it("are asked for until they are loaded, and only those that are missing", async () => {
    const { lookUps, read } = lookUpsOf();
    const [activity, ann, voters] = [
      { fact: "activity" },
      { fact: "user", userId: "ann" },
      { fact: "voters" },
    ] as const;
    assert.deepEqual(
      missing(() => lookUps.need([activity, ann])),
      [activity, ann],
    );
    assert.deepEqual(
      missing(() => lookUps.conditionFacts(steps())),
      [activity],
    );
    assert.deepEqual(
      missing(() => lookUps.user("ann")),
      [ann],
    );
    assert.deepEqual(
      missing(() => lookUps.voters()),
      [voters],
    );
    assert.deepEqual(
      missing(() => lookUps.policies()),
      [{ fact: "policies" }],
    );
    await lookUps.load(read, [activity, ann]);
    assert.deepEqual(
      missing(() => lookUps.need([activity, ann, voters])),
      [voters],
    );
    assert.equal(lookUps.user("ann"), elector);
    await lookUps.load(read, [voters, { fact: "user", userId: "gone" }]);
    lookUps.need([voters]);
    assert.deepEqual(lookUps.voters(), []);
    assert.equal(lookUps.user("gone"), undefined, "known not to exist");
  });

  it("have a profile of a session from the parent, together with the activity that its scope is about", async () => {
    const { lookUps, reads, read } = lookUpsOf();
    const wanted = missing(() => lookUps.sessionProfile("profile"));
    assert.deepEqual(wanted, [{ fact: "sessionProfile", id: "profile" }, { fact: "activity" }]);
    await lookUps.load(read, wanted);
    assert.deepEqual(reads, ["profile parent profile", "activity"]);
    assert.equal(lookUps.sessionProfile("profile"), profile);
    await lookUps.load(read, [{ fact: "sessionProfile", id: "gone" }]);
    assert.equal(lookUps.sessionProfile("gone"), undefined);
  });

  it("have the policies that a simulation is given, and read no others", () => {
    const policies = [{ policyId: "tried" } as Policy];
    const { lookUps } = lookUpsOf({ policies });
    lookUps.need([{ fact: "policies" }]);
    assert.equal(lookUps.policies(), policies);
    assert.deepEqual(lookUpsOf({ policies: [] }).lookUps.policies(), []);
  });

  it("cost steps once, more for a longer activity, and never more than the longest that can be signed", async () => {
    const costOf = async (intent: object) => {
      const { lookUps, read } = lookUpsOf({ intent });
      await lookUps.load(read, [{ fact: "activity" }]);
      const budget = steps();
      const { left } = budget;
      const facts = lookUps.conditionFacts(budget);
      const cost = left - budget.left;
      assert.equal(lookUps.conditionFacts(budget), facts);
      assert.equal(left - budget.left, cost, "asked for again, they cost nothing");
      return cost;
    };
    const [short, long] = [await costOf({ payload: "x" }), await costOf({ payload: "x".repeat(40_000) })];
    assert.ok(long - short >= 9_000 && long < 50_000, `${short} and ${long}`);
    const listed = await costOf({ payloads: Array.from({ length: 10 }, () => "x".repeat(4000)) });
    assert.ok(listed - short >= 9_000, `${listed}`);
    const { lookUps, read } = lookUpsOf();
    await lookUps.load(read, [{ fact: "activity" }]);
    assert.throws(() => lookUps.conditionFacts(new Budget(10)), OutOfBudget);
  });

  it("are computed only when they are read: one that cannot be is an error for those alone who read it", async () => {
    const told = {
      get eth() {
        throw new TypeError("it cannot be parsed");
      },
    } as unknown as PolicyFacts;
    const { lookUps, read } = lookUpsOf({ told });
    await lookUps.load(read, [{ fact: "activity" }]);
    const facts = lookUps.conditionFacts(steps());
    assert.equal(facts.activity?.resource, "WALLET");
    assert.throws(() => facts.eth, TypeError);
  });
});

describe("a decision on facts", () => {
  const budgetOf = () => {
    let turns = 0;
    const turn = async () => {
      turns++;
      return steps();
    };
    return { budget: { turn }, turns: () => turns };
  };

  it("is made again with what it asked for", async () => {
    const { lookUps, reads, read } = lookUpsOf();
    const { budget, turns } = budgetOf();
    const user = await onFacts(read, { lookUps }, budget, () => {
      lookUps.voters();
      return lookUps.user("ann");
    });
    assert.equal(user, elector);
    assert.deepEqual(reads, ["voters", "user ann"]);
    assert.equal(turns(), 3);
  });

  it("ends with its own errors, and with one of ours if it asks for ever more", async () => {
    const { lookUps, read } = lookUpsOf();
    const { budget, turns } = budgetOf();
    const failing = onFacts(read, { lookUps }, budget, () => {
      throw new OutOfBudget();
    });
    await assert.rejects(failing, OutOfBudget);
    assert.equal(turns(), 1);
    let asked = 0;
    const endless = onFacts(read, { lookUps }, budget, () => lookUps.user(`user ${asked++}`));
    await assert.rejects(endless, /asked for facts more than 10 times/);
    assert.equal(asked, 10);
  });
});
