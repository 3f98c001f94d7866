/** Short messages to phones. */

export interface SmsMessage {
  /** Of the letters, digits and dashes of an identifier; the same message keeps it over all attempts. */
  id: string;
  /** E.164. */
  to: string;
  text: string;
}

/** What became of one attempt; reasons are for the operator and hold nothing of the message. */
export type SmsOutcome =
  | { result: "accepted" }
  /** It will never be taken. */
  | { result: "refused"; reason: string }
  /** Not now, or the settings are at fault. */
  | { result: "deferred"; reason: string };

export interface SmsSender {
  /** One attempt, within a bounded time. Never rejects for what a gateway does. */
  send(message: SmsMessage): Promise<SmsOutcome>;
}
