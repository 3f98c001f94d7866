import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { RecordedEvaluation } from "../../authority/decisions/facts.ts";
import { newId } from "../../kernel/ids.ts";
import { type Database, openDatabase } from "../../storage/database.ts";
import { findEvaluations, storeEvaluations } from "./evaluations.ts";

const organizationId = newId();
const times = { created_at: 0, updated_at: 0 };
let database: Database;

before(async () => {
  database = openDatabase({ url: "sqlite::memory:" });
  await database.migrate();
  const organization = { id: organizationId, parent_id: null, name: "Organization", quorum_threshold: 1, ...times };
  await database.transact(organizationId, (tx) =>
    tx
      .insertInto("organizations")
      .values({ ...organization, sealed_key: Buffer.alloc(1) })
      .execute(),
  );
});
after(() => database.close());

async function addActivity(): Promise<string> {
  const id = newId();
  const state = { type: "T", status: "S", fingerprint: id, intent: "{}", result: null, failure: null };
  await database.transact(organizationId, (tx) =>
    tx
      .insertInto("activities")
      .values({ id, organization_id: organizationId, ...state, ...times })
      .execute(),
  );
  return id;
}

const rowOf = (activityId: string) => ({ id: newId(), organizationId, activityId, voteId: "vote", now: 7 });

const store = (activityId: string, evaluations: RecordedEvaluation[]) =>
  database.transact(organizationId, (tx) => storeEvaluations(tx, rowOf(activityId), evaluations));

const countLists = async () => (await database.read.selectFrom("policy_lists").select("id").execute()).length;

const every: RecordedEvaluation[] = [
  { policyId: "a", outcome: "OUTCOME_ALLOW" },
  { policyId: "b", outcome: "OUTCOME_DENY_EXPLICIT" },
  { policyId: "c", outcome: "OUTCOME_DENY_IMPLICIT" },
  { policyId: "d", outcome: "OUTCOME_REQUIRES_CONSENSUS" },
  { policyId: "e", outcome: "OUTCOME_ERROR" },
  { policyId: "f", outcome: "OUTCOME_TIME_INACTIVE" },
  { policyId: "g", outcome: "OUTCOME_REQUIRES_AUTHENTICATORS" },
];

test("evaluations are told as they were stored, and their list of policies is stored once", async () => {
  const [first, second] = [await addActivity(), await addActivity()];
  await store(first, every);
  const others = every.map(({ policyId }): RecordedEvaluation => ({ policyId, outcome: "OUTCOME_ERROR" }));
  await store(second, others);
  assert.equal(await countLists(), 1);
  const [told] = await findEvaluations(database.read, organizationId, first);
  assert.deepEqual([told?.voteId, told?.createdAt, told?.evaluations], ["vote", 7, every]);
  assert.deepEqual((await findEvaluations(database.read, organizationId, second))[0]?.evaluations, others);
  const [row] = await database.read.selectFrom("policy_evaluations").select("evaluations").execute();
  assert.match(row?.evaluations ?? "", /"outcomes":"adicetm"/);
});

test("a list whose transaction was undone is stored with the next vote", async () => {
  const activityId = await addActivity();
  const evaluations: RecordedEvaluation[] = [{ policyId: "undone", outcome: "OUTCOME_ALLOW" }];
  const undone = database.transact(organizationId, async (tx) => {
    await storeEvaluations(tx, rowOf(activityId), evaluations);
    throw new Error("undo this");
  });
  await assert.rejects(undone, /undo this/);
  await store(activityId, evaluations);
  assert.deepEqual((await findEvaluations(database.read, organizationId, activityId))[0]?.evaluations, evaluations);
});

test("evaluations of earlier versions are told, and the outcomes of a list that is lost", async () => {
  const activityId = await addActivity();
  const add = (id: string, evaluations: unknown) => ({
    ...{ id, organization_id: organizationId, activity_id: activityId, vote_id: "v", created_at: 0 },
    evaluations: JSON.stringify(evaluations),
  });
  const rows = [add("1", every), add("2", { list: "lost", outcomes: "ae" })];
  await database.transact(organizationId, (tx) => tx.insertInto("policy_evaluations").values(rows).execute());
  const found = await findEvaluations(database.read, organizationId, activityId);
  assert.deepEqual(
    found.map(({ evaluations }) => evaluations),
    [every, [{ outcome: "OUTCOME_ALLOW" }, { outcome: "OUTCOME_ERROR" }]],
  );
});

test("as many other policies are another list, and so are the same in another order", async () => {
  const lists = [
    ["a", "b"],
    ["a", "c"],
    ["c", "a"],
    ["a", "b"],
  ];
  const before = await countLists();
  for (const ids of lists) {
    const activityId = await addActivity();
    const evaluations = ids.map((policyId): RecordedEvaluation => ({ policyId, outcome: "OUTCOME_ALLOW" }));
    await store(activityId, evaluations);
    assert.deepEqual((await findEvaluations(database.read, organizationId, activityId))[0]?.evaluations, evaluations);
  }
  assert.equal(await countLists(), before + 3);
});
