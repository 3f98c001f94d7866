import type { MailContent, SmsContent } from "../../src/capabilities/messages/model.ts";
import { queueMail, queueSms, sealMail, sealSms } from "../../src/capabilities/messages/store.ts";
import { MINUTE_MS } from "../../src/kernel/durations.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { TestServer } from "./server.ts";

/** Queues messages as an operation does: sealed first, then stored in a transaction. */

interface Asking {
  organizationId?: string;
  now?: number;
  expiresAt?: number;
}

export async function askForMail(
  server: TestServer,
  mail: Partial<MailContent> & { to: string } & Asking,
  /** Its last digit decides on the lane. */
  id = newId(),
): Promise<string> {
  const { organizationId = server.credentials.organizationId, now = Date.now(), expiresAt, ...content } = mail;
  const { database, signer } = server.opened;
  const sealed = await sealMail({ read: database.read, signer }, { kind: "otp", secret: "K7Q4Z9XW2", ...content });
  await database.transact(organizationId, (tx) =>
    queueMail(tx, {
      id,
      mail: sealed,
      organization: { id: organizationId, parentId: null },
      now,
      expiresAt: expiresAt ?? now + 5 * MINUTE_MS,
    }),
  );
  return id;
}

export async function askForSms(
  server: TestServer,
  sms: Partial<SmsContent> & { to: string } & Asking,
  /** Its last digit decides on the lane. */
  id = newId(),
): Promise<string> {
  const { organizationId = server.credentials.organizationId, now = Date.now(), expiresAt, ...content } = sms;
  const { database, signer } = server.opened;
  const sealed = await sealSms({ read: database.read, signer }, { code: "K7Q4Z9XW2", ...content });
  await database.transact(organizationId, (tx) =>
    queueSms(tx, {
      id,
      sms: sealed,
      organization: { id: organizationId, parentId: null },
      now,
      expiresAt: expiresAt ?? now + 5 * MINUTE_MS,
    }),
  );
  return id;
}
