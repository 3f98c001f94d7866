import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { compactToken, signingInput } from "../../crypto/jwt.ts";
import { DAY_MS } from "../../kernel/durations.ts";
import { VERIFICATION_HEADER } from "../../signer/statements.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import {
  contactOfToken,
  openPastVerificationToken,
  openVerificationToken,
  refuseUsedToken,
  requireVerificationToken,
  useToken,
} from "./verification-tokens.ts";

/** Tokens that attest a contact, in a database of which each answer is given. */

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const { x = "", y = "" } = privateKey.export({ format: "jwk" });
const isOdd = (Buffer.from(y, "base64url").at(-1) as number) % 2 === 1;
const publicKey = `${isOdd ? "03" : "02"}${Buffer.from(x, "base64url").toString("hex")}`;

const NOW = 1_800_000_000_000;
const claims = {
  id: "token",
  verification_type: "OTP_TYPE_EMAIL",
  contact: "Ada@Example.com",
  organization_id: "sub",
  public_key: publicKey,
  exp: String(NOW + 1),
};
function tokenOf(
  more: Partial<Record<keyof typeof claims, unknown>> = {},
  header: object = VERIFICATION_HEADER,
): string {
  const input = signingInput(header, { ...claims, ...more });
  return compactToken(input, sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" }));
}

/** What is asked of a database with these rows, of an installation that was restored at this time, if ever. */
function database(rows: object[], restoredSince?: number) {
  const asked: unknown[][] = [];
  const all = async ({ sql, parameters }: { sql: string; parameters: unknown[] }) => {
    if (sql.includes('"installation"')) return restoredSince === undefined ? [] : [{ value: String(restoredSince) }];
    asked.push(parameters);
    return rows;
  };
  return { asked, read: { kind: "sqlite", all } as unknown as Reader & Transactor };
}
const key = { id: "key", curve: "CURVE_P256", public_key: publicKey, sealed_key: Buffer.alloc(0) };
const keys = (restoredSince?: number) => database([key], restoredSince);

test("a token is valid until it expires, and says what it attests", async () => {
  const { read } = keys();
  assert.deepEqual(await openVerificationToken(read, tokenOf(), NOW), claims);
  assert.equal(await openVerificationToken(read, tokenOf(), NOW + 1), undefined);
  const { public_key: _, ...keyless } = claims;
  assert.deepEqual(await openVerificationToken(read, tokenOf({ public_key: undefined }), NOW), keyless);
  for (const [token, what] of [
    [tokenOf({ exp: NOW + 1 }), "an expiry that is a number"],
    [tokenOf({ exp: "" }), "no expiry"],
    [tokenOf({ exp: `${NOW}999x` }), "an expiry that is no number"],
    [tokenOf({ organization_id: undefined }), "no organization"],
    [tokenOf({}, { alg: "ES256", typ: "other" }), "another kind of token"],
    ["text", "no token"],
  ] as const) {
    assert.equal(await openVerificationToken(read, token, NOW), undefined, what);
  }
});

test("a token from before the installation was restored is none, as its use may be forgotten", async () => {
  const id = "01a22901-e8ba-7f11-aa2a-149edb1890eb";
  const issuedAt = Number.parseInt(id.replace("-", "").slice(0, 12), 16);
  const opened = (restoredSince: number) => openVerificationToken(keys(restoredSince).read, tokenOf({ id }), NOW);
  assert.deepEqual(await opened(issuedAt), { ...claims, id });
  assert.equal(await opened(issuedAt + 1), undefined);
});

test("a token is verified with keys that were retired up to two days ago, and of a vote with every key", async () => {
  const { read, asked } = keys();
  await openVerificationToken(read, tokenOf(), NOW);
  assert.deepEqual(asked, [["otp", NOW - 2 * DAY_MS]]);
  assert.deepEqual(await openPastVerificationToken(read, tokenOf({ exp: "1" })), { ...claims, exp: "1" });
  assert.deepEqual(asked.at(-1), ["otp", 0]);
});

test("a token is for the organization that had it issued, and for the sub-organizations of that one", async () => {
  const { read } = keys();
  const requiredIn = (id: string, parentId: string | null, token = tokenOf()) =>
    requireVerificationToken(read, token, { organization: { id, parentId }, field: "parameters.token", now: NOW });
  assert.deepEqual(await requiredIn("sub", "parent"), claims);
  assert.deepEqual(await requiredIn("other", "sub"), claims);
  const refused = (reason: RegExp) => ({ code: "VERIFICATION_TOKEN_INVALID", message: reason });
  for (const parentId of ["parent", null]) {
    await assert.rejects(
      requiredIn("other", parentId),
      refused(/`parameters\.token`.* issued in another organization/),
    );
  }
  await assert.rejects(requiredIn("parent", null), refused(/another organization/));
  await assert.rejects(requiredIn("sub", "parent", "text"), refused(/not issued here, has expired, or is from before/));
  await assert.rejects(requiredIn("sub", "parent", tokenOf({ exp: String(NOW) })), refused(/has expired/));
});

test("a token is used up once, for all organizations of one parent", async () => {
  const token = { ...claims, exp: String(NOW) };
  const login = { usage: "LOGIN", field: "parameters.token" } as const;
  const sub = { id: "sub", parentId: "parent" };
  const refused = { code: "VERIFICATION_TOKEN_INVALID", message: /`parameters\.token`.* has already been used/ };
  const unused = database([]);
  await refuseUsedToken(unused.read, sub, token, login);
  assert.deepEqual(unused.asked, [["parent", "token", "LOGIN"]]);
  await assert.rejects(refuseUsedToken(database([{ id: "token" }]).read, sub, token, login), refused);
  const stored = database([{ id: "token" }]);
  await useToken(stored.read, sub, token, login);
  assert.deepEqual(stored.asked, [["parent", "token", "LOGIN", NOW]]);
  // Nothing is stored where it is there already.
  await assert.rejects(useToken(database([]).read, sub, token, login), refused);
});

test("a token attests an address in lowercase, or a phone number", () => {
  assert.deepEqual(contactOfToken(claims), { type: "EMAIL", value: "ada@example.com" });
  const bySms = { ...claims, verification_type: "OTP_TYPE_SMS", contact: "+15555550100" };
  assert.deepEqual(contactOfToken(bySms), { type: "PHONE_NUMBER", value: "+15555550100" });
});
