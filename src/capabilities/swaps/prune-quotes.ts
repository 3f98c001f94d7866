import { reconciler } from "../../engine/jobs/jobs.ts";
import { deleteInPortions } from "../../engine/jobs/portions.ts";
import { HOUR_MS, MINUTE_MS } from "../../kernel/durations.ts";
import { deleteSome } from "../../storage/deletion-in-turns.ts";

/** So long whoever comes late is told that a quote has expired. */
const KEPT_EXPIRED_MS = HOUR_MS;

/** Deletes quotes that nobody has used, also of organizations that take no more. */
export const pruneSwapQuotes = reconciler({
  name: "prune_swap_quotes",
  everyMs: 10 * MINUTE_MS,
  async run({ database, clock }) {
    const before = clock() - KEPT_EXPIRED_MS;
    await deleteInPortions(database, (tx, limit) => {
      const old = tx.selectFrom("swap_quotes").where("expires_at", "<", before);
      return deleteSome(tx.kind, tx.deleteFrom("swap_quotes"), old, limit);
    });
  },
});
