import { generateCode } from "../../crypto/one-time-codes.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import type { Organization } from "../../engine/operations.ts";
import type { AskedSigner } from "../../engine/services.ts";
import type { IdFor } from "../../kernel/ids.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { senderOfIntent } from "../messages/model.ts";
import { queueMail, queueSms, type SealedMail, type SealedSms, sealMail, sealSms } from "../messages/store.ts";
import { codeShapeOf, contactOf, type InitOtp, lifeOf } from "./model.ts";
import { addOtp, type NewOtp } from "./store.ts";

/** A code that is ready to be stored and sent. */
export interface PreparedCode {
  otp: NewOtp;
  message: { mail: SealedMail } | { sms: SealedSms };
  /** Whether there is a recipient. */
  isKnown: boolean;
}

interface Preparing {
  read: Reader;
  organization: Organization;
  signer: AskedSigner<"macOtp" | "sealJobSecret">;
  now: number;
}

/**
 * Generates a code and the message with it. If there is no recipient, the message is sealed and queued nevertheless but never sent, and nobody
 * learns the code: the caller sees no difference, not even in the time it takes.
 */
export async function prepareCode(
  { read, organization, signer, now }: Preparing,
  intent: InitOtp,
  {
    id,
    userId,
    sealedTargetKey,
    isKnown,
  }: { id: string; userId: string | null; sealedTargetKey: string | null; isKnown: boolean },
): Promise<PreparedCode> {
  const { length, alphanumeric } = codeShapeOf(intent);
  const code = generateCode(length, alphanumeric);
  const { mac } = await signer.ask({ verb: "macOtp", ...keyOwnerOf(organization), otpId: id, code });
  const { value: contact } = contactOf(intent);
  const { otpType: type, userIdentifier = "" } = intent;
  const otp = { id, type, contact, userId, mac, sealedTargetKey, expiresAt: now + lifeOf(intent), userIdentifier };
  if (type === "OTP_TYPE_SMS") {
    const { appName, smsCustomization: customization } = intent;
    const content = { to: contact, code, ...(appName ? { appName } : {}), ...(customization ? { customization } : {}) };
    return { otp, isKnown, message: { sms: await sealSms({ read, signer }, content) } };
  }
  const { appName, emailCustomization } = intent;
  const customization = { ...emailCustomization, ...(appName ? { appName } : {}) };
  const sender = senderOfIntent(intent as Parameters<typeof senderOfIntent>[0]);
  const content = { to: contact, kind: "otp", secret: code, sender, customization } as const;
  return { otp, isKnown, message: { mail: await sealMail({ read, signer }, content) } };
}

/** Stores the code and queues its message, in the transaction of the activity. */
export async function sendCode(
  tx: Transactor,
  organization: Organization,
  { otp, message, isKnown }: PreparedCode,
  { id, now }: { id: IdFor; now: number },
): Promise<void> {
  await addOtp(tx, organization, otp, now);
  const queued = {
    id: id("message"),
    organization,
    expiresAt: otp.expiresAt,
    now,
    ...(isKnown ? {} : ({ isForNobody: true } as const)),
  };
  if ("mail" in message) await queueMail(tx, { ...message, ...queued });
  else await queueSms(tx, { ...message, ...queued });
}
