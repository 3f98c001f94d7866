import { reconciler } from "../../engine/jobs/jobs.ts";
import { deleteInPortions } from "../../engine/jobs/portions.ts";
import { HOUR_MS } from "../../kernel/durations.ts";
import type { Transactor } from "../../storage/engine.ts";
import { jobKeyOf } from "./queue-delivery.ts";

/** Deletes old events with their deliveries and attempts, unless a delivery is still pending. */
export const pruneWebhookEvents = reconciler({
  name: "prune_webhook_events",
  everyMs: HOUR_MS,
  needs: ["retention"],
  async run({ database, clock, retention }) {
    const before = clock() - retention.webhookEventsMs;
    await deleteInPortions(database, (tx, limit) => deleteSomeEvents(tx, before, limit));
  },
});

/** The jobs of failed deliveries are kept for the operator until the deliveries are deleted. */
async function dropDeadJobs(tx: Transactor, eventIds: string[]): Promise<void> {
  const failed = await tx
    .selectFrom("webhook_deliveries")
    .select("id")
    .where("event_id", "in", eventIds)
    .where("status", "=", "FAILED")
    .execute();
  if (failed.length === 0) return;
  const keys = failed.map(({ id }) => jobKeyOf(id));
  await tx.deleteFrom("jobs").where("key", "in", keys).where("state", "=", "dead").execute();
}

async function deleteSomeEvents(tx: Transactor, before: number, limit: number): Promise<number> {
  const old = await tx
    .selectFrom("webhook_events as e")
    .select("e.id")
    .where("e.created_at", "<", before)
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom("webhook_deliveries as d")
            .select("d.id")
            .whereRef("d.event_id", "=", "e.id")
            .where("d.status", "=", "PENDING"),
        ),
      ),
    )
    .limit(limit)
    .execute();
  if (old.length === 0) return 0;
  const eventIds = old.map(({ id }) => id);
  await dropDeadJobs(tx, eventIds);
  await tx.deleteFrom("webhook_events").where("id", "in", eventIds).execute();
  return old.length;
}
