import { reconciler } from "../../engine/jobs/jobs.ts";
import { deleteInPortions } from "../../engine/jobs/portions.ts";
import { HOUR_MS } from "../../kernel/durations.ts";
import type { Transactor } from "../../storage/engine.ts";
import { SEND_MAIL, SEND_SMS } from "./store.ts";

/** Deletes events of mail, what is known of the mail, and messages that a fault kept from being sent, when they are old. */
export const pruneEmailEvents = reconciler({
  name: "prune_email_events",
  everyMs: HOUR_MS,
  needs: ["retention"],
  async run({ database, clock, retention }) {
    const before = clock() - retention.mailEventsMs;
    for (const table of ["email_events", "mails"] as const) {
      await deleteInPortions(database, (tx, limit) => deleteSome(tx, table, before, limit));
    }
    await deleteInPortions(database, (tx, limit) => dropDeadMessages(tx, before, limit));
  },
});

async function deleteSome(
  tx: Transactor,
  table: "email_events" | "mails",
  before: number,
  limit: number,
): Promise<number> {
  const old = await tx.selectFrom(table).select("id").where("created_at", "<", before).limit(limit).execute();
  if (old.length === 0) return 0;
  const ids = old.map(({ id }) => id);
  await tx.deleteFrom(table).where("created_at", "<", before).where("id", "in", ids).execute();
  return old.length;
}

/** Operators may look at them until then; what is sealed in them has long been of no use. */
async function dropDeadMessages(tx: Transactor, before: number, limit: number): Promise<number> {
  const dead = await tx
    .selectFrom("jobs")
    .select("id")
    .where("state", "=", "dead")
    .where("kind", "in", [SEND_MAIL, SEND_SMS])
    .where("created_at", "<", before)
    .limit(limit)
    .execute();
  if (dead.length === 0) return 0;
  const ids = dead.map(({ id }) => id);
  await tx.deleteFrom("jobs").where("state", "=", "dead").where("id", "in", ids).execute();
  return dead.length;
}
