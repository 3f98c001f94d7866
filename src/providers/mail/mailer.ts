/** Mail, as whoever has something to say hands it over. */

export interface MailMessage {
  /** Of the letters, digits and dashes of an identifier. The same mail keeps it over all attempts; its Message-ID derives from it. */
  id: string;
  /** One address. */
  to: string;
  /** Who it is to come from; without it, and where the sender rules forbid it, it comes from the service's own address. */
  sender?: RequestedSender;
  subject: string;
  text: string;
  html: string;
}

/** A sender as a request names it. */
export interface RequestedSender {
  address?: string;
  name?: string;
  replyTo?: string;
}

/** How a mail is known to its recipient and to who asks about it. */
export interface MailIdentity {
  /** The sender's address. */
  from: string;
  /** The id in the server's reply or, where there is none, that of the Message-ID header. */
  messageId: string;
}

/** What became of one attempt. Texts of servers are shortened to a printable line. */
export type MailOutcome =
  /** The server took it over. */
  | { result: "accepted"; identity: MailIdentity; reply: string }
  /** It will never be taken: the server said so (5xx), or the address cannot be written to at all. */
  | { result: "bounced"; identity: MailIdentity; diagnosticCode: string }
  /** Not now: 4xx, no answer, no connection, or a fault of the settings. `reason` is for the operator. */
  | { result: "deferred"; identity: MailIdentity; reason: string };

export interface Mailer {
  /** Whether what a server accepted counts as delivered; otherwise somebody else tells of the delivery. */
  readonly acceptanceIsDelivery: boolean;
  /** As what a mail goes out, before any server has given it an id. */
  identify(message: Pick<MailMessage, "id" | "sender">): MailIdentity;
  /** One attempt, within a bounded time. Never rejects for what a server does. */
  send(message: MailMessage): Promise<MailOutcome>;
  /** Cuts off the attempts that are open, and those to come. */
  close(): Promise<void>;
}

/** The diagnostic code of an address that no server is to be asked about. */
export const INVALID_ADDRESS = "553 5.1.3 the address is not valid";

const MAX_REPLY_LENGTH = 300;

/** One line of printable ASCII, bounded, of whatever somebody else wrote. */
export const printableLine = (text: string): string =>
  text
    .replace(/[^\x20-\x7e]+/g, " ")
    .trim()
    .slice(0, MAX_REPLY_LENGTH);
