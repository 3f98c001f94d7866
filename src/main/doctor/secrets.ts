import { formsOf, withoutSecrets } from "../../kernel/without-secrets.ts";
import { loginSecrets } from "../../providers/mail/smtp.ts";
import { hostsIn } from "../../storage/postgres-urls.ts";
import type { Config } from "../config.ts";

/** Removes our secrets, which others may repeat, such as a mail server in its error; and control characters, which could move the cursor. */
export const safeToShow = (text: string, config: Config): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  withoutSecrets(text, secretsOf(config)).replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, " ");

function secretsOf({ rootKeyPassphrase, databaseUrl, messages, turnstile, swaps, audit }: Config): string[] {
  const { sms } = messages;
  const plain = [
    rootKeyPassphrase,
    passwordIn(databaseUrl),
    sms.by === "twilio" ? sms.account.authToken : undefined,
    sms.by === "gateway" ? sms.url : undefined,
    turnstile?.secret,
    swaps?.apiKey,
    audit?.https?.token,
  ].filter((secret) => secret !== undefined);
  return [...loginSecrets(messages.smtp?.auth), ...plain.flatMap(formsOf)];
}

function passwordIn(databaseUrl: string): string | undefined {
  if (databaseUrl.startsWith("sqlite:")) return undefined;
  const { password } = URL.parse(hostsIn(databaseUrl).urls[0]) ?? {};
  if (!password) return undefined;
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}
