import { keyOf, type PartKind, type PartRef } from "../../authority/state.ts";
import { type AuthorityView, type LoadedParts, PartsNotLoaded, viewOf, viewThrough } from "../../authority/view.ts";
import { nextTurn } from "../../kernel/next-turn.ts";
import { isRoundLong } from "../../kernel/turns.ts";
import type { Reader } from "../../storage/engine.ts";
import { partsKnownTo } from "./known.ts";
import { credentialLoaders } from "./load/credentials.ts";
import { keyAndWalletLoaders } from "./load/keys-and-wallets.ts";
import type { Loaders, PartLoader } from "./load/loaders.ts";
import { organizationLoaders } from "./load/organization.ts";
import { policyLoaders } from "./load/policies.ts";
import { tagLoaders } from "./load/tags.ts";
import { userLoaders } from "./load/users.ts";

/** Reads the state of authority from the tables, part by part, as rules need it. */

/** A loader for each kind of part: a kind without one does not compile. */
const loaders: Loaders = {
  ...tagLoaders,
  ...userLoaders,
  ...credentialLoaders,
  ...policyLoaders,
  ...keyAndWalletLoaders,
  ...organizationLoaders,
};

/** Parts that an organization shares with its parent and the parent's other sub-organizations; the quotas are shared by all organizations. */
const SHARED: ReadonlySet<PartKind> = new Set(["contactHolder", "quotas"]);

/** The state of an organization that is being created: empty, except for parts that it shares with others. */
const emptyState = (organizationId: string, shared: AuthorityView): AuthorityView =>
  viewThrough(organizationId, (kind, ids) =>
    SHARED.has(kind) ? shared.parts(kind, ids) : ids.map(() => loaders[kind].absent),
  );

/** Runs `rules` on the state of an organization that is being created; its own row exists already. */
export const onNewAuthority = <T>(
  read: Reader,
  organizationId: string,
  rules: (view: AuthorityView) => T,
): Promise<T> => onAuthority(read, organizationId, (view) => rules(emptyState(organizationId, view)));

/** Rules need a few kinds of parts one after the other; more rounds than this are a bug. */
const MAX_ROUNDS = 50;

/**
 * Runs `rules` on the organization's state and loads the parts that they need and the transaction does not know yet. The rules may run
 * several times. `viewOn` gives access to another organization, such as a parent with the session profiles.
 */
export async function onAuthority<T>(
  read: Reader,
  organizationId: string,
  rules: (view: AuthorityView, viewOn: (organizationId: string) => AuthorityView) => T,
): Promise<T> {
  const loaded = partsKnownTo(read);
  const loadedOf = (id: string): LoadedParts => {
    const parts = loaded.get(id) ?? new Map();
    loaded.set(id, parts);
    return parts;
  };
  const viewOn = (id: string) => viewOf(id, loadedOf(id));
  for (let round = 0; round < MAX_ROUNDS; round++) {
    try {
      return rules(viewOn(organizationId), viewOn);
    } catch (error) {
      if (!(error instanceof PartsNotLoaded)) throw error;
      await loadInto(loadedOf(error.organizationId), read, error.organizationId, error.refs);
      // The rules of all functions of a transaction load in advance at the same time.
      if (isRoundLong()) await nextTurn();
    }
  }
  throw new Error(`rules on organization ${organizationId} asked for more than ${MAX_ROUNDS} rounds of parts`);
}

/** Reads parts of the current state into `loaded`. */
export async function loadInto(
  loaded: LoadedParts,
  read: Reader,
  organizationId: string,
  refs: readonly PartRef[],
): Promise<void> {
  const load = async (kind: PartKind, some: readonly PartRef[]) => {
    const loader = loaders[kind] as PartLoader<PartKind>;
    const found = await loader.load(
      read,
      organizationId,
      some.map(({ id }) => id),
    );
    for (const ref of some) loaded.set(keyOf(ref), found.has(ref.id) ? found.get(ref.id) : loader.absent);
  };
  await Promise.all([...Map.groupBy(refs, (ref) => ref.kind)].map(([kind, some]) => load(kind, some)));
}
