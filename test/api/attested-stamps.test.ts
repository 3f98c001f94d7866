import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { findActivity } from "../../src/engine/activities/rows.ts";
import { verifyStamps } from "../../src/engine/activities/verify-stamps.ts";
import { DAY_MS } from "../../src/kernel/durations.ts";
import { newId } from "../../src/kernel/ids.ts";
import { MAX_ATTESTATIONS } from "../../src/kernel/limits.ts";
import { nonceOfPublicKey } from "../../src/providers/oidc/nonce.ts";
import {
  type Attested,
  attestedStamp,
  BY_CODE,
  BY_OIDC,
  postAttested,
  postWith,
  submitAttested,
} from "../support/attested-stamps.ts";
import { addUser, apiKeyParams, type Client, generateApiKey, type Json } from "../support/client.ts";
import { discoveryPath, issuerOfTests, oauthProviderParams, startIssuer } from "../support/issuer.ts";
import { claimsOfToken, verificationTokenFor } from "../support/one-time-codes.ts";
import { engines, onEachEngine, startTestServer, type TestServer } from "../support/server.ts";
import { addSubOrganization, createWorld, type Member } from "../support/world.ts";

const NEEDED = "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED";
const COMPLETED = "ACTIVITY_STATUS_COMPLETED";
const LOGIN = "/public/v1/submit/stamp_login";

const newAddress = (): string => `${newId()}@example.com`;

/** A key, and a token of the issuer of all tests that is bound to it. */
async function byOidc(claims: object): Promise<Attested> {
  const key = generateApiKey();
  const nonce = nonceOfPublicKey(key.publicKey);
  return { key, scheme: BY_OIDC, token: await (await issuerOfTests()).token({ nonce, ...claims }) };
}

