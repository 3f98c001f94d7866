import {
  MAX_DENIED_BODY_BYTES,
  MAX_DENIED_LIST_LENGTH,
  MAX_DENIED_MESSAGE_LENGTH,
  MAX_DENIED_TEXT_LENGTH,
  MIN_DENIED_TEXT_LENGTH,
} from "../../kernel/limits.ts";
import { hasSecrets, maskedIntent, maskedMessage } from "./masks.ts";
import type { ActivityRecord } from "./rows.ts";

/**
 * What is stored of a denied body. Any user can submit bodies that have no effect, so of a large one only the digest (the activity's
 * fingerprint) and an excerpt are stored.
 */

const isLarge = (body: string): boolean => Buffer.byteLength(body) > MAX_DENIED_BODY_BYTES;

/**
 * The activity as it is stored: a large body and its plan are dropped, and long texts and lists of the intent are cut. A body that contains
 * a secret, such as a one-time code, is dropped too, because the secret is still valid: nothing used it up.
 */
export function keptRecord(record: ActivityRecord): ActivityRecord {
  const { body, plan: _, ...rest } = record;
  const isSecret = hasSecrets(record.intent);
  if (body === undefined || !(isSecret || isLarge(body))) return record;
  const intent = isSecret ? maskedIntent(record.intent) : record.intent;
  return { ...rest, intent: isLarge(body) ? boundedIntent(intent) : intent };
}

/** The beginning of a large message, without secrets. */
export function keptMessage({ intent }: Pick<ActivityRecord, "intent">, message: string): string {
  const kept = hasSecrets(intent) ? maskedMessage(message) : message;
  return isLarge(kept) ? kept.slice(0, MAX_DENIED_MESSAGE_LENGTH).toWellFormed() : kept;
}

/** Whether only the beginning of a vote's message is stored, because the activity was denied and its body was large. */
export const isStoredCut = ({ body, status, failure }: ActivityRecord, message: string): boolean =>
  body === undefined &&
  status === "ACTIVITY_STATUS_REJECTED" &&
  failure !== null &&
  message.length === MAX_DENIED_MESSAGE_LENGTH;

/** Whether the messages of an activity are stored with a secret masked, because it was denied. */
export const isStoredMasked = ({ body, intent }: Pick<ActivityRecord, "body" | "intent">): boolean =>
  body === undefined && hasSecrets(intent);

function boundedIntent(intent: Record<string, unknown>): Record<string, unknown> {
  const some = cut(intent, { texts: MAX_DENIED_TEXT_LENGTH, lists: MAX_DENIED_LIST_LENGTH });
  const bounded = isLarge(JSON.stringify(some)) ? cut(intent, { texts: MIN_DENIED_TEXT_LENGTH, lists: 1 }) : some;
  return bounded as Record<string, unknown>;
}

/** Keeps all members of objects, because readers of an intent expect them. Their number is bounded by its schema. */
function cut(value: unknown, to: { texts: number; lists: number }): unknown {
  if (typeof value === "string") return value.slice(0, to.texts).toWellFormed();
  if (Array.isArray(value)) return value.slice(0, to.lists).map((entry) => cut(entry, to));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, cut(child, to)]));
}
