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
import { PolicyError } from "../../policy/errors.ts";
import { attestedTypes, otpFeatures } from "../attested.ts";
import type { AuthenticationType, Feature, MfaPolicy } from "../state.ts";
import { areMet, canRemoveMfa, canShow, methodOf, takenBy } from "./mfa-methods.ts";

const nobody = { id: "ada", name: "Ada", email: null, phoneNumber: null, createdAt: 0, updatedAt: 0 };
const reachable = { ...nobody, email: "Ada@example.com", phoneNumber: "+15005550006" };

/** Whether Ada can show a method of this type whenever she is asked. */
const canShowBy = (
  type: AuthenticationType,
  person: Person,
  { features = [], isBelowParent = true }: { features?: Feature[]; isBelowParent?: boolean } = {},
): boolean =>
  canShow(viewOfPeople({ ada: person }, { features, isBelowParent }), "ada", [
    { any: [{ type: "AUTHENTICATION_TYPE_SESSION", id: "none" }, { type }] },
  ]);

describe("what a user can show whenever they are asked", () => {
  it("is a passkey, an API key that lasts, and a token of an OAuth provider", () => {
    assert.equal(canShowBy("AUTHENTICATION_TYPE_PASSKEY", { authenticators: [passkeyOf("passkey")] }), true);
    assert.equal(canShowBy("AUTHENTICATION_TYPE_OAUTH", { oauthProviders: [providerOf("provider")] }), true);
    assert.equal(canShowBy("AUTHENTICATION_TYPE_API_KEY", { apiKeys: [apiKeyOf("key")] }), true);
    assert.equal(
      canShowBy("AUTHENTICATION_TYPE_API_KEY", { apiKeys: [apiKeyOf("key", { expirationSeconds: 900 })] }),
      false,
    );
  });

  it("is a code to a contact that the user has, below a parent that has codes to such contacts switched on", () => {
    const contacts = { EMAIL: "AUTHENTICATION_TYPE_EMAIL_OTP", PHONE_NUMBER: "AUTHENTICATION_TYPE_SMS_OTP" } as const;
    for (const contact of ["EMAIL", "PHONE_NUMBER"] as const) {
      const other = contact === "EMAIL" ? "PHONE_NUMBER" : "EMAIL";
      const features = [
        { name: otpFeatures[contact], value: null },
        { name: "FEATURE_NAME_WEBHOOK", value: null },
      ];
      const type = contacts[contact];
      assert.equal(canShowBy(type, { user: reachable }, { features }), true, contact);
      assert.equal(
        canShowBy(type, { user: reachable }, { features: [{ name: otpFeatures[other], value: null }] }),
        false,
      );
      assert.equal(canShowBy(type, { user: reachable }, { features, isBelowParent: false }), false);
      assert.equal(canShowBy(type, { user: nobody }, { features }), false);
      assert.equal(canShowBy(contacts[other], { user: reachable }, { features }), false);
    }
  });

  it("is no session, which comes of one of these", () => {
    const session = apiKeyOf("s", { type: "CREDENTIAL_TYPE_READ_WRITE_SESSION_KEY_P256", expirationSeconds: 900 });
    assert.equal(canShowBy("AUTHENTICATION_TYPE_SESSION", { apiKeys: [session] }), false);
  });
});

it("a stamp shows what its credential is: nothing where no type was kept, the default profile for a session without one", () => {
  assert.equal(methodOf({ id: "", type: "" }), undefined);
  assert.deepEqual(methodOf({ id: "m", type: attestedTypes.PHONE_NUMBER }), { type: "AUTHENTICATION_TYPE_SMS_OTP" });
  assert.deepEqual(methodOf({ id: "p", type: "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR" }), {
    type: "AUTHENTICATION_TYPE_PASSKEY",
    id: "p",
  });
  assert.deepEqual(methodOf({ id: "k", type: "CREDENTIAL_TYPE_LOGIN" }), {
    type: "AUTHENTICATION_TYPE_SESSION",
    id: "00000000-0000-0000-0000-000000000000",
  });
});

it("a method that names a credential takes that one alone", () => {
  const group = [{ any: [{ type: "AUTHENTICATION_TYPE_PASSKEY", id: "mine" }] }] as const;
  assert.equal(areMet(group, [{ type: "AUTHENTICATION_TYPE_PASSKEY", id: "mine" }]), true);
  assert.equal(areMet(group, [{ type: "AUTHENTICATION_TYPE_PASSKEY", id: "other" }]), false);
  assert.equal(areMet(group, [{ type: "AUTHENTICATION_TYPE_API_KEY", id: "mine" }]), false);
  const shown = { type: "AUTHENTICATION_TYPE_API_KEY", id: "key" } as const;
  const other = { any: [{ type: "AUTHENTICATION_TYPE_API_KEY" }] } as const;
  assert.deepEqual(takenBy([...group, other], [shown, { type: "AUTHENTICATION_TYPE_PASSKEY", id: "other" }]), [shown]);
});

describe("a user can still remove their MFA policies", () => {
  const policyOf = (id: string, condition: string, ...types: AuthenticationType[]) =>
    mfaPolicyOf(
      id,
      condition,
      types.map((type) => ({ any: [{ type }] })),
    );
  const canRemove = (mfaPolicies: MfaPolicy[]) =>
    canRemoveMfa(
      viewOfPeople({ ada: { mfaPolicies, apiKeys: [apiKeyOf("key")] } }),
      "ada",
      (condition, { activity }) =>
        condition === "unclear" ? new PolicyError("ABSENT_ROOT", "", condition, 0) : condition === activity.kind,
    );
  const [byKey, byPasskey] = ["AUTHENTICATION_TYPE_API_KEY", "AUTHENTICATION_TYPE_PASSKEY"] as const;

  it("where the one that guards it can be met, or none does", () => {
    assert.equal(canRemove([]), true);
    assert.equal(canRemove([policyOf("one", "DELETE_MFA_POLICY", byKey)]), true);
    assert.equal(canRemove([policyOf("one", "DELETE_WALLETS", byPasskey)]), true);
    assert.equal(canRemove([policyOf("one", "DELETE_MFA_POLICY", byPasskey)]), false);
    assert.equal(canRemove([policyOf("one", "unclear", byPasskey)]), false);
  });

  it("which is the first that applies", () => {
    const guarding = policyOf("two", "DELETE_MFA_POLICY", byPasskey);
    assert.equal(canRemove([policyOf("one", "DELETE_WALLETS"), guarding]), false);
    assert.equal(canRemove([policyOf("one", "DELETE_MFA_POLICY"), guarding]), true);
  });
});
