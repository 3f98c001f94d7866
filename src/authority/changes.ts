import {
  ALL,
  type Allowlist,
  type ContractInterface,
  type Feature,
  interfaceAt,
  type OpenInvitation,
  type PartKind,
  type PartRef,
  type Parts,
  type SessionProfile,
  type Tag,
  type TagType,
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
      ];
    case "attachTag":
      return [reduces("carriers", change.tagId, (ids) => [...new Set([...ids, ...change.memberIds])].sort())];
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
      return [reduces("carriers", change.tagId, (ids) => ids.filter((id) => !change.memberIds.includes(id)))];
  }
}

const without = (features: readonly Feature[], name: string) => features.filter((feature) => feature.name !== name);
const byName = (one: Feature, other: Feature) => (one.name < other.name ? -1 : 1);
