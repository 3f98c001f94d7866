import type { PartKind, PartRef, Parts, Tag, TagType } from "./state.ts";

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
  | { do: "detachTag"; tagId: string; type: TagType; memberIds: readonly string[]; now: number };

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
    case "detachTag":
      return [reduces("carriers", change.tagId, (ids) => ids.filter((id) => !change.memberIds.includes(id)))];
  }
}
