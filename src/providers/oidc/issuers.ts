import { boundedTurns } from "../../delivery/bounded-turns.ts";
import type { Clock } from "../../kernel/clock.ts";
import {
  ISSUER_FAILURE_PAUSE_MS,
  ISSUER_TIMEOUT_MS,
  MAX_ISSUER_FETCHES,
  MAX_ISSUER_FETCHES_OF_ONE_ORGANIZATION,
  MAX_KNOWN_ISSUER_BYTES,
  MAX_KNOWN_ISSUERS,
  MAX_WAITING_ISSUER_FETCHES,
  UNKNOWN_KEY_PAUSE_MS,
} from "../../kernel/limits.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import { fetchKeysOf, type IssuerFetching, IssuerProblem } from "./issuer-document.ts";
import { type KeySet, keySetOf } from "./key-set.ts";

/** The keys of issuers, kept for a while. */
export interface Issuers {
  /**
   * The keys with which tokens of this issuer that name the key `kid`, or none, are verified. All who ask at one time share one
   * look at the issuer. Of one organization few wait for looks at others, and not for long.
   *
   * @throws IssuerProblem
   */
  keysFor(issuer: string, kid: string | undefined, organizationId: string): Promise<KeySet>;
}

/** What the last look at an issuer came to. */
type Known = { askedAt: number; until: number; keySet: KeySet; bytes: number };
type Failed = { askedAt: number; until: number; problem: IssuerProblem };
type Look = Known | Failed;

/** What was asked later than now was asked before the clock was set back, and would stand for as long as it was set back. */
const stands = ({ askedAt, until }: Pick<Look, "askedAt" | "until">, now: number): boolean =>
  askedAt <= now && now < until;

/** The installation itself, whose keys are at hand: it may not be able to reach its own public URL. */
export interface OwnIssuer {
  issuer: () => string;
  /** A JWK Set. */
  keys: () => Promise<{ keys: object[] }>;
}

export function createIssuers(options: IssuerFetching & { clock: Clock; own?: OwnIssuer | undefined }): Issuers {
  const { clock, own } = options;
  const known = recentlyUsed<Known>({
    entries: MAX_KNOWN_ISSUERS,
    bytes: MAX_KNOWN_ISSUER_BYTES,
    // Imported keys take about as much again as their text.
    sizeOf: ({ bytes }, issuer) => 1024 + 2 * issuer.length + 2 * bytes,
  });
  // By themselves: anybody can name issuers that there are none of.
  const failed = recentlyUsed<Failed>({
    entries: MAX_KNOWN_ISSUERS,
    bytes: MAX_KNOWN_ISSUER_BYTES,
    sizeOf: (_, issuer) => 1024 + 2 * issuer.length,
  });
  const inTurn = boundedTurns(
    {
      perKey: MAX_ISSUER_FETCHES_OF_ONE_ORGANIZATION,
      total: MAX_ISSUER_FETCHES,
      inside: MAX_WAITING_ISSUER_FETCHES,
      waitMs: ISSUER_TIMEOUT_MS,
    },
    () => {
      throw new IssuerProblem(
        "is of an issuer that cannot be asked for its keys: too many others are being asked",
        true,
      );
    },
  );
  const asking = new Map<string, Promise<Look>>();

  /** The last look, if it answers this question still. */
  const standing = (issuer: string, kid: string | undefined): Look | undefined => {
    const look = known.get(issuer);
    const now = clock();
    if (look && stands(look, now) && (look.keySet.mayHave(kid) || now < look.askedAt + UNKNOWN_KEY_PAUSE_MS))
      return look;
    const failure = failed.get(issuer);
    return failure && stands(failure, now) ? failure : undefined;
  };

  const look = async (issuer: string): Promise<Look> => {
    const askedAt = clock();
    const before = known.get(issuer);
    try {
      const { keySet, lifetimeMs, bytes } = await fetchKeysOf(issuer, options);
      const found = { askedAt, until: askedAt + lifetimeMs, keySet, bytes };
      known.set(issuer, found);
      failed.forget(issuer);
      return found;
    } catch (problem) {
      if (!(problem instanceof IssuerProblem)) throw problem;
      // Keys that still stand serve on; only the unknown one is not to be had for now.
      if (before && clock() < before.until) {
        const kept = { ...before, askedAt };
        known.set(issuer, kept);
        return kept;
      }
      const failedAt = clock();
      const failure = { askedAt: failedAt, until: failedAt + ISSUER_FAILURE_PAUSE_MS, problem };
      failed.set(issuer, failure);
      return failure;
    }
  };

  /** Issuers that had keys before have turns of their own, which no stranger's token of an invented one takes. */
  const placeOf = (issuer: string, organizationId: string): string =>
    known.get(issuer) ? `${organizationId} known` : organizationId;

  const shared = (issuer: string): Promise<Look> => {
    const asked = asking.get(issuer);
    if (asked) return asked;
    const begun = look(issuer).finally(() => asking.delete(issuer));
    asking.set(issuer, begun);
    return begun;
  };

  return {
    async keysFor(issuer, kid, organizationId) {
      if (issuer === own?.issuer()) return keySetOf(await own.keys()) as KeySet;
      const found =
        standing(issuer, kid) ??
        (await (asking.get(issuer) ??
          // While it waited for its turn, another may have asked this issuer.
          inTurn(placeOf(issuer, organizationId), () => standing(issuer, kid) ?? shared(issuer))));
      if ("problem" in found) throw found.problem;
      return found.keySet;
    },
  };
}
