import { createGate } from "../../delivery/gate.ts";
import type { Clock } from "../../kernel/clock.ts";
import {
  ISSUER_FAILURE_PAUSE_MS,
  MAX_ISSUER_FETCHES,
  MAX_ISSUER_FETCHES_OF_ONE_ORGANIZATION,
  MAX_KNOWN_ISSUER_BYTES,
  MAX_KNOWN_ISSUERS,
  UNKNOWN_KEY_PAUSE_MS,
} from "../../kernel/limits.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import { fetchKeysOf, type IssuerFetching, IssuerProblem } from "./issuer-document.ts";
import { type KeySet, keySetOf } from "./key-set.ts";

/** The keys of issuers, kept for a while. */
export interface Issuers {
  /**
   * The keys with which tokens of this issuer that name the key `kid`, or none, are verified. All who ask at one time share one
   * look at the issuer; who has the most unknown issuers asked waits the longest.
   *
   * @throws IssuerProblem
   */
  keysFor(issuer: string, kid: string | undefined, organizationId: string): Promise<KeySet>;
}

/** What the last look at an issuer came to. */
type Look = { askedAt: number; until: number } & ({ keySet: KeySet; bytes: number } | { problem: IssuerProblem });

/** The installation itself, whose keys are at hand: it may not be able to reach its own public URL. */
export interface OwnIssuer {
  issuer: () => string;
  /** A JWK Set. */
  keys: () => Promise<{ keys: object[] }>;
}

export function createIssuers(options: IssuerFetching & { clock: Clock; own?: OwnIssuer | undefined }): Issuers {
  const { clock, own } = options;
  const looks = recentlyUsed<Look>({
    entries: MAX_KNOWN_ISSUERS,
    bytes: MAX_KNOWN_ISSUER_BYTES,
    // Imported keys take about as much again as their text.
    sizeOf: (look, issuer) => 1024 + 2 * issuer.length + ("keySet" in look ? 2 * look.bytes : 0),
  });
  const gate = createGate({ perKey: MAX_ISSUER_FETCHES_OF_ONE_ORGANIZATION, total: MAX_ISSUER_FETCHES });
  const asking = new Map<string, Promise<Look>>();

  /** The last look, if it answers this question still. */
  const standing = (issuer: string, kid: string | undefined): Look | undefined => {
    const look = looks.get(issuer);
    const now = clock();
    if (!look || now >= look.until) return undefined;
    if ("problem" in look || look.keySet.mayHave(kid)) return look;
    return now < look.askedAt + UNKNOWN_KEY_PAUSE_MS ? look : undefined;
  };

  const look = async (issuer: string): Promise<Look> => {
    const askedAt = clock();
    const before = looks.get(issuer);
    const found = await fetchKeysOf(issuer, options).then(
      ({ keySet, lifetimeMs, bytes }): Look => ({ askedAt, until: askedAt + lifetimeMs, keySet, bytes }),
      (problem: unknown): Look => {
        if (!(problem instanceof IssuerProblem)) throw problem;
        // Keys that still stand serve on; only the unknown one is not to be had for now.
        if (before && "keySet" in before && clock() < before.until) return { ...before, askedAt };
        return { askedAt, until: clock() + ISSUER_FAILURE_PAUSE_MS, problem };
      },
    );
    looks.set(issuer, found);
    return found;
  };

  const shared = (issuer: string): Promise<Look> => {
    const known = asking.get(issuer);
    if (known) return known;
    const begun = look(issuer).finally(() => asking.delete(issuer));
    asking.set(issuer, begun);
    return begun;
  };

  return {
    async keysFor(issuer, kid, organizationId) {
      if (issuer === own?.issuer()) return keySetOf(await own.keys()) as KeySet;
      const known =
        standing(issuer, kid) ??
        (await (asking.get(issuer) ??
          // While it waited for its turn, another may have asked this issuer.
          gate.run(organizationId, () => standing(issuer, kid) ?? shared(issuer))));
      if ("problem" in known) throw known.problem;
      return known.keySet;
    },
  };
}
