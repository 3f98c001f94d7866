/** Shorter secrets could match parts of ordinary words. */
const SHORTEST_SECRET = 4;

/** A text of others without these secrets of ours, which they may repeat. */
export const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    // The longest first, because one may be part of another.
    .toSorted((one, other) => other.length - one.length)
    .reduce((open, secret) => open.replaceAll(secret, "***"), text);

export const inBase64 = (text: string): string => Buffer.from(text).toString("base64");

/** A secret as it is, and as protocols send it. */
export const formsOf = (secret: string): string[] => [secret, encodeURIComponent(secret), inBase64(secret)];
