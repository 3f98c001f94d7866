import { loginSecrets } from "../../providers/mail/smtp.ts";
import { hostsIn } from "../../storage/postgres-urls.ts";
import type { Config } from "../config.ts";

/** Shorter secrets could match parts of ordinary words. */
const SHORTEST = 4;

/** Removes our secrets, which others may repeat, such as a mail server in its error; and control characters, which could move the cursor. */
export function withoutSecrets(text: string, config: Config): string {
  let clean = text;
  for (const secret of secretsOf(config)) clean = clean.replaceAll(secret, "***");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  return clean.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}

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
  ].filter((secret) => secret !== undefined && secret.length >= SHORTEST) as string[];
  const base64 = (value: string) => Buffer.from(value).toString("base64");
  const login = loginSecrets(messages.smtp?.auth).filter((secret) => secret.length >= SHORTEST);
  // The longest first, because one may be part of another.
  return [...login, ...plain.flatMap((secret) => [secret, encodeURIComponent(secret), base64(secret)])].sort(
    (one, other) => other.length - one.length,
  );
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
