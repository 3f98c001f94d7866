import { DOCTOR_STEP_MS } from "../../kernel/limits.ts";
import { smtpProblem } from "../../providers/mail/smtp.ts";
import type { Config } from "../config.ts";
import { type Finding, fail, ok } from "./finding.ts";

/** Connects to the mail server and logs in. Sends no mail. */
export async function checkMail({ messages: { smtp }, dataDir }: Config): Promise<Finding> {
  if (!smtp) return ok("mail", `KEYSTEAD_SMTP_URL is not set, so mails are written to files in ${dataDir}/outbox`);
  const server = `${smtp.host}:${smtp.port}`;
  const problem = await smtpProblem(smtp, DOCTOR_STEP_MS);
  if (problem === undefined) return ok("mail", `${server} accepts mail`);
  return fail("mail", `${server} does not accept mail (${problem}); check KEYSTEAD_SMTP_URL and the mail server`);
}
