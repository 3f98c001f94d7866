import assert from "node:assert/strict";
import { it } from "node:test";
import { MAX_PLANNED_AT_ONCE, MAX_WAITING_PLANS } from "../../kernel/limits.ts";
import { listInTurn, planInTurn } from "./planning.ts";

it("plans of one organization and its sub-organizations go a few at a time, and too many are refused", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let begun = 0;
  const plan = async () => {
    begun++;
    await released;
    return begun;
  };
  const organizations = [
    { id: "parent", parentId: null },
    { id: "child", parentId: "parent" },
  ];
  const all = Array.from({ length: MAX_WAITING_PLANS }, (_, index) =>
    planInTurn(organizations[index % 2] ?? { id: "parent", parentId: null }, plan),
  );
  for (const organization of organizations) {
    await assert.rejects(planInTurn(organization, plan), { code: "RATE_LIMITED", httpStatus: 429 });
  }
  assert.equal(await planInTurn({ id: "other", parentId: null }, async () => begun), MAX_PLANNED_AT_ONCE);
  assert.equal(await listInTurn({ id: "parent", parentId: null }, async () => "listed"), "listed", "beside them");
  release();
  await Promise.all(all);
  assert.equal(begun, MAX_WAITING_PLANS);
  assert.equal(await planInTurn({ id: "parent", parentId: null }, async () => "again"), "again");
});
