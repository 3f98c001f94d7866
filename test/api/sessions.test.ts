import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { decryptCredentialBundle, verifySessionJwtSignature } from "@turnkey/crypto";
import type { Email } from "postal-mime";
import { newId } from "../../src/kernel/ids.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import { exportTarget } from "../support/bundles.ts";
import {
  addUser,
  apiKeyParams,
  authenticatorParams,
  type Client,
  generateApiKey,
  type Json,
} from "../support/client.ts";
import { verificationTokenFor } from "../support/one-time-codes.ts";
import { keyIn, mailTo } from "../support/outbox.ts";
import { leavesAccounts } from "../support/provenance.ts";
import { onEachEngine, startTestServer, type TestServer } from "../support/server.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

/** What a session's token says. */
const claimsOf = (session: string): Json =>
  JSON.parse(Buffer.from(session.split(".")[1] as string, "base64url").toString());

async function publishedKey({ baseUrl }: TestServer): Promise<string> {
  const published = (await (await fetch(`${baseUrl}/.well-known/keystead.json`)).json()) as Json;
  return published.serviceKeys.session[0].publicKey;
}

const keysOf = async (client: Client, userId: string, type: string): Promise<Json[]> => {
  const { user } = await client.read("get_user", { userId });
  return user.apiKeys.filter(({ credential }: Json) => credential.type === type);
};

