import type { IncomingHttpHeaders } from "node:http";
import { type ActivityTimes, type ActivityView, renderActivity } from "../engine/activities/view.ts";
import type { Answer } from "../engine/engine.ts";
import { stringifyInTurns } from "../kernel/json.ts";

/**
 * The rules for cases in which the specification and the published SDKs differ on the wire. `engine/envelope.ts` has the others, for
 * requests: members that are null count as absent, and unknown members outside `parameters` are ignored.
 */

/** Without a charset, because one SDK compares the whole value. */
export const JSON_CONTENT_TYPE = "application/json";

/** The form of activities' times in answers: the same for all clients, or each client's own. */
export type ActivityTimesSetting = ActivityTimes | "auto";

/** The user agents of published SDKs. The older Go SDK sends that of Go's own client. */
const SDK_USER_AGENT = /turnkey|tkhq|^go-http-client\//i;

/**
 * Times of an activity are text in the specification, and objects in the SDKs. Each published SDK is recognized by one of these headers.
 */
export function activityTimesFor(headers: IncomingHttpHeaders, setting: ActivityTimesSetting): ActivityTimes {
  if (setting !== "auto") return setting;
  const isSdk = headers["x-client-version"] !== undefined || SDK_USER_AGENT.test(headers["user-agent"] ?? "");
  return isSdk ? "object" : "text";
}

/**
 * The body of an answer, with activities' times in the given form. The status of a transaction sent from here is called `service` in the
 * specification and `turnkey` in the SDKs, so it has both names. Lists are written entry by entry and large activities member by member, so
 * that other requests are processed in between.
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

/** The answer, its list, and each entry of the list. */
const LEVELS_OF_LIST = 2;
/** The activity, its votes, and each vote. */
const LEVELS_OF_ACTIVITY = 2;
/** Characters that can be written in a millisecond or less. */
const LARGE_MESSAGES = 128 * 1024;

/** A vote contains the body that was signed, so each may be as long as the activity. */
const isLarge = ({ votes }: ActivityView): boolean =>
  votes.reduce((sum, { message }) => sum + message.length, 0) > LARGE_MESSAGES;
