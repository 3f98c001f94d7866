import { type Change, effectsOf } from "../../authority/changes.ts";
import { keyOf } from "../../authority/state.ts";
import type { LoadedParts } from "../../authority/view.ts";
import { MAX_KNOWN_PARTS } from "../../kernel/limits.ts";
import { type Known, knowsTogether, type Reader } from "../../storage/engine.ts";
import type { CredentialLookup, Holder } from "../identity/credential-kind.ts";

/**
 * The state of authority that the functions of one transaction share. The pure rules apply each change to it, so that the next function need
 * not read again what is known already. It is dropped with the transaction.
 */
export interface KnownAuthority {
  /** Parts of the state by organization. */
  readonly parts: Map<string, LoadedParts>;
  /** The holders of a credential, by look-up key. */
  readonly holders: Map<string, readonly Holder[]>;
}

/** The tables of authority. */
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

/** The loaded parts by organization: those of the transaction, or an empty map outside of one. */
export function partsKnownTo(read: Reader): Map<string, LoadedParts> {
  if (!knowsTogether(read)) return new Map();
  const { parts } = read.known(knownAuthority);
  const count = [...parts.values()].reduce((sum, { size }) => sum + size, 0);
  if (count > MAX_KNOWN_PARTS) parts.clear();
  return parts;
}

/** The holders of a credential of a table, from what the transaction knows, or else from the database by `find`. */
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

/** Parts that several organizations share: a change in one of them affects the others. */
const SHARED = new Set(["contactHolder"]);

/** Applies changes of an organization that were written to the tables. */
export function applyChanges(known: KnownAuthority, organizationId: string, changes: readonly Change[]): void {
  const own = known.parts.get(organizationId);
  if (changes.some(isOfPolicies)) countPolicyChange(known, organizationId);
  for (const change of changes) {
    for (const effect of effectsOf(change)) {
      const key = keyOf(effect.part);
      if (SHARED.has(effect.part.kind)) for (const parts of known.parts.values()) parts.delete(key);
      if (!own) continue;
      if ("becomes" in effect) own.set(key, effect.becomes);
      // Parts that were not loaded stay unknown.
      else if (own.has(key)) own.set(key, effect.reduce(own.get(key)));
    }
    for (const [key, holders] of known.holders) {
      const after = holdersAfter(holders, organizationId, change);
      if (after) known.holders.set(key, after);
      else known.holders.delete(key);
    }
  }
}

/** Whether it changes policies. All such changes of one activity together increment the organization's version of policies once. */
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

/** The holders of a credential after a change in an organization; undefined if they must be read again. */
function holdersAfter(
  holders: readonly Holder[],
  organizationId: string,
  change: Change,
): readonly Holder[] | undefined {
  if (keepsHolders[change.do]) return holders;
  if (change.do === "changeUser") {
    const { userId, name } = change;
    const isMeant = ({ actor }: Holder) => actor.organizationId === organizationId && actor.userId === userId;
    if (name === undefined) return holders;
    return holders.map((holder) =>
      isMeant(holder) ? { ...holder, actor: { ...holder.actor, userName: name } } : holder,
    );
  }
  // The change may give a credential its first holder.
  const isOf = ({ organization, actor }: Holder) =>
    [organization.id, organization.parentId, actor.organizationId].includes(organizationId);
  return holders.length === 0 || holders.some(isOf) ? undefined : holders;
}

/** Whether what is known of credentials' holders is still right after a change of this kind. */
const keepsHolders: Record<Change["do"], boolean> = {
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
  // One feature decides from which origins passkeys may be used.
  setFeatures: false,
  removeFeature: false,
  setRootQuorum: false,
};
