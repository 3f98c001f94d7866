import assert from "node:assert/strict";
import { it } from "node:test";
import { apiKeyOf, passkeyOf, viewOfPeople } from "../../../test/support/people.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { draftOn } from "../view.ts";
import { addUser, type NewUser } from "./users.ts";

it("a user can sign, or is found by a contact or a provider", () => {
  const nothing = { id: "ada", name: "Ada", apiKeys: [], authenticators: [], oauthProviders: [], tagIds: [] };
  const add = (user: Partial<NewUser>) => addUser(draftOn(viewOfPeople({})), { ...nothing, ...user }, 1, "user");
  const provider = { id: "o", name: "", issuer: "https://issuer.example", audience: "app", subject: "ada" };
  add({ apiKeys: [apiKeyOf("key")] });
  add({ authenticators: [passkeyOf("passkey")] });
  add({ email: "ada@example.com" });
  add({ phoneNumber: "+15005550006" });
  add({ oauthProviders: [provider] });
  for (const user of [{}, { apiKeys: [apiKeyOf("key", { expirationSeconds: 900 })] }]) {
    assert.throws(
      () => add(user),
      (error) => error instanceof KeysteadError && error.code === "VALID_CREDENTIAL_MISSING",
    );
  }
});
