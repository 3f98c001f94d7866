import { Type } from "typebox";
import { job } from "../../engine/jobs/jobs.ts";
import { eraseInPortions } from "../../engine/jobs/portions.ts";
import type { Transactor } from "../../storage/engine.ts";
import { ERASE_ORGANIZATION, endErasure, eraseSome } from "./store.ts";

/** Erases the rows of a deleted sub-organization that were too many for one transaction. They are not readable in the meantime. */
export const eraseOrganization = job({
  name: ERASE_ORGANIZATION,
  payload: Type.Object({ organizationId: Type.String() }),
  needs: ["largeTables"],
  maxAttempts: Number.POSITIVE_INFINITY,
  concurrent: true,
  run({ payload: { organizationId }, database, largeTables }) {
    const deletions = largeTables.map(
      (table) => (tx: Transactor, limit: number) => eraseSome(tx, organizationId, table, limit),
    );
    return eraseInPortions(database, deletions, (tx) => endErasure(tx, organizationId));
  },
});
