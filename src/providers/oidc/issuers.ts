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
  SHARE_OF_KNOWN_ISSUER_BYTES,
  UNKNOWN_KEY_PAUSE_MS,
} from "../../kernel/limits.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import { fetchKeysOf, type IssuerFetching, IssuerProblem } from "./issuer-document.ts";
import { type KeySet, keySetOf } from "./key-set.ts";

/** A cache of issuers' keys. */
export interface Issuers {
  /**
   * The keys for verifying such tokens. Concurrent callers share one fetch. The calls of one organization that wait for fetches are bounded
   * in number and time.
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
  /** Keys that do not verify the token. They are returned again if it is too early to ask the issuer for others. */
  tried?: KeySet | undefined;
}

/** The result of the last fetch from an issuer. */
type Known = { askedAt: number; until: number; keySet: KeySet; bytes: number };
type Failed = { askedAt: number; until: number; problem: IssuerProblem };
type Look = Known | Failed;

/**
 * A fetch with a later time than now was made before the clock was set back. It must not count, because it would stay cached for that much
 * longer.
 */
const stands = ({ askedAt, until }: Pick<Look, "askedAt" | "until">, now: number): boolean =>
  askedAt <= now && now < until;

/** The installation itself as an issuer. Its keys are available locally, because it may not be able to reach its own public URL. */
export interface OwnIssuer {
  issuer: () => string;
  /** A JWK Set. */
  keys: () => Promise<{ keys: object[] }>;
}

export function createIssuers(options: IssuerFetching & { clock: Clock; own?: OwnIssuer | undefined }): Issuers {
  const { clock, own } = options;
  // Anybody can name issuers with large documents, so no organization may evict the keys that another one uses. Nor may many new
  // organizations, each with a little, evict those of older ones: their identifiers tell which are older.
  const known = fairlyKept<Known>({
    bytes: MAX_KNOWN_ISSUER_BYTES,
    share: SHARE_OF_KNOWN_ISSUER_BYTES,
    isOver: (look) => !stands(look, clock()),
    // Imported keys take about as much memory again as their text.
    sizeOf: ({ bytes }, issuer) => 1024 + 2 * issuer.length + 2 * bytes,
  });
  // Cached separately, because anybody can name issuers that do not exist.
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

  /** The last result, if it still answers this question. */
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
      // Known keys that have not expired remain usable. Only the unknown key is not available for now.
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

  /** Issuers with known keys have a separate queue, so that tokens with invented issuers do not delay them. */
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
      // While this call waited for its turn, another may have fetched from the issuer.
      const inItsTurn = () => standing(question) ?? shared(issuer, organizationId);
      const found =
        standing(question) ?? (await (asking.get(issuer) ?? inTurn(placeOf(issuer, organizationId), inItsTurn)));
      if ("problem" in found) throw found.problem;
      return found.keySet;
    },
  };
}
