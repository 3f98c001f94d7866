import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { viewOfPeople } from "../../../test/support/people.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_POLICIES, MAX_POLICIES_LENGTH } from "../../kernel/limits.ts";
import type { Policy } from "../state.ts";
import { draftOn } from "../view.ts";
import { addPolicies, changePolicy, type NewPolicy, removePolicies } from "./policies.ts";

const policyOf = (id: string, more: Partial<Policy> = {}): Policy =>
  ({ id, name: `name of ${id}`, effect: "EFFECT_ALLOW", notes: "", createdAt: 0, updatedAt: 0, ...more }) as Policy;
const draftOf = (...policies: Policy[]) => draftOn(viewOfPeople({}, { policies }));
const refused = (code: string, text: RegExp) => (error: unknown) =>
  error instanceof KeysteadError && error.code === code && text.test(error.message);

const add = (held: Policy[], ...policies: NewPolicy[]) =>
  addPolicies(draftOf(...held), policies, 1, (index) => `policies.${index}.policyName`);
const change = (held: Policy[], id: string, given: Parameters<typeof changePolicy>[2]) =>
  changePolicy(draftOf(...held), id, given, 1);

describe("policies", () => {
  const [one, two] = [policyOf("one"), policyOf("two")];

  it("have names of their own, also those that are added together", () => {
    assert.throws(
      () => add([one], two, { ...policyOf("three"), name: one.name }),
      refused("POLICY_LABEL_TAKEN", /\.1\./),
    );
    assert.throws(() => add([], two, { ...policyOf("three"), name: two.name }), refused("POLICY_LABEL_TAKEN", /\.1\./));
    assert.throws(() => change([one, two], "one", { name: two.name }), refused("POLICY_LABEL_TAKEN", /policyName/));
    change([one, two], "one", { name: one.name });
    change([one, two], "one", { name: "another" });
  });

  it("are those that the organization has", () => {
    assert.throws(() => change([one], "two", { notes: "n" }), refused("RESOURCE_NOT_FOUND", /policy two/));
    assert.throws(() => removePolicies(draftOf(one), ["one", "two"]), refused("RESOURCE_NOT_FOUND", /policy two/));
  });

  it("are so many and no more", () => {
    const held = (count: number) => Array.from({ length: count }, (_, index) => policyOf(`${index}`));
    add(held(MAX_POLICIES - 1), policyOf("last"));
    assert.throws(() => add(held(MAX_POLICIES), policyOf("more")), refused("QUOTA_EXCEEDED", /policies/));
  });

  it("have texts of a bounded length together, all parts of them counted", () => {
    const tooLong = refused("QUOTA_EXCEEDED", /expressions of its policies/);
    const longest = "x".repeat(MAX_POLICIES_LENGTH - 2);
    for (const part of ["condition", "consensus", "time"] as const) {
      const held = policyOf("held", { [part]: longest });
      const added = policyOf("added", { condition: "xx" });
      add([held], added);
      assert.throws(() => add([held], { ...added, [part]: "xxx", condition: "xxx" }), tooLong);
      change([held, policyOf("added")], "added", {
        [part === "condition" ? "consensus" : "condition"]: "xx",
        notes: "n",
      });
      assert.throws(() => change([held, policyOf("added")], "added", { [part]: "xxx" }), tooLong);
    }
  });
});
