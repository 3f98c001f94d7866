import type { RequestedSender } from "./mailer.ts";

/** An address with the name shown beside it. */
export interface Mailbox {
  address: string;
  name: string;
}

export interface SenderRules {
  /** The service's own. */
  from: Mailbox;
  /** Domains in lowercase from whose addresses requests may have mail sent. */
  domains: readonly string[];
}

export interface Sender {
  from: Mailbox;
  replyTo?: string;
}

/** Shown for a sender of an allowed domain who gives no name. */
const DEFAULT_NAME = "Notifications";

/**
 * Who a mail comes from. A requested address counts where its domain is allowed; otherwise it, its name and the reply-to are
 * ignored together. A reply-to must be of an allowed domain as well.
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

// RFC 5321: dot-atoms, with the letters of RFC 6531. Quoted local parts are left out: nobody has them, and they hide characters.
const ATOM = "[\\p{L}\\p{N}!#$%&'*+/=?^_`{|}~-]+";
const LABEL = "[\\p{L}\\p{N}](?:[\\p{L}\\p{N}-]{0,61}[\\p{L}\\p{N}])?";
const MAILBOX = new RegExp(`^${ATOM}(?:\\.${ATOM})*@${LABEL}(?:\\.${LABEL})*$`, "u");
const MAX_ADDRESS_LENGTH = 254;

/** Whether an address can stand in a header and in an SMTP command as it is. */
export const isMailbox = (address: string): boolean => address.length <= MAX_ADDRESS_LENGTH && MAILBOX.test(address);

/** Reads `address` or `Name <address>`. */
export function parseMailbox(text: string): Mailbox | undefined {
  const [, name = "", bracketed] = /^([^<>]*)<([^<>]*)>$/.exec(text.trim()) ?? [];
  const address = bracketed ?? text.trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (!isMailbox(address) || /[\u0000-\u001f\u007f]/.test(name)) return undefined;
  return { address, name: name.trim().replace(/^"(.*)"$/, "$1") };
}
