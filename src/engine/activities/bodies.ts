import { parametersOfStored } from "../envelope.ts";

/**
 * A body is stored once, with its activity. The intent in it, and votes, further stamps and webhooks' events with it, are stored
 * without and read with it. Where the activity has no body, they are stored as they are.
 */

type Intent = Record<string, unknown>;

/** The intent's one key, with null for what the body says. */
export const intentToStore = (body: string | undefined, intent: Intent): Intent =>
  body === undefined ? intent : Object.fromEntries(Object.keys(intent).map((key) => [key, null]));

export function storedIntent(body: string | undefined, stored: Intent): Intent {
  if (body === undefined) return stored;
  const parameters = parametersOfStored(body);
  return Object.fromEntries(Object.keys(stored).map((key) => [key, parameters]));
}

/** Stands for the activity's own body; no message is empty. */
const SAME_BODY = "";

export const messageToStore = (body: string | undefined, message: string): string =>
  message === body ? SAME_BODY : message;

export const storedMessage = (body: string | undefined, message: string): string =>
  message === SAME_BODY ? (body ?? "") : message;
