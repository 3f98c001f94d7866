import assert from "node:assert/strict";
import { it } from "node:test";
import { apiKeyOf, viewOfPeople } from "../../../test/support/people.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { attestedTypes } from "../attested.ts";
import type { ApiKey } from "../state.ts";
import { draftOn } from "../view.ts";
import { addSessionKey, gradeByStamp, useUpKeys } from "./sessions.ts";

const LOGIN = "CREDENTIAL_TYPE_LOGIN";
const RECOVERY = "CREDENTIAL_TYPE_RECOVER_USER_KEY_P256";
const draftOf = (apiKeys: ApiKey[]) => draftOn(viewOfPeople({ ada: { apiKeys } }));
const sessionKey = (id: string, type = LOGIN) => apiKeyOf(id, { type, expirationSeconds: 1 });

/** The keys that go, and whether the votes given with them do. */
const goneIn = ({ changes }: ReturnType<typeof draftOf>) =>
  changes.flatMap((change) =>
    change.do === "removeApiKeys" ? change.apiKeys.map(({ id }) => [id, change.revokesVotes]) : [],
  );

it("a session takes the place of one with the same key, and of all of its type where that is asked for; votes stand", () => {
  const held = [sessionKey("one"), sessionKey("two"), sessionKey("three", RECOVERY)];
  const add = (publicKey: string, invalidateExisting: boolean) => {
    const draft = draftOf(held);
    const view = { ...draft, parts: () => [undefined] as never };
    addSessionKey(view, { userId: "ada", key: { ...sessionKey("new"), publicKey }, invalidateExisting }, 1);
    return goneIn(draft);
  };
  assert.deepEqual(add("02new", false), []);
  assert.deepEqual(add("02two", false), [["two", false]]);
  assert.deepEqual(add("02three", false), []);
  assert.deepEqual(add("02new", true), [
    ["one", false],
    ["two", false],
  ]);
});

it("keys of which one has served go together, as long as that one is there and alive; votes stand", () => {
  const held = [sessionKey("one", RECOVERY), sessionKey("two", RECOVERY), sessionKey("other")];
  const use = (keyId: string, now: number) => {
    const draft = draftOf(held);
    useUpKeys(draft, { userId: "ada", type: RECOVERY, keyId }, now);
    return goneIn(draft);
  };
  assert.deepEqual(use("two", 999), [
    ["one", false],
    ["two", false],
  ]);
  const refused = (error: unknown) => error instanceof KeysteadError && error.code === "PERMISSION_DENIED";
  assert.throws(() => use("two", 1000), refused, "expired");
  assert.throws(() => use("three", 0), refused, "gone");
  assert.throws(() => use("other", 0), refused, "of another type");
});

it("a key is got by no better way than the credential that asked for it", () => {
  const held = [apiKeyOf("own"), apiKeyOf("got", { grade: "otp" })];
  const view = draftOf(held);
  const grade = (id: string, type = "CREDENTIAL_TYPE_API_KEY_P256") => gradeByStamp(view, "ada", { id, type });
  assert.equal(grade("own"), "stamp");
  assert.equal(grade("got"), "otp");
  assert.equal(grade("gone"), "server");
  assert.equal(grade("passkey", "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR"), "stamp");
  assert.equal(grade("provider", attestedTypes.OAUTH), "oidc");
  assert.equal(grade("mailto:ada@example.com", attestedTypes.EMAIL), "otp");
});
