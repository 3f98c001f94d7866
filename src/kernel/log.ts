import { type DestinationStream, type Logger, pino } from "pino";
import { LogOutput } from "./log-output.ts";

export type { Logger } from "pino";

/**
 * Writes JSON lines. Callers log identifiers and outcomes, never stamps, codes, bundles or keys. `redact` is a second safeguard, for
 * objects that are logged whole.
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
  return pino(options, destination ?? standardOutput());
}

/** Shared by all loggers of a process, so that their lines are in order. */
let output: LogOutput | undefined;

function standardOutput(): LogOutput {
  output ??= new LogOutput(1);
  return output;
}
