import { vote } from "../../engine/declare.ts";

export const rejectActivity = vote({
  path: "reject_activity",
  summary: "Reject an activity that waits for consensus, named by its fingerprint. Answers that activity.",
  selection: "VOTE_SELECTION_REJECTED",
});
