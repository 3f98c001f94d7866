import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Reader } from "../../storage/engine.ts";
import { findHolders, type HolderRow, holderOf, isAboutHolders } from "./holders.ts";
import { hasActed, rankOf } from "./seniority.ts";

const row = (more: Partial<HolderRow> = {}): HolderRow => ({
  organization_id: "of the request",
  parent_id: "parent",
  organization_name: "Name",
  sealed_key: Buffer.of(7),
  quorum_threshold: 2,
  policies_version: 3,
  erasing: 0,
  actor_organization_id: "of the request",
  credential_id: "credential",
  seniority: 5,
  user_id: "user",
  user_name: "User",
  mfa_policies: 0,
  root_member: null,
  allowlist_rules: null,
  allowlist_on_evaluation_error: null,
  ...more,
});
const type = "CREDENTIAL_TYPE_API_KEY_P256";

describe("the holder of a credential", () => {
  const of = (more: Partial<HolderRow>, sessionProfileId: string | null = null) =>
    holderOf({ row: row(more), rank: 4 }, { type, sessionProfileId });

  it("is the user as they are stored", () => {
    assert.deepEqual(of({}), {
      rank: 4,
      hasActed: true,
      allowlists: { ofOrganization: undefined, ofKey: undefined },
      organization: {
        id: "of the request",
        parentId: "parent",
        name: "Name",
        sealedKey: Buffer.of(7),
        quorumThreshold: 2,
        policiesVersion: 3,
        isErasing: false,
      },
      actor: {
        userId: "user",
        userName: "User",
        organizationId: "of the request",
        isRootQuorumMember: false,
        hasMfaPolicies: false,
        credential: { id: "credential", type },
      },
    });
  });

  it("is in the root quorum, has MFA policies, a session profile and an allowlist if they are stored", () => {
    const { actor } = of({ root_member: "user", mfa_policies: 1 }, "profile");
    assert.deepEqual([actor.isRootQuorumMember, actor.hasMfaPolicies], [true, true]);
    assert.equal(actor.credential.sessionProfileId, "profile");
    const { allowlists } = of({ allowlist_rules: "[]", allowlist_on_evaluation_error: "DENY" });
    assert.deepEqual(allowlists.ofOrganization, { rules: "[]", onEvaluationError: "DENY" });
    assert.equal(of({ erasing: 1 }).organization.isErasing, true);
  });
});

describe("a look-up of holders", () => {
  const lookup = { organizationId: "of the request", key: "02ab", reach: "organization", now: 0 } as const;

  it("has the organization's own before those of its parent", async () => {
    const rows = [row({ user_id: "parent's", actor_organization_id: "parent" }), row({ user_id: "own" })];
    const found = await findHolders({} as Reader, "api_keys", lookup, async () => rows);
    assert.deepEqual(
      found.map(({ row: { user_id }, rank }) => [user_id, rank]),
      [
        ["own", 0],
        ["parent's", 1],
      ],
    );
  });

  it("looks into sub-organizations only if it is to, and if nobody else has the credential", async () => {
    // A reader that answers nothing: a search through sub-organizations fails.
    const read = {} as Reader;
    assert.deepEqual(await findHolders(read, "api_keys", lookup, async () => []), []);
    const everywhere = { ...lookup, reach: "subOrganizations" } as const;
    assert.equal((await findHolders(read, "api_keys", everywhere, async () => [row()])).length, 1);
    await assert.rejects(
      findHolders(read, "api_keys", everywhere, async () => []),
      TypeError,
    );
  });

  it("is answered anew where a pending row may change it: of users, only those whom it found", () => {
    const stored = { id: "user", organization_id: "of the request" } as never;
    const isAbout = (answer?: HolderRow[], table = "users") => isAboutHolders(table, stored, answer);
    assert.equal(isAbout([row()]), true);
    assert.equal(isAbout([row({ user_id: "another" })]), false);
    assert.equal(isAbout([row({ actor_organization_id: "parent" })]), false);
    assert.equal(isAbout([row({ user_id: "another" }), row()]), true);
    assert.equal(isAbout([]), false);
    assert.equal(isAbout(undefined), true);
    assert.equal(isAbout([row({ user_id: "another" })], "api_keys"), true);
  });
});

describe("which of a parent's sub-organizations a credential means", () => {
  const [madeWith, addedLater] = [10 ** 15, 2 * 10 ** 15];

  it("is one that it has acted in, the first one first; then those made with it; then the others", () => {
    assert.deepEqual([hasActed(Date.now()), hasActed(madeWith), hasActed(addedLater)], [true, false, false]);
    const ranks = [rankOf(1, 0), rankOf(2, 1), rankOf(madeWith, 2), rankOf(addedLater, 4)];
    assert.deepEqual(
      ranks,
      [...ranks].sort((one, other) => one - other),
    );
    assert.equal(new Set(ranks).size, ranks.length);
  });

  it("cannot be told among those that were all made with it, or all know it from later", () => {
    assert.equal(rankOf(madeWith, 2), rankOf(madeWith, 3));
    assert.equal(rankOf(addedLater, 4), rankOf(addedLater, 5));
  });
});
