import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { apiKeyOf, passkeyOf, viewOfPeople } from "../../../test/support/people.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_AUTHENTICATORS_PER_USER, MAX_EXPIRING_API_KEYS_PER_USER } from "../../kernel/limits.ts";
import { draftOn } from "../view.ts";
import { addApiKeys, addAuthenticators, hasExpired, refuseUnproven } from "./credentials.ts";

const refused = (code: string, text: RegExp) => (error: unknown) =>
  error instanceof KeysteadError && error.code === code && text.test(error.message);

describe("a claim of who somebody is at an issuer", () => {
  const claim = { issuer: "https://issuer.example", subject: "ada", isProven: false };
  const known = { ...claim, audience: "app" };
  const unproven = (field: string) => refused("FIELD_INVALID", new RegExp(`\`${field}\``));

  it("takes a token, or a provider of the same issuer and subject that the user has", () => {
    refuseUnproven([{ ...claim, isProven: true }], [], "providers");
    refuseUnproven([claim], [{ ...known, subject: "eve" }, known], "providers");
    for (const other of [{ issuer: "https://other.example" }, { subject: "eve" }]) {
      const stored = [{ ...known, ...other }];
      assert.throws(() => refuseUnproven([claim], stored, "providers"), unproven("providers.0.oidcClaims"));
    }
  });

  it("is each one for itself, and names the first that lacks proof", () => {
    const claims = [
      { ...claim, isProven: true },
      { ...claim, subject: "eve" },
    ];
    assert.throws(() => refuseUnproven(claims, [known], "providers"), unproven("providers.1.oidcClaims"));
  });

  it("is proven by providers for certain apps alone where these are said", () => {
    refuseUnproven([{ ...claim, provenBy: ["app"] }], [known], "providers");
    for (const provenBy of [["another"], []]) {
      const claims = [{ ...claim, provenBy }];
      assert.throws(() => refuseUnproven(claims, [known], "providers"), unproven("providers.0.oidcClaims"));
    }
  });
});

describe("passkeys", () => {
  const add = (ids: string[], held: string[] = [], holder?: string) => {
    const view = viewOfPeople({ ada: { authenticators: held.map(passkeyOf) } }, {}, { authenticatorId: holder });
    const draft = draftOn(view);
    addAuthenticators(draft, "ada", ids.map(passkeyOf), 1, "authenticators");
    return draft.changes.length;
  };

  it("belong to one user, and are registered once", () => {
    assert.equal(add(["one", "two"]), 1);
    assert.throws(() => add(["one", "one"]), refused("RESOURCE_EXISTS", /authenticators\.1\.attestation/));
    assert.throws(() => add(["one"], [], "of somebody"), refused("RESOURCE_EXISTS", /authenticators\.0\.attestation/));
  });

  it("are so many a user", () => {
    const held = Array.from({ length: MAX_AUTHENTICATORS_PER_USER - 1 }, (_, index) => `held ${index}`);
    assert.equal(add(["last"], held), 1);
    assert.throws(() => add(["last", "beyond"], held), refused("USER_QUOTA_EXCEEDED", /authenticators/));
  });
});

describe("API keys that expire", () => {
  const forASecond = (id: string, createdAt: number) => apiKeyOf(id, { expirationSeconds: 1, createdAt });

  it("are good until their time and not at it", () => {
    assert.equal(hasExpired(forASecond("key", 0), 999), false);
    assert.equal(hasExpired(forASecond("key", 0), 1000), true);
    assert.equal(hasExpired(apiKeyOf("lasting"), Number.MAX_SAFE_INTEGER), false);
  });

  it("make room by being the oldest where a clock made them that has been set back since", () => {
    const ahead = Array.from({ length: MAX_EXPIRING_API_KEYS_PER_USER - 1 }, (_, index) =>
      forASecond(`ahead ${index}`, 3_600_000 + index),
    );
    // As a store has them, by their times.
    const draft = draftOn(viewOfPeople({ ada: { apiKeys: [forASecond("before", 2000), ...ahead] } }));
    addApiKeys(draft, "ada", [forASecond("new", 2500)], 2500, "apiKeys");
    assert.deepEqual(
      draft.changes.flatMap((change) => (change.do === "removeApiKeys" ? change.apiKeys.map(({ id }) => id) : [])),
      ["ahead 0"],
    );
  });

  it("make room for one more: first those that have expired, then the oldest", () => {
    const held = Array.from({ length: MAX_EXPIRING_API_KEYS_PER_USER }, (_, index) => forASecond(`k${index}`, 2000));
    const pushedOut = (apiKeys: typeof held, ...more: typeof held) => {
      const draft = draftOn(viewOfPeople({ ada: { apiKeys } }));
      addApiKeys(draft, "ada", [forASecond("new", 2500), ...more], 2500, "apiKeys");
      return draft.changes.flatMap((change) =>
        change.do === "removeApiKeys" ? change.apiKeys.map(({ id }) => `${id} ${change.revokesVotes}`) : [],
      );
    };
    assert.deepEqual(pushedOut([apiKeyOf("lasting"), ...held]), ["k0 false"]);
    assert.deepEqual(pushedOut([...held.slice(1), forASecond("expired", 1)]), ["expired false"]);
    assert.deepEqual(pushedOut(held.slice(1)), []);
    const withExpired = [...held.slice(1), forASecond("expired", 1)];
    assert.deepEqual(pushedOut(withExpired, forASecond("newer", 2500)), ["expired false", "k1 false"]);
  });
});
