import {
  ALL,
  type Allowlist,
  type ApiKey,
  type Authenticator,
  type ContractInterface,
  type Feature,
  interfaceAt,
  type OauthProvider,
  type OpenInvitation,
  type PartKind,
  type PartRef,
  type Parts,
  providerAt,
  type SessionProfile,
  type Tag,
  type TagType,
  type User,
} from "./state.ts";

/**
 * Everything that can change who may do what: a closed union. Operations say what they change in these words, and one
 * projector writes them to the tables.
 */
export type Change =
  | { do: "addTag"; tag: Tag }
  /** What is not given stays. */
  | { do: "changeTag"; tagId: string; name?: string; now: number }
  /** Those who carried it lose it; they are named, as their own state changes. */
  | { do: "removeTag"; tagId: string; type: TagType; memberIds: readonly string[]; now: number }
  | { do: "attachTag"; tagId: string; type: TagType; memberIds: readonly string[]; now: number }
  | { do: "detachTag"; tagId: string; type: TagType; memberIds: readonly string[]; now: number }
  | { do: "addUser"; user: User }
  /** What is not given stays; null takes a contact away. */
  | { do: "changeUser"; userId: string; name?: string; email?: string | null; phoneNumber?: string | null; now: number }
  /** With all that is theirs, which is named, as it can be looked up by itself; their votes are taken back. */
  | {
      do: "removeUser";
      userId: string;
      apiKeys: readonly ApiKey[];
      authenticators: readonly Authenticator[];
      oauthProviders: readonly OauthProvider[];
      tagIds: readonly string[];
      now: number;
    }
  | { do: "addApiKeys"; userId: string; apiKeys: readonly ApiKey[]; now: number }
  /** Votes are taken back where somebody wants the keys gone, not where they make room. */
  | { do: "removeApiKeys"; userId: string; apiKeys: readonly ApiKey[]; takesVotesBack: boolean; now: number }
  | { do: "addAuthenticators"; userId: string; authenticators: readonly Authenticator[]; now: number }
  | { do: "addOauthProviders"; userId: string; oauthProviders: readonly OauthProvider[]; now: number }
  | { do: "addSessionProfile"; profile: SessionProfile }
  /** In place of the one that was there, if any. */
  | { do: "putAllowlist"; allowlist: Allowlist; now: number }
  | { do: "removeAllowlist"; id: string }
  | { do: "addInvitation"; invitation: OpenInvitation; now: number }
  | { do: "revokeInvitation"; id: string; now: number }
  | { do: "addInterface"; contract: ContractInterface }
  /** `at` is where it was looked up, `bytes` its length. */
  | { do: "removeInterface"; id: string; at: string; bytes: number }
  /** In place of the value it had, if it was on. */
  | { do: "setFeature"; feature: Feature }
  | { do: "removeFeature"; name: string };

/** What a change makes of one part: something new whatever it was before, or something of what it was. */
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

/** What a change does to the state, part by part. */
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
        ...onUsersOf(change, (ids) => ids.filter((id) => id !== change.tagId)),
      ];
    case "attachTag":
      return [
        reduces("carriers", change.tagId, (ids) => [...new Set([...ids, ...change.memberIds])].sort()),
        ...onUsersOf(change, (ids) => [...new Set([...ids, change.tagId])].sort()),
      ];
    case "addUser":
      return [
        becomes("user", change.user.id, change.user),
        reduces("userCount", ALL, (count) => count + 1),
        becomes("apiKeys", change.user.id, []),
        becomes("authenticators", change.user.id, []),
        becomes("oauthProviders", change.user.id, []),
        becomes("tagsOfUser", change.user.id, []),
      ];
    case "changeUser": {
      const { userId, do: _, now, ...given } = change;
      return [reduces("user", userId, (user) => user && { ...user, ...given, updatedAt: now })];
    }
    case "removeUser": {
      const { userId } = change;
      return [
        becomes("user", userId, undefined),
        reduces("userCount", ALL, (count) => count - 1),
        becomes("apiKeys", userId, []),
        becomes("authenticators", userId, []),
        becomes("oauthProviders", userId, []),
        becomes("tagsOfUser", userId, []),
        ...change.apiKeys.flatMap(withoutApiKey),
        ...change.authenticators.map(({ credentialId }) => becomes("authenticatorId", credentialId, undefined)),
        ...change.oauthProviders.map((provider) => becomes("oauthProviderId", providerAt(provider), undefined)),
        ...change.tagIds.map((tagId) => reduces("carriers", tagId, (ids) => ids.filter((id) => id !== userId))),
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
      const gone = new Set(apiKeys.map(({ id }) => id));
      return [
        touches(userId, now),
        reduces("apiKeys", userId, (keys) => keys.filter(({ id }) => !gone.has(id))),
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
    case "addOauthProviders": {
      const { userId, oauthProviders, now } = change;
      return [
        touches(userId, now),
        reduces("oauthProviders", userId, (all) => [...all, ...oauthProviders]),
        ...oauthProviders.map((provider) => becomes("oauthProviderId", providerAt(provider), provider.id)),
      ];
    }
    case "addSessionProfile":
      return [reduces("sessionProfiles", ALL, (profiles) => [...profiles, change.profile])];
    case "putAllowlist":
      return [becomes("allowlist", change.allowlist.id, change.allowlist)];
    case "removeAllowlist":
      return [becomes("allowlist", change.id, undefined)];
    case "addInvitation":
      return [reduces("openInvitations", ALL, (open) => [...open, change.invitation])];
    case "revokeInvitation":
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
    case "setFeature":
      return [
        reduces("features", ALL, (features) =>
          [...without(features, change.feature.name), change.feature].sort(byName),
        ),
      ];
    case "removeFeature":
      return [reduces("features", ALL, (features) => without(features, change.name))];
    case "detachTag":
      return [
        reduces("carriers", change.tagId, (ids) => ids.filter((id) => !change.memberIds.includes(id))),
        ...onUsersOf(change, (ids) => ids.filter((id) => id !== change.tagId)),
      ];
  }
}

/** What a change of a tag does to the users who carry it; private keys do not know their tags. */
function onUsersOf(
  { type, memberIds, now }: { type: TagType; memberIds: readonly string[]; now: number },
  reduce: (tagIds: readonly string[]) => readonly string[],
): Effect[] {
  if (type !== "TAG_TYPE_USER") return [];
  return memberIds.flatMap((id) => [touches(id, now), reduces("tagsOfUser", id, reduce)]);
}

const touches = (userId: string, now: number): Effect =>
  reduces("user", userId, (user) => user && { ...user, updatedAt: now });

/** The list of addresses that a key may be used from goes with it. */
const withoutApiKey = ({ id, publicKey }: ApiKey): Effect[] => [
  becomes("apiKeyId", publicKey, undefined),
  becomes("allowlist", id, undefined),
];

const without = (features: readonly Feature[], name: string) => features.filter((feature) => feature.name !== name);
const byName = (one: Feature, other: Feature) => (one.name < other.name ? -1 : 1);
