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
 * Writes changes of authority to the tables; the few others that write these tables are named by test/authority/writers.test.ts. It is the
 * engine's, not the storage's, as what a change means is not known below.
 */
export function project(tx: Transactor, organizationId: string, changes: readonly Change[]): Promise<void> {
  return tx.changing(knownAuthority, async (known) => {
    await write(tx, organizationId, changes);
    applyChanges(known, organizationId, changes);
  });
}

/** One for each kind of change: a kind without one does not compile. */
const writers: Writers = {
  ...tagWriters,
  ...userWriters,
  ...credentialWriters,
  ...policyWriters,
  ...keyAndWalletWriters,
  ...organizationWriters,
};

async function write(tx: Transactor, organizationId: string, changes: readonly Change[]): Promise<void> {
  const touched = new Map<string, number>();
  for (const change of changes) {
    // On SQLite nothing else has the event loop go round. No turn is waited for: others wait for this transaction.
    if (isRoundLong()) await nextTurn();
    await (writers[change.do] as Writer)(tx, organizationId, change);
    for (const { userId, now } of touchedBy(change)) touched.set(userId, now);
  }
  await touchUsers(tx, organizationId, touched);
  if (changes.some(isOfPolicies)) await raisePoliciesVersion(tx, organizationId);
}

/** Changes the organization as `rules` decide, in a transaction that does more than that. */
export async function changeAuthority(
  tx: Transactor,
  organizationId: string,
  rules: (draft: Draft) => void,
): Promise<readonly Change[]> {
  const changes = await onAuthority(tx, organizationId, (view) => changesOn(view, rules));
  await project(tx, organizationId, changes);
  return changes;
}

/** The same of an organization that is being made, in which there is nothing yet. */
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
 * The users whose own state a change is part of, as its effects say: they are shown, judged and cached under a version. What changes
 * the user's row itself raises the version with it.
 */
function touchedBy(change: Change): { userId: string; now: number }[] {
  if (change.do === "changeUser" || !("now" in change)) return [];
  const { now } = change;
  return effectsOf(change).flatMap((effect) =>
    effect.part.kind === "user" && "reduce" in effect ? [{ userId: effect.part.id, now }] : [],
  );
}
