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

/** Requests per second; 0 means unlimited. */
export interface Rates {
  organization: number;
  credential: number;
  /** Failed authentications from one address. */
  failures: number;
}

/**
 * Limits how much of the server one client can use. Authenticated requests count against their organization and their credential,
 * failed authentications against the client's address; large requests count for more. It also limits how many requests of one
 * organization are processed concurrently. That limit is lower while other organizations are active, because requests already in
 * progress delay theirs. Each server counts on its own.
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
   * Recently verified credentials, by client address. Failed authentications from a shared address do not lock them out, and knowing
   * somebody's public key does not help an attacker at any other address.
   */
  readonly #verified: RecentlyUsed<true> = recentlyUsed({ entries: MAX_RATE_BUCKETS });

  /**
   * @param sharedRequests how many requests are processed at a time while several organizations are active
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
   * Waits until a request whose stamp is not verified yet may proceed, and resolves to a function that releases its slot. The
   * credential is only claimed at this point, so the queue is per address: others who claim it elsewhere do not delay its owner.
   */
  identify(address: string | undefined, credentialKey: string): Promise<() => void> {
    return this.#identifying.enter(senderOf(address, credentialKey));
  }

  /** @throws KeysteadError RATE_LIMITED if too many requests from the address failed, unless this credential was verified there recently */
  refuseFailing(address: string | undefined, credentialKey: string): void {
    if (this.#rates.failures === 0 || this.#verified.get(senderOf(address, credentialKey))) return;
    const seconds = this.#failures.secondsUntilOne(originOf(address));
    if (seconds > 0)
      failForNow("RATE_LIMITED", { reason: "too many requests from this address failed to authenticate" }, seconds);
  }

  /** Counts a request that failed before its sender was known, unless the server or an IP allowlist was the reason. */
  countFailure(error: unknown, address: string | undefined, bodyBytes: number): void {
    const isFailure = error instanceof KeysteadError && (error.httpStatus === 401 || error.httpStatus === 400);
    if (isFailure && this.#rates.failures > 0) this.#failures.take(originOf(address), tokensOf(bodyBytes));
  }

  /**
   * Counts an activity that is about to be stored as denied.
   *
   * @throws KeysteadError RATE_LIMITED if too many were denied already; the denial is then not stored
   */
  countDenial(organizationId: string, userId: string): void {
    const { ofOrganizations, ofUsers } = this.#denials;
    const seconds = ofUsers.take(`${organizationId} ${userId}`, 1) || ofOrganizations.take(organizationId, 1);
    if (seconds > 0)
      failForNow("RATE_LIMITED", { reason: "too many activities were denied, including this one" }, seconds);
  }

  /**
   * Admits a request whose stamp was verified. Resolves, once it may proceed, to a function that releases its slot.
   *
   * @throws KeysteadError RATE_LIMITED
   */
  async enter(
    { organization, credentialKey }: Principal,
    address: string | undefined,
    bodyBytes: number,
  ): Promise<() => void> {
    const sender = senderOf(address, credentialKey.key);
    if (!this.#verified.get(sender)) this.#verified.set(sender, true);
    const name = shortNameOf(credentialKey.key);
    const tokens = tokensOf(bodyBytes);
    const { credential, organization: ofOrganization } = this.#rates;
    take(this.#credentials, credential, `${organization.id} ${name}`, tokens, "this credential");
    take(this.#organizations, ofOrganization, organization.id, tokens, "this organization");
    return this.#working.enter(organization.id);
  }

  /** Waits for room for the bytes that a request of the organization is about to read; resolves to a function that releases it. */
  async reading(organizationId: string, bytes: number): Promise<() => void> {
    const leave = await this.#reading.enter(organizationId, bytes);
    // Otherwise large answers would follow each other without yielding to the event loop, and block all other requests.
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

/** The name under which a credential is remembered; tokens can be long. */
const shortNameOf = (credentialKey: string): string =>
  credentialKey.length > LONG ? createHash("sha256").update(credentialKey).digest("base64") : credentialKey;

const senderOf = (address: string | undefined, credentialKey: string): string =>
  `${originOf(address)} ${shortNameOf(credentialKey)}`;

const perSecondOf = ({ perHour, burst }: { perHour: number; burst: number }) => ({ perSecond: perHour / 3600, burst });

const originOf = (address: string | undefined): string => networkOf(address ?? "");

const tokensOf = (bytes: number): number => 1 + Math.floor(bytes / BYTES_PER_TOKEN);