const readWith = (baseUrl: string, session: string, organizationId: string, path = "query/whoami") =>
  fetch(`${baseUrl}/public/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-session": session },
    body: JSON.stringify({ organizationId }),
  });

onEachEngine("signing in by a stamp", (server) => {
  it("makes a key that stamps for a while, told by a token that the published verifier takes", async () => {
    const { root } = await createWorld(server());
    const { client, userId } = root;
    const key = generateApiKey();
    const before = Math.floor(Date.now() / 1000);
    const { session } = await client.result("stamp_login", { publicKey: key.publicKey });
    assert.ok(await verifySessionJwtSignature(session, await publishedKey(server())));
    const other = `04${"ab".repeat(64)}`;
    await assert.doesNotReject(async () =>
      assert.ok(!(await verifySessionJwtSignature(session, other).catch(() => false))),
    );
    const { exp, ...claims } = claimsOf(session);
    assert.deepEqual(claims, {
      public_key: key.publicKey,
      session_type: "SESSION_TYPE_READ_WRITE",
      user_id: userId,
      organization_id: client.organizationId,
    });
    assert.ok(exp >= before + 899 && exp <= before + 1200, `${exp - before} s`);
    assert.equal((await client.with({ key }).read("whoami")).userId, userId);
    const [stored] = await keysOf(client, userId, "CREDENTIAL_TYPE_LOGIN");
    assert.match(stored?.apiKeyName, /^Login - 20\d\d-/);
    assert.equal(stored?.expirationSeconds, "900");
  });

  it("is limited to what a profile of the parent allows, and to its time", async () => {
    const { root } = await createWorld(server());
    const profile = {
      sessionProfileName: "Só > pagamentos ~?",
      scope: "activity.action == 'SIGN'",
      expirationSeconds: "60",
    };
    const { sessionProfileId } = await root.client.result("create_session_profile", profile);
    const sub = await addSubOrganization(root.client);
    const key = generateApiKey();
    const asked = { publicKey: key.publicKey, expirationSeconds: "3600", sessionProfileId };
    const { session } = await sub.client.result("stamp_login", asked);
    assert.ok(await verifySessionJwtSignature(session, await publishedKey(server())));
    const claims = claimsOf(session);
    assert.equal(claims.session_type, profile.sessionProfileName);
    assert.equal(claims.scope, profile.scope);
    assert.equal(claims.session_profile_id, sessionProfileId);
    assert.ok(claims.exp <= Date.now() / 1000 + 61);
    // Published clients decode without these two characters.
    assert.doesNotMatch(session.split(".")[1] as string, /[-_]/);
    const limited = sub.client.with({ key });
    const { status, body } = await limited.submit("create_user_tag", { userTagName: "t", userIds: [] });
    assert.equal(status, 403);
    assert.match(body.message, /scope|permission/i);
    const unknown = { publicKey: generateApiKey().publicKey, sessionProfileId: root.userId };
    assert.equal((await sub.client.submit("stamp_login", unknown)).status, 404);
  });

  it("that asks for another session asks for one with its own profile, and of its own time", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const newProfile = async (sessionProfileName: string, expirationSeconds: string) =>
      (
        await root.client.result("create_session_profile", {
          sessionProfileName,
          scope: "activity.resource == 'AUTH'",
          expirationSeconds,
        })
      ).sessionProfileId;
    const [sessionProfileId, another] = [await newProfile("Sessions", "60"), await newProfile("Longer", "3600")];
    let [limited, key] = [sub.client, generateApiKey()];
    await limited.result("stamp_login", { publicKey: key.publicKey, sessionProfileId });
    for (const named of [{}, { sessionProfileId }]) {
      limited = limited.with({ key });
      key = generateApiKey();
      const asked = { publicKey: key.publicKey, expirationSeconds: "3600", ...named };
      const claims = claimsOf((await limited.result("stamp_login", asked)).session);
      assert.equal(claims.session_profile_id, sessionProfileId);
      assert.ok(claims.exp <= Date.now() / 1000 + 61);
    }
    const answer = await limited.with({ key }).submit("create_user_tag", { userTagName: "t", userIds: [] });
    assert.equal(answer.status, 403);
    assert.match(answer.body.message, /scope of the session's profile Sessions/);
    const { targetPublicKey } = exportTarget();
    const unlimited = await limited.submit("create_read_write_session", { targetPublicKey });
    assert.equal(unlimited.status, 403, JSON.stringify(unlimited.body));
    assert.match(unlimited.body.message, /limited to a profile .* stamp_login/);
    const wider = await limited.submit("stamp_login", { publicKey: key.publicKey, sessionProfileId: another });
    assert.equal(wider.status, 400);
    assert.match(
      wider.body.message,
      /`?parameters\.sessionProfileId`? must be absent or .*, the profile of the session/,
    );
  });

  it("finds the sub-organization of a key or a passkey by its parent's id", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const passkey = { authenticator: createAuthenticator(), origin: "https://app.example.com", rpId: "example.com" };
    await sub.client.result("create_authenticators", {
      userId: sub.userId,
      authenticators: [authenticatorParams(passkey)],
    });
    const fromParent = sub.client.with({ organizationId: root.client.organizationId });
    for (const client of [fromParent, fromParent.withPasskey(passkey)]) {
      const { publicKey } = generateApiKey();
      const { body } = await client.submit("stamp_login", { publicKey });
      assert.equal(body.activity?.organizationId, sub.client.organizationId, JSON.stringify(body));
      assert.equal(claimsOf(body.activity.result.stampLoginResult.session).organization_id, sub.client.organizationId);
    }
    // The same body again is the same activity, wherever it was found.
    const { publicKey } = generateApiKey();
    const sent = fromParent.submitBody("stamp_login", { publicKey });
    const [one, two] = [
      await fromParent.post("/public/v1/submit/stamp_login", sent),
      await fromParent.post("/public/v1/submit/stamp_login", sent),
    ];
    assert.equal(one.body.activity.id, two.body.activity.id);
    const { status } = await fromParent.submit("create_user_tag", { userTagName: "no", userIds: [] });
    assert.equal(status, 401, "other activities name their own organization");
  });

  it("replaces sessions where that is wanted, and its own key; the eleventh pushes out the oldest", async () => {
    const { root } = await createWorld(server());
    const { client, userId } = root;
    const login = (publicKey: string, more: object = {}) => client.result("stamp_login", { publicKey, ...more });
    const [one, two] = [generateApiKey(), generateApiKey()];
    await login(one.publicKey);
    await login(one.publicKey);
    await login(two.publicKey);
    assert.equal((await keysOf(client, userId, "CREDENTIAL_TYPE_LOGIN")).length, 2);
    await login(generateApiKey().publicKey, { invalidateExisting: true });
    assert.equal((await keysOf(client, userId, "CREDENTIAL_TYPE_LOGIN")).length, 1);
    assert.equal((await client.with({ key: two }).query("whoami")).status, 401);
    for (let count = 0; count < 12; count++) await login(generateApiKey().publicKey);
    assert.equal((await keysOf(client, userId, "CREDENTIAL_TYPE_LOGIN")).length, 10);
    const taken = (await addUser(client)).client;
    const known = await taken.submit("stamp_login", { publicKey: client.key?.publicKey ?? "" });
    assert.notEqual(known.status, 200, "a key of somebody else");
  });

  it("is for oneself, whatever policies say nothing about, and refuses what is no key", async () => {
    const { root, user } = await createWorld(server());
    const { session } = await user.client.result("stamp_login", { publicKey: generateApiKey().publicKey });
    assert.equal(claimsOf(session).user_id, user.userId);
    for (const publicKey of ["", "02", `05${"a".repeat(64)}`, `02${"f".repeat(64)}`]) {
      const { status, body } = await root.client.submit("stamp_login", { publicKey });
      assert.equal(status, 400, publicKey);
      assert.match(body.message, /publicKey/);
    }
  });

  leavesAccounts(server);
});

onEachEngine("the grade of a session", (server) => {
  it("is that of the session which asked for it: signing in again shows no more", async () => {
    const { root } = await createWorld(server());
    const { client, userId } = await addSubOrganization(root.client);
    const { organizationId } = client;
    const passkey = { authenticator: createAuthenticator(), origin: "https://app.example.com", rpId: "example.com" };
    await client.result("create_authenticators", { userId, authenticators: [authenticatorParams(passkey)] });
    const userEmail = `${newId()}@example.com`;
    await client.result("update_user", { userId, userEmail });
    const inSub = root.client.with({ organizationId });
    const byCode = generateApiKey();
    const verificationToken = await verificationTokenFor(server(), root.client, userEmail);
    const login = { verificationToken, publicKey: byCode.publicKey };
    await inSub.result("otp_login", login, { type: "ACTIVITY_TYPE_OTP_LOGIN" });
    const { targetPublicKey, privateKey } = exportTarget();
    await inSub.result("email_auth", { email: userEmail, targetPublicKey, emailCustomization: { appName: "Shop" } });
    const [, mail] = await mailTo(server(), userEmail, 2);
    const byMail = keyIn(mail as Email, privateKey);
    const gradeOf = async (column: "id" | "public_key", value: string) => {
      const { read } = server().opened.database;
      const key = read.selectFrom("api_keys").select("grade").where("organization_id", "=", organizationId);
      return (await key.where(column, "=", value).executeTakeFirstOrThrow()).grade;
    };
    for (const [stamping, grade] of [
      [client, "stamp"],
      [client.withPasskey(passkey), "stamp"],
      [client.with({ key: byCode }), "otp"],
      [client.with({ key: byMail }), "server"],
    ] as const) {
      const again = generateApiKey();
      await stamping.result("stamp_login", { publicKey: again.publicKey });
      assert.equal(await gradeOf("public_key", again.publicKey), grade);
      const { apiKeyId } = await client.with({ key: again }).result("create_read_write_session", { targetPublicKey });
      assert.equal(await gradeOf("id", apiKeyId), grade, "through two sessions too");
    }
  });
});

onEachEngine("read-write sessions", (server) => {
  it("come as a bundle that the published client opens, and whose key then stamps", async () => {
    const { root, user } = await createWorld(server());
    const target = exportTarget();
    const { targetPublicKey } = target;
    const made = await user.client.result("create_read_write_session", { targetPublicKey });
    const { credentialBundle, apiKeyId, ...rest } = made;
    assert.deepEqual(rest, {
      organizationId: user.client.organizationId,
      organizationName: "World",
      userId: user.userId,
      username: "Plain user",
    });
    const privateKey = decryptCredentialBundle(credentialBundle, target.privateKey);
    const [stored] = await keysOf(root.client, user.userId, "CREDENTIAL_TYPE_READ_WRITE_SESSION_KEY_P256");
    assert.equal(stored?.apiKeyId, apiKeyId);
    assert.match(stored?.apiKeyName, /^Read Write Session - /);
    const key = { publicKey: stored?.credential.publicKey, privateKey };
    assert.equal((await user.client.with({ key }).read("whoami")).userId, user.userId);
  });

  it("are for oneself; for another it takes who may", async () => {
    const { root, user } = await createWorld(server());
    const { targetPublicKey } = exportTarget();
    const asked = { targetPublicKey, userId: root.userId };
    assert.equal((await user.client.submit("create_read_write_session", asked)).status, 403);
    const made = await root.client.result("create_read_write_session", { targetPublicKey, userId: user.userId });
    assert.equal(made.userId, user.userId);
  });

  leavesAccounts(server);
});

onEachEngine("read-only sessions", (server) => {
  it("read for an hour and change nothing, until the credential goes that made them", async () => {
    const { root, user } = await createWorld(server());
    const { baseUrl } = server();
    const key = generateApiKey();
    const apiKeys = [apiKeyParams(key)];
    const { apiKeyIds } = await root.client.result("create_api_keys", { userId: user.userId, apiKeys });
    const client = user.client.with({ key });
    const { session, sessionExpiry, ...rest } = await client.result("create_read_only_session", {});
    const { organizationId } = client;
    assert.deepEqual(rest, { organizationId, organizationName: "World", userId: user.userId, username: "Plain user" });
    assert.ok(Math.abs(Number(sessionExpiry) - Date.now() / 1000 - 3600) < 600);
    const read = await readWith(baseUrl, session, organizationId);
    assert.equal(read.status, 200);
    assert.equal(((await read.json()) as Json).userId, user.userId);
    const written = await readWith(baseUrl, session, organizationId, "submit/create_user_tag");
    assert.equal(written.status, 401);
    const other = await createWorld(server());
    assert.equal((await readWith(baseUrl, session, other.organizationId)).status, 401, "nor anywhere else");
    await root.client.result("delete_api_keys", { userId: user.userId, apiKeyIds });
    assert.equal((await readWith(baseUrl, session, organizationId)).status, 401);
    // Nor does it come back with the key, be it the same user's or another's.
    for (const userId of [user.userId, root.userId]) {
      const again = await root.client.result("create_api_keys", { userId, apiKeys });
      assert.equal((await client.read("whoami")).userId, userId);
      const refused = await readWith(baseUrl, session, organizationId);
      assert.equal(refused.status, 401);
      assert.match(((await refused.json()) as Json).message, /was not issued here, or its credential was deleted/);
      await root.client.result("delete_api_keys", { userId, apiKeyIds: again.apiKeyIds });
    }
  });

  it("are refused when anything in them was altered, and beside a stamp", async () => {
    const { root } = await createWorld(server());
    const { organizationId } = root.client;
    const { baseUrl } = server();
    const { session } = await root.client.result("create_read_only_session", {});
    const [header, claims, signature] = session.split(".") as [string, string, string];
    const said = JSON.parse(Buffer.from(claims, "base64url").toString());
    const forged = Buffer.from(JSON.stringify({ ...said, expiresAt: said.expiresAt + 1 })).toString("base64url");
    const login = await root.client.result("stamp_login", { publicKey: generateApiKey().publicKey });
    const bad = [
      "",
      "x",
      `${header}.${claims}`,
      `${header}.${forged}.${signature}`,
      `${header}.${claims}.${"A".repeat(86)}`,
      login.session,
      `${session}.`,
      "a.b.c",
    ];
    for (const token of bad) assert.equal((await readWith(baseUrl, token, organizationId)).status, 401, token);
    assert.equal((await readWith(baseUrl, session, organizationId)).status, 200);
  });
});

describe("the life of sessions", () => {
  let server: TestServer;
  /** The time that the server is given, where it is not that of now. */
  let then: number | undefined;
  before(async () => {
    server = await startTestServer("sqlite", { clock: () => then ?? Date.now() });
  });
  after(() => server.close());

  it("is 15 minutes unless said, and an hour of those that read, if what made them lives as long", async () => {
    const { root } = await createWorld(server);
    const { client, userId } = root;
    const key = generateApiKey();
    await client.result("stamp_login", { publicKey: key.publicKey });
    const passkey = { authenticator: createAuthenticator(), origin: "https://app.example.com", rpId: "example.com" };
    await client.result("create_authenticators", { userId, authenticators: [authenticatorParams(passkey)] });
    const tokens: string[] = [];
    for (const maker of [client, client.withPasskey(passkey), client.with({ key })]) {
      tokens.push((await maker.result("create_read_only_session", {})).session);
    }
    const statuses = () =>
      Promise.all(tokens.map(async (token) => (await readWith(server.baseUrl, token, client.organizationId)).status));
    const madeAt = Date.now();
    then = madeAt + 800_000;
    assert.deepEqual(await statuses(), [200, 200, 200]);
    assert.equal((await client.with({ key }).query("whoami")).status, 200);
    then = madeAt + 901_000;
    assert.deepEqual(await statuses(), [200, 200, 401]);
    const lapsed = await client.with({ key }).query("whoami");
    assert.deepEqual([lapsed.status, lapsed.body.turnkeyErrorCode], [401, "API_KEY_EXPIRED"]);
    then = madeAt + 3_601_000;
    assert.deepEqual(await statuses(), [401, 401, 401]);
    const late = await readWith(server.baseUrl, tokens[0] as string, client.organizationId);
    assert.match(((await late.json()) as Json).message, /read-only session has expired/);
  });
});
