import { reconciler } from "../../engine/jobs/jobs.ts";
import { EMAIL_EVENT_LIFETIME_MS } from "../../kernel/limits.ts";
import type { Transactor } from "../../storage/engine.ts";
import { SEND_MAIL, SEND_SMS } from "./store.ts";

const HOUR_MS = 60 * 60 * 1000;
const AT_ONCE = 500;

/** Deletes events of mail, what is known of the mail, and messages that a fault kept from being sent, a month later. */
export const pruneEmailEvents = reconciler({
  name: "prune_email_events",
  everyMs: HOUR_MS,
  async run({ database, clock }) {
    const before = clock() - EMAIL_EVENT_LIFETIME_MS;
    for (const table of ["email_events", "mails"] as const) {
      // In portions, so that no request waits long behind one of them.
      while ((await database.transact(undefined, (tx) => deleteSome(tx, table, before))) === AT_ONCE);
    }
    await database.transact(undefined, (tx) => dropDeadMessages(tx, before));
  },
});

async function deleteSome(tx: Transactor, table: "email_events" | "mails", before: number): Promise<number> {
  const old = await tx.selectFrom(table).select("id").where("created_at", "<", before).limit(AT_ONCE).execute();
  if (old.length === 0) return 0;
  const ids = old.map(({ id }) => id);
  await tx.deleteFrom(table).where("created_at", "<", before).where("id", "in", ids).execute();
  return old.length;
}

/** Operators may look at them until then; what is sealed in them has long been of no use. */
async function dropDeadMessages(tx: Transactor, before: number): Promise<void> {
  await tx
    .deleteFrom("jobs")
    .where("state", "=", "dead")
    .where("kind", "in", [SEND_MAIL, SEND_SMS])
    .where("created_at", "<", before)
    .execute();
}
