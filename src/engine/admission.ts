import { createHash } from "node:crypto";
import { ByteRoom } from "../kernel/byte-room.ts";
import { failForNow, KeysteadError } from "../kernel/errors.ts";
import { networkOf } from "../kernel/ip-address.ts";
import {
  BYTES_PER_TOKEN,
  DENIALS_OF_ONE_ORGANIZATION,
  DENIALS_OF_ONE_USER,
  MAX_IDENTIFICATIONS_OF_ONE_SENDER,
  MAX_RATE_BUCKETS,
  MAX_READ_BYTES,
  MAX_READ_BYTES_OF_ONE_ORGANIZATION,
  MAX_REQUESTS_OF_ONE_ORGANIZATION,
  OTHERS_REMEMBERED_ANSWERS,
  OTHERS_REMEMBERED_MS,
  RATE_BURST_SECONDS,
  REQUESTS_THAT_NEVER_WAIT,
  SHARED_REQUEST_COUNTED_MS,
  SMALL_MESSAGE_BYTES,
} from "../kernel/limits.ts";
import { Places } from "../kernel/places.ts";
import { type RecentlyUsed, recentlyUsed } from "../kernel/recently-used.ts";
import { SharedPlaces } from "../kernel/shared-places.ts";
import { TokenBuckets } from "../kernel/token-buckets.ts";
import { turn } from "../kernel/turns.ts";
import type { Principal } from "./identity/authenticate.ts";

/** Requests a second; 0 is any number. */
export interface Rates {
  organization: number;
  credential: number;
  /** Failed authentications from one address. */
  failures: number;
}

/**
 * How much of the server each of its clients may take. Requests are counted when it is known whose they are: those of an
 * organization and of a credential, and those that fail to authenticate by the address they come from. Large ones count for
 * more. Of one organization so many are worked on at a time, fewer while others send too: what is in hand already comes before what
 * they send. All of it is counted by each server for itself.
 */
export class Admission {
  readonly #rates: Rates;
  readonly #organizations: TokenBuckets;
  readonly #credentials: TokenBuckets;
  readonly #failures: TokenBuckets;
  readonly #identifying = new Places(MAX_IDENTIFICATIONS_OF_ONE_SENDER);
  readonly #working: SharedPlaces;
  readonly #reading = new ByteRoom({ inAll: MAX_READ_BYTES, ofOneKey: MAX_READ_BYTES_OF_ONE_ORGANIZATION });
  readonly #denials: { ofOrganizations: TokenBuckets; ofUsers: TokenBuckets };
  /**
   * Credentials that were verified lately, each at its address: strangers who fail there do not lock them out, and who knows a public key
   * is let through by its name nowhere else.
   */
  readonly #verified: RecentlyUsed<true> = recentlyUsed({ entries: MAX_RATE_BUCKETS });

