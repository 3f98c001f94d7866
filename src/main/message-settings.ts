import { join } from "node:path";
import type { OutboundClient } from "../delivery/outbound.ts";
import { checkOutboundUrl } from "../delivery/url-rules.ts";
import type { Services } from "../engine/services.ts";
import { createOutboxMailer } from "../providers/mail/outbox.ts";
import { parseMailbox, type SenderRules } from "../providers/mail/sender.ts";
import { createSmtpMailer, parseSmtpUrl, type SmtpServer } from "../providers/mail/smtp.ts";
import { createGatewaySms, createTwilioSms, type TwilioAccount } from "../providers/sms/http-sms.ts";
import { createOutboxSms } from "../providers/sms/outbox.ts";
import { createTemplates } from "../providers/templates/templates.ts";

/** The settings for sending mail and text messages. */

export interface MessageSettings {
  /** Without one, mail is written to files. */
  smtp: SmtpServer | undefined;
  rules: SenderRules;
  /** Without either, text messages are written to files. */
  sms: { by: "gateway"; url: string } | { by: "twilio"; account: TwilioAccount } | { by: "files" };
  ses: SesSettings;
}

export interface SesSettings {
  /** The topics whose events are accepted; if empty, the endpoint is disabled. */
  topicArns: readonly string[];
  /** Hosts of certificates in addition to Amazon's, with their ports; for development only. */
  certificateHosts: readonly string[];
}

export interface GivenMessageSettings {
  smtpUrl?: string | undefined;
  mailFrom?: string | undefined;
  mailSenderDomains?: string[] | undefined;
  smsUrl?: string | undefined;
  twilioUrl?: string | undefined;
  twilioAccountSid?: string | undefined;
  twilioAuthToken?: string | undefined;
  twilioFrom?: string | undefined;
  sesTopicArns?: string[] | undefined;
  sesCertificateHosts?: string[] | undefined;
}

type Refuse = (setting: keyof GivenMessageSettings, problem: string) => never;

const OUTBOX_SENDER = "Keystead <keystead@localhost>";
const TWILIO_URL = "https://api.twilio.com";
const DOMAIN = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/;
const TOPIC_ARN = /^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}$/;
const HOST_AND_PORT = /^[a-z0-9.-]+(:[0-9]{1,5})?$/;

/** Combines the settings. `refuse` receives the first problem, without the setting's value, which may contain a password. */
export function messageSettingsOf(
  given: GivenMessageSettings,
  allowPrivateNetworks: boolean,
  refuse: Refuse,
): MessageSettings {
  const smtp = given.smtpUrl === undefined ? undefined : smtpServerOf(given.smtpUrl, refuse);
  if (smtp && given.mailFrom === undefined) refuse("mailFrom", "must be set if KEYSTEAD_SMTP_URL is set");
  const from =
    parseMailbox(given.mailFrom ?? OUTBOX_SENDER) ?? refuse("mailFrom", "must be an address, or `Name <address>`");
  const domains = (given.mailSenderDomains ?? []).map((domain) => domain.toLowerCase());
  if (!domains.every((domain) => DOMAIN.test(domain)))
    refuse("mailSenderDomains", "must be domains such as example.com");
  const { sesTopicArns: topicArns = [], sesCertificateHosts: certificateHosts = [] } = given;
  if (!topicArns.every((arn) => TOPIC_ARN.test(arn))) refuse("sesTopicArns", "must be ARNs of SNS topics");
  if (certificateHosts.length > 0 && !allowPrivateNetworks) {
    refuse("sesCertificateHosts", "is for development only: it requires KEYSTEAD_ALLOW_PRIVATE_NETWORKS=true");
  }
  if (!certificateHosts.every((host) => HOST_AND_PORT.test(host)))
    refuse("sesCertificateHosts", "must be hosts, optionally with ports");
  return {
    smtp,
    rules: { from, domains },
    sms: smsOf(given, allowPrivateNetworks, refuse),
    ses: { topicArns, certificateHosts },
  };
}

function smtpServerOf(url: string, refuse: Refuse): SmtpServer {
  const parsed = parseSmtpUrl(url);
  return "problem" in parsed ? refuse("smtpUrl", parsed.problem) : parsed.server;
}

function smsOf(given: GivenMessageSettings, allowPrivateNetworks: boolean, refuse: Refuse): MessageSettings["sms"] {
  const { smsUrl, twilioUrl, twilioAccountSid, twilioAuthToken, twilioFrom } = given;
  const twilio = { twilioAccountSid, twilioAuthToken, twilioFrom };
  const names = Object.keys(twilio) as (keyof typeof twilio)[];
  const usesTwilio = twilioUrl !== undefined || names.some((name) => twilio[name] !== undefined);
  if (smsUrl !== undefined && usesTwilio) refuse("smsUrl", "cannot be set together with the settings for Twilio");
  const checkUrl = (setting: "smsUrl" | "twilioUrl", url: string): string => {
    const checked = checkOutboundUrl(url, { allowPrivateNetworks });
    return "problem" in checked ? refuse(setting, checked.problem) : url;
  };
  if (smsUrl !== undefined) return { by: "gateway", url: checkUrl("smsUrl", smsUrl) };
  if (!usesTwilio) return { by: "files" };
  const required = (name: keyof typeof twilio): string =>
    twilio[name] ?? refuse(name, "must be set together with the other settings for Twilio");
  const account = {
    url: checkUrl("twilioUrl", twilioUrl ?? TWILIO_URL),
    accountSid: required("twilioAccountSid"),
    authToken: required("twilioAuthToken"),
    from: required("twilioFrom"),
  };
  return { by: "twilio", account };
}

/** The services that send messages. Files go to `<dataDir>/outbox/`; templates come from `<dataDir>/templates/`. */
export function messageServices(
  { smtp, rules, sms, ses }: MessageSettings,
  dataDir: string,
  outbound: OutboundClient,
  onAttempt: (kind: "mail" | "sms", outcome: string) => void,
): Pick<Services, "mailer" | "sms" | "mailTemplates"> {
  const folder = join(dataDir, "outbox");
  // Amazon's events report deliveries more precisely than its SMTP reply, which is therefore not used for that.
  const acceptanceIsDelivery = ses.topicArns.length === 0;
  const mailer = smtp
    ? createSmtpMailer({ server: smtp, rules, acceptanceIsDelivery })
    : createOutboxMailer({ folder, rules });
  const smsSender =
    sms.by === "gateway"
      ? createGatewaySms(outbound, sms.url)
      : sms.by === "twilio"
        ? createTwilioSms(outbound, sms.account)
        : createOutboxSms(folder);
  return {
    mailer: { ...mailer, send: counted(mailer, (outcome) => onAttempt("mail", outcome)) },
    sms: { send: counted(smsSender, (outcome) => onAttempt("sms", outcome)) },
    mailTemplates: createTemplates(join(dataDir, "templates")),
  };
}

/** `send` of a sender, whose outcomes are reported. */
function counted<Message, Outcome extends { result: string }>(
  sender: { send(message: Message): Promise<Outcome> },
  onOutcome: (outcome: string) => void,
): (message: Message) => Promise<Outcome> {
  return async (message) => {
    const outcome = await sender.send(message);
    onOutcome(outcome.result);
    return outcome;
  };
}
