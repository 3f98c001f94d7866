import { Type } from "typebox";
import { findOrganization } from "../../engine/identity/organizations.ts";
import { type JobContext, type JobResult, job } from "../../engine/jobs/jobs.ts";
import type { SmsOutcome } from "../../providers/sms/sms-sender.ts";
import { fill } from "../../providers/templates/render.ts";
import { nextAttempt } from "./attempts.ts";
import { SmsContent, smsFacts, smsTemplate } from "./model.ts";
import { QueuedMessage, SEND_SMS, withGate } from "./store.ts";

/** Sends a text message. Text messages have no events, so failures are only logged. */
export const sendSms = job({
  name: SEND_SMS,
  payload: QueuedMessage,
  secret: Type.Object({ ...SmsContent.properties, to: Type.String() }),
  needs: ["sms"],
  concurrent: true,
  async run(context): Promise<JobResult> {
    const { payload, secret, sms, database, clock } = context;
    const { id, organizationId, expiresAt, isForNobody } = payload;
    if (isForNobody) return { next: { do: "finish" } };
    const startedAt = clock();
    if (startedAt >= expiresAt) return dropped(context, "it was not accepted before its content expired");
    const organization = await findOrganization(database.read, organizationId);
    if (organization === undefined) return { next: { do: "finish" } };
    const outcome = await sms.send({ id, to: secret.to, text: fill(smsTemplate(secret), smsFacts(secret)) });
    const now = clock();
    const { parentId } = organization;
    return withGate(resultOf(context, outcome, now), SEND_SMS, { organizationId, id, parentId }, now - startedAt);
  },
});

type Context = JobContext<QueuedMessage, "sms", never, SmsContent & { to: string }>;

function resultOf(context: Context, outcome: SmsOutcome, now: number): JobResult {
  const { payload, attempts, log } = context;
  const { id, expiresAt } = payload;
  if (outcome.result === "accepted") return { next: { do: "finish" } };
  const { reason } = outcome;
  if (outcome.result === "refused" || now >= expiresAt) return dropped(context, reason);
  log.info({ smsId: id, attempts: attempts + 1, reason }, "a text message has not been accepted yet");
  return { next: nextAttempt({ attempts, expiresAt, now }), reason };
}

function dropped({ payload: { id, organizationId }, log }: Context, reason: string): JobResult {
  log.warn({ smsId: id, organizationId, reason }, "a text message could not be sent");
  return { next: { do: "finish" } };
}
