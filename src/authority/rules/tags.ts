import { MAX_TAGS } from "../../kernel/limits.ts";
import type { Change } from "../changes.ts";
import { refuseExcess } from "../quotas.ts";
import type { PartKind, TagType } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";
import { refuseUnknown } from "./unknown.ts";

/** The rules for tags of users and of private keys. */

interface TagKind {
  members: "user" | "privateKey";
  /** Its name in errors. */
  tagLabel: string;
  memberLabel: string;
}

const kinds: Record<TagType, TagKind> = {
  TAG_TYPE_USER: { members: "user", tagLabel: "user tag", memberLabel: "user" },
  TAG_TYPE_PRIVATE_KEY: { members: "privateKey", tagLabel: "private key tag", memberLabel: "private key" },
};

export interface NewTag {
  id: string;
  type: TagType;
  name: string;
  memberIds: readonly string[];
  now: number;
}

/**
 * Adds a tag with the given members.
 *
 * @throws KeysteadError QUOTA_EXCEEDED, or RESOURCE_NOT_FOUND naming the first member that does not exist
 */
export function addTag(draft: Draft, { id, type, name, memberIds, now }: NewTag): void {
  refuseExcess(draft.tagCount(type) + 1, { kind: `${kinds[type].tagLabel}s`, limit: MAX_TAGS });
  draft.apply({ do: "addTag", tag: { id, type, name, createdAt: now, updatedAt: now } });
  attachTag(draft, { tagId: id, type, memberIds, now });
}

export interface TagChange {
  tagId: string;
  type: TagType;
  name: string | undefined;
  addMemberIds: readonly string[];
  removeMemberIds: readonly string[];
  now: number;
}

/** Renames a tag and changes its members. Removing a member that does not have the tag changes nothing. */
export function changeTag(draft: Draft, { tagId, type, name, addMemberIds, removeMemberIds, now }: TagChange): void {
  requireTags(draft, type, [tagId]);
  draft.apply({ do: "changeTag", tagId, ...(name === undefined ? {} : { name }), now });
  attachTag(draft, { tagId, type, memberIds: addMemberIds, now });
  if (removeMemberIds.length === 0) return;
  requireMembers(draft, type, removeMemberIds);
  draft.apply({ do: "detachTag", tagId, type, memberIds: unique(removeMemberIds), now });
}

export function removeTags(draft: Draft, type: TagType, tagIds: readonly string[], now: number): void {
  requireTags(draft, type, tagIds);
  const ids = unique(tagIds);
  const carriers = draft.carriersOf(ids);
  for (const [index, tagId] of ids.entries()) {
    draft.apply({ do: "removeTag", tagId, type, memberIds: carriers[index] ?? [], now });
  }
}

/** @throws KeysteadError RESOURCE_NOT_FOUND naming the first tag of this type that does not exist */
export function requireTags(view: AuthorityView, type: TagType, tagIds: readonly string[]): void {
  const tags = view.parts("tag", tagIds);
  refuseUnknown(view, tagIds, (index) => tags[index]?.type === type, kinds[type].tagLabel);
}

function attachTag(
  draft: Draft,
  { tagId, type, memberIds, now }: { tagId: string; type: TagType; memberIds: readonly string[]; now: number },
): void {
  if (memberIds.length === 0) return;
  requireMembers(draft, type, memberIds);
  draft.apply({ do: "attachTag", tagId, type, memberIds: unique(memberIds), now });
}

function requireMembers(view: AuthorityView, type: TagType, memberIds: readonly string[]): void {
  const { members, memberLabel } = kinds[type];
  const known = view.parts(members satisfies PartKind, memberIds);
  refuseUnknown(view, memberIds, (index) => Boolean(known[index]), memberLabel);
}

/**
 * Sets the tags of a user.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND
 */
export function setTagsOfUser(draft: Draft, userId: string, tagIds: readonly string[], now: number): void {
  const before = draft.part("tagsOfUser", userId);
  requireTags(draft, "TAG_TYPE_USER", tagIds);
  const attach = unique(tagIds).filter((id) => !before.includes(id));
  const detach = before.filter((id) => !tagIds.includes(id));
  const change = { type: "TAG_TYPE_USER", memberIds: [userId], now } as const;
  for (const tagId of attach) draft.apply({ do: "attachTag", tagId, ...change });
  for (const tagId of detach) draft.apply({ do: "detachTag", tagId, ...change });
}

/**
 * Adds tags to new private keys.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND
 */
export function tagPrivateKeys(
  draft: Draft,
  keys: readonly { id: string; tagIds: readonly string[] }[],
  now: number,
): void {
  requireTags(
    draft,
    "TAG_TYPE_PRIVATE_KEY",
    keys.flatMap(({ tagIds }) => tagIds),
  );
  for (const tagId of unique(keys.flatMap(({ tagIds }) => tagIds))) {
    const memberIds = keys.filter(({ tagIds }) => tagIds.includes(tagId)).map(({ id }) => id);
    draft.apply({ do: "attachTag", tagId, type: "TAG_TYPE_PRIVATE_KEY", memberIds, now });
  }
}

const unique = (ids: readonly string[]): string[] => [...new Set(ids)];

/** The ids of the members that had a removed tag, without duplicates, sorted. */
export const carriersAmong = (changes: readonly Change[]): string[] =>
  unique(changes.flatMap((change) => (change.do === "removeTag" ? change.memberIds : []))).sort();
