import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fail } from "../../kernel/errors.ts";
import type { OidcVerifier } from "../../providers/oidc/verifier.ts";
import type { Reader } from "../../storage/engine.ts";
import type { Newcomer } from "../operations.ts";
import { apiKeyKind } from "./api-key-kind.ts";
import type { Holder } from "./credential-kind.ts";
import { stampOfNewcomer } from "./newcomers.ts";

/** Requests that make their sender a user, and are sent more than once at the same time. */

const organizationId = "of the request";
const lookup = { organizationId, key: "02ab", reach: "organization", now: 0 } as const;
const user = {
  organization: { id: organizationId, parentId: null },
  actor: { organizationId, userId: "made by the other request" },
} as Holder;

/** What is found where each look-up for users answers in its turn, and the request itself lets nobody in. */
function find(...known: Holder[][]): Promise<readonly Holder[]> {
  const kind = { ...apiKeyKind, find: async () => known.shift() ?? [], verify: async () => {} };
  const meet = async (): Promise<Newcomer> => {
    return fail("INVITATION_INVALID", {});
  };
  const stamp = stampOfNewcomer({ kind, decoded: {} }, Buffer.from("{}"), { oidc: {} as OidcVerifier, meet });
  return stamp.kind.find({} as Reader, lookup);
}

describe("the stamp of a newcomer", () => {
  it("is that of the user whom an equal request made between the look-ups", async () => {
    assert.deepEqual(await find([], [user]), [user]);
  });

  it("is refused as the request is where nobody became a user by it", async () => {
    await assert.rejects(find([], []), { code: "INVITATION_INVALID" });
  });

  it("is a user's without a look at what let them in", async () => {
    assert.deepEqual(await find([user]), [user]);
  });
});
