/** The interface of senders of text messages. */

export interface SmsMessage {
  /** An identifier's letters, digits and dashes. It stays the same in all attempts to send a message. */
  id: string;
  /** E.164. */
  to: string;
  text: string;
}

/** The result of one attempt. Reasons are for the operator and contain nothing of the message. */
export type SmsOutcome =
  | { result: "accepted" }
  /** The message can never be delivered. */
  | { result: "refused"; reason: string }
  /** A temporary failure, or wrong settings. */
  | { result: "deferred"; reason: string };

export interface SmsSender {
  /** Makes one attempt, in bounded time. Never rejects because of a gateway. */
  send(message: SmsMessage): Promise<SmsOutcome>;
}
