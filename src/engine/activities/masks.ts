/**
 * One-time codes stand in the parameters of older versions of operations, and so in bodies, intents and votes. Whoever submits one knows
 * it; to everybody else it is shown masked, as it may still be good while its activity waits, or was denied.
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

/** Whether an intent, under its one key, has something that is not for everybody. */
export const hasSecrets = (intent: Record<string, unknown>): boolean => Object.values(intent).some(isToMask);

export const maskedIntent = (intent: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(intent).map(([key, parameters]) => [
      key,
      isToMask(parameters) ? maskedParameters(parameters) : parameters,
    ]),
  );

/** The body of a request about such an activity, written anew; what cannot be read goes whole. */
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

/** An activity as it is shown to whoever did not just submit it. */
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
