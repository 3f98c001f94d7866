import { parametersOfStored } from "../envelope.ts";

/**
 * The stamped body is stored once, in the activity's row. The intent that it contains, and the votes, further stamps and webhook events with
 * the same body, are stored without it and completed when they are read. If the activity has no body, they are stored in full.
 */

type Intent = Record<string, unknown>;

/** The intent's only key, with null in place of a value that the body contains. */
export const intentToStore = (body: string | undefined, intent: Intent): Intent =>
  body === undefined ? intent : Object.fromEntries(Object.keys(intent).map((key) => [key, null]));

export function storedIntent(body: string | undefined, stored: Intent): Intent {
  if (body === undefined) return stored;
  const parameters = parametersOfStored(body);
  return Object.fromEntries(Object.keys(stored).map((key) => [key, parameters]));
}

/** Stored in place of a message that equals the activity's body. No real message is empty. */
const SAME_BODY = "";

export const messageToStore = (body: string | undefined, message: string): string =>
  message === body ? SAME_BODY : message;

export const storedMessage = (body: string | undefined, message: string): string =>
  message === SAME_BODY ? (body ?? "") : message;
