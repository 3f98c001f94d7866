import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  apiKeyOf,
  mfaPolicyOf,
  type Person,
  passkeyOf,
  providerOf,
  viewOfPeople,
} from "../../../test/support/people.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import type { MethodGroup } from "../state.ts";
import { draftOn } from "../view.ts";
import { removeCredentials, removeServersKey } from "./removed-credentials.ts";

const evaluate = () => true;
const draftOf = (ada: Person, rootUserIds: string[] = []) =>
  draftOn(viewOfPeople({ ada }, { rootQuorum: { threshold: 1, userIds: rootUserIds }, isBelowParent: false }));
const remove = (
  ada: Person,
  kind: "apiKeys" | "authenticators" | "oauthProviders",
  ids: string[],
  { userId = "ada", isSubOrganization = false } = {},
) => {
  const draft = draftOf(ada);
  removeCredentials(draft, kind, ids, { userId, isSubOrganization, evaluate, now: 1 });
  return draft.changes;
};
const refused = (code: string, text: RegExp) => (error: unknown) =>
  error instanceof KeysteadError && error.code === code && text.test(error.message);
const missing = refused("VALID_CREDENTIAL_MISSING", /ada/);

describe("credentials that are removed", () => {
  it("are the user's own, and what was approved with them is taken back", () => {
    const ada = { apiKeys: [apiKeyOf("one"), apiKeyOf("two")] };
    const [change, ...others] = remove(ada, "apiKeys", ["one"]);
    assert.deepEqual(others, []);
    assert.deepEqual(change, {
      do: "removeApiKeys",
      userId: "ada",
      now: 1,
      apiKeys: [apiKeyOf("one")],
      revokesVotes: true,
    });
    assert.throws(() => remove(ada, "apiKeys", ["three"]), refused("RESOURCE_NOT_FOUND", /API key/));
    assert.throws(() => remove(ada, "apiKeys", ["one"], { userId: "bob" }), refused("RESOURCE_NOT_FOUND", /user/));
  });

  it("leave a way in to whoever has one", () => {
    const oneKey = { apiKeys: [apiKeyOf("one")] };
    assert.throws(() => remove(oneKey, "apiKeys", ["one"]), missing);
    remove({ ...oneKey, authenticators: [passkeyOf("p")] }, "apiKeys", ["one"]);
    remove({ apiKeys: [apiKeyOf("one", { expirationSeconds: 900 })] }, "apiKeys", ["one"]);
  });

  it("leave a provider as a way in below a parent, which alone brings its tokens", () => {
    const withProvider = { apiKeys: [apiKeyOf("one")], oauthProviders: [providerOf("o")] };
    assert.throws(() => remove(withProvider, "apiKeys", ["one"]), missing);
    remove(withProvider, "apiKeys", ["one"], { isSubOrganization: true });
    assert.throws(() => remove({ oauthProviders: [providerOf("o")] }, "oauthProviders", ["o"]), missing);
  });

  it("are none that an MFA policy names, if the user can show no other of its methods", () => {
    const one = { type: "AUTHENTICATION_TYPE_API_KEY", id: "one" } as const;
    const groups: MethodGroup[] = [{ any: [{ type: "AUTHENTICATION_TYPE_PASSKEY" }, one] }];
    const ada = { apiKeys: [apiKeyOf("one"), apiKeyOf("two")], mfaPolicies: [mfaPolicyOf("mfa", "true", groups)] };
    assert.throws(() => remove(ada, "apiKeys", ["one"]), refused("FIELD_INVALID", /MFA policy mfa/));
    remove(ada, "apiKeys", ["two"]);
    remove({ ...ada, authenticators: [passkeyOf("p")] }, "apiKeys", ["one"]);
  });
});

describe("the key that this server keeps for a user", () => {
  const servers = apiKeyOf("server", { grade: "server" });
  const leave = (ada: Person, rootUserIds?: string[]) => {
    const draft = draftOf(ada, rootUserIds);
    removeServersKey(draft, servers.publicKey, { userId: "ada", evaluate, now: 1 }, "parameters");
    return draft.changes;
  };

  it("goes alone, if it is there, also where it is all that the user has", () => {
    const [change] = leave({ apiKeys: [apiKeyOf("own"), servers] });
    assert.deepEqual(change?.do === "removeApiKeys" && change.apiKeys, [servers]);
    assert.equal(leave({ apiKeys: [servers] }).length, 1);
    assert.deepEqual(leave({ apiKeys: [apiKeyOf("own")] }), []);
  });

  it("stays where a root quorum has to show it", () => {
    const aKey = mfaPolicyOf("mfa", "true", [{ any: [{ type: "AUTHENTICATION_TYPE_API_KEY" }] }]);
    const ada = { apiKeys: [servers], authenticators: [passkeyOf("p")], mfaPolicies: [aKey] };
    assert.throws(() => leave(ada, ["ada"]), refused("QUORUM_USERS_MISSING", /ada/));
    assert.equal(leave(ada).length, 1);
  });
});
