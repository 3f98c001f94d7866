import { reconciler } from "../../engine/jobs/jobs.ts";
import { deleteInPortions } from "../../engine/jobs/portions.ts";
import { HOUR_MS } from "../../kernel/durations.ts";
import { deleteSome } from "../../storage/deletion-in-turns.ts";
import type { Transactor } from "../../storage/engine.ts";
import { SEND_MAIL, SEND_SMS } from "./store.ts";

/** Deletes old mail events, old records of mail, and old messages whose jobs died from a fault. */
export const pruneEmailEvents = reconciler({
  name: "prune_email_events",
  everyMs: HOUR_MS,
  needs: ["retention"],
  async run({ database, clock, retention }) {
    const before = clock() - retention.mailEventsMs;
    for (const table of ["email_events", "mails"] as const) {
      await deleteInPortions(database, (tx, limit) => {
        const old = tx.selectFrom(table).where("created_at", "<", before);
        return deleteSome(tx.kind, tx.deleteFrom(table), old, limit);
      });
    }
    await deleteInPortions(database, (tx, limit) => dropDeadMessages(tx, before, limit));
  },
});

/** Operators can inspect dead messages until then. The secrets in them have expired long before. */
function dropDeadMessages(tx: Transactor, before: number, limit: number): Promise<number> {
  const old = tx
    .selectFrom("jobs")
    .where("state", "=", "dead")
    .where("kind", "in", [SEND_MAIL, SEND_SMS])
    .where("created_at", "<", before);
  // The state is tested again, because an operator may revive a job meanwhile.
  return deleteSome(tx.kind, tx.deleteFrom("jobs").where("state", "=", "dead"), old, limit);
}
