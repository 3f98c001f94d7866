import { Type } from "typebox";
import { job } from "../../engine/jobs/jobs.ts";
import { deleteInPortions } from "../../engine/jobs/portions.ts";
import { ERASURE_PAUSE_MS, ERASURE_RUN_MS } from "../../kernel/limits.ts";
import type { Transactor } from "../../storage/engine.ts";
import { ERASE_ORGANIZATION, endErasure, eraseSome } from "./store.ts";

/**
 * Erases what a deleted sub-organization had too much of for one transaction, a portion in each. Nothing of it is shown meanwhile, and
 * wherever it is broken off it goes on.
 */
export const eraseOrganization = job({
  name: ERASE_ORGANIZATION,
  payload: Type.Object({ organizationId: Type.String() }),
  needs: ["largeTables"],
  maxAttempts: Number.POSITIVE_INFINITY,
  concurrent: true,
  async run({ payload: { organizationId }, database, largeTables }) {
    const end = performance.now() + ERASURE_RUN_MS;
    const isTimeUp = () => performance.now() >= end;
    for (const table of largeTables) {
      const deleteSome = (tx: Transactor, limit: number) => eraseSome(tx, organizationId, table, limit);
      const isGone = await deleteInPortions(database, deleteSome, { isTimeUp });
      if (!isGone) return { next: { do: "pause", inMs: ERASURE_PAUSE_MS } };
    }
    return { next: { do: "finish" }, record: (tx) => endErasure(tx, organizationId) };
  },
});
