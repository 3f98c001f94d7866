import { capability } from "../../engine/capability.ts";
import { approveActivity } from "./approve-activity.ts";
import { countByDay, pruneCounts } from "./count-by-day.ts";
import { getActivity } from "./get-activity.ts";
import { getActivityCounts } from "./get-activity-counts.ts";
import { listActivities } from "./list-activities.ts";
import { rejectActivity } from "./reject-activity.ts";

export const activities = capability({
  title: "Activities",
  operations: [getActivity, listActivities, getActivityCounts, approveActivity, rejectActivity],
  jobs: [countByDay, pruneCounts],
  erases: ["daily_counts"],
});
