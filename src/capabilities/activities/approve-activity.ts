import { vote } from "../../engine/declare.ts";

export const approveActivity = vote({
  path: "approve_activity",
  summary: "Approve an activity that is waiting for consensus, named by its fingerprint. Returns that activity.",
  selection: "VOTE_SELECTION_APPROVED",
});