  /**
   * @param sharedRequests how many are worked on at a time while several organizations send
   * @param now milliseconds of a clock that never goes back
   */
  constructor(rates: Rates, sharedRequests: number, now: () => number = () => performance.now()) {
    const buckets = (perSecond: number) =>
      new TokenBuckets({ perSecond, burst: perSecond * RATE_BURST_SECONDS }, MAX_RATE_BUCKETS, now);
    this.#rates = rates;
    this.#working = new SharedPlaces(
      {
        atMost: MAX_REQUESTS_OF_ONE_ORGANIZATION,
        together: sharedRequests,
        always: REQUESTS_THAT_NEVER_WAIT,
        countedMs: SHARED_REQUEST_COUNTED_MS,
        rememberedMs: OTHERS_REMEMBERED_MS,
        rememberedVisits: OTHERS_REMEMBERED_ANSWERS,
      },
      now,
    );
    this.#denials = {
      ofOrganizations: new TokenBuckets(perSecondOf(DENIALS_OF_ONE_ORGANIZATION), MAX_RATE_BUCKETS, now),
      ofUsers: new TokenBuckets(perSecondOf(DENIALS_OF_ONE_USER), MAX_RATE_BUCKETS, now),
    };
    this.#organizations = buckets(rates.organization);
    this.#credentials = buckets(rates.credential);
    this.#failures = buckets(rates.failures);
  }

  /**
   * Waits for the turn of a request whose stamp is not verified yet, and resolves to what ends it. Whose credential the stamp
   * names is only said, so that senders at other addresses do not share its turns.
   */
  identify(address: string | undefined, credentialKey: string): Promise<() => void> {
    return this.#identifying.enter(senderOf(address, credentialKey));
  }

  /** @throws KeysteadError RATE_LIMITED where too many requests of the address have failed, unless this credential is known there */
  refuseFailing(address: string | undefined, credentialKey: string): void {
    if (this.#rates.failures === 0 || this.#verified.get(senderOf(address, credentialKey))) return;
    const seconds = this.#failures.secondsUntilOne(originOf(address));
    if (seconds > 0) failForNow("RATE_LIMITED", { reason: "too many of this address failed to authenticate" }, seconds);
  }

  /** Counts a request that ended before it was known whose it is, unless that was the server's own fault or came of an allowlist. */
  countFailure(error: unknown, address: string | undefined, bodyBytes: number): void {
    const isFailure = error instanceof KeysteadError && (error.httpStatus === 401 || error.httpStatus === 400);
    if (isFailure && this.#rates.failures > 0) this.#failures.take(originOf(address), tokensOf(bodyBytes));
  }

  /**
   * Counts an activity that is about to be stored as denied.
   *
   * @throws KeysteadError RATE_LIMITED where so many were denied that no more are stored
   */
  countDenial(organizationId: string, userId: string): void {
    const { ofOrganizations, ofUsers } = this.#denials;
    const seconds = ofUsers.take(`${organizationId} ${userId}`, 1) || ofOrganizations.take(organizationId, 1);
    if (seconds > 0) failForNow("RATE_LIMITED", { reason: "too many activities were denied; this one too" }, seconds);
  }

  /**
   * Takes on a request whose stamp was verified; resolves when its turn has come, to what ends it.
   *
   * @throws KeysteadError RATE_LIMITED
   */
  async enter(
    { organization, credentialKey }: Principal,
    address: string | undefined,
    bodyBytes: number,
  ): Promise<() => void> {
    this.#verified.set(senderOf(address, credentialKey.key), true);
    const name = shortNameOf(credentialKey.key);
    const tokens = tokensOf(bodyBytes);
    const { credential, organization: ofOrganization } = this.#rates;
    take(this.#credentials, credential, `${organization.id} ${name}`, tokens, "this credential");
    take(this.#organizations, ofOrganization, organization.id, tokens, "this organization");
    return this.#working.enter(organization.id);
  }

  /** Waits until there is room for what a request of the organization is about to read, and resolves to what gives it back. */
  async reading(organizationId: string, bytes: number): Promise<() => void> {
    const leave = await this.#reading.enter(organizationId, bytes);
    // Large answers would otherwise follow on one another without a pause, and nobody else's request be looked at.
    if (bytes > SMALL_MESSAGE_BYTES) await turn();
    return leave;
  }
}

function take(buckets: TokenBuckets, rate: number, key: string, tokens: number, whose: string): void {
  if (rate === 0) return;
  const seconds = buckets.take(key, tokens);
  if (seconds > 0) failForNow("RATE_LIMITED", { reason: `${whose} may send ${rate} requests a second` }, seconds);
}

const LONG = 128;

/** What a credential is remembered by; tokens may be long. */
const shortNameOf = (credentialKey: string): string =>
  credentialKey.length > LONG ? createHash("sha256").update(credentialKey).digest("base64") : credentialKey;

const senderOf = (address: string | undefined, credentialKey: string): string =>
  `${originOf(address)} ${shortNameOf(credentialKey)}`;

const perSecondOf = ({ perHour, burst }: { perHour: number; burst: number }) => ({ perSecond: perHour / 3600, burst });

const originOf = (address: string | undefined): string => networkOf(address ?? "");

const tokensOf = (bytes: number): number => 1 + Math.floor(bytes / BYTES_PER_TOKEN);
