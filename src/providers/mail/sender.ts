import type { RequestedSender } from "./mailer.ts";

/** An address with a display name. */
export interface Mailbox {
  address: string;
  name: string;
}

export interface SenderRules {
  /** The service's own address. */
  from: Mailbox;
  /** Domains, in lowercase, whose addresses requests may use as senders. */
  domains: readonly string[];
}

export interface Sender {
  from: Mailbox;
  replyTo?: string;
}

/** The display name for a sender of an allowed domain without a name. */
const DEFAULT_NAME = "Notifications";

/**
 * The sender of a mail. A requested address is used if its domain is allowed. Otherwise the address, its name and the reply-to are all
 * ignored. A reply-to must also be of an allowed domain.
 */
export function senderOf(requested: RequestedSender | undefined, { from, domains }: SenderRules): Sender {
  const { address, name, replyTo } = requested ?? {};
  if (!address || !isOf(address, domains)) return { from };
  return {
    from: { address, name: name || DEFAULT_NAME },
    ...(replyTo && isOf(replyTo, domains) ? { replyTo } : {}),
  };
}

const isOf = (address: string, domains: readonly string[]): boolean =>
  isMailbox(address) && domains.includes(domainOf(address));

export const domainOf = (address: string): string => address.slice(address.lastIndexOf("@") + 1).toLowerCase();

// RFC 5321: dot-atoms, with the letters of RFC 6531. Quoted local parts are not accepted: nobody uses them, and they can hide characters.
const ATOM = "[\\p{L}\\p{N}!#$%&'*+/=?^_`{|}~-]+";
const LABEL = "[\\p{L}\\p{N}](?:[\\p{L}\\p{N}-]{0,61}[\\p{L}\\p{N}])?";
const MAILBOX = new RegExp(`^${ATOM}(?:\\.${ATOM})*@${LABEL}(?:\\.${LABEL})*$`, "u");
const MAX_ADDRESS_LENGTH = 254;

/** Whether an address can be used unchanged in a header and in an SMTP command. */
export const isMailbox = (address: string): boolean => address.length <= MAX_ADDRESS_LENGTH && MAILBOX.test(address);

/** Parses `address` or `Name <address>`. */
export function parseMailbox(text: string): Mailbox | undefined {
  const [, name = "", bracketed] = /^([^<>]*)<([^<>]*)>$/.exec(text.trim()) ?? [];
  const address = bracketed ?? text.trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (!isMailbox(address) || /[\u0000-\u001f\u007f]/.test(name)) return undefined;
  return { address, name: name.trim().replace(/^"(.*)"$/, "$1") };
}
