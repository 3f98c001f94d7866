import { reconciler } from "../../engine/jobs/jobs.ts";
import { deleteInPortions } from "../../engine/jobs/portions.ts";
import { HOUR_MS, MINUTE_MS } from "../../kernel/durations.ts";

/** So long whoever comes late is told that a quote has expired. */
const KEPT_EXPIRED_MS = HOUR_MS;

/** Deletes quotes that nobody has used, also of organizations that take no more. */
export const pruneSwapQuotes = reconciler({
  name: "prune_swap_quotes",
  everyMs: 10 * MINUTE_MS,
  async run({ database, clock }) {
    const before = clock() - KEPT_EXPIRED_MS;
    await deleteInPortions(database, async (tx, limit) => {
      const old = await tx
        .selectFrom("swap_quotes")
        .select("id")
        .where("expires_at", "<", before)
        .limit(limit)
        .execute();
      const ids = old.map(({ id }) => id);
      if (ids.length === 0) return 0;
      await tx.deleteFrom("swap_quotes").where("expires_at", "<", before).where("id", "in", ids).execute();
      return ids.length;
    });
  },
});
