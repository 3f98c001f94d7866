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
import { USUAL_QUOTAS } from "../quotas.ts";
import { keyOf, type PartKind, type Parts } from "../state.ts";
import { draftOn, type LoadedParts, PartsNotLoaded, viewOf } from "../view.ts";
import { hasContact, refuseOtherAddresses, requireWithoutContact, verifyShownContacts } from "./contacts.ts";
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

it("an address that the user has verified already is theirs still", () => {
  const draft = draftWith("ada");
  link(draft, { issuer: GOOGLE, verifiedEmail: "ada@example.com" });
  assert.deepEqual(draft.changes, []);
});

describe("providers that a parent brings to a user", () => {
  const shown = { issuer: GOOGLE, subject: "ada at Google", verifiedEmail: "ada@example.com", isOwnApp: true };
  const silent = { ...shown, verifiedEmail: undefined };
  const bring = (...providers: (typeof shown | typeof silent)[]) =>
    refuseOtherAddresses(draftWith(undefined), "ada", providers, "oauthProviders");

  it("are of the person whom Google knows by the user's address, for apps of the parent's own", () => {
    bring(shown);
    bring(shown, silent);
    bring(silent, shown);
  });

  it("are no others", () => {
    for (const other of [
      { ...silent, issuer: "https://issuer.example" },
      { ...silent, subject: "grace at Google" },
      { ...silent, isOwnApp: false },
      { ...shown, isOwnApp: false },
      { ...shown, subject: "grace at Google", verifiedEmail: "grace@example.com" },
    ]) {
      assert.throws(
        () => bring(shown, other),
        (error) => error instanceof KeysteadError && /`oauthProviders.1.oidcToken` is not a proof/.test(error.message),
        JSON.stringify(other),
      );
      assert.throws(() => bring(other), KeysteadError, JSON.stringify(other));
    }
    assert.throws(() => bring(silent), KeysteadError, "nobody says whose address it is");
  });
});

describe("a user does without a contact", () => {
  const remove = (person: Person, more: Partial<Person["user"]> = {}) =>
    requireWithoutContact(
      viewOfPeople({ ada: { user: { ...user, email: null, ...more }, ...person } }),
      "ada",
      "EMAIL",
      "parameters.userEmail",
    );
  const refused = (code: string) => (error: unknown) => error instanceof KeysteadError && error.code === code;

  it("who has another way in: a contact, a provider, a passkey, or an API key that lasts", () => {
    remove({ apiKeys: [apiKeyOf("key")] });
    remove({ authenticators: [passkeyOf("passkey")] });
    remove({ oauthProviders: [providerOf("provider")] });
    remove({}, { phoneNumber: "+15005550006" });
    const session = apiKeyOf("session", { expirationSeconds: 900 });
    for (const person of [{}, { apiKeys: [session] }]) {
      assert.throws(() => remove(person), refused("VALID_CREDENTIAL_MISSING"));
    }
  });

  it("of whom no MFA policy asks for codes to it", () => {
    const asking = (...types: ("EMAIL_OTP" | "SMS_OTP" | "PASSKEY")[]) => [
      mfaPolicyOf("mfa", "true", [{ any: types.map((type) => ({ type: `AUTHENTICATION_TYPE_${type}` as const })) }]),
    ];
    const apiKeys = [apiKeyOf("key")];
    remove({ apiKeys, mfaPolicies: asking("SMS_OTP", "PASSKEY") });
    assert.throws(() => remove({ apiKeys, mfaPolicies: asking("PASSKEY", "EMAIL_OTP") }), refused("FIELD_INVALID"));
  });
});

it("a contact is the user's own in its own kind alone, an address in any letter case", () => {
  const has = (type: "EMAIL" | "PHONE_NUMBER", value: string) =>
    hasContact(viewOfPeople({ ada: { user } }), "ada", { type, value });
  assert.equal(has("EMAIL", "ada@example.com"), true);
  assert.equal(has("PHONE_NUMBER", "ada@example.com"), false);
  assert.equal(has("EMAIL", "grace@example.com"), false);
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
