import { Type } from "typebox";
import { findOrganization } from "../../engine/identity/organizations.ts";
import { type JobResult, job } from "../../engine/jobs/jobs.ts";
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
  async run({ payload, secret, sms, database, clock, attempts, log }): Promise<JobResult> {
    const { id, organizationId, expiresAt, isForNobody } = payload;
    if (isForNobody) return { next: { do: "finish" } };
    const dropped = (reason: string): JobResult => {
      log.warn({ smsId: id, organizationId, reason }, "a text message could not be sent");
      return { next: { do: "finish" } };
    };
    const startedAt = clock();
    if (startedAt >= expiresAt) return dropped("it was not accepted before its content expired");
    const organization = await findOrganization(database.read, organizationId);
    if (organization === undefined) return { next: { do: "finish" } };
    const outcome = await sms.send({ id, to: secret.to, text: fill(smsTemplate(secret), smsFacts(secret)) });
    const now = clock();
    const result = (): JobResult => {
      switch (outcome.result) {
        case "accepted":
          return { next: { do: "finish" } };
        case "refused":
          return dropped(outcome.reason);
        case "deferred":
          if (now >= expiresAt) return dropped(outcome.reason);
          log.info(
            { smsId: id, attempts: attempts + 1, reason: outcome.reason },
            "a text message has not been accepted yet",
          );
          return { next: nextAttempt({ attempts, expiresAt, now }), reason: outcome.reason };
      }
    };
    const { parentId } = organization;
    return withGate(result(), SEND_SMS, { organizationId, id, parentId }, now - startedAt);
  },
});