onEachEngine("stamps that a token attests", (server) => {
  /** The same by a code that was sent to a contact. */
  async function byCode(client: Client, contact: string, more: object = {}): Promise<Attested> {
    const key = generateApiKey();
    return { key, token: await verificationTokenFor(server(), client, contact, { key, ...more }) };
  }
  const login = (client: Client, attested: Attested, publicKey = generateApiKey().publicKey) =>
    submitAttested(client, "stamp_login", { publicKey }, attested);
  const approve = (client: Client, { fingerprint }: Json, attested: Attested) =>
    submitAttested(client, "approve_activity", { fingerprint }, attested);
  const rename = (client: Client) => client.submit("update_organization_name", { organizationName: newId() });

  /** A sub-organization whose root user has shown this address. */
  async function verifiedIn(parent: Client, contact: string): Promise<Member> {
    const sub = await addSubOrganization(parent);
    const verificationToken = await verificationTokenFor(server(), parent, contact);
    await sub.client.result("update_user_email", { userId: sub.userId, userEmail: contact, verificationToken });
    return sub;
  }
  const gradeOf = async (organizationId: string, publicKey: string) => {
    const { read } = server().opened.database;
    const key = read.selectFrom("api_keys").select("grade").where("organization_id", "=", organizationId);
    return (await key.where("public_key", "=", publicKey).executeTakeFirst())?.grade;
  };

  it("sign in the one user below a parent who has the contact verified, in both spellings of the header", async () => {
    const { root } = await createWorld(server());
    const contact = newAddress();
    const thief = await addSubOrganization(root.client);
    await thief.client.result("update_user", { userId: thief.userId, userEmail: contact });
    const early = await login(root.client, await byCode(root.client, contact));
    assert.equal(early.status, 401, "an address that was only written down catches nothing");
    assert.equal(early.body.turnkeyErrorCode, "CREDENTIAL_NOT_FOUND");
    const owner = await verifiedIn(root.client, contact);
    const { organizationId } = owner.client;
    const attested = await byCode(root.client, contact);
    const { publicKey } = attested.key;
    const body = root.client.submitBody("stamp_login", { publicKey });
    const answer = await postAttested(root.client, LOGIN, body, attested, JSON.stringify);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { activity } = answer.body;
    assert.deepEqual([activity.organizationId, activity.status], [organizationId, COMPLETED]);
    assert.deepEqual([activity.votes[0].scheme, activity.votes[0].publicKey], [BY_CODE, publicKey]);
    assert.equal((await owner.client.with({ key: attested.key }).read("whoami")).userId, owner.userId);
    assert.equal(await gradeOf(organizationId, publicKey), "otp");
    const again = await postAttested(root.client, LOGIN, body, attested);
    assert.equal(again.body.activity.id, activity.id, "the same body is the same login");
    const second = await login(root.client, attested);
    assert.equal(second.status, 401);
    assert.match(second.body.message, /has already been used for a login/);
    const otpLogin = { verificationToken: attested.token, publicKey: generateApiKey().publicKey };
    const first = { type: "ACTIVITY_TYPE_OTP_LOGIN" };
    const elsewhere = await root.client.submit("otp_login", otpLogin, first);
    assert.equal(elsewhere.status, 400, "all ways to sign in together");
  });

  it("sign in by the sub-organization's own id whoever has the contact there, and by a token of its own", async () => {
    const { root } = await createWorld(server());
    const [sub, other] = [await addSubOrganization(root.client), await addSubOrganization(root.client)];
    const contact = newAddress();
    await sub.client.result("update_user", { userId: sub.userId, userEmail: contact.toUpperCase() });
    const own = await byCode(sub.client, contact);
    assert.equal((await login(root.client, own)).status, 401, "of a sub-organization, for the parent");
    assert.equal((await login(other.client, own)).status, 401, "of a sub-organization beside");
    assert.equal((await login(sub.client, own)).status, 200);
    const second = { ...(await addUser(sub.client)), client: sub.client };
    await sub.client.result("update_user", { userId: second.userId, userEmail: contact });
    const attested = await byCode(root.client, contact);
    const ambiguous = await login(sub.client, attested);
    assert.equal(ambiguous.status, 401);
    assert.equal(ambiguous.body.turnkeyErrorCode, "CREDENTIAL_CONFLICT");
    const fields = { userId: second.userId, userEmail: contact, verificationToken: attested.token };
    await sub.client.result("update_user_email", fields);
    const { body } = await login(sub.client, attested);
    assert.equal(body.activity.votes[0].userId, second.userId, "who has shown it goes first");
  });

  it("sign in by an OIDC token, in the organization or below the parent; two are a conflict", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const subject = newId();
    const provide = async ({ client, userId }: Member) =>
      client.result("create_oauth_providers", { userId, oauthProviders: [await oauthProviderParams(subject)] });
    assert.equal((await login(root.client, await byOidc({ sub: subject }))).status, 401);
    await provide(sub);
    const attested = await byOidc({ sub: subject });
    const { publicKey } = attested.key;
    const answer = await login(root.client, attested, publicKey);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.activity.organizationId, sub.client.organizationId);
    assert.equal(await gradeOf(sub.client.organizationId, publicKey), "oidc");
    assert.equal((await sub.client.with({ key: attested.key }).read("whoami")).userId, sub.userId);
    assert.equal((await login(sub.client, attested)).status, 200, "until it expires");
    await provide(await addSubOrganization(root.client));
    const two = await login(root.client, attested);
    assert.equal(two.status, 401);
    assert.equal(two.body.turnkeyErrorCode, "CREDENTIAL_CONFLICT");
    assert.equal((await login(sub.client, attested)).status, 200, "the organization's own id settles it");
  });

  it("approve as the parent's own user, though somebody below has the same contact verified", async () => {
    const { root } = await createWorld(server());
    const contact = newAddress();
    await verifiedIn(root.client, contact);
    const second = await addUser(root.client);
    await root.client.result("update_user", { userId: second.userId, userEmail: contact });
    const attested = await byCode(root.client, contact);
    await root.client.result("update_root_quorum", { threshold: 2, userIds: [root.userId, second.userId] });
    const asked = (await rename(root.client)).body.activity;
    assert.equal(asked.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    const approved = await approve(root.client, asked, attested);
    assert.equal(approved.status, 200, JSON.stringify(approved.body));
    assert.equal(approved.body.activity.status, COMPLETED);
  });

  it("are refused with 401 where anything about them is wrong, and change nothing", async () => {
    const { root } = await createWorld(server());
    const stranger = (await createWorld(server())).root;
    const contact = newAddress();
    const sub = await verifiedIn(root.client, contact);
    const subject = newId();
    const oauthProviders = [await oauthProviderParams(subject)];
    await sub.client.result("create_oauth_providers", { userId: sub.userId, oauthProviders });
    const good = await byCode(root.client, contact);
    const oidc = await byOidc({ sub: subject });
    const other = generateApiKey();
    const [header, payload, signature] = good.token.split(".") as [string, string, string];
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = claimsOfToken(good.token);
    const seconds = Math.floor(Date.now() / 1000);
    const foreign = await startIssuer();
    const withoutKey = await verificationTokenFor(server(), stranger.client, contact);
    const [oidcHeader, oidcPayload] = oidc.token.split(".") as [string, string];
    const nonce = nonceOfPublicKey(oidc.key.publicKey);
    const forgedOidc = async (more: object) => ({
      ...oidc,
      token: await foreign.token({ sub: subject, nonce, ...more }),
    });
    const { url } = await issuerOfTests();
    const attempts: [string, Attested][] = [
      ["another key", { ...good, key: other }],
      ["another key's name", { ...good, key: other, forged: { publicKey: good.key.publicKey } }],
      [
        "a signature over another body",
        { ...good, forged: { signature: (attestedStamp(good, "{}") as Json).signature } },
      ],
      ["a token without a key", { key: good.key, token: withoutKey }],
      ["a token of another parent", await byCode(stranger.client, contact)],
      ["somebody else's contact", await byCode(root.client, newAddress())],
      ["changed claims", { ...good, token: `${header}.${part({ ...claims, exp: "9999999999999" })}.${signature}` }],
      ["no algorithm", { ...good, token: `${part({ alg: "none", typ: "JWT" })}.${payload}.` }],
      ["a shared secret", { ...good, token: `${part({ alg: "HS256", typ: "JWT" })}.${payload}.${signature}` }],
      ["another kind of token", { ...good, scheme: BY_OIDC }],
      ["an OIDC token as one of ours", { ...oidc, scheme: BY_CODE }],
      ["an expired OIDC token", await byOidc({ sub: subject, exp: seconds - 61 })],
      ["an OIDC token for another key", { ...oidc, key: other }],
      ["an OIDC token for no key", await byOidc({ sub: subject, nonce: undefined })],
      ["another subject", await byOidc({ sub: newId() })],
      ["another audience", await byOidc({ sub: subject, aud: "another" })],
      ["another issuer", await forgedOidc({})],
      ["another issuer's signature", await forgedOidc({ iss: url })],
      ["an OIDC token without an algorithm", { ...oidc, token: `${part({ alg: "none" })}.${oidcPayload}.` }],
      ["a forged OIDC token", { ...oidc, token: `${oidcHeader}.${oidcPayload}.${"A".repeat(86)}` }],
    ];
    try {
      for (const [what, attested] of attempts) {
        for (const client of [root.client, sub.client]) {
          const { status, body } = await login(client, attested);
          assert.equal(status, 401, `${what}: ${JSON.stringify(body)}`);
        }
      }
    } finally {
      await foreign.close();
    }
    assert.deepEqual(foreign.requests, [], "an issuer that nobody here is known to is not asked");
    const nowhere = root.client.with({ organizationId: newId() });
    for (const attested of [good, oidc]) {
      const { status, body } = await login(nowhere, attested);
      assert.deepEqual([status, body.details.at(-1).turnkeyErrorCode], [401, "CREDENTIAL_NOT_FOUND"], body.message);
    }
    const { apiKeys } = await sub.client.read("get_api_keys", { userId: sub.userId });
    assert.equal(apiKeys.length, 1);
    assert.equal((await login(root.client, good)).status, 200, "nothing of it used the token up");
  });

  it("are refused where the header cannot be read, or comes with another stamp", async () => {
    const { root } = await createWorld(server());
    const contact = newAddress();
    await verifiedIn(root.client, contact);
    const good = await byCode(root.client, contact);
    const body = root.client.submitBody("stamp_login", { publicKey: generateApiKey().publicKey });
    const stamp = attestedStamp(good, body) as Json;
    const headers: [string, string][] = [
      ["no JSON", "%%%"],
      ["empty", "{}"],
      ["another scheme", JSON.stringify({ ...stamp, scheme: "STAMP_ATTESTED_SCHEME_ED25519" })],
      ["no point", JSON.stringify({ ...stamp, publicKey: `02${"ff".repeat(32)}` })],
      ["no DER", JSON.stringify({ ...stamp, signature: "00" })],
      ["a number", JSON.stringify({ ...stamp, publicKeyAttestation: 5 })],
      ["twice the same", JSON.stringify(stamp).replace("{", '{"scheme":"",')],
      ["too large", JSON.stringify({ ...stamp, filler: "x".repeat(16_384) })],
    ];
    for (const [what, header] of headers) {
      const { status, body: answer } = await postWith(root.client.baseUrl, LOGIN, body, { "x-stamp-attested": header });
      assert.equal(status, 401, what);
      assert.match(answer.message, /could not extract attested stamp/, what);
    }
    const both = { "x-stamp-attested": JSON.stringify(stamp), "x-stamp": root.client.stamp(body) };
    assert.equal((await postWith(root.client.baseUrl, LOGIN, body, both)).status, 401);
  });

  it("stamp nothing but logins and approvals", async () => {
    const { root } = await createWorld(server());
    const contact = newAddress();
    const sub = await verifiedIn(root.client, contact);
    const attested = await byCode(root.client, contact);
    const waiting = (await rename(root.client)).body.activity;
    const activities: [string, object][] = [
      ["create_read_write_session", { targetPublicKey: `04${"00".repeat(64)}` }],
      ["create_read_only_session", {}],
      ["update_organization_name", { organizationName: "Mine" }],
      ["reject_activity", { fingerprint: waiting.fingerprint }],
    ];
    for (const [path, parameters] of activities) {
      const { status, body } = await submitAttested(sub.client, path, parameters, attested);
      assert.equal(status, 401, path);
      assert.match(body.message, /header x-stamp-attested cannot be used for/, path);
    }
    const query = JSON.stringify({ organizationId: sub.client.organizationId });
    assert.equal((await postAttested(sub.client, "/public/v1/query/whoami", query, attested)).status, 401);
  });

  it("sign nobody in where the organization has switched codes off", async () => {
    const { root } = await createWorld(server());
    const contact = newAddress();
    const sub = await verifiedIn(root.client, contact);
    await sub.client.result("remove_organization_feature", { name: "FEATURE_NAME_OTP_EMAIL_AUTH" });
    const { status, body } = await login(root.client, await byCode(root.client, contact));
    assert.equal(status, 403);
    assert.match(body.message, /FEATURE_NAME_OTP_EMAIL_AUTH/);
  });

  it("show the further credentials that MFA policies ask for", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const { client, userId } = sub;
    const [userEmail, userPhoneNumber, subject] = [newAddress(), "+14155550142", newId()];
    await client.result("update_user", { userId, userEmail, userPhoneNumber });
    const oauthProviders = [await oauthProviderParams(subject)];
    const { providerIds } = await client.result("create_oauth_providers", { userId, oauthProviders });
    const group = (...any: string[]) => ({ any: any.map((type) => ({ type: `AUTHENTICATION_TYPE_${type}` })) });
    const oauth = { any: [{ type: "AUTHENTICATION_TYPE_OAUTH", id: providerIds[0] }] };
    const requiredAuthenticationMethods = [group("EMAIL_OTP"), group("SMS_OTP"), oauth, group("SESSION")];
    const policy = { mfaPolicyName: "All", condition: "activity.resource == 'ORGANIZATION'", order: 1 };
    await client.result("create_mfa_policy", { userId, ...policy, requiredAuthenticationMethods });
    const asked = (await rename(client)).body.activity;
    assert.equal(asked.status, NEEDED);
    const statusOf = async () => (await client.read("get_mfa_status", { activityId: asked.id })).mfaStatuses[0];
    const session = generateApiKey();
    await client.result("stamp_login", { publicKey: session.publicKey });
    const { fingerprint } = asked;
    const bySession = await client.with({ key: session }).submit("approve_activity", { fingerprint });
    assert.equal(bySession.body.activity.status, NEEDED);
    // One key for all of them, and one that is registered too: what counts is what the tokens say.
    const key = session;
    const code = async (contact: string) => ({
      key,
      token: await verificationTokenFor(server(), root.client.with({}), contact, { key }),
    });
    await root.client.result("set_organization_feature", { name: "FEATURE_NAME_SMS_AUTH" });
    const mail = await code(userEmail);
    for (const attested of [mail, mail, await byCode(client, userEmail)]) {
      const { status, body } = await approve(client, asked, attested);
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.activity.status, NEEDED);
    }
    assert.deepEqual(
      (await statusOf()).satisfiedMethods.map(({ type }: Json) => type),
      ["AUTHENTICATION_TYPE_SESSION", "AUTHENTICATION_TYPE_EMAIL_OTP"],
    );
    assert.equal((await approve(client, asked, await code(userPhoneNumber))).body.activity.status, NEEDED);
    const nonce = nonceOfPublicKey(key.publicKey);
    const token = await (await issuerOfTests()).token({ nonce, sub: subject });
    const done = await approve(client, asked, { key, token, scheme: BY_OIDC });
    assert.equal(done.body.activity.status, COMPLETED, JSON.stringify(done.body));
    assert.equal(done.body.activity.votes.length, 1);
    const { database } = server().opened;
    const stored = await findActivity(database.read, client.organizationId, asked.id);
    assert.ok(stored);
    const verdicts = async () =>
      (await verifyStamps(database.read, stored)).map(({ scheme, verdict }) => [scheme, verdict]);
    assert.deepEqual(await verdicts(), [
      ["SIGNATURE_SCHEME_TK_API_P256", "valid"],
      ["SIGNATURE_SCHEME_TK_API_P256", "valid"],
      [BY_CODE, "valid"],
      [BY_CODE, "valid"],
      [BY_CODE, "valid"],
      [BY_OIDC, "notVerifiable"],
    ]);
    const forged = mail.token.replace(/\.([^.])([^.]*)$/, (_, first, rest) => `.${first === "A" ? "B" : "A"}${rest}`);
    await database.transact(client.organizationId, (tx) =>
      tx
        .updateTable("authentications")
        .set({ assertion: JSON.stringify({ publicKeyAttestation: forged }) })
        .where("activity_id", "=", asked.id)
        .where("scheme", "=", BY_CODE)
        .execute(),
    );
    assert.deepEqual(
      (await verdicts()).filter(([scheme]) => scheme === BY_CODE).map(([, verdict]) => verdict),
      ["invalid", "invalid", "invalid"],
    );
  });

  it("count as long as the user has the contact or the provider", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const { client, userId } = sub;
    const [userEmail, subject] = [newAddress(), newId()];
    await client.result("update_user", { userId, userEmail });
    const oauthProviders = [await oauthProviderParams(subject)];
    const { providerIds } = await client.result("create_oauth_providers", { userId, oauthProviders });
    const methods = ["EMAIL_OTP", "OAUTH", "PASSKEY"].map((type) => ({
      any: [{ type: `AUTHENTICATION_TYPE_${type}` }],
    }));
    const policy = {
      mfaPolicyName: "All",
      condition: "activity.action == 'UPDATE' && activity.resource == 'ORGANIZATION'",
    };
    const mfaPolicy = { userId, ...policy, order: 1, requiredAuthenticationMethods: methods };
    await client.result("create_mfa_policy", mfaPolicy);
    const { activity } = (await rename(client)).body;
    const shown = async () => {
      const [status] = (await client.read("get_mfa_status", { activityId: activity.id })).mfaStatuses;
      return status.satisfiedMethods.map(({ type }: Json) => type.replace("AUTHENTICATION_TYPE_", ""));
    };
    await approve(client, activity, await byCode(root.client, userEmail));
    await approve(client, activity, await byOidc({ sub: subject }));
    for (const _ of "123456") await approve(client, activity, await byOidc({ sub: subject }));
    assert.deepEqual((await shown()).sort(), ["EMAIL_OTP", "OAUTH"]);
    const { read } = server().opened.database;
    const kept = await read.selectFrom("authentications").select("id").where("activity_id", "=", activity.id).execute();
    assert.equal(kept.length, 1 + MAX_ATTESTATIONS, "however many keys tokens are bound to");
    await client.result("delete_oauth_providers", { userId, providerIds });
    await client.result("update_user", { userId, userEmail: newAddress() });
    assert.deepEqual(await shown(), []);
    await client.result("update_user", { userId, userEmail });
    assert.deepEqual(await shown(), [], "what was taken back stays so when the user has the contact again");
    await approve(client, activity, await byCode(root.client, userEmail));
    assert.deepEqual(await shown(), ["EMAIL_OTP"], "and may be given again");
    await client.result("update_user", { userId, userEmail: userEmail.toUpperCase() });
    assert.deepEqual(await shown(), ["EMAIL_OTP"], "it is the same in other letters");
    const removal = await client.submit("update_user_email", { userId, userEmail: "" });
    assert.equal(removal.status, 400);
    assert.match(removal.body.message, /MFA policy of the user requires codes/);
  });

  it("do not count without the contact, also where its loss was asked for before the stamp and stored after it", async () => {
    const { root } = await createWorld(server());
    const { client } = root;
    const [losing, last] = [await addUser(client), await addUser(client)];
    const { userId } = losing;
    const userEmail = newAddress();
    await client.result("update_user", { userId, userEmail });
    const code = await byCode(client, userEmail);
    await client.result("update_root_quorum", { threshold: 3, userIds: [root.userId, userId, last.userId] });
    const asked = async () => {
      const { activity } = (await rename(client)).body;
      const { body } = await approve(client, activity, code);
      assert.equal(body.activity.votes.length, 2, JSON.stringify(body));
      return activity;
    };
    const [counted, lost] = [await asked(), await asked()];
    await server().opened.database.transact(client.organizationId, (tx) =>
      tx
        .updateTable("votes")
        .set({ created_at: Date.now() + 60_000 })
        .where("organization_id", "=", client.organizationId)
        .where("user_id", "=", userId)
        .execute(),
    );
    const voted = async (voter: Client, { fingerprint }: Json) =>
      (await voter.submit("approve_activity", { fingerprint })).body.activity.status;
    assert.equal(await voted(last.client, counted), COMPLETED);
    const { activity } = (await client.submit("update_user", { userId, userEmail: newAddress() })).body;
    await voted(losing.client, activity);
    assert.equal(await voted(last.client, activity), COMPLETED);
    assert.equal(await voted(last.client, lost), "ACTIVITY_STATUS_CONSENSUS_NEEDED", "two of three approve");
  });

  it("vote as their user, whose login waits for what MFA asks, and keeps its grade", async () => {
    const { root } = await createWorld(server());
    const contact = newAddress();
    const sub = await verifiedIn(root.client, contact);
    const { client, userId } = sub;
    const requiredAuthenticationMethods = ["EMAIL_OTP", "API_KEY"].map((type) => ({
      any: [{ type: `AUTHENTICATION_TYPE_${type}` }],
    }));
    const policy = { mfaPolicyName: "Two", condition: "activity.kind == 'STAMP_LOGIN'", order: 1 };
    await client.result("create_mfa_policy", { userId, ...policy, requiredAuthenticationMethods });
    const attested = await byCode(root.client, contact);
    const session = generateApiKey();
    const asked = (await login(root.client, attested, session.publicKey)).body.activity;
    assert.equal(asked.status, NEEDED);
    const { status } = await login(root.client, attested);
    assert.equal(status, 401, "a login that waits has used its token");
    const done = await client.submit("approve_activity", { fingerprint: asked.fingerprint });
    assert.equal(done.body.activity.status, COMPLETED);
    assert.equal(await gradeOf(client.organizationId, session.publicKey), "otp");

    const second = await addUser(client, "Second");
    await client.result("update_root_quorum", { threshold: 2, userIds: [userId, second.userId] });
    const secondEmail = newAddress();
    const change = { userId: second.userId, userEmail: secondEmail };
    const changed = (await client.submit("update_user", change)).body.activity;
    await second.client.submit("approve_activity", { fingerprint: changed.fingerprint });
    const renamed = (await rename(client)).body.activity;
    const voted = await approve(client, renamed, await byCode(root.client, secondEmail));
    assert.equal(voted.body.activity.status, COMPLETED, JSON.stringify(voted.body));
    assert.deepEqual(voted.body.activity.votes[1].userId, second.userId);
  });

  it("show policies the token and not a key of the same letters", async () => {
    const { root } = await createWorld(server());
    const contact = newAddress();
    const user = await addUser(root.client);
    await root.client.result("update_user", { userId: user.userId, userEmail: contact });
    const key = generateApiKey();
    await root.client.result("create_api_keys", { userId: user.userId, apiKeys: [apiKeyParams(key)] });
    const consensus = (test: string) => `approvers.any(u, u.id == '${user.userId}') && credentials.any(c, ${test})`;
    const policy = {
      policyName: newId(),
      effect: "EFFECT_ALLOW",
      condition: "activity.kind == 'CREATE_USER_TAG'",
      notes: "",
    };
    await root.client.result("create_policy", {
      ...policy,
      consensus: consensus("c.type == 'CREDENTIAL_TYPE_ATTESTED_EMAIL'"),
    });
    const asked = await user.client.submit("create_user_tag", { userTagName: "t", userIds: [] });
    assert.equal(asked.status, 403, "a key alone does not do");
    const token = await verificationTokenFor(server(), root.client, contact, { key });
    const other = await addUser(root.client);
    await root.client.result("create_policy", {
      ...policy,
      policyName: newId(),
      consensus: `approvers.any(u, u.id == '${other.userId}') && ${consensus("c.type == 'CREDENTIAL_TYPE_ATTESTED_EMAIL'")}`,
    });
    const { activity } = (await other.client.submit("create_user_tag", { userTagName: "t", userIds: [] })).body;
    const plain = await user.client.with({ key }).submit("approve_activity", { fingerprint: activity.fingerprint });
    assert.notEqual(plain.body.activity?.status, COMPLETED);
    const done = await approve(root.client, activity, { key, token });
    assert.equal(done.body.activity.status, COMPLETED, JSON.stringify(done.body));
  });
});

