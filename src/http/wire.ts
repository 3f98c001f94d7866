import type { IncomingHttpHeaders } from "node:http";
import { type ActivityTimes, type ActivityView, renderActivity } from "../engine/activities/view.ts";
import type { Answer } from "../engine/engine.ts";

/**
 * Where the specification and the published SDKs differ on the wire, the rules stand here. Requests meet the others in
 * `engine/envelope.ts`: members that are null count as absent, and unknown members outside `parameters` are ignored.
 */

/** Exactly this, without a charset: one SDK compares it whole. */
export const JSON_CONTENT_TYPE = "application/json";

/** Which form the times of activities have in answers: one for all, or each client's own. */
export type ActivityTimesSetting = ActivityTimes | "auto";

/** What published SDKs are called; the older Go SDK leaves the name of Go's own client. */
const SDK_USER_AGENT = /turnkey|tkhq|^go-http-client\//i;

/**
 * The times of an activity are text by the specification, and objects for the SDKs. Every published SDK is known by one of
 * these headers.
 */
export function activityTimesFor(headers: IncomingHttpHeaders, setting: ActivityTimesSetting): ActivityTimes {
  if (setting !== "auto") return setting;
  const isSdk = headers["x-client-version"] !== undefined || SDK_USER_AGENT.test(headers["user-agent"] ?? "");
  return isSdk ? "object" : "text";
}

/**
 * The body of an answer: activities in it get their times in the given form. What is known of a transaction that was sent from here is
 * `service` by the specification, and `turnkey` for the SDKs: it is there under both names.
 */
export function renderAnswer(answer: Answer, times: ActivityTimes): string {
  const { activity, activities, transactions } = answer as {
    activity?: ActivityView;
    activities?: ActivityView[];
    transactions?: { service?: object }[];
  };
  if (activity) return JSON.stringify({ ...answer, activity: renderActivity(activity, times) });
  if (activities) {
    return JSON.stringify({ ...answer, activities: activities.map((one) => renderActivity(one, times)) });
  }
  if (transactions) {
    const items = transactions.map((item) => (item.service ? { ...item, turnkey: item.service } : item));
    return JSON.stringify({ ...answer, transactions: items });
  }
  return JSON.stringify(answer);
}
