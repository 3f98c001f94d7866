/**
 * Older versions of operations take one-time codes as plain parameters, so bodies, intents and votes contain them. The submitter knows the
 * code; everybody else sees it masked, because it may still be valid while the activity is open, or if it was denied.
 */

const MASKED = new Set(["otpCode"]);
const MASK = "***";

type Parameters = Record<string, unknown>;

const isObject = (value: unknown): value is Parameters =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isToMask = (parameters: unknown): parameters is Parameters =>
  isObject(parameters) && Object.keys(parameters).some((name) => MASKED.has(name));

const maskedParameters = (parameters: Parameters): Parameters =>
  Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, MASKED.has(name) ? MASK : value]));

/** Whether an intent, under its only key, contains a value that is masked. */
export const hasSecrets = (intent: Record<string, unknown>): boolean => Object.values(intent).some(isToMask);

export const maskedIntent = (intent: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(intent).map(([key, parameters]) => [
      key,
      isToMask(parameters) ? maskedParameters(parameters) : parameters,
    ]),
  );

/** The body of a request about such an activity, with the code masked. A body that cannot be parsed is masked completely. */
export function maskedMessage(message: string): string {
  const body = parsed(message);
  if (!isObject(body)) return MASK;
  return isToMask(body.parameters)
    ? JSON.stringify({ ...body, parameters: maskedParameters(body.parameters) })
    : message;
}

function parsed(message: string): unknown {
  try {
    return JSON.parse(message);
  } catch {
    return undefined;
  }
}

/** The activity as shown to anybody but the submitter in the answer to their request. */
export const maskedActivity = <Shown extends { intent: Record<string, unknown>; votes: readonly unknown[] }>(
  activity: Shown,
): Shown =>
  hasSecrets(activity.intent)
    ? { ...activity, intent: maskedIntent(activity.intent), votes: activity.votes.map(maskedVote) }
    : activity;

const maskedVote = (vote: unknown): unknown => {
  const { message } = vote as { message: string };
  return { ...(vote as object), message: maskedMessage(message) };
};
