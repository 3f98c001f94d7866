import type { IncomingHttpHeaders } from "node:http";
import { type ActivityTimes, type ActivityView, renderActivity } from "../engine/activities/view.ts";
import type { Answer } from "../engine/engine.ts";
import { stringifyInTurns } from "../kernel/json.ts";

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
 * `service` by the specification, and `turnkey` for the SDKs: it is there under both names. A list is written entry by entry, and a
 * large activity member by member, so that others get their turn between them.
 */
export async function renderAnswer(answer: Answer, times: ActivityTimes): Promise<string> {
  const { activity, activities, transactions } = answer as {
    activity?: ActivityView;
    activities?: ActivityView[];
    transactions?: { service?: object }[];
  };
  if (activity) {
    const shown = { ...answer, activity: renderActivity(activity, times) };
    return isLarge(activity) ? stringifyInTurns(shown, 1 + LEVELS_OF_ACTIVITY) : JSON.stringify(shown);
  }
  if (activities) {
    const shown = { ...answer, activities: activities.map((one) => renderActivity(one, times)) };
    return stringifyInTurns(shown, LEVELS_OF_LIST + (activities.some(isLarge) ? LEVELS_OF_ACTIVITY : 0));
  }
  if (transactions) {
    const items = transactions.map((item) => (item.service ? { ...item, turnkey: item.service } : item));
    return stringifyInTurns({ ...answer, transactions: items }, LEVELS_OF_LIST);
  }
  return Object.values(answer).some(Array.isArray) ? stringifyInTurns(answer, LEVELS_OF_LIST) : JSON.stringify(answer);
}

/** The answer, its list, and each entry of that. */
const LEVELS_OF_LIST = 2;
/** The activity, its votes, and each of them. */
const LEVELS_OF_ACTIVITY = 2;
/** Characters that take a millisecond or less to be written. */
const LARGE_MESSAGES = 128 * 1024;

/** Votes hold the body that was signed, and so each may be as long as the activity. */
const isLarge = ({ votes }: ActivityView): boolean =>
  votes.reduce((sum, { message }) => sum + message.length, 0) > LARGE_MESSAGES;
