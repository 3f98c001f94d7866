import { capability } from "../../engine/capability.ts";
import { approveActivity } from "./approve-activity.ts";
import { getActivity } from "./get-activity.ts";
import { listActivities } from "./list-activities.ts";
import { rejectActivity } from "./reject-activity.ts";

export const activities = capability({
  title: "Activities",
  operations: [getActivity, listActivities, approveActivity, rejectActivity],
});
