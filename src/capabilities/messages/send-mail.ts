import { Type } from "typebox";
import { type JobContext, type JobResult, job } from "../../engine/jobs/jobs.ts";
import type { MailIdentity, MailMessage, MailOutcome } from "../../providers/mail/mailer.ts";
import { fillAll } from "../../providers/templates/render.ts";
import type { Transactor } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { nextAttempt } from "./attempts.ts";
import { type EventDetails, type EventType, recordEvent } from "./events.ts";
import { MailContent, mailFacts } from "./model.ts";
import { QueuedMessage, SEND_MAIL } from "./store.ts";

/** The sending of one mail: rendered, handed over, and told of in events. */

const Secret = Type.Object({ ...MailContent.properties, to: Type.String() });
type Context = JobContext<QueuedMessage, "mailer" | "mailTemplates", never, MailContent & { to: string }>;

/**
 * A mail is handed over until a server has taken it, which is recorded in one transaction with the end of the job. Where the
 * process ends between the two, it is handed over again, under the same Message-ID.
 */
export const sendMail = job({
  name: SEND_MAIL,
  payload: QueuedMessage,
  secret: Secret,
  needs: ["mailer", "mailTemplates"],
  concurrent: true,
  async run(context): Promise<JobResult> {
    const { payload, database, clock } = context;
    if (payload.isForNobody) return { next: { do: "finish" } };
    const [mail] = await selectMail(database.read, { organizationId: payload.organizationId, id: payload.id });
    // Gone with its organization, or brought back by an operator after its end.
    if (mail === undefined || mail.message_id !== null) return { next: { do: "finish" } };
    const startedAt = clock();
    if (startedAt >= payload.expiresAt) return dropped(context, "it was not taken while what is in it was good");
    const message = await rendered(context);
    if ("problem" in message) return dropped(context, `the template ${message.problem}`);
    const outcome = await context.mailer.send(message);
    switch (outcome.result) {
      case "accepted":
        return accepted(context, outcome, { startedAt, queuedAt: mail.created_at });
      case "bounced":
        return bounced(context, outcome.identity, "Permanent", withoutSecret(context, outcome.diagnosticCode));
      case "deferred":
        return deferred(context, withoutSecret(context, outcome.reason));
    }
  },
});

async function rendered({ payload, secret, mailTemplates }: Context): Promise<MailMessage | { problem: string }> {
  const { kind, to, customization } = secret;
  const facts = mailFacts(secret);
  const templateId = customization?.templateId;
  const found = await mailTemplates.find({ kind, ...(templateId ? { templateId } : {}) }, facts);
  if ("problem" in found) return found;
  const { subject, text, html } = fillAll(found.template, facts);
  return { id: payload.id, to, ...senderIn(secret), subject, text, html };
}

function accepted(
  context: Context,
  { identity, reply }: Extract<MailOutcome, { result: "accepted" }>,
  { startedAt, queuedAt }: { startedAt: number; queuedAt: number },
): JobResult {
  const now = context.clock();
  return {
    next: { do: "finish" },
    record: async (tx) => {
      await record(tx, context, identity, { eventType: "Send", occurredAt: startedAt, details: {} });
      if (!context.mailer.acceptanceIsDelivery) return;
      const details = {
        deliverySmtpResponse: withoutSecret(context, reply),
        deliveryProcessingTimeMillis: String(Math.max(0, now - queuedAt)),
      };
      // Never before the hand-over, and after it where the clock does not tell them apart.
      await record(tx, context, identity, { eventType: "Delivery", occurredAt: Math.max(now, startedAt + 1), details });
    },
  };
}

function bounced(
  context: Context,
  identity: MailIdentity,
  bounceType: "Permanent" | "Transient",
  diagnosticCode: string,
): JobResult {
  const { payload, clock, log } = context;
  const { organizationId, id: mailId } = payload;
  log.warn({ mailId, organizationId, bounceType, reason: diagnosticCode }, "a mail could not be delivered");
  const details = { bounceType, bounceSubType: "General", diagnosticCode };
  return {
    next: { do: "finish" },
    record: (tx) => record(tx, context, identity, { eventType: "Bounce", occurredAt: clock(), details }),
  };
}

/** No server has taken the mail, and it is of no use any more. */
const dropped = (context: Context, reason: string): JobResult =>
  bounced(
    context,
    context.mailer.identify({ id: context.payload.id, ...senderIn(context.secret) }),
    "Transient",
    reason,
  );

const senderIn = ({ sender }: Pick<MailContent, "sender">) => (sender === undefined ? {} : { sender });

function deferred(context: Context, reason: string): JobResult {
  const { payload, attempts, clock, log } = context;
  const { id: mailId, expiresAt } = payload;
  const now = clock();
  if (now >= expiresAt) return dropped(context, reason);
  log.info({ mailId, attempts: attempts + 1, reason }, "a mail was not taken yet");
  return { next: nextAttempt({ attempts, expiresAt, now }), reason };
}

async function record(
  tx: Transactor,
  { payload: { organizationId, id: mailId }, secret: { to }, clock }: Context,
  { from, messageId }: MailIdentity,
  event: { eventType: EventType; occurredAt: number; details: EventDetails },
): Promise<void> {
  await tx
    .updateTable("mails")
    .set({ message_id: messageId })
    .where("organization_id", "=", organizationId)
    .where("id", "=", mailId)
    .execute();
  await recordEvent(tx, { ...event, organizationId, mailId, messageId, from, to, now: clock() });
}

/** What others wrote, without what nobody may read: a server could repeat in its reply what it was sent. */
const withoutSecret = ({ secret: { secret } }: Context, text: string): string =>
  [secret, encodeURIComponent(secret)]
    .filter((part) => part !== "")
    .reduce((kept, part) => kept.replaceAll(part, "…"), text);

/** None of a deleted organization, which may have mails that are still to be erased. */
const selectMail = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db
    .selectFrom("mails")
    .innerJoin("organizations", "organizations.id", "mails.organization_id")
    .select(["mails.message_id", "mails.created_at"])
    .where("mails.organization_id", "=", organizationId)
    .where("mails.id", "=", id)
    .where("organizations.deleted_at", "is", null),
);
