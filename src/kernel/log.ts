import { type DestinationStream, type Logger, pino } from "pino";

export type { Logger } from "pino";

/**
 * JSON lines. Callers log identifiers and outcomes, never stamps, codes, bundles or keys; `redact` is the second net below
 * that rule, for objects logged whole.
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: {
      paths: [
        "x-stamp",
        "x-stamp-webauthn",
        "x-session",
        "passphrase",
        "privateKey",
        "credentialBundle",
        "rootKey",
      ].flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
      censor: "[redacted]",
    },
  };
  return destination ? pino(options, destination) : pino(options);
}
