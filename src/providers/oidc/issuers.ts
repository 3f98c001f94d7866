import { boundedTurns } from "../../delivery/bounded-turns.ts";
import type { Clock } from "../../kernel/clock.ts";
import { fairlyKept } from "../../kernel/fairly-kept.ts";
import {
  ISSUER_FAILURE_PAUSE_MS,
  ISSUER_TIMEOUT_MS,
  MAX_ISSUER_FETCHES,
  MAX_ISSUER_FETCHES_OF_ONE_ORGANIZATION,
  MAX_KNOWN_ISSUER_BYTES,
  MAX_UNUSABLE_ISSUERS,
  MAX_WAITING_ISSUER_FETCHES,
  UNKNOWN_KEY_PAUSE_MS,
} from "../../kernel/limits.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import { fetchKeysOf, type IssuerFetching, IssuerProblem } from "./issuer-document.ts";
import { type KeySet, keySetOf } from "./key-set.ts";

/** The keys of issuers, kept for a while. */
export interface Issuers {
  /**
   * The keys with which such tokens are verified. All who ask at one time share one look at the issuer. Of one organization few wait
   * for looks at others, and not for long.
   *
   * @throws IssuerProblem
   */
  keysFor(question: Question): Promise<KeySet>;
}

interface Question {
  issuer: string;
  /** The key that the token names, or none. */
  kid: string | undefined;
  organizationId: string;
  /** Keys that the token was not signed with; they are answered again where it is too early to ask the issuer for others. */
  tried?: KeySet | undefined;
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
  // Anybody can name issuers with large documents: no organization drives out what another one uses.
  const known = fairlyKept<Known>({
    bytes: MAX_KNOWN_ISSUER_BYTES,
    // Imported keys take about as much again as their text.
    sizeOf: ({ bytes }, issuer) => 1024 + 2 * issuer.length + 2 * bytes,
  });
  // By themselves: anybody can name issuers that there are none of.
  const failed = recentlyUsed<Failed>({
    entries: MAX_UNUSABLE_ISSUERS,
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
  const standing = ({ issuer, kid, organizationId, tried }: Question): Look | undefined => {
    const look = known.use(issuer, organizationId);
    const now = clock();
    if (look && stands(look, now)) {
      const mayServe = look.keySet !== tried && look.keySet.mayHave(kid);
      if (mayServe || now < look.askedAt + UNKNOWN_KEY_PAUSE_MS) return look;
    }
    const failure = failed.get(issuer);
    return failure && stands(failure, now) ? failure : undefined;
  };

  const look = async (issuer: string, organizationId: string): Promise<Look> => {
    const askedAt = clock();
    const before = known.look(issuer);
    try {
      const { keySet, lifetimeMs, bytes } = await fetchKeysOf(issuer, options);
      const found = { askedAt, until: askedAt + lifetimeMs, keySet, bytes };
      known.set(issuer, found, organizationId);
      failed.forget(issuer);
      return found;
    } catch (problem) {
      if (!(problem instanceof IssuerProblem)) throw problem;
      // Keys that still stand serve on; only the unknown one is not to be had for now.
      if (before && clock() < before.until) {
        const kept = { ...before, askedAt };
        known.set(issuer, kept, organizationId);
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
    known.look(issuer) ? `${organizationId} known` : organizationId;

  const shared = (issuer: string, organizationId: string): Promise<Look> => {
    const asked = asking.get(issuer);
    if (asked) return asked;
    const begun = look(issuer, organizationId).finally(() => asking.delete(issuer));
    asking.set(issuer, begun);
    return begun;
  };

  return {
    async keysFor(question) {
      const { issuer, organizationId } = question;
      if (issuer === own?.issuer()) return question.tried ?? (keySetOf(await own.keys()) as KeySet);
      // While it waited for its turn, another may have asked this issuer.
      const inItsTurn = () => standing(question) ?? shared(issuer, organizationId);
      const found =
        standing(question) ?? (await (asking.get(issuer) ?? inTurn(placeOf(issuer, organizationId), inItsTurn)));
      if ("problem" in found) throw found.problem;
      return found.keySet;
    },
  };
}
