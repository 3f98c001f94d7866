import { writeWhole } from "../write-file.ts";
import { composed, identityOf } from "./compose.ts";
import { INVALID_ADDRESS, type Mailer } from "./mailer.ts";
import { isMailbox, type SenderRules } from "./sender.ts";

/** Writes each mail as an `.eml` file, for installations without a mail server. A file appears only when it is complete. */
export function createOutboxMailer({ folder, rules }: { folder: string; rules: SenderRules }): Mailer {
  let problem: string | undefined;
  return {
    acceptanceIsDelivery: true,
    problem: () => problem,
    close: async () => {},
    identify: (message) => identityOf(message, rules),
    async send(message) {
      const identity = identityOf(message, rules);
      if (!isMailbox(message.to)) return { result: "bounced", identity, diagnosticCode: INVALID_ADDRESS };
      try {
        // Loaded with the first mail, because its modules are slow to load at startup.
        const { default: MailComposer } = await import("nodemailer/lib/mail-composer");
        const bytes = await new MailComposer(composed(message, rules)).compile().build();
        // If the process dies before it reports the mail, the next attempt writes the same file.
        await writeWhole(folder, `${message.id}.eml`, bytes);
        problem = undefined;
        return { result: "accepted", identity, reply: "250 written to the outbox" };
      } catch (error) {
        problem = `the outbox cannot be written: ${(error as Error).message}`;
        return { result: "deferred", identity, reason: problem };
      }
    },
  };
}
