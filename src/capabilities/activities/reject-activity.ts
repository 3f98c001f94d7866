import { vote } from "../../engine/declare.ts";

export const rejectActivity = vote({
  path: "reject_activity",
  summary: "Reject an activity that is waiting for consensus, named by its fingerprint. Returns that activity.",
  selection: "VOTE_SELECTION_REJECTED",
});
