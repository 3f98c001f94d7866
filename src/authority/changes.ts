import {
  ALL,
  type Allowlist,
  type ApiKey,
  type Authenticator,
  type Contact,
  type ContractInterface,
  contactAt,
  type Feature,
  interfaceAt,
  type MfaPolicy,
  type OauthProvider,
  type OpenInvitation,
  type PartKind,
  type PartRef,
  type Parts,
  type Policy,
  providerAt,
  type RootQuorum,
  type SealedPrivateKey,
  type SealedSecret,
  type SealedWallet,
  type Secret,
  type SessionProfile,
  type Tag,
  type TagType,
  type User,
} from "./state.ts";

/** All changes of authority, as a closed union. Operations return them, and a single projector writes them to the tables. */
export type Change =
  | { do: "addTag"; tag: Tag }
  /** Absent members are unchanged. */
  | { do: "changeTag"; tagId: string; name?: string; now: number }
  /** Its members lose it; they are listed because their own state changes. */
  | { do: "removeTag"; tagId: string; type: TagType; memberIds: readonly string[]; now: number }
  | { do: "attachTag"; tagId: string; type: TagType; memberIds: readonly string[]; now: number }
  | { do: "detachTag"; tagId: string; type: TagType; memberIds: readonly string[]; now: number }
  | { do: "addUser"; user: User }
  /** Absent members are unchanged; a contact that is null is removed. */
  | { do: "changeUser"; userId: string; name?: string; email?: string | null; phoneNumber?: string | null; now: number }
  /** The user has proven to receive messages there; nobody else has. */
  | { do: "verifyContact"; userId: string; contact: Contact; now: number }
  | { do: "unverifyContact"; userId: string; contact: Contact }
  /** Votes made with codes sent to it are revoked. Removing it from the user is a separate change. */
  | { do: "loseContact"; userId: string; contact: Contact; now: number }
  /** With everything that belongs to them, which is listed because it can be looked up by itself. Their votes are revoked. */
  | {
      do: "removeUser";
      userId: string;
      apiKeys: readonly ApiKey[];
      authenticators: readonly Authenticator[];
      oauthProviders: readonly OauthProvider[];
      verifiedContacts: readonly Contact[];
      tagIds: readonly string[];
      now: number;
    }
  | { do: "addApiKeys"; userId: string; apiKeys: readonly ApiKey[]; now: number }
  /** Votes are revoked if a user wants the keys deleted, but not if newer keys replace them. */
  | { do: "removeApiKeys"; userId: string; apiKeys: readonly ApiKey[]; revokesVotes: boolean; now: number }
  | { do: "addAuthenticators"; userId: string; authenticators: readonly Authenticator[]; now: number }
  /** Votes made with them are revoked. */
  | { do: "removeAuthenticators"; userId: string; authenticators: readonly Authenticator[]; now: number }
  | { do: "addOauthProviders"; userId: string; oauthProviders: readonly OauthProvider[]; now: number }
  /** Votes made with them are revoked. */
  | { do: "removeOauthProviders"; userId: string; oauthProviders: readonly OauthProvider[]; now: number }
  | { do: "addMfaPolicy"; userId: string; policy: MfaPolicy; now: number }
  /** Absent members are unchanged. */
  | { do: "changeMfaPolicy"; userId: string; mfaPolicyId: string; change: MfaPolicyChange; now: number }
  | { do: "removeMfaPolicy"; userId: string; mfaPolicyId: string; now: number }
  | { do: "addPolicies"; policies: readonly Policy[] }
  /** Absent members are unchanged. */
  | { do: "changePolicy"; policyId: string; change: PolicyChange; now: number }
  | { do: "removePolicies"; policyIds: readonly string[] }
  | { do: "addPrivateKeys"; privateKeys: readonly SealedPrivateKey[] }
  /** With their tags, whose own state changes. */
  | { do: "removePrivateKeys"; privateKeys: readonly { id: string; tagIds: readonly string[] }[] }
  | { do: "markPrivateKeyExported"; id: string; now: number }
  | { do: "addWallet"; wallet: SealedWallet }
  /** Absent members are unchanged. */
  | { do: "renameWallet"; id: string; name?: string; now: number }
  | { do: "markWalletExported"; id: string; now: number }
  | { do: "removeWallets"; ids: readonly string[] }
  | { do: "addSecrets"; secrets: readonly SealedSecret[] }
  | { do: "markSecretsExported"; ids: readonly string[] }
  /** With their names, which become available. */
  | { do: "removeSecrets"; secrets: readonly Pick<Secret, "id" | "name">[] }
  | { do: "addSessionProfile"; profile: SessionProfile }
  /** Replaces an existing one. */
  | { do: "putAllowlist"; allowlist: Allowlist; now: number }
  | { do: "removeAllowlist"; id: string }
  | { do: "addInvitation"; invitation: OpenInvitation; now: number }
  | { do: "revokeInvitation"; id: string; now: number }
  /** The new user is added by a separate change. */
  | { do: "acceptInvitation"; id: string; now: number }
  | { do: "addInterface"; contract: ContractInterface }
  /** `at` is its `interfaceAt`, `bytes` its length. */
  | { do: "removeInterface"; id: string; at: string; bytes: number }
  /** Replaces their values if they are enabled already. */
  | { do: "setFeatures"; features: readonly Feature[] }
  | { do: "removeFeature"; name: string }
  /** Replaces the existing one. */
  | { do: "setRootQuorum"; quorum: RootQuorum; now: number };

