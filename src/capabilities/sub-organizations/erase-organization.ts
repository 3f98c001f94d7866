import { Type } from "typebox";
import { job } from "../../engine/jobs/jobs.ts";
import { ERASURE_PAUSE_MS, ERASURE_RUN_MS } from "../../kernel/limits.ts";
import { ERASE_ORGANIZATION, endErasure, erasePortion } from "./store.ts";

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
    for (const table of largeTables) {
      const portion = () => database.transact(undefined, (tx) => erasePortion(tx, organizationId, table));
      while (await portion()) {
        if (performance.now() >= end) return { next: { do: "pause", inMs: ERASURE_PAUSE_MS } };
      }
    }
    return { next: { do: "finish" }, record: (tx) => endErasure(tx, organizationId) };
  },
});
