import type { Transactor } from "../../storage/engine.ts";
import { preparedWrite } from "../../storage/prepared.ts";
import type { Organization } from "../operations.ts";
import type { ActivityEngine } from "./ballot.ts";
import { type ActivityRecord, type Failure, findVotes } from "./rows.ts";

interface Completion {
  organization: Pick<Organization, "id" | "parentId">;
  outcome: { result: unknown } | { failure: Failure };
  /** Milliseconds. */
  now: number;
}

/**
 * Completes a PENDING activity with its result or failure, and notifies observers. If it has ended already, nothing changes: the first
 * caller wins.
 */
export async function completeActivity(
  tx: Transactor,
  { registry, observer }: Pick<ActivityEngine, "registry" | "observer">,
  pending: ActivityRecord,
  { organization, outcome, now }: Completion,
): Promise<void> {
  const { version } = registry.activityOfType(pending.type);
  const ended: ActivityRecord = {
    ...pending,
    ...("failure" in outcome
      ? { status: "ACTIVITY_STATUS_FAILED", failure: outcome.failure }
      : { status: "ACTIVITY_STATUS_COMPLETED", result: { [version.resultKey]: version.resultFrom(outcome.result) } }),
    updatedAt: now,
  };
  const { id, organizationId, status, result, failure } = ended;
  const updated = await endPending(tx, {
    organizationId,
    id,
    status,
    result: "failure" in outcome ? null : JSON.stringify(result),
    failure: failure === null ? null : JSON.stringify(failure),
    now,
  });
  if (updated.length === 0) return;
  await observer.onChange(tx, { activity: ended, votes: await findVotes(tx, ended), organization, now });
}

const endPending = preparedWrite<{
  organizationId: string;
  id: string;
  status: string;
  result: string | null;
  failure: string | null;
  now: number;
}>()((db, row) =>
  db
    .updateTable("activities")
    .set({ status: row.status, result: row.result, failure: row.failure, updated_at: row.now })
    .where("organization_id", "=", row.organizationId)
    .where("id", "=", row.id)
    .where("status", "=", "ACTIVITY_STATUS_PENDING")
    .returning("id"),
);
