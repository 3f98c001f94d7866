import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { attestedStamp, BY_CODE, BY_OIDC } from "../../../test/support/attested-stamps.ts";
import { generateApiKey } from "../../../test/support/client.ts";
import { type StampingKey, stamper } from "../../crypto/make-stamp.ts";
import { MAX_DENIED_MESSAGE_LENGTH } from "../../kernel/limits.ts";
import { nonceOfPublicKey } from "../../providers/oidc/nonce.ts";
import type { ActivityRecord, VoteRecord } from "./rows.ts";
import { type OpenToken, verifyGiven } from "./verify-stamps.ts";

const key = generateApiKey();
const other = generateApiKey();
const body = '{"parameters":{}}';
const failure = { code: 7, message: "denied", details: [] };

const voteOf = (stamp: object, more: object = {}): VoteRecord =>
  ({ id: "v", userId: "ada", message: body, assertion: null, ...stamp, ...more }) as VoteRecord;
const vote = (more: object = {}, by: StampingKey = key): VoteRecord =>
  voteOf(JSON.parse(Buffer.from(stamper(by)(body), "base64url").toString()), more);

/** By a key that a token is bound to. */
const attested = (scheme: string, token: string, more: object = {}): VoteRecord => {
  const { publicKeyAttestation, ...stamp } = attestedStamp({ key, token, scheme }, body) as Record<string, string>;
  return voteOf(stamp, { assertion: JSON.stringify({ publicKeyAttestation, publicKey: key.publicKey }), ...more });
};
const oidcToken = (nonce: string): string =>
  [
    { alg: "RS256", kid: "k" },
    { iss: "https://issuer.example", aud: "app", sub: "s", iat: 1, exp: 2, nonce },
    "signature",
  ]
    .map((part) => Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url"))
    .join(".");

async function verdictOf(
  given: VoteRecord,
  activity: Partial<ActivityRecord> = { body },
  { isFurther = false } = {},
): Promise<string> {
  const record = { status: "ACTIVITY_STATUS_COMPLETED", intent: { intent: {} }, failure: null, ...activity };
  const stamps = isFurther ? { votes: [], further: [given] } : { votes: [given], further: [] };
  const claims = {
    id: "t",
    verification_type: "OTP_TYPE_EMAIL",
    contact: "a@b.example",
    organization_id: "o",
    exp: "1",
  };
  const openToken: OpenToken = async (token) =>
    token === "ours" ? { ...claims, public_key: key.publicKey } : undefined;
  const [verified] = await verifyGiven(record as ActivityRecord, stamps, openToken);
  return verified?.verdict ?? "";
}

describe("a stamp that is verified by what is recorded beside it", () => {
  it("is by that key, over that message", async () => {
    assert.equal(await verdictOf(vote()), "valid");
    assert.equal(await verdictOf(vote({ publicKey: other.publicKey })), "invalid");
    assert.equal(await verdictOf(vote({ message: `${body} ` })), "invalid");
    assert.equal(await verdictOf(vote({ signature: "00" })), "invalid");
    assert.equal(await verdictOf(vote({ assertion: "{}" })), "invalid");
    assert.equal(await verdictOf(vote({ assertion: "not JSON" })), "invalid");
  });

  it("with a token of ours has one for that key", async () => {
    assert.equal(await verdictOf(attested(BY_CODE, "ours")), "valid");
    assert.equal(await verdictOf(attested(BY_CODE, "another's")), "invalid");
    assert.equal(await verdictOf(attested(BY_CODE, "ours", { message: "{}" })), "invalid");
    assert.equal(await verdictOf(attested(BY_CODE, "ours", { publicKey: other.publicKey })), "invalid");
    assert.equal(await verdictOf(attested(BY_CODE, "ours", { assertion: null })), "invalid", "it is not there");
    const { signature, publicKey } = vote({}, other);
    const assertion = JSON.stringify({ publicKeyAttestation: "ours", publicKey });
    assert.equal(await verdictOf(attested(BY_CODE, "ours", { signature, assertion })), "invalid", "another key signed");
  });

  it("with a token of an issuer names that key in it, which is as much as can be told", async () => {
    const bound = oidcToken(nonceOfPublicKey(key.publicKey));
    assert.equal(await verdictOf(attested(BY_OIDC, bound)), "notVerifiable");
    assert.equal(await verdictOf(attested(BY_OIDC, bound, { message: "{}" })), "invalid");
    assert.equal(await verdictOf(attested(BY_OIDC, oidcToken(nonceOfPublicKey(other.publicKey)))), "invalid");
    assert.equal(await verdictOf(attested(BY_OIDC, "no token")), "invalid");
  });
});

describe("a stamp of which too little is kept", () => {
  const cut = vote({ message: "x".repeat(MAX_DENIED_MESSAGE_LENGTH) });
  const denied = { status: "ACTIVITY_STATUS_REJECTED", failure } as const;

  it("is over a large body that was denied, and over no other", async () => {
    assert.equal(await verdictOf(cut, denied), "notVerifiable");
    assert.equal(await verdictOf(vote(), denied), "valid", "a small one is whole");
    assert.equal(await verdictOf(cut, { ...denied, body }), "invalid", "its body is kept");
    assert.equal(await verdictOf(cut, { ...denied, failure: null }), "invalid", "voted down");
    assert.equal(await verdictOf(cut, { failure }), "invalid", "allowed");
    assert.equal(await verdictOf(cut, denied, { isFurther: true }), "invalid", "nobody was asked for more");
  });

  it("is over a code, where the body is not kept", async () => {
    const intent = { verifyOtpIntent: { otpCode: "***" } };
    for (const isFurther of [false, true]) {
      assert.equal(await verdictOf(vote(), { intent }, { isFurther }), "notVerifiable");
      assert.equal(await verdictOf(vote(), { intent, body }, { isFurther }), "valid");
    }
    assert.equal(await verdictOf(vote(), {}), "valid");
  });

  it("is a passkey's that was not kept whole", async () => {
    assert.equal(await verdictOf(vote({ scheme: "SIGNATURE_SCHEME_TK_WEBAUTHN" })), "notVerifiable");
    assert.equal(await verdictOf(vote({ scheme: "SIGNATURE_SCHEME_TK_WEBAUTHN", assertion: "{}" })), "invalid");
  });
});
