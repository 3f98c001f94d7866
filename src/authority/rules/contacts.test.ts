import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KeysteadError } from "../../kernel/errors.ts";
import { USUAL_QUOTAS } from "../quotas.ts";
import { keyOf, type PartKind, type Parts } from "../state.ts";
import { draftOn, type LoadedParts, PartsNotLoaded, viewOf } from "../view.ts";
import { verifyShownContacts } from "./contacts.ts";
import { addUsers } from "./users.ts";

const GOOGLE = "https://accounts.google.com";
const times = { createdAt: 0, updatedAt: 0 };
const user = { id: "ada", name: "Ada", email: "Ada@Example.com", phoneNumber: null, ...times };

function draftWith(holder: string | undefined) {
  const loaded: LoadedParts = new Map();
  const put = <Kind extends PartKind>(kind: Kind, id: string, part: Parts[Kind]) =>
    loaded.set(keyOf({ kind, id }), part);
  put("user", "ada", user);
  put("contactHolder", "EMAIL ada@example.com", holder);
  put("verifiedContacts", "ada", []);
  return draftOn(viewOf("organization", loaded));
}

const link = (draft: ReturnType<typeof draftWith>, provider: { issuer: string; verifiedEmail: string | undefined }) =>
  verifyShownContacts(draft, "ada", [provider], 1, "oauthProviders");

describe("an address in an OIDC token", () => {
  it("is verified where Google says so and it is the user's", () => {
    const draft = draftWith(undefined);
    link(draft, { issuer: GOOGLE, verifiedEmail: "ADA@example.com" });
    assert.deepEqual(draft.part("verifiedContacts", "ada"), [{ type: "EMAIL", value: "ada@example.com" }]);
    assert.equal(draft.part("contactHolder", "EMAIL ada@example.com"), "ada");
  });

  it("says nothing of another address, by another issuer, or where nobody verified it", () => {
    for (const provider of [
      { issuer: GOOGLE, verifiedEmail: "grace@example.com" },
      { issuer: GOOGLE, verifiedEmail: undefined },
      { issuer: "https://accounts.google.com.example", verifiedEmail: "ada@example.com" },
      { issuer: "https://issuer.example", verifiedEmail: "ada@example.com" },
    ]) {
      const draft = draftWith(undefined);
      link(draft, provider);
      assert.deepEqual(draft.changes, [], JSON.stringify(provider));
    }
  });

  it("is refused where another user has it verified", () => {
    const draft = draftWith("grace");
    assert.throws(
      () => link(draft, { issuer: GOOGLE, verifiedEmail: "ada@example.com" }),
      (error) => error instanceof KeysteadError && /`oauthProviders.0.oidcToken`.*another user/.test(error.message),
    );
  });
});

it("what many new users show is looked up together", () => {
  const count = 100;
  const users = Array.from({ length: count }, (_, index) => {
    const email = `user-${index}@example.com`;
    const provider = { id: `p${index}`, name: "Google", issuer: GOOGLE, subject: `${index}`, audience: "app" };
    return {
      id: `u${index}`,
      name: email,
      email,
      apiKeys: [],
      authenticators: [],
      oauthProviders: [{ ...provider, verifiedEmail: email }],
      tagIds: [],
    };
  });
  const loaded: LoadedParts = new Map();
  const absent: Partial<Parts> = { userCount: 0, quotas: USUAL_QUOTAS };
  for (let round = 1; ; round++) {
    assert.ok(round <= 10, "so many rounds of looking up");
    try {
      const draft = draftOn(viewOf("organization", loaded));
      addUsers(draft, users, 1, (index) => `users.${index}`);
      assert.equal(draft.changes.filter((change) => change.do === "verifyContact").length, count);
      return;
    } catch (error) {
      if (!(error instanceof PartsNotLoaded)) throw error;
      for (const ref of error.refs) loaded.set(keyOf(ref), absent[ref.kind]);
    }
  }
});
