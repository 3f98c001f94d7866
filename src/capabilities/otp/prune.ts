import { reconciler } from "../../engine/jobs/jobs.ts";
import { deleteInPortions } from "../../engine/jobs/portions.ts";
import { MINUTE_MS } from "../../kernel/durations.ts";
import { MAX_OTP_SECONDS, OTP_WINDOW_MS, USED_TOKENS_KEPT_MS } from "../../kernel/limits.ts";
import { deleteSome } from "../../storage/deletion-in-turns.ts";

/** Deletes codes, failed guesses and used tokens once nothing needs them. */
export const pruneOtps = reconciler({
  name: "prune_otps",
  everyMs: 5 * MINUTE_MS,
  async run({ database, clock }) {
    const now = clock();
    const lapsed = [
      ["otps", "expires_at", now - 2 * MAX_OTP_SECONDS * 1000],
      ["otp_failures", "created_at", now - OTP_WINDOW_MS],
      ["used_tokens", "expires_at", now - USED_TOKENS_KEPT_MS],
    ] as const;
    for (const [table, column, before] of lapsed) {
      await deleteInPortions(database, (tx, limit) => {
        // The cast is safe: all three tables have the chosen column as a number.
        const old = tx.selectFrom(table as "otps").where(column as "expires_at", "<", before);
        return deleteSome(tx.kind, tx.deleteFrom(table as "otps"), old, limit);
      });
    }
  },
});
