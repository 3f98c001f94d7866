import { Type } from "typebox";
import { type JobResult, job } from "../../engine/jobs/jobs.ts";
import { fill } from "../../providers/templates/render.ts";
import { nextAttempt } from "./attempts.ts";
import { SmsContent, smsFacts, smsTemplate } from "./model.ts";
import { QueuedMessage, SEND_SMS } from "./store.ts";

/** Sends a text message. Text messages have no events, so failures are only logged. */
export const sendSms = job({
  name: SEND_SMS,
  payload: QueuedMessage,
  secret: Type.Object({ ...SmsContent.properties, to: Type.String() }),
  needs: ["sms"],
  concurrent: true,
  async run({ payload, secret, sms, clock, attempts, log }): Promise<JobResult> {
    const { id, organizationId, expiresAt, isForNobody } = payload;
    if (isForNobody) return { next: { do: "finish" } };
    const dropped = (reason: string): JobResult => {
      log.warn({ smsId: id, organizationId, reason }, "a text message could not be sent");
      return { next: { do: "finish" } };
    };
    if (clock() >= expiresAt) return dropped("it was not accepted before its content expired");
    const outcome = await sms.send({ id, to: secret.to, text: fill(smsTemplate(secret), smsFacts(secret)) });
    const now = clock();
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
  },
});
