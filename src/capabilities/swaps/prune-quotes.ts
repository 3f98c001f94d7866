import { reconciler } from "../../engine/jobs/jobs.ts";
import { deleteInPortions } from "../../engine/jobs/portions.ts";
import { HOUR_MS, MINUTE_MS } from "../../kernel/durations.ts";
import { deleteSome } from "../../storage/deletion-in-turns.ts";

/** How long an expired quote is kept, so that requests that come late are told that it has expired. */
const KEPT_EXPIRED_MS = HOUR_MS;

/** Deletes expired quotes that nobody has used, including those of organizations that request no more quotes. */
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
