import assert from "node:assert/strict";
import { it } from "node:test";
import { attestedTypes, contactCredential, isAttested, isContact } from "./attested.ts";
import { contactOf } from "./state.ts";

it("a contact is known by its URI, in policies and in the votes and revocations that are stored", () => {
  assert.deepEqual(contactCredential(contactOf("EMAIL", "Ada@Example.com")), {
    id: "mailto:ada@example.com",
    type: "CREDENTIAL_TYPE_ATTESTED_EMAIL",
  });
  assert.deepEqual(contactCredential(contactOf("PHONE_NUMBER", "+15005550006")), {
    id: "tel:+15005550006",
    type: "CREDENTIAL_TYPE_ATTESTED_PHONE_NUMBER",
  });
});

it("contacts are attested, and so are providers, which are none", () => {
  const types = [attestedTypes.EMAIL, attestedTypes.PHONE_NUMBER, attestedTypes.OAUTH, "CREDENTIAL_TYPE_LOGIN"];
  assert.deepEqual(types.map(isContact), [true, true, false, false]);
  assert.deepEqual(types.map(isAttested), [true, true, true, false]);
});
