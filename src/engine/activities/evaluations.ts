import { hash } from "node:crypto";
import type { RecordedEvaluation } from "../../authority/decisions/facts.ts";
import { MAX_KEPT_POLICY_LISTS, MAX_REMEMBERED_POLICY_LISTS, MAX_SHOWN_EVALUATIONS } from "../../kernel/limits.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { laterInsert, prepared, preparedWrite } from "../../storage/prepared.ts";
import { oldestFirst } from "../paging.ts";

/**
 * The outcomes of policies at each vote, as stored: one letter per policy, and a reference to the list of the policies' ids. There are many
 * votes and policies rarely change, so all votes with the same list share one row of it.
 */

type RecordedOutcome = RecordedEvaluation["outcome"];

const letters: Record<RecordedOutcome, string> = {
  OUTCOME_ALLOW: "a",
  OUTCOME_DENY_EXPLICIT: "d",
  OUTCOME_DENY_IMPLICIT: "i",
  OUTCOME_REQUIRES_CONSENSUS: "c",
  OUTCOME_ERROR: "e",
  OUTCOME_TIME_INACTIVE: "t",
  OUTCOME_REQUIRES_AUTHENTICATORS: "m",
};
const outcomesOf = new Map(Object.entries(letters).map(([outcome, letter]) => [letter, outcome as RecordedOutcome]));

/** A reference to a list of an organization's policies. */
interface PolicyListRef {
  organizationId: string;
  /** The SHA-256 of the ids. */
  id: string;
}

/** The content of the column `evaluations`. Rows from before migration 0011-policy-lists contain the evaluations themselves. */
type Stored = { list: string; outcomes: string } | RecordedEvaluation[];

/** The evaluations at one vote. */
export interface VoteEvaluations {
  id: string;
  voteId: string;
  evaluations: Partial<RecordedEvaluation>[];
  /** Milliseconds. */
  createdAt: number;
}

/** The list of each organization's last vote. The next vote usually has the same. */
const lastLists = recentlyUsed<PolicyList & { of: readonly string[] }>({ entries: MAX_KEPT_POLICY_LISTS });
/** Lists that are known to be committed, and need not be stored again. */
const committed = recentlyUsed<true>({ entries: MAX_REMEMBERED_POLICY_LISTS });
const keyOf = ({ organizationId, id }: PolicyListRef): string => `${organizationId} ${id}`;

/** Stores the evaluations of policies at a vote. */
export async function storeEvaluations(
  tx: Transactor,
  row: { id: string; organizationId: string; activityId: string; voteId: string; now: number },
  evaluations: readonly RecordedEvaluation[],
): Promise<void> {
  const { list, policyIds, stored } = renderedOf(row.organizationId, evaluations);
  if (!committed.get(keyOf(list))) {
    await insertPolicyList(tx, { ...list, policyIds });
    tx.afterCommit(() => committed.set(keyOf(list), true));
  }
  await tx.later(newEvaluations, {
    id: row.id,
    organization_id: row.organizationId,
    activity_id: row.activityId,
    vote_id: row.voteId,
    evaluations: stored,
    created_at: row.now,
  });
}

/** Evaluations in the form in which they are stored. */
interface Rendered {
  list: PolicyListRef;
  /** JSON. */
  policyIds: string;
  /** JSON of `Stored`. */
  stored: string;
}

/** Keyed by the evaluations: decisions with the same outcome share the array. */
const rendered = new WeakMap<readonly RecordedEvaluation[], Rendered>();

function renderedOf(organizationId: string, evaluations: readonly RecordedEvaluation[]): Rendered {
  const known = rendered.get(evaluations);
  if (known?.list.organizationId === organizationId) return known;
  const { policyIds, id } = listOf(organizationId, evaluations);
  let outcomes = "";
  for (const { outcome } of evaluations) outcomes += letters[outcome];
  const stored: Stored = { list: id, outcomes };
  const made = { list: { organizationId, id }, policyIds, stored: JSON.stringify(stored) };
  rendered.set(evaluations, made);
  return made;
}

interface PolicyList {
  /** The SHA-256 of the ids. */
  id: string;
  /** JSON. */
  policyIds: string;
}

function listOf(organizationId: string, evaluations: readonly RecordedEvaluation[]): PolicyList {
  const last = lastLists.get(organizationId);
  const isSame =
    last?.of.length === evaluations.length && evaluations.every(({ policyId }, index) => policyId === last.of[index]);
  if (last && isSame) return last;
  const of = evaluations.map(({ policyId }) => policyId);
  const policyIds = JSON.stringify(of);
  const list = { of, policyIds, id: hash("sha256", policyIds, "base64url") };
  lastLists.set(organizationId, list);
  return list;
}

/** The evaluations at the votes on an activity, oldest first. If there are more than can be shown, the newest ones. */
export async function findEvaluations(
  read: Reader,
  organizationId: string,
  activityId: string,
): Promise<VoteEvaluations[]> {
  const all = (await selectEvaluations(read, { organizationId, activityId })).sort(oldestFirst);
  const rows = all.slice(-MAX_SHOWN_EVALUATIONS);
  const found: VoteEvaluations[] = [];
  for (const { id, vote_id: voteId, evaluations, created_at: createdAt } of rows) {
    const stored = JSON.parse(evaluations) as Stored;
    const outcomes = Array.isArray(stored) ? stored : await evaluationsOf(read, organizationId, stored);
    found.push({ id, voteId, evaluations: outcomes, createdAt });
  }
  return found;
}

async function evaluationsOf(
  read: Reader,
  organizationId: string,
  stored: { list: string; outcomes: string },
): Promise<VoteEvaluations["evaluations"]> {
  const [row] = await selectPolicyList(read, { organizationId, id: stored.list });
  // If the database was reset to an older state under a running server, a list may be missing. The outcomes are shown without ids then.
  const policyIds: (string | undefined)[] = row ? (JSON.parse(row.policy_ids) as string[]) : [];
  return [...stored.outcomes].map((letter, index) => {
    const policyId = policyIds[index];
    const outcome = outcomesOf.get(letter);
    return { ...(policyId === undefined ? {} : { policyId }), ...(outcome === undefined ? {} : { outcome }) };
  });
}

const insertPolicyList = preparedWrite<{ organizationId: string; id: string; policyIds: string }>()((db, row) =>
  db
    .insertInto("policy_lists")
    .values({ organization_id: row.organizationId, id: row.id, policy_ids: row.policyIds })
    .onConflict((conflict) => conflict.columns(["organization_id", "id"]).doNothing()),
);

export const newEvaluations = laterInsert("policy_evaluations", {
  id: "text",
  organization_id: "text",
  activity_id: "text",
  vote_id: "text",
  evaluations: "text",
  created_at: "integer",
});

const selectEvaluations = prepared<{ organizationId: string; activityId: string }>()(
  (db, { organizationId, activityId }) =>
    db
      .selectFrom("policy_evaluations")
      .selectAll()
      .where("organization_id", "=", organizationId)
      .where("activity_id", "=", activityId),
);

const selectPolicyList = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db.selectFrom("policy_lists").select("policy_ids").where("organization_id", "=", organizationId).where("id", "=", id),
);
