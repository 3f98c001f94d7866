import { Type } from "typebox";
import { type JobContext, type JobResult, job } from "../../engine/jobs/jobs.ts";
import type { MailIdentity, MailMessage, MailOutcome } from "../../providers/mail/mailer.ts";
import { fillAll } from "../../providers/templates/render.ts";
import type { Transactor } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { nextAttempt } from "./attempts.ts";
import { type EventDetails, type EventType, recordEvent } from "./events.ts";
import { MailContent, mailFacts } from "./model.ts";
import { QueuedMessage, SEND_MAIL, withGate } from "./store.ts";

/** Sends a mail: renders it, hands it to a mail server, and records events. */

const Secret = Type.Object({ ...MailContent.properties, to: Type.String() });
type Context = JobContext<QueuedMessage, "mailer" | "mailTemplates", never, MailContent & { to: string }>;

/**
 * Retries until a mail server accepts the mail. The acceptance is recorded in one transaction with the end of the job. If the process dies between
 * the two, the mail is sent again with the same Message-ID.
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
    // The mail was deleted with its organization, or an operator revived the job after it had ended.
    if (mail === undefined || mail.message_id !== null) return { next: { do: "finish" } };
    const startedAt = clock();
    if (startedAt >= payload.expiresAt) return dropped(context, "it was not accepted before its content expired");
    const message = await rendered(context);
    if ("problem" in message) return dropped(context, `the template ${message.problem}`);
    const outcome = await context.mailer.send(message);
    const result = resultOf(context, outcome, { startedAt, queuedAt: mail.created_at });
    const { organizationId, id } = payload;
    return withGate(result, SEND_MAIL, { organizationId, id, parentId: mail.parent_id }, clock() - startedAt);
  },
});

function resultOf(context: Context, outcome: MailOutcome, times: { startedAt: number; queuedAt: number }): JobResult {
  switch (outcome.result) {
    case "accepted":
      return accepted(context, outcome, times);
    case "bounced":
      return bounced(context, outcome.identity, "Permanent", outcome.diagnosticCode);
    case "deferred":
      return deferred(context, outcome);
  }
}

async function rendered({ payload, secret, mailTemplates }: Context): Promise<MailMessage | { problem: string }> {
  const { kind, to, customization } = secret;
  const facts = mailFacts(secret);
  const templateId = customization?.templateId;
  const found = await mailTemplates.find({ kind, ...(templateId ? { templateId } : {}) }, facts);
  if ("problem" in found) return found;
  const { subject, text, html } = fillAll(found.template, facts);
  const secrets = [secret.secret, encodeURIComponent(secret.secret)];
  return { id: payload.id, to, ...senderIn(secret), subject, text, html, secrets };
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
        deliverySmtpResponse: reply,
        deliveryProcessingTimeMillis: String(Math.max(0, now - queuedAt)),
      };
      // Always later than the Send event, even if the clock shows the same millisecond or was set back.
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

/** Gives up a mail that no server has accepted and that is no longer of use. */
const dropped = (context: Context, reason: string): JobResult =>
  bounced(
    context,
    context.mailer.identify({ id: context.payload.id, ...senderIn(context.secret) }),
    "Transient",
    reason,
  );

/** What is shown of a failure that is the operator's concern. */
const UNREACHED = "the mail server could not be reached, or did not accept mail";

const senderIn = ({ sender }: Pick<MailContent, "sender">) => (sender === undefined ? {} : { sender });

function deferred(
  context: Context,
  { reason, diagnosticCode = UNREACHED }: Extract<MailOutcome, { result: "deferred" }>,
): JobResult {
  const { payload, attempts, clock, log } = context;
  const { id: mailId, expiresAt } = payload;
  const now = clock();
  log.info({ mailId, attempts: attempts + 1, reason }, "a mail has not been accepted yet");
  if (now >= expiresAt) return dropped(context, diagnosticCode);
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

/** Skips deleted organizations, whose mails may not be erased yet. */
const selectMail = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db
    .selectFrom("mails")
    .innerJoin("organizations", "organizations.id", "mails.organization_id")
    .select(["mails.message_id", "mails.created_at", "organizations.parent_id"])
    .where("mails.organization_id", "=", organizationId)
    .where("mails.id", "=", id)
    .where("organizations.deleted_at", "is", null),
);
