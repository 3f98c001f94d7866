import { findVerifiedHolder } from "../engine/identity/contacts.ts";
import type { ProxyCall, ProxyConfig } from "../engine/proxy-call.ts";
import { failForNow } from "../kernel/errors.ts";
import { networkOf } from "../kernel/ip-address.ts";
import { MAX_RATE_BUCKETS } from "../kernel/limits.ts";
import { TokenBuckets } from "../kernel/token-buckets.ts";
import type { Reader } from "../storage/engine.ts";

/** How many codes strangers may have sent; 0 is any number. */
export interface CodesPerHour {
  /** Of one address, to whatever contacts. */
  ofAddress: number;
  /** Of an organization, to contacts that nobody has verified. */
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
 * Each code costs the organization a mail or a text message, and whoever gets it unasked their peace. Three in three minutes for a contact
 * keep nobody from asking for many contacts; so those of one address are counted, and of an organization those to contacts that are
 * nobody's yet: whoever has an account gets in whatever strangers ask for.
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
    // Where strangers are not to learn who has an account, all count alike.
    const isHidden = settings.verificationTokenRequiredForGetAccountPii === true;
    if (!isHidden && (await findVerifiedHolder(read, organizationId, contact))) return;
    refuseFor(this.#toNewContacts.take(organizationId, 1), "too many codes were sent to new contacts");
  }
}

function refuseFor(seconds: number | undefined, reason: string): void {
  if (seconds !== undefined && seconds > 0) failForNow("RATE_LIMITED", { reason }, seconds);
}
