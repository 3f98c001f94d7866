import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  decryptCredentialBundle,
  encryptOtpCodeToBundle,
  verifyOtpVerificationToken,
  verifySessionJwtSignature,
} from "@turnkey/crypto";
import { pruneOtps } from "../../src/capabilities/otp/prune.ts";
import { activityOfRow } from "../../src/engine/activities/rows.ts";
import { verifyStamps } from "../../src/engine/activities/verify-stamps.ts";
import type { Database } from "../../src/storage/database.ts";
import { exportTarget } from "../support/bundles.ts";
import { addUser, type Client, generateApiKey, type Json } from "../support/client.ts";
import { startMailServer } from "../support/mail-server.ts";
import { clientSignature, mailedCode, messagesOf, verificationTokenFor } from "../support/one-time-codes.ts";
import { noMailTo } from "../support/outbox.ts";
import { reservePort } from "../support/ports.ts";
import { leavesAccounts } from "../support/provenance.ts";
import { startReceiver } from "../support/receiver.ts";
import { engines, onEachEngine, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const EMAIL = { otpType: "OTP_TYPE_EMAIL", appName: "Shop" };
const V3 = { type: "ACTIVITY_TYPE_INIT_OTP_V3" };
const VERIFY_V2 = { type: "ACTIVITY_TYPE_VERIFY_OTP_V2" };
const LOGIN_V2 = { type: "ACTIVITY_TYPE_OTP_LOGIN_V2" };

let addresses = 0;
const newAddress = (): string => `person-${process.pid}-${++addresses}@example.com`;

const serviceKey = async ({ baseUrl }: TestServer, purpose: string): Promise<string> =>
  ((await (await fetch(`${baseUrl}/.well-known/keystead.json`)).json()) as Json).serviceKeys[purpose][0].publicKey;

/** Whatever the tables hold that a code passes by, also as what it is the base64 of. */
async function textOf({ read }: Database): Promise<string> {
  const tables = ["otps", "jobs", "mails", "activities", "votes"] as const;
  const rows = await Promise.all(tables.map((table) => read.selectFrom(table).selectAll().execute()));
  return rows
    .flat()
    .flatMap((row) => Object.values(row).map(String))
    .flatMap((text) => [text, Buffer.from(text, "base64").toString("latin1")])
    .join("\n");
}

onEachEngine("one-time codes", (server, engine) => {
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
    assert.match(reused.body.message, /already been used/);
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
    assert.match(late.body.message, /too many wrong attempts/);
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

  it("are started three times in three minutes for one user identifier, to whatever contacts", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const userIdentifier = "the hash of an address";
    for (const client of [root.client, sub.client]) await start(client, newAddress(), { userIdentifier });
    const inSub = root.client.with({ organizationId: sub.client.organizationId });
    // Nobody there has it, which nobody is told: it counts all the same.
    await inSub.result("init_otp_auth", { ...EMAIL, contact: newAddress(), userIdentifier });
    const contact = newAddress();
    const { status, body } = await root.client.submit("init_otp", { ...EMAIL, contact, userIdentifier }, V3);
    assert.equal(status, 429);
    assert.match(body.message, /^Max number of OTPs have been initiated/);
    assert.equal(body.turnkeyErrorCode, "MAX_OTP_INITIATED");
    const atOnce = await Promise.all(
      Array.from({ length: 5 }, () => {
        const parameters = { ...EMAIL, contact: newAddress(), userIdentifier: "at once" };
        return root.client.submit("init_otp", parameters, V3);
      }),
    );
    assert.deepEqual(atOnce.map(({ status }) => status).sort(), [200, 200, 200, 429, 429]);
    // Others go on, with that contact too; an empty text identifies nobody, and another parent's identifiers are its own.
    await start(root.client, contact, { userIdentifier: "another" });
    for (let count = 0; count < 4; count++) await start(root.client, newAddress(), { userIdentifier: "" });
    await start((await createWorld(server())).root.client, newAddress(), { userIdentifier });
  });

  it("are used once by a body, however often it is sent; each time that it guesses wrong counts", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const contact = newAddress();
    await sub.client.result("update_user", { userId: sub.userId, userEmail: contact });
    const { otpId } = await start(root.client, contact);
    const otpCode = await mailedCode(server(), contact);
    const twice = async (client: Client, path: string, parameters: object, type: string) => {
      const body = client.submitBody(path, parameters, { type });
      const post = () => client.post(`/public/v1/submit/${path}`, body);
      return [await post(), await post()] as const;
    };
    const guesses = await twice(root.client, "verify_otp", { otpId, otpCode: wrong }, "ACTIVITY_TYPE_VERIFY_OTP");
    assert.deepEqual(
      guesses.map(({ status }) => status),
      [400, 400],
    );
    const { read } = server().opened.database;
    const [{ tries }] = (await read.selectFrom("otps").select("tries").where("id", "=", otpId).execute()) as [Json];
    assert.equal(tries, 2);
    const [one, two] = await twice(root.client, "verify_otp", { otpId, otpCode }, "ACTIVITY_TYPE_VERIFY_OTP");
    assert.deepEqual([two.status, two.body.activity.id], [200, one.body.activity.id]);
    const { verificationToken } = two.body.activity.result.verifyOtpResult;
    const inSub = root.client.with({ organizationId: sub.client.organizationId });
    const login = { verificationToken, publicKey: generateApiKey().publicKey };
    const [first, second] = await twice(inSub, "otp_login", login, "ACTIVITY_TYPE_OTP_LOGIN");
    assert.deepEqual([second.status, second.body.activity.result], [200, first.body.activity.result]);
  });

  it("are not in the database, in a log, a metric or an answer before they are used", async () => {
    let letGo: (() => void) | undefined;
    const mails = await startMailServer({
      onRcptTo(_address, _session, done) {
        letGo = done;
      },
    });
    const mailing = await startTestServer(engine, {
      settings: {
        KEYSTEAD_SMTP_URL: mails.url,
        KEYSTEAD_MAIL_FROM: "keys@example.com",
        KEYSTEAD_ADMIN_PORT: String(await reservePort()),
      },
    });
    try {
      const answer = JSON.stringify(await start(mailing.root, newAddress()));
      const contents = () => textOf(mailing.opened.database);
      await until(() => letGo !== undefined, "the mail to be on its way");
      const before = await contents();
      assert.match(before, /send_mail/, "the job that sends it is there");
      letGo?.();
      const [mail] = await mails.waitFor(1);
      const [code] = /^[0-9A-Z]{9}$/m.exec(mail?.text ?? "") ?? [];
      assert.ok(code, mail?.text);
      const metrics = await (await fetch(`${mailing.adminUrl}/metrics`)).text();
      assert.match(metrics, /init_otp/);
      for (const place of [answer, before, await contents(), mailing.log(), metrics]) assert.ok(!place.includes(code));
    } finally {
      await mailing.close();
      await mails.close();
    }
  });

  it("are masked wherever they are read later, and not kept of what was denied", async () => {
    const receiver = await startReceiver();
    const hooked = await startTestServer(engine, { settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" } });
    try {
      const { root, user, quorumOfTwo } = await createWorld(hooked);
      const second = await quorumOfTwo();
      const hook = await root.client.submit("create_webhook_endpoint", {
        url: receiver.url,
        name: "hook",
        subscriptions: [{ eventType: "ACTIVITY_UPDATES", filtersJson: '{"type":"ACTIVITY_TYPE_VERIFY_OTP"}' }],
      });
      await second.client.result("approve_activity", { fingerprint: hook.body.activity.fingerprint });
      const asked = await root.client.submit("init_otp", { ...EMAIL, contact: newAddress() }, V3);
      const { otpId } = await second.client.result("approve_activity", {
        fingerprint: asked.body.activity.fingerprint,
      });
      const otpCode = "SECRETONE";
      const body = root.client.submitBody(
        "verify_otp",
        { otpId, otpCode },
        { type: "ACTIVITY_TYPE_VERIFY_OTP", more: { note: "x" } },
      );
      const waiting = await root.client.post("/public/v1/submit/verify_otp", body);
      const { activity } = waiting.body;
      assert.equal(activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
      assert.equal(activity.intent.verifyOtpIntent.otpCode, otpCode, "to whoever sends it");
      assert.equal(activity.votes[0].message, body);
      const shown = async () => (await user.client.read("get_activity", { activityId: activity.id })).activity;
      const masked = await shown();
      assert.deepEqual(masked.intent, { verifyOtpIntent: { otpId, otpCode: "***" } });
      assert.deepEqual(JSON.parse(masked.votes[0].message), {
        ...JSON.parse(body),
        parameters: { otpId, otpCode: "***" },
      });
      const rejected = await second.client.submit("reject_activity", { fingerprint: activity.fingerprint });
      assert.equal(rejected.body.activity.status, "ACTIVITY_STATUS_REJECTED");
      const denied = await user.client.submit("verify_otp", { otpId, otpCode }, { type: "ACTIVITY_TYPE_VERIFY_OTP" });
      assert.equal(denied.status, 403);
      const { activities } = await user.client.read("list_activities");
      const [last] = activities;
      assert.equal(last.status, "ACTIVITY_STATUS_REJECTED");
      assert.deepEqual(last.intent, { verifyOtpIntent: { otpId, otpCode: "***" } });
      const received = await receiver.waitFor(3);
      for (const text of [await shown(), rejected.body, denied.body, activities, received].map((one) =>
        JSON.stringify(one),
      ))
        assert.ok(!text.includes(otpCode), text);
      const { read } = hooked.opened.database;
      const [stored] = await read.selectFrom("activities").selectAll().where("id", "=", last.id).execute();
      const [vote] = await read.selectFrom("votes").selectAll().where("activity_id", "=", last.id).execute();
      assert.ok(stored && vote);
      assert.ok(!JSON.stringify([stored, vote]).includes(otpCode));
      const [stamp] = await verifyStamps(read, activityOfRow(stored));
      assert.equal(stamp?.verdict, "notVerifiable");
      const again = await user.client.read("get_activity", { activityId: last.id });
      assert.equal(again.activity.fingerprint, last.fingerprint);
    } finally {
      await hooked.close();
      await receiver.close();
    }
  });

  it("are seen by policies with their length, and sessions with their profile, also where requests leave them out", async () => {
    const { root, user } = await createWorld(server());
    const allow = (condition: string, effect = "EFFECT_ALLOW") =>
      root.client.result("create_policy", {
        policyName: condition,
        effect,
        condition,
        ...(effect === "EFFECT_ALLOW" ? { consensus: `approvers.any(user, user.id == '${user.userId}')` } : {}),
        notes: "",
      });
    const type = "ACTIVITY_TYPE_INIT_OTP_AUTH_V3";
    await allow(`activity.type == '${type}' && activity.params.otp_length == 9`);
    const init = async (more: object) =>
      (await user.client.submit("init_otp_auth", { ...EMAIL, contact: newAddress(), ...more }, { type })).status;
    assert.equal(await init({}), 200, "nine unless said");
    assert.equal(await init({ otpLength: 9 }), 200);
    assert.equal(await init({ otpLength: 6 }), 403);

    // The other logins by who may sign users in, that is here by one who may only as far as the session has a profile.
    const limited = "['OTP_LOGIN', 'OAUTH_LOGIN']";
    await allow(`activity.kind in ${limited} && activity.params.session_profile_id != ''`);
    const tokens = { otp_login: { verificationToken: "token" }, oauth_login: { oidcToken: "token" } };
    for (const [path, token] of Object.entries(tokens)) {
      const type = `ACTIVITY_TYPE_${path.toUpperCase()}`;
      const answers = [{}, { sessionProfileId: root.userId }].map((more) =>
        user.client.submit(path, { ...token, publicKey: generateApiKey().publicKey, ...more }, { type }),
      );
      // Those who may are told next what is wrong with the token.
      assert.deepEqual(
        (await Promise.all(answers)).map(({ status }) => status),
        [403, 400],
        path,
      );
    }

    const profile = { sessionProfileName: "Signing", scope: "activity.action == 'SIGN'", expirationSeconds: "60" };
    const { sessionProfileId } = await root.client.result("create_session_profile", profile);
    await allow(
      "activity.type == 'ACTIVITY_TYPE_STAMP_LOGIN' && activity.params.session_profile_id == ''",
      "EFFECT_DENY",
    );
    const login = async (more: object) =>
      (await user.client.submit("stamp_login", { publicKey: generateApiKey().publicKey, ...more })).status;
    assert.equal(await login({}), 403);
    assert.equal(await login({ sessionProfileId }), 200);
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
    for (const path of ["init_otp", "init_otp_auth"]) {
      const unknown = { ...EMAIL, contact: newAddress(), emailCustomization: { templateId: "unknown" } };
      const { status, body } = await root.client.submit(path, unknown);
      assert.equal(status, 400, path);
      assert.match(body.message, /`parameters\.emailCustomization\.templateId` failed to get email template contents/);
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

  it("of init_otp_auth serve as long as their user has the contact, and codes are switched on", async () => {
    const { root } = await createWorld(server());
    const { userId, client } = await addSubOrganization(root.client);
    const contact = newAddress();
    const inSub = root.client.with({ organizationId: client.organizationId });
    const move = (userEmail: string) => client.result("update_user", { userId, userEmail });
    await move(contact);
    const type = "ACTIVITY_TYPE_INIT_OTP_AUTH_V3";
    const { otpId } = await inSub.result("init_otp_auth", { ...EMAIL, contact }, { type });
    const otpCode = await mailedCode(server(), contact);
    const signIn = () => inSub.submit("otp_auth", { otpId, otpCode, targetPublicKey: exportTarget().targetPublicKey });
    await move(newAddress());
    const moved = await signIn();
    assert.equal(moved.status, 400);
    assert.match(moved.body.message, /a contact that no longer belongs to the user/);
    await move(contact.toUpperCase());
    const name = "FEATURE_NAME_OTP_EMAIL_AUTH";
    await client.result("remove_organization_feature", { name });
    const off = await signIn();
    assert.equal(off.status, 403);
    assert.match(off.body.message, new RegExp(name));
    await client.result("set_organization_feature", { name, value: "" });
    assert.equal((await signIn()).status, 200, "a refusal uses nothing up");
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
    assert.match(key.apiKeyName, /^OTP Auth - 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(key.expirationSeconds, "900");
    const privateKey = decryptCredentialBundle(credentialBundle, target.privateKey);
    const session = sub.client.with({ key: { publicKey: key.credential.publicKey, privateKey } });
    assert.equal((await session.read("whoami")).userId, userId);
    const other = await init(contact);
    const known = new Set(messagesOf(server()));
    const more = { apiKeyName: "Phone", expirationSeconds: "60", invalidateExisting: true };
    const second = {
      otpId: other.otpId,
      otpCode: await mailedCode(server(), contact, known),
      targetPublicKey,
      ...more,
    };
    await inSub.result("otp_auth", second);
    const { apiKeys } = (await sub.client.read("get_user", { userId })).user;
    assert.deepEqual(
      apiKeys.slice(1).map(({ apiKeyName, expirationSeconds }: Json) => [apiKeyName, expirationSeconds]),
      [["Phone", "60"]],
      "of the keys of its kind it is the only one",
    );
    const strangers = newAddress();
    const { signer } = server().opened;
    const ask = signer.ask;
    const asked: string[][] = [];
    signer.ask = ((request, asker) => {
      // The jobs that send mail have their own time.
      if (request.verb !== "openJobSecret") asked.at(-1)?.push(request.verb);
      return ask.call(signer, request, asker);
    }) as typeof ask;
    const noting = async (address: string) => {
      asked.push([]);
      return init(address);
    };
    let nobody: Json;
    try {
      nobody = await noting(strangers);
      await noting(contact);
    } finally {
      signer.ask = ask;
    }
    assert.deepEqual(asked[0], asked[1], "the signer does as much for it");
    assert.deepEqual(Object.keys(nobody), ["otpId"]);
    const { read } = server().opened.database;
    const queued = await read.selectFrom("mails").selectAll().where("to_address", "=", strangers).execute();
    assert.equal(queued.length, 1, "as much is stored for it");
    await until(async () => {
      const jobs = await read.selectFrom("jobs").select("payload").where("kind", "=", "send_mail").execute();
      return jobs.every(({ payload }) => !payload.includes(queued[0]?.id as string));
    }, "the job to be done");
    assert.ok(await noMailTo(server(), strangers), "and nothing is sent");
    assert.deepEqual((await inSub.read("list_email_events", { email: strangers })).emailEvents, []);
    const guessed = await inSub.submit("otp_auth", { otpId: nobody.otpId, otpCode: wrong, targetPublicKey });
    assert.equal(guessed.status, 400);
    assert.match(guessed.body.message, /^Invalid OTP code: it is not the code/);
    const plain = await addUser(root.client);
    const denied = await plain.client
      .with({ organizationId: sub.client.organizationId })
      .submit("otp_auth", { otpId, otpCode, targetPublicKey });
    assert.equal(denied.status, 403, "the parent's policies decide");
    const { status } = await inSub.submit("create_user_tag", { userTagName: "t", userIds: [] });
    assert.equal(status, 400, "any other activity is the sub-organization's own");
  });

  leavesAccounts(server);
});

for (const engine of engines) {
  describe(`the life of one-time codes (${engine})`, () => {
    let server: TestServer;
    let aheadMs = 0;
    before(async () => {
      server = await startTestServer(engine, { clock: () => Date.now() + aheadMs });
    });
    after(() => server.close());

    const WINDOW_MS = 180_000;
    const HOUR_MS = 3_600_000;
    const WRONG = "000000000";
    /** Starts a code; resolves to how it is guessed at, and what it is. */
    const start = async (contact: string, more: object = {}) => {
      const known = new Set(messagesOf(server));
      const { otpId } = await server.root.result("init_otp", { ...EMAIL, contact, ...more }, V3);
      const code = await mailedCode(server, contact, known);
      const guess = (otpCode: string) =>
        server.root.submit("verify_otp", { otpId, otpCode }, { type: "ACTIVITY_TYPE_VERIFY_OTP" });
      return { code, guess };
    };
    const refusal = ({ status, body }: Json): unknown[] => [status, body.message];

    it("is five minutes unless said", async () => {
      const { code, guess } = await start(newAddress());
      const longer = await start(newAddress(), { expirationSeconds: "600" });
      aheadMs += 300_000;
      const [status, message] = refusal(await guess(code));
      assert.equal(status, 400);
      assert.match(message as string, /has expired/);
      assert.equal((await longer.guess(longer.code)).status, 200);
    });

    it("ends with the start of a fourth one", async () => {
      const contact = newAddress();
      const expirationSeconds = "600";
      const codes = [];
      for (const _ of "123") codes.push(await start(contact, { expirationSeconds }));
      const [first, second, third] = codes as [(typeof codes)[0], (typeof codes)[0], (typeof codes)[0]];
      aheadMs += WINDOW_MS;
      const fourth = await start(contact, { expirationSeconds });
      assert.match((await first.guess(first.code)).body.message, /has expired/);
      for (const { code, guess } of [second, third, fourth]) assert.equal((await guess(code)).status, 200);
    });

    it("goes on as it is when another one is sent: wrong guesses stay counted", async () => {
      const contact = newAddress();
      const first = await start(contact);
      for (const _ of "12") assert.equal((await first.guess(WRONG)).status, 400);
      const second = await start(contact);
      assert.match((await first.guess(WRONG)).body.message, /not the code/);
      assert.match((await first.guess(first.code)).body.message, /too many wrong attempts/);
      assert.equal((await second.guess(second.code)).status, 200);
    });

    it("holds for a login that waits: it fails with the vote that comes after its token's end", async () => {
      const { root, quorumOfTwo } = await createWorld(server);
      const verificationToken = await verificationTokenFor(server, root.client, newAddress(), {
        expirationSeconds: "60",
      });
      const second = await quorumOfTwo();
      const login = { verificationToken, publicKey: generateApiKey().publicKey };
      const { body } = await root.client.submit("otp_login", login, { type: "ACTIVITY_TYPE_OTP_LOGIN" });
      assert.equal(body.activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED", JSON.stringify(body));
      aheadMs += 61_000;
      const answer = await second.client.submit("approve_activity", { fingerprint: body.activity.fingerprint });
      assert.equal(answer.body.activity?.status, "ACTIVITY_STATUS_FAILED", JSON.stringify(answer.body));
      assert.match(answer.body.activity.failure.message, /has expired/);
    });

    it("ends with one login, also where the clock is an hour ahead for a while and what is over is deleted then", async () => {
      const { root } = await createWorld(server);
      const contact = newAddress();
      await root.client.result("update_user", { userId: root.userId, userEmail: contact });
      const verificationToken = await verificationTokenFor(server, root.client, contact);
      const login = () => {
        const parameters = { verificationToken, publicKey: generateApiKey().publicKey };
        return root.client.submit("otp_login", parameters, { type: "ACTIVITY_TYPE_OTP_LOGIN" });
      };
      assert.equal((await login()).status, 200);
      aheadMs += HOUR_MS + 60_000;
      await pruneOtps.run({ database: server.opened.database, clock: () => Date.now() + aheadMs } as never);
      aheadMs -= HOUR_MS + 60_000;
      const { status, body } = await login();
      assert.equal(status, 400);
      assert.match(body.message, /already been used/);
    });

    it("and its limits are not told by a clock that was set back since", async () => {
      const contact = newAddress();
      const userIdentifier = newAddress();
      // Half of what stamps may be ahead.
      aheadMs += HOUR_MS / 2;
      for (const _ of "123") {
        const { guess } = await start(contact, { userIdentifier });
        for (const _ of "123") assert.match((await guess(WRONG)).body.message, /not the code/);
      }
      aheadMs -= HOUR_MS / 2;
      const { code, guess } = await start(contact, { userIdentifier });
      assert.equal((await guess(code)).status, 200);
    });

    it("sees nine wrong guesses in three minutes, and none after them, right or wrong", async () => {
      const contact = newAddress();
      const codes = [];
      for (const _ of "123") codes.push(await start(contact, { expirationSeconds: "600" }));
      for (const { guess } of codes)
        for (const _ of "123") assert.match((await guess(WRONG)).body.message, /not the code/);
      for (const { code, guess } of codes) {
        const { status, body } = await guess(code);
        assert.equal(status, 429);
        assert.match(body.message, /9/);
      }
      aheadMs += WINDOW_MS;
      const { code, guess } = await start(contact);
      assert.equal((await guess(code)).status, 200);
    });
  });
}
