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
import { MAX_MFA_POLICIES_PER_USER } from "../../kernel/limits.ts";
import type { AuthenticationType, MethodGroup, SessionProfile } from "../state.ts";
import { draftOn } from "../view.ts";
import { addMfaPolicy, changeMfaPolicy } from "./mfa.ts";

const scope = {
  userId: "ada",
  parentView: viewOfPeople({}, { sessionProfiles: [{ id: "profile" } as SessionProfile] }),
  evaluate: () => true,
  now: 1,
};
const draftOf = (ada: Person, bob: Person = {}) =>
  draftOn(viewOfPeople({ ada, bob }, { rootQuorum: { threshold: 1, userIds: [] }, sessionProfiles: [] }));
const refused = (code: string, text: RegExp) => (error: unknown) =>
  error instanceof KeysteadError && error.code === code && text.test(error.message);

describe("MFA policies of a user", () => {
  it("are so many and no more", () => {
    const held = (count: number) => Array.from({ length: count }, (_, index) => mfaPolicyOf(`${index}`, "true", []));
    const addTo = (count: number) => {
      const draft = draftOf({ mfaPolicies: held(count) });
      addMfaPolicy(draft, scope, mfaPolicyOf("new", "true", []));
      return draft.changes.length;
    };
    assert.equal(addTo(MAX_MFA_POLICIES_PER_USER - 1), 1);
    assert.throws(() => addTo(MAX_MFA_POLICIES_PER_USER), refused("USER_QUOTA_EXCEEDED", /MFA policies/));
  });

  it("name credentials of that very user, and session profiles of the parent, also where they are changed", () => {
    const credentialsOf = (name: string): Person => ({
      apiKeys: [apiKeyOf(`key of ${name}`)],
      authenticators: [passkeyOf(`passkey of ${name}`)],
      oauthProviders: [providerOf(`provider of ${name}`)],
    });
    const known = mfaPolicyOf("known", "true", []);
    const ada = { ...credentialsOf("ada"), mfaPolicies: [known] };
    const naming = (kind: string, id: string) => {
      const requiredMethods: MethodGroup[] = [
        { any: [{ type: `AUTHENTICATION_TYPE_${kind}` as AuthenticationType, id }] },
      ];
      return [
        () => addMfaPolicy(draftOf(ada, credentialsOf("bob")), scope, mfaPolicyOf("new", "true", requiredMethods)),
        () => changeMfaPolicy(draftOf(ada, credentialsOf("bob")), scope, known.id, { requiredMethods }),
      ];
    };
    const own = { API_KEY: "key of ada", PASSKEY: "passkey of ada", OAUTH: "provider of ada", SESSION: "profile" };
    const others = { API_KEY: "key of bob", PASSKEY: "key of ada", OAUTH: "provider of bob", SESSION: "key of ada" };
    for (const [kind, id] of Object.entries(own)) for (const set of naming(kind, id)) set();
    for (const [kind, id] of Object.entries(others)) {
      for (const set of naming(kind, id)) assert.throws(set, refused("FIELD_INVALID", /0\.any\.0\.id/), kind);
    }
  });

  it("are changed where the user has them", () => {
    const draft = draftOf({ mfaPolicies: [] }, { mfaPolicies: [mfaPolicyOf("of bob", "true", [])] });
    const change = () => changeMfaPolicy(draft, scope, "of bob", { order: 2 });
    assert.throws(change, refused("RESOURCE_NOT_FOUND", /MFA policy/));
    assert.deepEqual(draft.changes, []);
  });
});