export type MfaPolicyChange = Partial<Omit<MfaPolicy, "id" | "createdAt" | "updatedAt">>;
export type PolicyChange = Partial<Omit<Policy, "id" | "createdAt" | "updatedAt">>;

/** The effect of a change on one part: a new value, either independent of the previous one or computed from it. */
export type Effect = { part: PartRef } & (
  | { becomes: Parts[PartKind] }
  | { reduce: (before: Parts[PartKind]) => Parts[PartKind] }
);

const becomes = <Kind extends PartKind>(kind: Kind, id: string, value: Parts[Kind]): Effect => ({
  part: { kind, id },
  becomes: value,
});

const reduces = <Kind extends PartKind>(
  kind: Kind,
  id: string,
  reduce: (before: Parts[Kind]) => Parts[Kind],
): Effect => ({ part: { kind, id }, reduce: reduce as unknown as (before: Parts[PartKind]) => Parts[PartKind] });

/** The effects of a change on the state, part by part. */
export function effectsOf(change: Change): Effect[] {
  switch (change.do) {
    case "addTag":
      return [
        becomes("tag", change.tag.id, change.tag),
        becomes("carriers", change.tag.id, []),
        reduces("tagCount", change.tag.type, (count) => count + 1),
      ];
    case "changeTag": {
      const { tagId, name, now } = change;
      return [reduces("tag", tagId, (tag) => tag && { ...tag, name: name ?? tag.name, updatedAt: now })];
    }
    case "removeTag":
      return [
        becomes("tag", change.tagId, undefined),
        becomes("carriers", change.tagId, []),
        reduces("tagCount", change.type, (count) => count - 1),
        ...onMembersOf(change, (ids) => ids.filter((id) => id !== change.tagId)),
      ];
    case "attachTag":
      return [
        reduces("carriers", change.tagId, (ids) => [...new Set([...ids, ...change.memberIds])].sort()),
        ...onMembersOf(change, (ids) => [...new Set([...ids, change.tagId])].sort()),
      ];
    case "addUser":
      return [
        becomes("user", change.user.id, change.user),
        reduces("userCount", ALL, (count) => count + 1),
        becomes("apiKeys", change.user.id, []),
        becomes("authenticators", change.user.id, []),
        becomes("oauthProviders", change.user.id, []),
        becomes("verifiedContacts", change.user.id, []),
        becomes("mfaPolicies", change.user.id, []),
        becomes("tagsOfUser", change.user.id, []),
      ];
    case "changeUser": {
      const { userId, do: _, now, ...given } = change;
      return [reduces("user", userId, (user) => user && { ...user, ...given, updatedAt: now })];
    }
    case "verifyContact": {
      const { userId, contact } = change;
      return [
        reduces("verifiedContacts", userId, (contacts) => [...contacts, contact].sort(byType)),
        becomes("contactHolder", contactAt(contact), userId),
      ];
    }
    case "unverifyContact": {
      const { userId, contact } = change;
      const at = contactAt(contact);
      return [
        reduces("verifiedContacts", userId, (contacts) => contacts.filter((each) => contactAt(each) !== at)),
        becomes("contactHolder", at, undefined),
      ];
    }
    case "loseContact":
      return [];
    case "removeUser": {
      const { userId } = change;
      return [
        becomes("user", userId, undefined),
        reduces("userCount", ALL, (count) => count - 1),
        becomes("apiKeys", userId, []),
        becomes("authenticators", userId, []),
        becomes("oauthProviders", userId, []),
        becomes("verifiedContacts", userId, []),
        becomes("mfaPolicies", userId, []),
        becomes("tagsOfUser", userId, []),
        ...change.verifiedContacts.map((contact) => becomes("contactHolder", contactAt(contact), undefined)),
        ...change.apiKeys.flatMap(withoutApiKey),
        ...change.authenticators.map(withoutAuthenticator),
        ...change.oauthProviders.map(withoutOauthProvider),
        ...change.tagIds.map((tagId) => withoutCarrier(tagId, userId)),
      ];
    }
    case "addApiKeys": {
      const { userId, apiKeys, now } = change;
      return [
        touches(userId, now),
        reduces("apiKeys", userId, (keys) => [...keys, ...apiKeys]),
        ...apiKeys.map(({ publicKey, id }) => becomes("apiKeyId", publicKey, id)),
      ];
    }
    case "removeApiKeys": {
      const { userId, apiKeys, now } = change;
      return [
        touches(userId, now),
        reduces("apiKeys", userId, (all) => all.filter(isNoneOf(apiKeys))),
        ...apiKeys.flatMap(withoutApiKey),
      ];
    }
    case "addAuthenticators": {
      const { userId, authenticators, now } = change;
      return [
        touches(userId, now),
        reduces("authenticators", userId, (all) => [...all, ...authenticators]),
        ...authenticators.map(({ credentialId, id }) => becomes("authenticatorId", credentialId, id)),
      ];
    }
    case "removeAuthenticators": {
      const { userId, authenticators, now } = change;
      return [
        touches(userId, now),
        reduces("authenticators", userId, (all) => all.filter(isNoneOf(authenticators))),
        ...authenticators.map(withoutAuthenticator),
      ];
    }
    case "addOauthProviders": {
      const { userId, oauthProviders, now } = change;
      return [
        touches(userId, now),
        reduces("oauthProviders", userId, (all) => [...all, ...oauthProviders]),
        ...oauthProviders.map((provider) => becomes("oauthProviderId", providerAt(provider), provider.id)),
      ];
    }
    case "removeOauthProviders": {
      const { userId, oauthProviders, now } = change;
      return [
        touches(userId, now),
        reduces("oauthProviders", userId, (all) => all.filter(isNoneOf(oauthProviders))),
        ...oauthProviders.map(withoutOauthProvider),
      ];
    }
    case "addMfaPolicy":
      return onMfaPoliciesOf(change, (policies) => [...policies, change.policy]);
    case "changeMfaPolicy": {
      const { mfaPolicyId, change: given, now } = change;
      const changed = (policy: MfaPolicy) => ({ ...policy, ...given, updatedAt: now });
      return onMfaPoliciesOf(change, (policies) =>
        policies.map((each) => (each.id === mfaPolicyId ? changed(each) : each)),
      );
    }
    case "removeMfaPolicy":
      return onMfaPoliciesOf(change, (policies) => policies.filter(({ id }) => id !== change.mfaPolicyId));
    case "addPolicies":
      return [reduces("policies", ALL, (policies) => [...policies, ...change.policies].sort(byId))];
    case "changePolicy": {
      const { policyId, change: given, now } = change;
      const changed = (policy: Policy) => ({ ...policy, ...given, updatedAt: now });
      return [
        reduces("policies", ALL, (policies) => policies.map((each) => (each.id === policyId ? changed(each) : each))),
      ];
    }
    case "removePolicies":
      return [reduces("policies", ALL, (policies) => policies.filter(({ id }) => !change.policyIds.includes(id)))];
    case "addPrivateKeys":
      return [
        reduces("privateKeyCount", ALL, (count) => count + change.privateKeys.length),
        ...change.privateKeys.flatMap(({ sealedKey: _, publicKey: __, ...key }) => [
          becomes("privateKey", key.id, key),
          becomes("tagsOfPrivateKey", key.id, []),
        ]),
      ];
    case "removePrivateKeys":
      return [
        reduces("privateKeyCount", ALL, (count) => count - change.privateKeys.length),
        ...change.privateKeys.flatMap(({ id, tagIds }) => [
          becomes("privateKey", id, undefined),
          becomes("tagsOfPrivateKey", id, []),
          ...tagIds.map((tagId) => withoutCarrier(tagId, id)),
        ]),
      ];
    case "markPrivateKeyExported":
      return [reduces("privateKey", change.id, (key) => key && { ...key, exported: true, updatedAt: change.now })];
    case "addWallet": {
      const { sealedWallet: _, ...wallet } = change.wallet;
      return [becomes("wallet", wallet.id, wallet), reduces("walletCount", ALL, (count) => count + 1)];
    }
    case "renameWallet": {
      const { id, name, now } = change;
      return [reduces("wallet", id, (wallet) => wallet && { ...wallet, name: name ?? wallet.name, updatedAt: now })];
    }
    case "markWalletExported": {
      const { id, now } = change;
      return [reduces("wallet", id, (wallet) => wallet && { ...wallet, exported: true, updatedAt: now })];
    }
    case "removeWallets":
      return [
        reduces("walletCount", ALL, (count) => count - change.ids.length),
        ...change.ids.map((id) => becomes("wallet", id, undefined)),
      ];
    case "addSecrets":
      return [
        reduces("secretCount", ALL, (count) => count + change.secrets.length),
        ...change.secrets.flatMap(({ sealedSecret: _, ...secret }) => [
          becomes("secret", secret.id, secret),
          ...(secret.name === null ? [] : [becomes("secretId", secret.name, secret.id)]),
        ]),
      ];
    case "markSecretsExported":
      return change.ids.map((id) => reduces("secret", id, (secret) => secret && { ...secret, exported: true }));
    case "removeSecrets":
      return [
        reduces("secretCount", ALL, (count) => count - change.secrets.length),
        ...change.secrets.flatMap(({ id, name }) => [
          becomes("secret", id, undefined),
          ...(name === null ? [] : [becomes("secretId", name, undefined)]),
        ]),
      ];
    case "addSessionProfile":
      return [reduces("sessionProfiles", ALL, (profiles) => [...profiles, change.profile])];
    case "putAllowlist":
      return [becomes("allowlist", change.allowlist.id, change.allowlist)];
    case "removeAllowlist":
      return [becomes("allowlist", change.id, undefined)];
    case "addInvitation":
      return [reduces("openInvitations", ALL, (open) => [...open, change.invitation])];
    case "revokeInvitation":
    case "acceptInvitation":
      return [reduces("openInvitations", ALL, (open) => open.filter(({ id }) => id !== change.id))];
    case "addInterface": {
      const { contract } = change;
      const size = Buffer.byteLength(contract.json);
      return [
        becomes("interface", contract.id, { at: interfaceAt(contract), bytes: size }),
        becomes("interfaceId", interfaceAt(contract), contract.id),
        reduces("interfaceTotals", ALL, ({ count, bytes }) => ({ count: count + 1, bytes: bytes + size })),
      ];
    }
    case "removeInterface":
      return [
        becomes("interface", change.id, undefined),
        becomes("interfaceId", change.at, undefined),
        reduces("interfaceTotals", ALL, ({ count, bytes }) => ({ count: count - 1, bytes: bytes - change.bytes })),
      ];
    case "setFeatures": {
      const names = change.features.map(({ name }) => name);
      return [reduces("features", ALL, (features) => [...without(features, names), ...change.features].sort(byName))];
    }
    case "removeFeature":
      return [reduces("features", ALL, (features) => without(features, [change.name]))];
    case "setRootQuorum": {
      const { threshold, userIds } = change.quorum;
      return [becomes("rootQuorum", ALL, { threshold, userIds: [...userIds].sort() })];
    }
    case "detachTag":
      return [
        reduces("carriers", change.tagId, (ids) => ids.filter((id) => !change.memberIds.includes(id))),
        ...onMembersOf(change, (ids) => ids.filter((id) => id !== change.tagId)),
      ];
  }
}

