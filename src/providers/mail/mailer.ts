import { insideAddressesIn } from "../../delivery/inside-addresses.ts";
import { withoutSecrets } from "../../kernel/without-secrets.ts";

/** The interface of mail senders. */

export interface MailMessage {
  /** An identifier's letters, digits and dashes. It stays the same in all attempts to send a mail, and determines its Message-ID. */
  id: string;
  /** A single address. */
  to: string;
  /** The requested sender. Without one, or if the sender rules do not allow it, the mail comes from the service's own address. */
  sender?: RequestedSender;
  subject: string;
  text: string;
  html: string;
  /** Texts in it that are for its recipient alone. They are removed from what servers answer. */
  secrets: readonly string[];
}

/** A sender that a request names. */
export interface RequestedSender {
  address?: string;
  name?: string;
  replyTo?: string;
}

/** How the recipient, and anybody who asks about a mail, can identify it. */
export interface MailIdentity {
  /** The sender's address. */
  from: string;
  /** The id in the server's reply. If there is none, that of the Message-ID header. */
  messageId: string;
}

/** The result of one attempt. Texts from servers are shortened to one printable line without secrets. */
export type MailOutcome =
  /** The server has accepted the mail. */
  | { result: "accepted"; identity: MailIdentity; reply: string }
  /** The mail can never be delivered: the server rejected it (5xx), or the address is invalid. */
  | { result: "bounced"; identity: MailIdentity; diagnosticCode: string }
  /**
   * A temporary failure: 4xx, no answer, no connection, or wrong settings. `reason` is for the operator; `diagnosticCode` is what the server says
   * of this mail, if it says anything, for whoever asked for it.
   */
  | { result: "deferred"; identity: MailIdentity; reason: string; diagnosticCode?: string };

export interface Mailer {
  /** Whether acceptance by the server counts as delivery. Otherwise the delivery is reported separately. */
  readonly acceptanceIsDelivery: boolean;
  /** The identity of a mail before a server has given it an id. */
  identify(message: Pick<MailMessage, "id" | "sender">): MailIdentity;
  /** Makes one attempt, in bounded time. Never rejects because of a server. */
  send(message: MailMessage): Promise<MailOutcome>;
  /** Why the last attempt failed, for the operator, if that was not because of the mail: no connection, no answer, a failed login, a full disk. */
  problem(): string | undefined;
  /** Aborts open attempts and refuses further ones. */
  close(): Promise<void>;
}

/** Text of a mail server for whoever asked for the mail: also without addresses and names of the operator's network. */
export const shownReply = (text: string, secrets: readonly string[]): string =>
  printableLine(text, [...secrets, ...insideAddressesIn(text)]);

/** The diagnostic code for an invalid address, which is not sent to any server. */
export const INVALID_ADDRESS = "553 5.1.3 the address is not valid";

const MAX_REPLY_LENGTH = 300;

/** Text of others as one line of printable ASCII, without these secrets, which they may repeat; then shortened. */
export const printableLine = (text: string, secrets: readonly string[]): string =>
  withoutSecrets(text.replace(/[^\x20-\x7e]+/g, " ").trim(), secrets).slice(0, MAX_REPLY_LENGTH);
