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
 * What is kept of a body that was denied. Anybody with a stamp can have bodies stored that do nothing, so of a large one the digest
 * is kept, which is the activity's fingerprint, with enough to see what it was about.
 */

const isLarge = (body: string): boolean => Buffer.byteLength(body) > MAX_DENIED_BODY_BYTES;

/**
 * The activity without a large body and what was planned of it, its intent with long texts and lists cut. A body with a secret goes
 * as well: nothing will ever use that up.
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
