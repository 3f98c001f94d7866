import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KeysteadError } from "../kernel/errors.ts";
import {
  type CalledOperation,
  type Caller,
  refuseOtherKind,
  refuseOtherOrganization,
  refuseUnfitType,
} from "./callers.ts";

const parent = { id: "parent", parentId: null };
const sub = { id: "sub", parentId: "parent" };
const caller = (organization: Caller["organization"], of: Caller["organization"], type = "KEY"): Caller => ({
  organization,
  actor: {
    userId: "user",
    userName: "User",
    organizationId: of.id,
    isRootQuorumMember: false,
    hasMfaPolicies: false,
    credential: { id: "credential", type },
  },
});
const operation = (more: Partial<CalledOperation>): CalledOperation => ({ kind: "activity", path: "do_it", ...more });

/** The code that it is refused with. */
function codeOf(refuse: () => void): string | undefined {
  try {
    refuse();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof KeysteadError);
    return error.code;
  }
}

describe("callers of an operation", () => {
  it("use a credential that is made for certain activities for those and for queries, and no other for those", () => {
    const narrow = new Set(["RECOVERY"]);
    const codes = (["query", "activity", "vote"] as const).flatMap((kind) =>
      [undefined, "RECOVERY"].map((stampedWith) =>
        ["KEY", "RECOVERY"].map((type) =>
          codeOf(() =>
            refuseUnfitType(operation({ kind, ...(stampedWith ? { stampedWith } : {}) }), { id: "", type }, narrow),
          ),
        ),
      ),
    );
    const unfit = "CREDENTIAL_TYPE_UNFIT";
    const both = [undefined, undefined];
    assert.deepEqual(codes, [
      both,
      both,
      [undefined, unfit],
      [unfit, undefined],
      [undefined, unfit],
      [unfit, undefined],
    ]);
  });

  it("call it in the kind of organization that it is for; a parent's user is one wherever it is to be done", () => {
    const codeFor = (more: Partial<CalledOperation>, who: Caller) =>
      codeOf(() => refuseOtherKind(operation(more), who));
    const callers = [caller(parent, parent), caller(sub, sub), caller(sub, parent)];
    const codes = (more: Partial<CalledOperation>) => callers.map((who) => codeFor(more, who));
    const other = "INVALID_CALLER";
    assert.deepEqual(codes({}), [undefined, undefined, undefined]);
    assert.deepEqual(codes({ only: "parents" }), [undefined, other, other]);
    assert.deepEqual(codes({ only: "parents", byParents: true }), [undefined, other, undefined]);
    assert.deepEqual(codes({ only: "parents", byParents: true, kind: "query" }), [undefined, other, other]);
    assert.deepEqual(codes({ only: "subOrganizations" }), [other, undefined, undefined]);
  });

  it("act in their own organization", () => {
    const codes = [caller(parent, parent), caller(sub, sub), caller(sub, parent)].map((who) =>
      codeOf(() => refuseOtherOrganization(who)),
    );
    assert.deepEqual(codes, [undefined, undefined, "ORGANIZATION_MISMATCH"]);
  });
});
