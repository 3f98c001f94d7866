import assert from "node:assert/strict";
import { it } from "node:test";
import {
  decryptCredentialBundle,
  encryptOtpCodeToBundle,
  verifyOtpVerificationToken,
  verifySessionJwtSignature,
} from "@turnkey/crypto";
import { exportTarget } from "../support/bundles.ts";
import { addUser, type Client, generateApiKey, type Json } from "../support/client.ts";
import { clientSignature, mailedCode } from "../support/one-time-codes.ts";
import { onEachEngine, type TestServer } from "../support/server.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const EMAIL = { otpType: "OTP_TYPE_EMAIL", appName: "Shop" };
const V3 = { type: "ACTIVITY_TYPE_INIT_OTP_V3" };
const VERIFY_V2 = { type: "ACTIVITY_TYPE_VERIFY_OTP_V2" };
const LOGIN_V2 = { type: "ACTIVITY_TYPE_OTP_LOGIN_V2" };

let addresses = 0;
const newAddress = (): string => `person-${process.pid}-${++addresses}@example.com`;

const serviceKey = async ({ baseUrl }: TestServer, purpose: string): Promise<string> =>
  ((await (await fetch(`${baseUrl}/.well-known/keystead.json`)).json()) as Json).serviceKeys[purpose][0].publicKey;

