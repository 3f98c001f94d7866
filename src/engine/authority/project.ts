import { type Change, effectsOf } from "../../authority/changes.ts";
import { changesOn, type Draft } from "../../authority/view.ts";
import { nextTurn } from "../../kernel/next-turn.ts";
import { isRoundLong } from "../../kernel/turns.ts";
import type { Transactor } from "../../storage/engine.ts";
import { applyChanges, isOfPolicies, knownAuthority } from "./known.ts";
import { onAuthority, onNewAuthority } from "./load.ts";
import { credentialWriters } from "./project/credentials.ts";
import { keyAndWalletWriters } from "./project/keys-and-wallets.ts";
import { organizationWriters } from "./project/organization.ts";
import { policyWriters, raisePoliciesVersion } from "./project/policies.ts";
import { tagWriters } from "./project/tags.ts";
import { touchUsers, userWriters } from "./project/users.ts";
import type { Writer, Writers } from "./project/writers.ts";

/**
 * Writes changes of authority to the tables. test/authority/writers.test.ts lists the few other writers of these tables. It belongs to the
 * engine because the storage layer does not know what a change means.
 */
export function project(tx: Transactor, organizationId: string, changes: readonly Change[]): Promise<void> {
  return tx.changing(knownAuthority, async (known) => {
    await write(tx, organizationId, changes);
    applyChanges(known, organizationId, changes);
  });
}

/** A writer for each kind of change: a kind without one does not compile. */
const writers: Writers = {
  ...tagWriters,
  ...userWriters,
  ...credentialWriters,
  ...policyWriters,
  ...keyAndWalletWriters,
  ...organizationWriters,
};

export const kindsOfChanges = Object.keys(writers) as Change["do"][];

async function write(tx: Transactor, organizationId: string, changes: readonly Change[]): Promise<void> {
  const touched = new Map<string, number>();
  for (const change of changes) {
    // On SQLite nothing else yields to the event loop. It does not queue for a turn, because other requests wait for this transaction.
    if (isRoundLong()) await nextTurn();
    await (writers[change.do] as Writer)(tx, organizationId, change);
    for (const { userId, now } of touchedBy(change)) touched.set(userId, now);
  }
  await touchUsers(tx, organizationId, touched);
  if (changes.some(isOfPolicies)) await raisePoliciesVersion(tx, organizationId);
}

/** Makes the changes that `rules` return, in a transaction that does other work as well. */
export async function changeAuthority(
  tx: Transactor,
  organizationId: string,
  rules: (draft: Draft) => void,
): Promise<readonly Change[]> {
  const changes = await onAuthority(tx, organizationId, (view) => changesOn(view, rules));
  await project(tx, organizationId, changes);
  return changes;
}

/** Like `changeAuthority`, for an organization that is being created. */
export async function fillAuthority(
  tx: Transactor,
  organizationId: string,
  rules: (draft: Draft) => void,
): Promise<readonly Change[]> {
  const changes = await onNewAuthority(tx, organizationId, (view) => changesOn(view, rules));
  await project(tx, organizationId, changes);
  return changes;
}

/**
 * The users whose state a change affects, according to its effects. Users are cached by version, so theirs must be incremented; a change of
 * the user's own row does that itself.
 */
function touchedBy(change: Change): { userId: string; now: number }[] {
  if (change.do === "changeUser" || !("now" in change)) return [];
  const { now } = change;
  return effectsOf(change).flatMap((effect) =>
    effect.part.kind === "user" && "reduce" in effect ? [{ userId: effect.part.id, now }] : [],
  );
}
