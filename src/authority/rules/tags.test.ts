import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KeysteadError } from "../../kernel/errors.ts";
import type { PartKind, Parts, TagType } from "../state.ts";
import { draftOn, viewThrough } from "../view.ts";
import { addTag, carriersAmong, changeTag, removeTags, setTagsOfUser, tagPrivateKeys } from "./tags.ts";

const USER = "TAG_TYPE_USER";
const KEY = "TAG_TYPE_PRIVATE_KEY";

/** An organization with tags of both kinds, two users and two private keys; Ada carries `staff` and `old`. */
function newDraft() {
  const tagOf = (id: string, type: TagType) => ({ id, type, name: id, createdAt: 0, updatedAt: 0 });
  const tags = [tagOf("staff", USER), tagOf("old", USER), tagOf("new", USER), tagOf("hot", KEY), tagOf("cold", KEY)];
  const known: { [Kind in PartKind]?: Record<string, unknown> } = {
    tag: Object.fromEntries(tags.map((tag) => [tag.id, tag])),
    user: { ada: { id: "ada" }, bob: { id: "bob" } },
    privateKey: { one: { id: "one" }, two: { id: "two" } },
    carriers: { staff: ["ada"], old: ["ada"], new: [], hot: ["one"], cold: [] },
    tagsOfUser: { ada: ["staff", "old"], bob: [] },
    tagCount: { [USER]: 3, [KEY]: 2 },
  };
  return draftOn(viewThrough("organization", (kind, ids) => ids.map((id) => known[kind]?.[id] as Parts[PartKind])));
}
type TestDraft = ReturnType<typeof newDraft>;

function refuses(text: RegExp, change: (draft: TestDraft) => void): void {
  const isRefused = (error: unknown) =>
    error instanceof KeysteadError && error.code === "RESOURCE_NOT_FOUND" && text.test(error.message);
  assert.throws(() => change(newDraft()), isRefused);
}

describe("tags", () => {
  it("are removed of one kind, each once, from all who carry them", () => {
    refuses(/user tag hot/, (draft) => removeTags(draft, USER, ["staff", "hot"], 1));
    refuses(/private key tag staff/, (draft) => removeTags(draft, KEY, ["staff"], 1));
    refuses(/user tag nobody's/, (draft) => removeTags(draft, USER, ["nobody's"], 1));
    const draft = newDraft();
    removeTags(draft, USER, ["staff", "new", "staff"], 1);
    assert.deepEqual(draft.changes, [
      { do: "removeTag", tagId: "staff", type: USER, memberIds: ["ada"], now: 1 },
      { do: "removeTag", tagId: "new", type: USER, memberIds: [], now: 1 },
    ]);
    removeTags(draft, KEY, ["hot"], 1);
    assert.deepEqual(carriersAmong(draft.changes), ["ada", "one"]);
    draft.apply({ do: "attachTag", tagId: "old", type: USER, memberIds: ["bob"], now: 1 });
    assert.deepEqual(carriersAmong(draft.changes), ["ada", "one"], "not of tags that stay");
  });

  it("are carried by members of their kind alone", () => {
    const tag = { id: "tag", name: "tag", now: 1 };
    refuses(/private key ada/, (draft) => addTag(draft, { ...tag, type: KEY, memberIds: ["one", "ada"] }));
    refuses(/user one/, (draft) => addTag(draft, { ...tag, type: USER, memberIds: ["one"] }));
    const change = {
      tagId: "old",
      type: USER,
      name: undefined,
      addMemberIds: [],
      removeMemberIds: [],
      now: 1,
    } as const;
    refuses(/user one/, (draft) => changeTag(draft, { ...change, addMemberIds: ["bob", "one"] }));
    refuses(/user one/, (draft) => changeTag(draft, { ...change, removeMemberIds: ["one"] }));
    refuses(/user tag hot/, (draft) => changeTag(draft, { ...change, tagId: "hot" }));
  });

  it("that a user is given take the place of those that they had", () => {
    refuses(/user tag hot/, (draft) => setTagsOfUser(draft, "ada", ["staff", "hot"], 1));
    refuses(/user tag nobody's/, (draft) => setTagsOfUser(draft, "bob", ["nobody's"], 1));
    const draft = newDraft();
    setTagsOfUser(draft, "ada", ["new", "staff", "new"], 1);
    const ofAda = { type: USER, memberIds: ["ada"], now: 1 };
    assert.deepEqual(draft.changes, [
      { do: "attachTag", tagId: "new", ...ofAda },
      { do: "detachTag", tagId: "old", ...ofAda },
    ]);
    assert.deepEqual([...draft.part("tagsOfUser", "ada")].sort(), ["new", "staff"]);
  });

  it("of new private keys are carried by the keys that name them, and by no other", () => {
    refuses(/private key tag staff/, (draft) => tagPrivateKeys(draft, [{ id: "one", tagIds: ["hot", "staff"] }], 1));
    const draft = newDraft();
    tagPrivateKeys(
      draft,
      [
        { id: "one", tagIds: ["hot"] },
        { id: "two", tagIds: ["cold", "hot"] },
      ],
      1,
    );
    assert.deepEqual(draft.changes, [
      { do: "attachTag", tagId: "hot", type: KEY, memberIds: ["one", "two"], now: 1 },
      { do: "attachTag", tagId: "cold", type: KEY, memberIds: ["two"], now: 1 },
    ]);
  });
});