onEachEngine("one-time codes", (server) => {
  const wrong = "000000000";
  const verify = (client: Client, otpId: string, otpCode: string, more: object = {}) =>
    client.submit("verify_otp", { otpId, otpCode, ...more }, { type: "ACTIVITY_TYPE_VERIFY_OTP" });
  const start = async (client: Client, contact: string, more: object = {}): Promise<Json> =>
    client.result("init_otp", { ...EMAIL, contact, ...more }, V3);

  it("sign a user in from a parent, encrypted by the published client and checked by it", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const contact = newAddress();
    await sub.client.result("update_user", { userId: sub.userId, userEmail: contact.toUpperCase() });
    const { otpId, otpEncryptionTargetBundle } = await start(root.client, contact);
    const key = generateApiKey();
    const otpKey = await serviceKey(server(), "otp");
    const code = (await mailedCode(server(), contact)).toLowerCase();
    const encryptedOtpBundle = await encryptOtpCodeToBundle(code, otpEncryptionTargetBundle, key.publicKey, otpKey);
    const { verificationToken } = await root.client.result("verify_otp", { otpId, encryptedOtpBundle }, VERIFY_V2);
    const claims = await verifyOtpVerificationToken(verificationToken, otpKey);
    assert.equal((claims as Json).contact, contact);
    const token = JSON.parse(Buffer.from(verificationToken.split(".")[1], "base64url").toString());
    assert.equal(token.public_key, key.publicKey);
    const session = generateApiKey();
    const message = { login: { publicKey: session.publicKey }, tokenId: token.id, type: "USAGE_TYPE_LOGIN" };
    const inSub = root.client.with({ organizationId: sub.client.organizationId });
    const login = { verificationToken, publicKey: session.publicKey, clientSignature: clientSignature(key, message) };
    for (const [member, value] of [
      ["message", JSON.stringify({ ...message, tokenId: "another" })],
      ["signature", "ab".repeat(64)],
      ["publicKey", session.publicKey],
    ] as const) {
      const forged = { ...login, clientSignature: { ...login.clientSignature, [member]: value } };
      const { status, body } = await inSub.submit("otp_login", forged, LOGIN_V2);
      assert.equal(status, 400, member);
      assert.match(body.message, /clientSignature/);
    }
    const answer = await inSub.submit("otp_login", login, LOGIN_V2);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { session: jwt } = answer.body.activity.result.otpLoginResult;
    assert.ok(await verifySessionJwtSignature(jwt, await serviceKey(server(), "session")));
    assert.equal(answer.body.activity.organizationId, root.client.organizationId, "the parent asked and keeps it");
    assert.equal((await sub.client.with({ key: session }).read("whoami")).userId, sub.userId);
    const again = { ...login, publicKey: generateApiKey().publicKey };
    const second = { ...message, login: { publicKey: again.publicKey } };
    const reused = await inSub.submit(
      "otp_login",
      { ...again, clientSignature: clientSignature(key, second) },
      LOGIN_V2,
    );
    assert.equal(reused.status, 400);
    assert.match(reused.body.message, /used already/);
  });

  it("serve once, and are locked after three wrong guesses; the right one is then too late", async () => {
    const { root } = await createWorld(server());
    const contact = newAddress();
    const { otpId } = await start(root.client, contact);
    const code = await mailedCode(server(), contact);
    for (let count = 0; count < 2; count++) {
      const { status, body } = await verify(root.client, otpId, wrong);
      assert.equal(status, 400);
      assert.match(body.message, /^Invalid OTP code/);
    }
    assert.equal((await verify(root.client, otpId, code.toLowerCase())).status, 200);
    assert.equal((await verify(root.client, otpId, code)).status, 400, "once");

    const other = newAddress();
    const second = await start(root.client, other);
    const right = await mailedCode(server(), other);
    for (let count = 0; count < 3; count++) assert.equal((await verify(root.client, second.otpId, wrong)).status, 400);
    const late = await verify(root.client, second.otpId, right);
    assert.equal(late.status, 400);
    assert.match(late.body.message, /too often/);
    assert.doesNotMatch(JSON.stringify(late.body), new RegExp(right));
  });

  it("count guesses that come at once, each", async () => {
    const { root } = await createWorld(server());
    const contact = newAddress();
    const { otpId } = await start(root.client, contact, { otpLength: 6, alphanumeric: false });
    const code = await mailedCode(server(), contact);
    assert.match(code, /^[0-9]{6}$/);
    const guesses = Array.from({ length: 20 }, (_, index) => String(index).padStart(6, "7")).filter(
      (one) => one !== code,
    );
    const answers = await Promise.all(guesses.map((one) => verify(root.client, otpId, one)));
    assert.ok(answers.every(({ status }) => status === 400 || status === 429));
    assert.equal((await verify(root.client, otpId, code)).status, 400);
    const { read } = server().opened.database;
    const [{ tries }] = (await read.selectFrom("otps").select("tries").where("id", "=", otpId).execute()) as [Json];
    assert.equal(tries, 3);
  });

  it("are started three times in three minutes, for a parent and all below it together", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const contact = newAddress();
    await start(root.client, contact);
    await start(sub.client, contact);
    await start(root.client, contact.toUpperCase());
    const { status, body } = await sub.client.submit("init_otp", { ...EMAIL, contact }, V3);
    assert.equal(status, 429);
    assert.match(body.message, /^Max number of OTPs have been initiated/);
    assert.equal(body.turnkeyErrorCode, "MAX_OTP_INITIATED");
    await start(root.client, newAddress());
  });

  it("are not in the database, in a log or in an answer before they are used", async () => {
    const { root } = await createWorld(server());
    const contact = newAddress();
    const { otpId } = await start(root.client, contact);
    const code = await mailedCode(server(), contact);
    const { read } = server().opened.database;
    const rows = JSON.stringify([
      await read.selectFrom("otps").selectAll().where("id", "=", otpId).execute(),
      await read.selectFrom("jobs").selectAll().execute(),
      await read
        .selectFrom("activities")
        .selectAll()
        .where("organization_id", "=", root.client.organizationId)
        .execute(),
    ]);
    assert.ok(!rows.includes(code));
    assert.ok(!server().log().includes(code));
  });

  it("take what the contract says, and nothing else", async () => {
    const { root } = await createWorld(server());
    const bad: [object, RegExp][] = [
      [{ contact: "nobody" }, /contact/],
      [{ otpType: "OTP_TYPE_SMS", contact: "123" }, /contact/],
      [{ otpType: "OTP_TYPE_PIGEON", contact: "a@b.cd" }, /otpType/],
      [{ contact: "a@b.cd", otpLength: 5 }, /otpLength/],
      [{ contact: "a@b.cd", otpLength: 10 }, /otpLength/],
      [{ contact: "a@b.cd", expirationSeconds: "601" }, /expirationSeconds/],
    ];
    for (const [more, named] of bad) {
      const { status, body } = await root.client.submit("init_otp", { ...EMAIL, ...more }, V3);
      assert.equal(status, 400, JSON.stringify(more));
      assert.match(body.message, named);
    }
    const sms = { otpType: "OTP_TYPE_SMS", appName: "Shop", contact: "+14155550123" };
    const off = await root.client.submit("init_otp", sms, V3);
    assert.equal(off.status, 403);
    assert.match(off.body.message, /FEATURE_NAME_SMS_AUTH/);
    const { otpId } = await start(root.client, newAddress());
    const bundle = JSON.stringify({ encappedPublic: `04${"11".repeat(64)}`, ciphertext: "ab".repeat(40) });
    assert.equal(
      (await root.client.submit("verify_otp", { otpId, encryptedOtpBundle: bundle }, VERIFY_V2)).status,
      400,
    );
    const other = await createWorld(server());
    assert.equal((await verify(other.root.client, otpId, wrong)).status, 400, "of another organization");
  });

  it("of init_otp_auth sign their user in with a bundle, and tell nobody who has an address", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const contact = newAddress();
    await sub.client.result("update_user", { userId: sub.userId, userEmail: contact });
    const inSub = root.client.with({ organizationId: sub.client.organizationId });
    const init = (address: string) =>
      inSub.result("init_otp_auth", { ...EMAIL, contact: address }, { type: "ACTIVITY_TYPE_INIT_OTP_AUTH_V3" });
    const { otpId } = await init(contact);
    const target = exportTarget();
    const { targetPublicKey } = target;
    const otpCode = await mailedCode(server(), contact);
    assert.equal((await inSub.submit("otp_auth", { otpId, otpCode: wrong, targetPublicKey })).status, 400);
    const answer = await inSub.submit("otp_auth", { otpId, otpCode, targetPublicKey });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { userId, apiKeyId, credentialBundle } = answer.body.activity.result.otpAuthResult;
    assert.equal(userId, sub.userId);
    const { user } = await sub.client.read("get_user", { userId });
    const key = user.apiKeys.find((one: Json) => one.apiKeyId === apiKeyId);
    assert.equal(key.credential.type, "CREDENTIAL_TYPE_OTP_AUTH_KEY_P256");
    assert.match(key.apiKeyName, /^OTP Auth - 20\d\d-/);
    const privateKey = decryptCredentialBundle(credentialBundle, target.privateKey);
    const session = sub.client.with({ key: { publicKey: key.credential.publicKey, privateKey } });
    assert.equal((await session.read("whoami")).userId, userId);
    const nobody = await init(newAddress());
    assert.deepEqual(Object.keys(nobody), ["otpId"]);
    const guessed = await inSub.submit("otp_auth", { otpId: nobody.otpId, otpCode: wrong, targetPublicKey });
    assert.equal(guessed.status, 400);
    assert.match(guessed.body.message, /^Invalid OTP code: it is not the one/);
    const plain = await addUser(root.client);
    const denied = await plain.client
      .with({ organizationId: sub.client.organizationId })
      .submit("otp_auth", { otpId, otpCode, targetPublicKey });
    assert.equal(denied.status, 403, "the parent's policies decide");
    const { status } = await inSub.submit("create_user_tag", { userTagName: "t", userIds: [] });
    assert.equal(status, 400, "any other activity is the sub-organization's own");
  });
});