describe("stamps that a token attests", () => {
  let clockAheadMs = 0;
  let server: TestServer;
  before(async () => {
    server = await startTestServer("sqlite", { clock: () => Date.now() + clockAheadMs });
  });
  after(() => server.close());

  it("are of no use once the token has expired", async () => {
    const { root } = await createWorld(server);
    const contact = newAddress();
    await root.client.result("update_user", { userId: root.userId, userEmail: contact });
    const key = generateApiKey();
    const more = { key, expirationSeconds: "60" };
    const attested = { key, token: await verificationTokenFor(server, root.client, contact, more) };
    const asked = (await root.client.submit("create_user_tag", { userTagName: "t", userIds: [] })).body.activity;
    clockAheadMs = 60_000;
    for (const [path, parameters] of [
      ["stamp_login", { publicKey: key.publicKey }],
      ["approve_activity", { fingerprint: asked.fingerprint }],
    ] as const) {
      const timestampMs = String(Date.now() + clockAheadMs);
      const { status, body } = await submitAttested(root.client, path, parameters, attested, { timestampMs });
      assert.equal(status, 401, path);
      assert.match(body.message, /has expired/);
    }
  });

  it("say when to come again where the issuer cannot be asked for the moment", async () => {
    clockAheadMs = 0;
    const { root } = await createWorld(server);
    const issuer = await startIssuer({ clock: () => Date.now() + clockAheadMs });
    try {
      const sub = newId();
      const provider = { providerName: "Issuer", oidcToken: await issuer.token({ sub }) };
      await root.client.result("create_oauth_providers", { userId: root.userId, oauthProviders: [provider] });
      const signIn = async (nonceOf: (publicKey: string) => string = nonceOfPublicKey) => {
        const key = generateApiKey();
        const attested = { key, scheme: BY_OIDC, token: await issuer.token({ sub, nonce: nonceOf(key.publicKey) }) };
        const timestampMs = String(Date.now() + clockAheadMs);
        return submitAttested(root.client, "stamp_login", { publicKey: key.publicKey }, attested, { timestampMs });
      };
      // Its keys are not known any more.
      clockAheadMs = 8 * DAY_MS;
      issuer.answer(discoveryPath, (_, response) => response.writeHead(500).end());
      const refused = await signIn();
      assert.equal(refused.status, 401, JSON.stringify(refused.body));
      assert.match(refused.body.message, /could not verify attested stamp: .*`publicKeyAttestation` is of an issuer/);
      assert.match(refused.headers.get("retry-after") ?? "", /^[1-9][0-9]*$/);
      const wrong = await signIn(() => "another");
      assert.deepEqual([wrong.status, wrong.headers.get("retry-after")], [401, null], "waiting does not help");
    } finally {
      await issuer.close();
      clockAheadMs = 0;
    }
  });
});

