import { Type } from "typebox";
import { dropSomeJobs, job } from "../../engine/jobs/jobs.ts";
import { eraseInPortions } from "../../engine/jobs/portions.ts";
import { deleteSome } from "../../storage/deletion-in-turns.ts";
import { laneOf } from "./queue-delivery.ts";
import { deliveriesTo, ERASE_ENDPOINT, removeEndpointRow } from "./store.ts";

/** Erases a deleted endpoint that had more deliveries than one transaction should delete. */
export const eraseEndpoint = job({
  name: ERASE_ENDPOINT,
  payload: Type.Object({ organizationId: Type.String(), endpointId: Type.String() }),
  maxAttempts: Number.POSITIVE_INFINITY,
  concurrent: true,
  run: ({ payload, database }) =>
    eraseInPortions(
      database,
      [
        (tx, limit) => dropSomeJobs(tx, laneOf(payload.endpointId), limit),
        (tx, limit) => deleteSome(tx.kind, tx.deleteFrom("webhook_deliveries"), deliveriesTo(tx, payload), limit),
      ],
      (tx) => removeEndpointRow(tx, payload),
    ),
});
