import { type Change, effectsOf } from "../../authority/changes.ts";
import { keyOf } from "../../authority/state.ts";
import type { LoadedParts } from "../../authority/view.ts";
import { MAX_KNOWN_PARTS } from "../../kernel/limits.ts";
import { type Known, knowsTogether, type Reader } from "../../storage/engine.ts";
import type { CredentialLookup, Holder } from "../identity/credential-kind.ts";

/**
 * What the functions of one transaction know of the authority together: each change is applied to it by the pure rules, so that the next
 * function need not ask for what it was told already. With the transaction it is gone.
 */
export interface KnownAuthority {
  /** Parts of the state by organization. */
  readonly parts: Map<string, LoadedParts>;
  /** Who holds a credential, by what it was looked up by. */
  readonly holders: Map<string, readonly Holder[]>;
}

/** The tables that say who may do what. */
export const AUTHORITY_TABLES = [
  "organizations",
  "organization_features",
  "root_quorum_members",
  "users",
  "verified_contacts",
  "api_keys",
  "authenticators",
  "oauth_providers",
  "tags",
  "user_tag_members",
  "private_key_tag_members",
  "policies",
  "mfa_policies",
  "session_profiles",
  "ip_allowlists",
  "invitations",
  "smart_contract_interfaces",
  "revocations",
  "private_keys",
  "wallets",
  "secrets",
] as const;

export const knownAuthority: Known<KnownAuthority> = {
  tables: new Set([...AUTHORITY_TABLES, "organization_quotas"]),
  create: () => ({ parts: new Map(), holders: new Map() }),
};

/** The parts that are loaded by organization: those of the transaction, or none yet. */
export function partsKnownTo(read: Reader): Map<string, LoadedParts> {
  if (!knowsTogether(read)) return new Map();
  const { parts } = read.known(knownAuthority);
  const count = [...parts.values()].reduce((sum, { size }) => sum + size, 0);
  if (count > MAX_KNOWN_PARTS) parts.clear();
  return parts;
}

/** Who holds a credential of a table, as the functions of the transaction know it; `find` asks the database. */
export async function holdersKnownTo<Found extends Holder>(
  read: Reader,
  table: "api_keys" | "authenticators",
  { organizationId, key, reach }: CredentialLookup,
  find: () => Promise<readonly Found[]>,
): Promise<readonly Found[]> {
  if (!knowsTogether(read) || reach !== "organization") return find();
  const name = JSON.stringify([table, organizationId, key]);
  const known = read.known(knownAuthority).holders.get(name);
  if (known) return known as readonly Found[];
  const found = await find();
  read.known(knownAuthority).holders.set(name, found);
  return found;
}

/** Parts that organizations share: a change in one of them is a change in the others. */
const SHARED = new Set(["contactHolder"]);

/** Applies changes of an organization that the tables have been told of. */
export function applyChanges(known: KnownAuthority, organizationId: string, changes: readonly Change[]): void {
  const own = known.parts.get(organizationId);
  if (changes.some(isOfPolicies)) countPolicyChange(known, organizationId);
  for (const change of changes) {
    for (const effect of effectsOf(change)) {
      const key = keyOf(effect.part);
      if (SHARED.has(effect.part.kind)) for (const parts of known.parts.values()) parts.delete(key);
      if (!own) continue;
      if ("becomes" in effect) own.set(key, effect.becomes);
      // What was not looked at is not known, and stays so.
      else if (own.has(key)) own.set(key, effect.reduce(own.get(key)));
    }
    for (const [key, holders] of known.holders) {
      const after = holdersAfter(holders, organizationId, change);
      if (after) known.holders.set(key, after);
      else known.holders.delete(key);
    }
  }
}

/** Whether it changes policies. Those that are made together raise the organization's version of them by one. */
export const isOfPolicies = (change: Change): boolean =>
  change.do === "addPolicies" || change.do === "changePolicy" || change.do === "removePolicies";

function countPolicyChange({ holders: known }: KnownAuthority, organizationId: string): void {
  const after = (holder: Holder): Holder => {
    const { organization } = holder;
    if (organization.id !== organizationId) return holder;
    return { ...holder, organization: { ...organization, policiesVersion: organization.policiesVersion + 1 } };
  };
  for (const [key, holders] of known) known.set(key, holders.map(after));
}

/** Who holds a credential after a change in an organization; undefined where it must be asked for. */
function holdersAfter(
  holders: readonly Holder[],
  organizationId: string,
  change: Change,
): readonly Holder[] | undefined {
  if (isBesideHolders[change.do]) return holders;
  if (change.do === "changeUser") {
    const { userId, name } = change;
    const isMeant = ({ actor }: Holder) => actor.organizationId === organizationId && actor.userId === userId;
    if (name === undefined) return holders;
    return holders.map((holder) =>
      isMeant(holder) ? { ...holder, actor: { ...holder.actor, userName: name } } : holder,
    );
  }
  // Nobody may hold it yet, and by this come to do so.
  const isOf = ({ organization, actor }: Holder) =>
    [organization.id, organization.parentId, actor.organizationId].includes(organizationId);
  return holders.length === 0 || holders.some(isOf) ? undefined : holders;
}

/** Whether a change has nothing to do with who holds which credential and what is known of them. */
const isBesideHolders: Record<Change["do"], boolean> = {
  addTag: true,
  changeTag: true,
  removeTag: true,
  attachTag: true,
  detachTag: true,
  addUser: true,
  changeUser: false,
  verifyContact: true,
  unverifyContact: true,
  loseContact: true,
  removeUser: false,
  addApiKeys: false,
  removeApiKeys: false,
  addAuthenticators: false,
  removeAuthenticators: false,
  addOauthProviders: true,
  removeOauthProviders: true,
  addMfaPolicy: false,
  changeMfaPolicy: true,
  removeMfaPolicy: false,
  addPolicies: true,
  changePolicy: true,
  removePolicies: true,
  addPrivateKeys: true,
  removePrivateKeys: true,
  markPrivateKeyExported: true,
  addWallet: true,
  renameWallet: true,
  markWalletExported: true,
  removeWallets: true,
  addSecrets: true,
  markSecretsExported: true,
  removeSecrets: true,
  addSessionProfile: true,
  putAllowlist: false,
  removeAllowlist: false,
  addInvitation: true,
  revokeInvitation: true,
  acceptInvitation: true,
  addInterface: true,
  removeInterface: true,
  // What passkeys may be used on is one.
  setFeatures: false,
  removeFeature: false,
  setRootQuorum: false,
};
