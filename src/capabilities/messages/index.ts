import { capability } from "../../engine/capability.ts";
import { listEmailEvents } from "./list-email-events.ts";
import { pruneEmailEvents } from "./prune.ts";
import { sendMail } from "./send-mail.ts";
import { sendSms } from "./send-sms.ts";

export { createSesReceiver } from "./ses.ts";

export const messages = capability({
  title: "Messages",
  operations: [listEmailEvents],
  jobs: [sendMail, sendSms, pruneEmailEvents],
  // Jobs that are still to send a mail find none then, and finish.
  erases: ["mails"],
  large: ["mails"],
  keeps: { email_events: "its parent reads what became of the mail; they are pruned after a month" },
});