describe("stamps by a contact that is lost and had again", () => {
  for (const engine of engines) {
    it(`stay taken back where the loss was asked for before the stamp and stored after it (${engine})`, async (t) => {
      let clockAheadMs = 0;
      const server = await startTestServer(engine, { clock: () => Date.now() + clockAheadMs });
      t.after(() => server.close());
      const { root } = await createWorld(server);
      const { client } = root;
      const members = [await addUser(client), await addUser(client), await addUser(client)] as const;
      const [losing, , last] = members;
      const { userId } = losing;
      const userEmail = newAddress();
      await client.result("update_user", { userId, userEmail });
      await client.result("create_policy", {
        policyName: newId(),
        effect: "EFFECT_ALLOW",
        condition: "activity.kind == 'UPDATE_USER'",
        consensus: `approvers.any(u, u.id == '${userId}')`,
        notes: "",
      });
      await client.result("create_mfa_policy", {
        userId,
        mfaPolicyName: "Two",
        condition: "activity.kind == 'CREATE_USER_TAG'",
        order: 1,
        requiredAuthenticationMethods: ["EMAIL_OTP", "API_KEY"].map((type) => ({
          any: [{ type: `AUTHENTICATION_TYPE_${type}` }],
        })),
      });
      const key = generateApiKey();
      const code = { key, token: await verificationTokenFor(server, client, userEmail, { key }) };
      const userIds = [root.userId, ...members.map((member) => member.userId)];
      await client.result("update_root_quorum", { threshold: 4, userIds });
      const renamed = (await client.submit("update_organization_name", { organizationName: newId() })).body.activity;
      const tagged = (await losing.client.submit("create_user_tag", { userTagName: "t", userIds: [] })).body.activity;
      /** Who still approves the one activity, and by which credentials one of them does the other. */
      const counted = async () => {
        const { votes } = (await client.read("get_activity", { activityId: renamed.id })).activity;
        const [status] = (await losing.client.read("get_mfa_status", { activityId: tagged.id })).mfaStatuses;
        return {
          voters: votes.filter(({ revokedAt }: Json) => revokedAt === undefined).map((vote: Json) => vote.userId),
          methods: status.satisfiedMethods.map(({ type }: Json) => type).sort(),
        };
      };

      clockAheadMs = 60_000;
      for (const { fingerprint } of [renamed, tagged]) {
        const timestampMs = String(Date.now() + clockAheadMs);
        await submitAttested(client, "approve_activity", { fingerprint }, code, { timestampMs });
      }
      clockAheadMs = 0;
      for (const { fingerprint } of [renamed, tagged]) await last.client.submit("approve_activity", { fingerprint });
      const methods = ["AUTHENTICATION_TYPE_API_KEY", "AUTHENTICATION_TYPE_EMAIL_OTP"];
      assert.deepEqual(await counted(), { voters: [root.userId, userId, last.userId], methods });
      for (const address of [newAddress(), userEmail]) {
        await losing.client.result("update_user", { userId, userEmail: address });
      }
      assert.deepEqual(await counted(), { voters: [root.userId, last.userId], methods: methods.slice(0, 1) });
    });
  }
});
