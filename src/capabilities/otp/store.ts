import { timingSafeEqual } from "node:crypto";
import type { Contact } from "../../authority/state.ts";
import { findUsersByContact } from "../../engine/identity/contacts.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import type { Organization } from "../../engine/operations.ts";
import type { Services } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import {
  MAX_LIVE_OTPS,
  MAX_OTP_FAILURES,
  MAX_OTP_SECONDS,
  MAX_OTP_STARTS,
  MAX_OTP_TRIES,
  OTP_WINDOW_MS,
} from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { Schema } from "../../storage/schema.ts";
import type { OtpType } from "./model.ts";

/** Stored codes, and the limits on requesting and guessing them. The limits apply across servers, because the counts are in the database. */

export type Otp = Schema["otps"];

export interface NewOtp {
  id: string;
  type: OtpType;
  contact: string;
  userId: string | null;
  mac: string;
  sealedTargetKey: string | null;
  expiresAt: number;
  /** As the app sent it; '' if it sent none. */
  userIdentifier: string;
}

/**
 * Stores a code. If the contact has too many live codes, the oldest ones expire.
 *
 * @throws KeysteadError OTP_STARTS_EXCEEDED
 */
export async function addOtp(tx: Transactor, organization: Organization, otp: NewOtp, now: number): Promise<void> {
  const rootId = rootIdOf(organization);
  const { id, type, contact, userId, mac, sealedTargetKey, expiresAt, userIdentifier } = otp;
  await tx.lock(`otp ${rootId} ${contact}`);
  const recent = await tx
    .selectFrom("otps")
    .select(["organization_id", "id", "expires_at", "used_at", "created_at"])
    .where("root_id", "=", rootId)
    .where("contact", "=", contact)
    // Older codes cannot be live any more.
    .where("created_at", ">", now - MAX_OTP_SECONDS * 1000)
    .where("created_at", "<", latestOf(now))
    .orderBy("created_at")
    .orderBy("id")
    .execute();
  boundStarts(recent.filter(({ created_at }) => created_at > now - OTP_WINDOW_MS).length);
  if (userIdentifier !== "") boundStarts(await countStartsOfUser(tx, rootId, userIdentifier, now));
  const live = recent.filter(({ expires_at, used_at }) => expires_at > now && used_at === null);
  for (const oldest of live.slice(0, Math.max(0, live.length - MAX_LIVE_OTPS + 1))) {
    await tx
      .updateTable("otps")
      .set({ expires_at: now })
      .where("organization_id", "=", oldest.organization_id)
      .where("id", "=", oldest.id)
      .execute();
  }
  await tx
    .insertInto("otps")
    .values({
      organization_id: organization.id,
      id,
      root_id: rootId,
      type,
      contact,
      user_id: userId,
      mac,
      sealed_target_key: sealedTargetKey,
      tries: 0,
      expires_at: expiresAt,
      used_at: null,
      created_at: now,
      user_identifier: userIdentifier || null,
    })
    .execute();
}

function boundStarts(count: number): void {
  if (count >= MAX_OTP_STARTS) fail("OTP_STARTS_EXCEEDED", { most: MAX_OTP_STARTS, seconds: OTP_WINDOW_MS / 1000 });
}

/** The lock is always taken after the contact's, so that transactions cannot deadlock. */
async function countStartsOfUser(tx: Transactor, rootId: string, userIdentifier: string, now: number): Promise<number> {
  await tx.lock(`otp user ${rootId} ${userIdentifier}`);
  const { count } = await tx
    .selectFrom("otps")
    .select((of) => of.fn.countAll<number>().as("count"))
    .where("root_id", "=", rootId)
    .where("user_identifier", "=", userIdentifier)
    .where("created_at", ">", now - OTP_WINDOW_MS)
    .where("created_at", "<", latestOf(now))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Rows later than this were stored before the clock was set back. They are ignored: they would count until the clock has caught up. */
const latestOf = (now: number): number => now + OTP_WINDOW_MS;

/** @throws KeysteadError OTP_INVALID, with the same reason if the code never existed, has expired, or was used */
export async function findLiveOtp(read: Reader, organizationId: string, id: string, now: number): Promise<Otp> {
  const otp = await read
    .selectFrom("otps")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!otp || otp.used_at !== null || otp.expires_at <= now) {
    return fail("OTP_INVALID", { reason: "there is no such code, or it has expired or has been used" });
  }
  return otp;
}

/**
 * Compares a guess with the code. A wrong guess is counted even if the activity is rolled back.
 *
 * @throws KeysteadError OTP_INVALID, or OTP_TRIES_EXCEEDED if there were too many wrong guesses at the contact's codes recently
 */
export async function guess(
  apart: Services["apart"],
  { organization_id: organizationId, id, root_id: rootId, contact }: Otp,
  mac: string,
  { failureId, now }: { failureId: string; now: number },
): Promise<void> {
  const outcome = await apart.transact(`otp ${rootId} ${contact}`, async (tx) => {
    const since = now - OTP_WINDOW_MS;
    const failures = await tx
      .selectFrom("otp_failures")
      .select((of) => of.fn.countAll<number>().as("count"))
      .where("root_id", "=", rootId)
      .where("contact", "=", contact)
      .where("created_at", ">", since)
      .where("created_at", "<", latestOf(now))
      .executeTakeFirstOrThrow();
    if (Number(failures.count) >= MAX_OTP_FAILURES) return "blocked";
    const otp = await findLiveOtp(tx, organizationId, id, now);
    if (otp.tries >= MAX_OTP_TRIES) return "locked";
    if (timingSafeEqual(Buffer.from(otp.mac, "hex"), Buffer.from(mac, "hex"))) return "right";
    await tx
      .updateTable("otps")
      .set({ tries: otp.tries + 1 })
      .where("organization_id", "=", organizationId)
      .where("id", "=", id)
      .execute();
    await tx.insertInto("otp_failures").values({ root_id: rootId, id: failureId, contact, created_at: now }).execute();
    return "wrong";
  });
  if (outcome === "blocked") fail("OTP_TRIES_EXCEEDED", { most: MAX_OTP_FAILURES, seconds: OTP_WINDOW_MS / 1000 });
  if (outcome === "locked") fail("OTP_INVALID", { reason: "there were too many wrong attempts; request a new one" });
  if (outcome === "wrong") fail("OTP_INVALID", { reason: "it is not the code that was sent" });
}

/** @throws KeysteadError OTP_INVALID if the code was used meanwhile */
export async function useOtp(tx: Transactor, { organization_id, id }: Otp, now: number): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable("otps")
    .set({ used_at: now })
    .where("organization_id", "=", organization_id)
    .where("id", "=", id)
    .where("used_at", "is", null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) fail("OTP_INVALID", { reason: "it has already been used" });
}

/**
 * The only user of the organization with this contact, or the one who has verified it.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND, or CREDENTIAL_AMBIGUOUS if several users have it and none of them has verified it
 */
export async function findUserByContact(read: Reader, organization: Organization, contact: Contact): Promise<string> {
  const [user, ...others] = await findUsersByContact(read, organization, contact);
  if (others.length > 0) fail("CREDENTIAL_AMBIGUOUS", { kind: "contact" });
  return (
    user?.userId ?? fail("RESOURCE_NOT_FOUND", { kind: "user", id: contact.value, organizationId: organization.id })
  );
}
