import { vote } from "../../engine/declare.ts";

export const approveActivity = vote({
  path: "approve_activity",
  summary: "Approve an activity that waits for consensus, named by its fingerprint. Answers that activity.",
  selection: "VOTE_SELECTION_APPROVED",
});
