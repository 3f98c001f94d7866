import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { KeysteadError } from "../../kernel/errors.ts";
import { type ClientSignature, checkClientSignature, type SignupUsage, type Usage } from "./client-signatures.ts";
import type { VerificationClaims } from "./verification-tokens.ts";

function newKey() {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = privateKey.export({ format: "jwk" });
  const isOdd = (Buffer.from(y, "base64url").at(-1) as number) % 2 === 1;
  const publicKey = `${isOdd ? "03" : "02"}${Buffer.from(x, "base64url").toString("hex")}`;
  const signed = (message: string | object): ClientSignature => {
    const text = typeof message === "string" ? message : JSON.stringify(message);
    const signature = sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" });
    return { publicKey, message: text, signature: signature.toString("hex") };
  };
  return { publicKey, signed };
}

const [key, another] = [newKey(), newKey()];
const token: VerificationClaims = {
  id: "token",
  verification_type: "OTP_TYPE_EMAIL",
  contact: "ada@example.com",
  organization_id: "organization",
  public_key: key.publicKey,
  exp: "1",
};
const login: Usage = { type: "USAGE_TYPE_LOGIN", login: { publicKey: another.publicKey } };
const apiKeys = [{ apiKeyName: "key", publicKey: key.publicKey }];
const asked: SignupUsage = { apiKeys, authenticators: [], oauthProviders: [], email: "ada@example.com" };
const signup = (more: Partial<SignupUsage> = {}): Usage => ({
  type: "USAGE_TYPE_SIGNUP",
  signup: { ...asked, ...more },
});
const saying = (more: object, type: Usage["type"] = login.type) => ({ type, tokenId: token.id, ...more });

const accepts = (message: object, usage: Usage, more: Partial<ClientSignature> = {}) =>
  checkClientSignature({ ...key.signed(message), ...more }, token, usage);
const refuses = (work: () => void, member: string, reason: RegExp) =>
  assert.throws(work, (error) => {
    assert.ok(error instanceof KeysteadError);
    assert.match(error.message, new RegExp(`\`parameters\\.clientSignature${member}\``));
    assert.match(error.message, reason);
    return true;
  });

test("a login is signed by the key in the token, and says the token and the key that is to sign in", () => {
  const said = saying({ login: { publicKey: another.publicKey } });
  accepts(said, login);
  accepts({ ...said, more: null, login: { publicKey: another.publicKey.toUpperCase() } }, login);
  accepts(said, login, { publicKey: key.publicKey.toUpperCase() });
  refuses(() => checkClientSignature(undefined, token, login), "", /missing/);
  const foreign = another.signed(said);
  refuses(
    () => checkClientSignature(foreign, token, login),
    "\\.publicKey",
    /is not the key in the verification token/,
  );
  const forged = { ...foreign, publicKey: key.publicKey };
  refuses(() => checkClientSignature(forged, token, login), "\\.signature", /does not match the message/);
  refuses(() => accepts(said, login, { signature: "00" }), "\\.signature", /does not match/);
  const { public_key: _, ...keyless } = token;
  refuses(() => checkClientSignature(key.signed(said), keyless, login), "\\.publicKey", /is not the key/);
  const offCurve = `02${"ff".repeat(32)}`;
  const strange = { ...key.signed(said), publicKey: offCurve };
  refuses(
    () => checkClientSignature(strange, { ...token, public_key: offCurve }, login),
    "\\.signature",
    /does not match/,
  );
  for (const other of [
    saying({ login: { publicKey: key.publicKey } }),
    saying({ login: { publicKey: 5 } }),
    saying({ login: {} }),
    saying({}),
    { ...said, tokenId: "another" },
    { ...said, tokenId: undefined },
    { ...said, type: "USAGE_TYPE_SIGNUP" },
    { ...said, type: undefined },
  ]) {
    refuses(() => accepts(other, login), "\\.message", /must say \{/);
  }
  for (const text of ["", "[]", "null", "{", `{"type":"a","type":"b"}`]) {
    refuses(() => checkClientSignature(key.signed(text), token, login), "\\.message", /./);
  }
});

test("a signup says what the user will have, but for what is empty and the contact that the token shows", () => {
  const type = "USAGE_TYPE_SIGNUP";
  accepts(saying({ signupV2: asked }, type), signup());
  accepts(saying({ signup: asked }, type), signup());
  accepts(saying({ signupV2: { apiKeys } }, type), signup(), {});
  accepts(saying({ signupV2: { apiKeys, email: null } }, type), signup({ email: "ADA@example.com" }));
  accepts(saying({ signupV2: { apiKeys, email: "bob@example.com" } }, type), signup({ email: "bob@example.com" }));
  accepts(saying({ signupV2: { apiKeys } }, type), signup({ email: undefined }));
  // What the newer member says counts.
  accepts(saying({ signup: { apiKeys: [] }, signupV2: asked }, type), signup());
  for (const signupV2 of [undefined, "text"]) {
    refuses(
      () => accepts(saying({ signupV2 }, type), signup()),
      "\\.message",
      /must have the member `signupV2`, an object/,
    );
  }
  const phone = "+15555550100";
  const cases: [member: string, said: object, asked: Partial<SignupUsage>][] = [
    ["apiKeys", {}, {}],
    ["apiKeys", { apiKeys: [] }, {}],
    ["apiKeys", { apiKeys: [...apiKeys, ...apiKeys] }, {}],
    ["apiKeys", { apiKeys: [{ ...apiKeys[0], expirationSeconds: "5" }] }, {}],
    ["authenticators", { apiKeys, authenticators: [{}] }, {}],
    ["authenticators", { apiKeys }, { authenticators: [{}] }],
    ["oauthProviders", { apiKeys }, { oauthProviders: [{}] }],
    ["email", { apiKeys, email: "bob@example.com" }, {}],
    ["email", { apiKeys, email: "ada@example.com" }, { email: undefined }],
    ["email", { apiKeys }, { email: "bob@example.com" }],
    ["phoneNumber", { apiKeys }, { phoneNumber: phone }],
    ["phoneNumber", { apiKeys, phoneNumber: phone }, {}],
  ];
  for (const [member, signupV2, more] of cases) {
    const work = () => accepts(saying({ signupV2 }, type), signup(more));
    refuses(work, "\\.message", new RegExp(`has another \`${member}\` than the user who shows the token`));
  }
  const byPhone = { ...token, verification_type: "OTP_TYPE_SMS", contact: phone };
  const said = key.signed(saying({ signupV2: { apiKeys } }, type));
  checkClientSignature(said, byPhone, signup({ email: undefined, phoneNumber: phone }));
  refuses(() => checkClientSignature(said, byPhone, signup()), "\\.message", /has another `email`/);
});
