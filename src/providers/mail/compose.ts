import type { SendMailOptions } from "nodemailer";
import type { MailIdentity, MailMessage } from "./mailer.ts";
import { domainOf, type SenderRules, senderOf } from "./sender.ts";

/** The Message-ID is derived from the mail's id. SES includes it in its events. */
export function identityOf({ id, sender }: Pick<MailMessage, "id" | "sender">, rules: SenderRules): MailIdentity {
  const { address } = senderOf(sender, rules).from;
  return { from: address, messageId: `${id}@${domainOf(address)}` };
}

/** The mail as nodemailer's options. No value can add a header, a recipient, or the content of a file. */
export function composed(message: MailMessage, rules: SenderRules): SendMailOptions {
  const { to, subject, text, html } = message;
  const { from, replyTo } = senderOf(message.sender, rules);
  return {
    envelope: { from: from.address, to: [to] },
    messageId: `<${identityOf(message, rules).messageId}>`,
    from: { address: from.address, name: oneLine(from.name) },
    to: { address: to, name: "" },
    ...(replyTo === undefined ? {} : { replyTo: { address: replyTo, name: "" } }),
    subject: oneLine(subject),
    text,
    html,
    // RFC 3834: prevents out-of-office replies.
    headers: { "Auto-Submitted": "auto-generated" },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const oneLine = (text: string): string => text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, " ").trim();