/** The effects of a change of a tag on its members. A private key itself is not changed by it. */
function onMembersOf(
  { type, memberIds, now }: { type: TagType; memberIds: readonly string[]; now: number },
  reduce: (tagIds: readonly string[]) => readonly string[],
): Effect[] {
  if (type !== "TAG_TYPE_USER") return memberIds.map((id) => reduces("tagsOfPrivateKey", id, reduce));
  return memberIds.flatMap((id) => [touches(id, now), reduces("tagsOfUser", id, reduce)]);
}

const onMfaPoliciesOf = (
  { userId, now }: { userId: string; now: number },
  reduce: (policies: readonly MfaPolicy[]) => MfaPolicy[],
): Effect[] => [
  touches(userId, now),
  reduces("mfaPolicies", userId, (policies) =>
    reduce(policies).sort((one, other) => one.order - other.order || byId(one, other)),
  ),
];

const touches = (userId: string, now: number): Effect =>
  reduces("user", userId, (user) => user && { ...user, updatedAt: now });

/** The IP allowlist of a key is removed with it. */
const withoutApiKey = ({ id, publicKey }: ApiKey): Effect[] => [
  becomes("apiKeyId", publicKey, undefined),
  becomes("allowlist", id, undefined),
];

const withoutCarrier = (tagId: string, memberId: string): Effect =>
  reduces("carriers", tagId, (ids) => ids.filter((id) => id !== memberId));
const withoutAuthenticator = ({ credentialId }: Authenticator): Effect =>
  becomes("authenticatorId", credentialId, undefined);
const withoutOauthProvider = (provider: OauthProvider): Effect =>
  becomes("oauthProviderId", providerAt(provider), undefined);

const isNoneOf = (gone: readonly { id: string }[]) => {
  const ids = new Set(gone.map(({ id }) => id));
  return ({ id }: { id: string }): boolean => !ids.has(id);
};

const without = (features: readonly Feature[], names: readonly string[]) =>
  features.filter(({ name }) => !names.includes(name));
const byType = (one: Contact, other: Contact) => (one.type < other.type ? -1 : 1);
const byName = (one: Feature, other: Feature) => (one.name < other.name ? -1 : 1);
const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);
