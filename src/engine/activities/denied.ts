import {
  MAX_DENIED_BODY_BYTES,
  MAX_DENIED_LIST_LENGTH,
  MAX_DENIED_MESSAGE_LENGTH,
  MAX_DENIED_TEXT_LENGTH,
  MIN_DENIED_TEXT_LENGTH,
} from "../../kernel/limits.ts";
import type { ActivityRecord } from "./records.ts";

/**
 * What is kept of a body that was denied. Anybody with a stamp can have bodies stored that do nothing, so of a large one the digest
 * is kept, which is the activity's fingerprint, with enough to see what it was about.
 */

const isLarge = (body: string): boolean => Buffer.byteLength(body) > MAX_DENIED_BODY_BYTES;

/** The activity without a large body and what was planned of it, its intent with long texts and lists cut. */
export function boundedRecord(record: ActivityRecord): ActivityRecord {
  const { body, plan: _, ...rest } = record;
  if (body === undefined || !isLarge(body)) return record;
  return { ...rest, intent: boundedIntent(record.intent) };
}

/** The beginning of a large message. */
export const boundedMessage = (message: string): string =>
  isLarge(message) ? message.slice(0, MAX_DENIED_MESSAGE_LENGTH).toWellFormed() : message;

function boundedIntent(intent: Record<string, unknown>): Record<string, unknown> {
  const some = cut(intent, { texts: MAX_DENIED_TEXT_LENGTH, lists: MAX_DENIED_LIST_LENGTH });
  const bounded = isLarge(JSON.stringify(some)) ? cut(intent, { texts: MIN_DENIED_TEXT_LENGTH, lists: 1 }) : some;
  return bounded as Record<string, unknown>;
}

/** Members stay, as whoever reads an intent expects them; how many there are is bounded by its schema. */
function cut(value: unknown, to: { texts: number; lists: number }): unknown {
  if (typeof value === "string") return value.slice(0, to.texts).toWellFormed();
  if (Array.isArray(value)) return value.slice(0, to.lists).map((entry) => cut(entry, to));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, cut(child, to)]));
}
