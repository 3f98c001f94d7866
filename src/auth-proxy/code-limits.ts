import { findVerifiedHolder } from "../engine/identity/contacts.ts";
import type { ProxyCall, ProxyConfig } from "../engine/proxy-call.ts";
import { failForNow } from "../kernel/errors.ts";
import { networkOf } from "../kernel/ip-address.ts";
import { MAX_RATE_BUCKETS } from "../kernel/limits.ts";
import { TokenBuckets } from "../kernel/token-buckets.ts";
import type { Reader } from "../storage/engine.ts";

/** How many codes per hour people without a credential may request; 0 means no limit. */
export interface CodesPerHour {
  /** From one IP address, to any contacts. */
  ofAddress: number;
  /** For an organization, to contacts that nobody has verified. */
  toNewContacts: number;
}

interface Start {
  read: Reader;
  config: ProxyConfig;
  remoteAddress: string | undefined;
  contact: ReturnType<NonNullable<ProxyCall["sendsCodeTo"]>>;
}

const HOUR_SECONDS = 3600;

/**
 * Each code costs the organization an email or a text message, and annoys its receiver if they did not request it. The limit of three in
 * three minutes per contact does not stop a caller who uses many contacts. So the server also counts the codes per IP address and, for each
 * organization, those to contacts that nobody has verified. People with an account can therefore sign in no matter how many codes strangers
 * request.
 */
export class CodeLimits {
  readonly #ofAddress: TokenBuckets | undefined;
  readonly #toNewContacts: TokenBuckets | undefined;

  constructor({ ofAddress, toNewContacts }: CodesPerHour, elapsed: () => number) {
    const buckets = (perHour: number) =>
      perHour === 0
        ? undefined
        : new TokenBuckets({ perSecond: perHour / HOUR_SECONDS, burst: perHour }, MAX_RATE_BUCKETS, elapsed);
    this.#ofAddress = buckets(ofAddress);
    this.#toNewContacts = buckets(toNewContacts);
  }

  /** @throws KeysteadError RATE_LIMITED */
  async count({ read, config, remoteAddress, contact }: Start): Promise<void> {
    const { organizationId, settings } = config;
    refuseFor(this.#ofAddress?.take(networkOf(remoteAddress ?? ""), 1), "too many codes were sent for this address");
    if (!this.#toNewContacts) return;
    // If the organization hides who has an account, codes to all contacts count, because the limit would otherwise reveal it.
    const isHidden = settings.verificationTokenRequiredForGetAccountPii === true;
    if (!isHidden && (await findVerifiedHolder(read, organizationId, contact))) return;
    refuseFor(this.#toNewContacts.take(organizationId, 1), "too many codes were sent to new contacts");
  }
}

function refuseFor(seconds: number | undefined, reason: string): void {
  if (seconds !== undefined && seconds > 0) failForNow("RATE_LIMITED", { reason }, seconds);
}
