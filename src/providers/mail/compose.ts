import type { SendMailOptions } from "nodemailer";
import type { MailIdentity, MailMessage } from "./mailer.ts";
import { domainOf, type SenderRules, senderOf } from "./sender.ts";

/** The Message-ID derives from the mail's id; SES gives it back with its events. */
export function identityOf({ id, sender }: Pick<MailMessage, "id" | "sender">, rules: SenderRules): MailIdentity {
  const { address } = senderOf(sender, rules).from;
  return { from: address, messageId: `${id}@${domainOf(address)}` };
}

/** The mail in the words of nodemailer. Nothing in it can begin a header of its own, name a second recipient, or have a file read. */
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
    // RFC 3834: nobody's out-of-office note is to answer it.
    headers: { "Auto-Submitted": "auto-generated" },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const oneLine = (text: string): string => text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, " ").trim();
