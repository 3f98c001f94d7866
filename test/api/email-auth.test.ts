import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { createAuthenticator, type Faults } from "../support/authenticator.ts";
import { type ExportTarget, exportTarget } from "../support/bundles.ts";
import {
  addUser,
  authenticatorParams,
  type Client,
  generateApiKey,
  type Json,
  type Passkey,
  type TestAnswer,
} from "../support/client.ts";
import { keyIn, mailTo, noMailTo } from "../support/outbox.ts";
import { leavesAccounts } from "../support/provenance.ts";
import { onEachEngine, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, createWorld, type Member } from "../support/world.ts";

const EMAIL_AUTH = "CREDENTIAL_TYPE_EMAIL_AUTH_KEY_P256";
const RECOVERY = "CREDENTIAL_TYPE_RECOVER_USER_KEY_P256";

/** A parent, a sub-organization of it, and a user there who reads mail at `email`. */
interface Stage {
  parent: Member;
  /** The parent's root user in the sub-organization. */
  below: Client;
  /** Of the sub-organization. */
  owner: Member;
  user: Member;
  email: string;
}

async function newStage(server: TestServer): Promise<Stage> {
  const { root: parent } = await createWorld(server);
  const owner = await addSubOrganization(parent.client);
  const user = await addUser(owner.client, "Ada");
  const email = `Ada.${newId()}@Example.com`;
  await owner.client.result("update_user", { userId: user.userId, userEmail: email });
  return { parent, below: parent.client.with({ organizationId: owner.client.organizationId }), owner, user, email };
}

const asked = (email: string, { targetPublicKey }: ExportTarget = exportTarget(), more: object = {}): object => ({
  email,
  targetPublicKey,
  emailCustomization: { appName: "App" },
  ...more,
});

const keysOf = async (client: Client, userId: string, type: string): Promise<Json[]> => {
  const { user } = await client.read("get_user", { userId });
  return user.apiKeys.filter(({ credential }: Json) => credential.type === type);
};

const refused = ({ status, body }: TestAnswer): unknown[] => [status, body.turnkeyErrorCode];

onEachEngine("signing in by mail", (server) => {
  it("is asked for by the parent, kept there, and done in the sub-organization", async () => {
    const { parent, below, owner, user, email } = await newStage(server());
    const target = exportTarget();
    const { status, body } = await below.submit("email_auth", asked(email.toUpperCase(), target));
    assert.equal(status, 200, JSON.stringify(body));
    const { activity } = body;
    assert.equal(activity.organizationId, parent.client.organizationId);
    const { userId, apiKeyId, ...rest } = activity.result.emailAuthResult;
    assert.equal(userId, user.userId);
    assert.deepEqual(rest, {});
    const [mail] = await mailTo(server(), email);
    assert.equal(mail?.subject, "Sign in to App");
    const key = keyIn(mail as never, target.privateKey);
    const session = owner.client.with({ key });
    assert.equal((await session.read("whoami")).userId, userId);

    const [stored, ...others] = await keysOf(owner.client, userId, EMAIL_AUTH);
    assert.deepEqual(others, []);
    assert.equal(stored.apiKeyId, apiKeyId);
    assert.equal(stored.credential.publicKey, key.publicKey);
    assert.match(stored.apiKeyName, /^Email Auth - 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(stored.expirationSeconds, "900");

    const filterByType = ["ACTIVITY_TYPE_EMAIL_AUTH_V3"];
    const { activities } = await parent.client.read("list_activities", { filterByType });
    assert.deepEqual(activities, [activity]);
    assert.deepEqual((await below.read("list_activities", { filterByType })).activities, []);
    // The mail is there a little before what became of it is noted.
    const events = async (): Promise<Json[]> => (await below.read("list_email_events", { email })).emailEvents;
    await until(async () => (await events()).length > 0, "the mail's event");
    assert.equal((await events())[0]?.organizationId, owner.client.organizationId);
    const bundle = /[1-9A-HJ-NP-Za-km-z]{100,}/.exec(mail?.text ?? "")?.[0] as string;
    assert.ok(!JSON.stringify(body).includes(bundle) && !server().log().includes(bundle));
  });

  it("goes by the template that the parent has set for it, where the request names none", async () => {
    const { parent, below, email } = await newStage(server());
    const folder = join(server().dataDir, "templates", "ours");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "subject.txt"), "Ours, of {{ .AppName }}");
    writeFileSync(join(folder, "text.txt"), "{{ .CredentialBundle }}");
    writeFileSync(join(folder, "html.html"), "<p>{{ .CredentialBundle }}</p>");
    await parent.client.result("update_auth_proxy_config", { emailAuthTemplateId: "ours" });
    assert.equal((await below.submit("email_auth", asked(email))).status, 200);
    const [mail] = await mailTo(server(), email);
    assert.equal(mail?.subject, "Ours, of App");
  });

  it("sends the same body once", async () => {
    const { below, owner, user, email } = await newStage(server());
    const body = below.submitBody("email_auth", asked(email));
    const [first, again] = [await post(below, body), await post(below, body)];
    assert.deepEqual(again.body.activity.result, first.body.activity.result);
    await mailTo(server(), email);
    assert.equal((await keysOf(owner.client, user.userId, EMAIL_AUTH)).length, 1);
  });

  it("takes a name, a time and a link, and ends other sessions of the kind where that is asked for", async () => {
    const { below, owner, user, email } = await newStage(server());
    const types = ["ACTIVITY_TYPE_EMAIL_AUTH", "ACTIVITY_TYPE_EMAIL_AUTH_V2"];
    for (const type of types) {
      const { targetPublicKey } = exportTarget();
      await below.result("email_auth", { email, targetPublicKey }, { type });
    }
    assert.equal((await keysOf(owner.client, user.userId, EMAIL_AUTH)).length, 2);
    const target = exportTarget();
    const more = {
      apiKeyName: "Phone",
      expirationSeconds: "60",
      invalidateExisting: true,
      emailCustomization: { appName: "App", magicLinkTemplate: "myapp://in?bundle=%s" },
    };
    await below.result("email_auth", asked(email, target, more));
    const [stored, ...others] = await keysOf(owner.client, user.userId, EMAIL_AUTH);
    assert.deepEqual(others, []);
    assert.deepEqual([stored.apiKeyName, stored.expirationSeconds], ["Phone", "60"]);
    const linked = (await mailTo(server(), email, 3)).find(({ text }) => text?.includes("myapp://in?bundle="));
    assert.ok(linked);
    assert.equal(stored.credential.publicKey, keyIn(linked, target.privateKey).publicKey);
  });

  it("works in the parent's own organization", async () => {
    const { parent } = await newStage(server());
    const userEmail = `staff.${newId()}@example.com`;
    await parent.client.result("update_user", { userId: parent.userId, userEmail });
    const target = exportTarget();
    assert.equal((await parent.client.result("email_auth", asked(userEmail, target))).userId, parent.userId);
    const [mail] = await mailTo(server(), userEmail);
    const key = keyIn(mail as never, target.privateKey);
    assert.equal((await parent.client.with({ key }).read("whoami")).userId, parent.userId);
  });

  it("is decided by the parent's policies", async () => {
    const { parent, below, owner, user, email } = await newStage(server());
    const clerk = await addUser(parent.client, "Clerk");
    const clerkBelow = clerk.client.with({ organizationId: below.organizationId });
    assert.deepEqual(refused(await clerkBelow.submit("email_auth", asked(email))), [403, "REQUEST_NOT_AUTHORIZED"]);
    assert.deepEqual(await keysOf(owner.client, user.userId, EMAIL_AUTH), []);
    await parent.client.result("create_policy", {
      policyName: "Clerks sign customers in",
      effect: "EFFECT_ALLOW",
      condition: "activity.resource == 'AUTH' && activity.action == 'CREATE'",
      consensus: `approvers.any(user, user.id == '${clerk.userId}')`,
      notes: "",
    });
    assert.equal((await clerkBelow.result("email_auth", asked(email))).userId, user.userId);
    await mailTo(server(), email);
  });

  it("waits for the parent's consensus, and is then carried out below", async () => {
    const { parent, below, owner, user, email } = await newStage(server());
    const second = await addUser(parent.client, "Second");
    await parent.client.result("update_root_quorum", { threshold: 2, userIds: [parent.userId, second.userId] });
    const target = exportTarget();
    const { body } = await below.submit("email_auth", asked(email, target));
    assert.equal(body.activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    assert.deepEqual(await keysOf(owner.client, user.userId, EMAIL_AUTH), []);
    assert.ok(await noMailTo(server(), email));
    const approved = await second.client.result("approve_activity", { fingerprint: body.activity.fingerprint });
    assert.equal(approved.userId, user.userId);
    const [mail] = await mailTo(server(), email);
    const key = keyIn(mail as never, target.privateKey);
    assert.equal((await owner.client.with({ key }).read("whoami")).organizationId, owner.client.organizationId);
    assert.deepEqual(await keysOf(parent.client, parent.userId, EMAIL_AUTH), []);
  });

  it("is for the parent's callers alone", async () => {
    const { owner, user, below, email } = await newStage(server());
    const { root: stranger } = await createWorld(server());
    for (const path of ["email_auth", "init_user_email_recovery"]) {
      for (const { client } of [owner, user])
        assert.deepEqual(refused(await client.submit(path, asked(email))), [400, "INVALID_ACTIVITY_CALLER"]);
      const foreign = stranger.client.with({ organizationId: below.organizationId });
      assert.deepEqual(refused(await foreign.submit(path, asked(email))), [401, "PUBLIC_KEY_NOT_FOUND"]);
    }
    assert.ok(await noMailTo(server(), email));
    const tag = await below.submit("create_user_tag", { userTagName: "t", userIds: [] });
    assert.deepEqual(refused(tag), [400, "ORGANIZATION_MISMATCH"]);
  });

  it("refuses what it cannot do, and changes nothing then", async () => {
    const { parent, below, owner, user, email } = await newStage(server());
    const nobody = await below.submit("email_auth", asked("nobody@example.com"));
    assert.equal(nobody.status, 404);
    assert.match(nobody.body.message, /e-mail address nobody@example\.com/);
    const staff = `staff.${newId()}@example.com`;
    await parent.client.result("update_user", { userId: parent.userId, userEmail: staff });
    assert.equal((await below.submit("email_auth", asked(staff))).status, 404, "another organization's user");
    const bad: [object, RegExp][] = [
      [{ targetPublicKey: `02${"ff".repeat(32)}` }, /targetPublicKey/],
      [{ emailCustomization: { appName: "App", templateId: "none" } }, /failed to get email template contents/],
      [{ emailCustomization: { appName: "App", magicLinkTemplate: "https://a.b/" } }, /invalid magic link template/],
      [{ emailCustomization: {} }, /appName/],
    ];
    for (const [more, message] of bad) {
      const { status, body } = await below.submit("email_auth", asked(email, undefined, more));
      assert.equal(status, 400, JSON.stringify(more));
      assert.match(body.message, message);
    }
    const twin = await addUser(owner.client, "Twin");
    await owner.client.result("update_user", { userId: twin.userId, userEmail: email.toLowerCase() });
    const twins = await below.submit("email_auth", asked(email));
    assert.equal(twins.status, 400);
    assert.match(twins.body.message, /more than one user/);
    await owner.client.result("delete_users", { userIds: [twin.userId] });

    await owner.client.result("remove_organization_feature", { name: "FEATURE_NAME_EMAIL_AUTH" });
    const off = await below.submit("email_auth", asked(email));
    assert.equal(off.status, 403);
    assert.match(off.body.message, /FEATURE_NAME_EMAIL_AUTH/);
    assert.deepEqual(await keysOf(owner.client, user.userId, EMAIL_AUTH), []);
    assert.ok(await noMailTo(server(), email));
  });

  leavesAccounts(server);
});

const post = (client: Client, body: string): Promise<TestAnswer> => client.post("/public/v1/submit/email_auth", body);

const newPasskey = (): Passkey => ({
  authenticator: createAuthenticator(),
  origin: "https://app.example.com",
  rpId: "app.example.com",
});

/** Has a recovery mailed; resolves to a client that stamps with its key. */
async function startRecovery(server: TestServer, { below, owner, email }: Stage, mails = 1): Promise<Client> {
  const target = exportTarget();
  await below.result("init_user_email_recovery", asked(email, target));
  const opened = (await mailTo(server, email, mails)).flatMap((mail) => {
    try {
      return [keyIn(mail, target.privateKey)];
    } catch {
      return [];
    }
  });
  assert.equal(opened.length, 1);
  return owner.client.with({ key: opened[0] as never });
}

onEachEngine("recovery by mail", (server) => {
  it("registers one passkey, and every recovery key of the user is gone", async () => {
    const stage = await newStage(server());
    const { owner, user, email, below } = stage;
    const first = await startRecovery(server(), stage);
    const [mail] = await mailTo(server(), email);
    assert.equal(mail?.subject, "Recover your account at App");
    const recovering = await startRecovery(server(), stage, 2);
    const stored = await keysOf(owner.client, user.userId, RECOVERY);
    assert.equal(stored.length, 2);
    assert.match(stored[0].apiKeyName, /^Recovery - 20/);
    assert.equal(stored[0].expirationSeconds, "900");
    assert.equal((await recovering.read("whoami")).userId, user.userId);

    const passkey = newPasskey();
    const parameters = { authenticator: authenticatorParams(passkey), userId: user.userId };
    const body = recovering.submitBody("recover_user", parameters);
    const recover = (client: Client) => client.post("/public/v1/submit/recover_user", body);
    const done = await recover(recovering);
    assert.equal(done.status, 200, JSON.stringify(done.body));
    const { authenticatorId } = done.body.activity.result.recoverUserResult;
    assert.equal(authenticatorId.length, 1);
    const { user: shown } = await below.read("get_user", { userId: user.userId });
    assert.deepEqual(
      shown.authenticators.map((each: Json) => each.authenticatorId),
      authenticatorId,
    );
    assert.equal((await owner.client.withPasskey(passkey).read("whoami")).userId, user.userId);
    assert.deepEqual(await keysOf(owner.client, user.userId, RECOVERY), []);
    for (const used of [first, recovering]) {
      const again = { authenticator: authenticatorParams(newPasskey()), userId: user.userId };
      assert.deepEqual(refused(await used.submit("recover_user", again)), [401, "PUBLIC_KEY_NOT_FOUND"]);
      assert.deepEqual(refused(await used.query("whoami")), [401, "PUBLIC_KEY_NOT_FOUND"]);
    }
    const again = await recover(recovering);
    assert.deepEqual([again.status, again.body], [200, done.body], "the same body again has the same answer");
    const elsewhere = recovering.with({ organizationId: stage.parent.client.organizationId });
    assert.deepEqual(refused(await recover(first)), [401, "PUBLIC_KEY_NOT_FOUND"], "it was another key's");
    assert.deepEqual(refused(await recover(user.client)), [401, "SIGNATURE_INVALID"]);
    assert.deepEqual(refused(await elsewhere.query("whoami")), [401, "PUBLIC_KEY_NOT_FOUND"]);
    const { fingerprint } = done.body.activity;
    for (const path of ["approve_activity", "reject_activity"])
      assert.deepEqual(refused(await recovering.submit(path, { fingerprint })), [401, "PUBLIC_KEY_NOT_FOUND"]);
    await owner.client.result("delete_users", { userIds: [user.userId] });
    assert.deepEqual(refused(await recover(recovering)), [401, "PUBLIC_KEY_NOT_FOUND"]);
  });

  it("stamps queries and recover_user, and nothing else, whatever quorum and policies say", async () => {
    const stage = await newStage(server());
    const { owner, email } = stage;
    await owner.client.result("update_user", { userId: stage.user.userId, userEmail: "other@example.com" });
    await owner.client.result("update_user", { userId: owner.userId, userEmail: email });
    const second = await addUser(owner.client, "Second");
    const recovering = await startRecovery(server(), stage);
    await owner.client.result("update_root_quorum", { threshold: 2, userIds: [owner.userId, second.userId] });
    const open = await second.client.submit("update_organization_name", { organizationName: "New" });
    const { fingerprint } = open.body.activity;
    const { activities } = await owner.client.read("list_activities");
    const tries: [string, object][] = [
      ["create_user_tag", { userTagName: "t", userIds: [] }],
      ["stamp_login", { publicKey: generateApiKey().publicKey }],
      ["create_read_only_session", {}],
      ["create_authenticators", { userId: owner.userId, authenticators: [authenticatorParams(newPasskey())] }],
      ["approve_activity", { fingerprint }],
      ["reject_activity", { fingerprint }],
    ];
    for (const [path, parameters] of tries) {
      const answer = await recovering.submit(path, parameters);
      assert.deepEqual(refused(answer), [401, "SIGNATURE_INVALID"], path);
      assert.match(answer.body.message, new RegExp(`${RECOVERY} cannot stamp ${path}`));
    }
    assert.deepEqual((await recovering.read("list_activities")).activities, activities);
    // A member of the quorum recovers alone: it is about their own credentials.
    const parameters = { authenticator: authenticatorParams(newPasskey()), userId: owner.userId };
    assert.equal((await recovering.result("recover_user", parameters)).authenticatorId.length, 1);
  });

  it("takes that user's recovery key and no other credential", async () => {
    const stage = await newStage(server());
    const { owner, user, below } = stage;
    const parameters = { authenticator: authenticatorParams(newPasskey()), userId: user.userId };
    for (const client of [owner.client, user.client, below]) {
      assert.deepEqual(refused(await client.submit("recover_user", parameters)), [401, "SIGNATURE_INVALID"]);
    }
    const recovering = await startRecovery(server(), stage);
    const other = { ...parameters, userId: owner.userId };
    assert.deepEqual(refused(await recovering.submit("recover_user", other)), [403, "REQUEST_NOT_AUTHORIZED"]);
    assert.equal((await recovering.submit("recover_user", { ...parameters, userId: newId() })).status, 404);

    const damaged = { ...(authenticatorParams(newPasskey()) as Json), challenge: "AAAA" };
    const { status, body } = await recovering.submit("recover_user", { ...parameters, authenticator: damaged });
    assert.equal(status, 400);
    assert.match(body.message, /invalid authenticator attestation: `parameters\.authenticator\.challenge` is not/);
    const taken = newPasskey();
    const authenticators = [authenticatorParams(taken)];
    await owner.client.result("create_authenticators", { userId: owner.userId, authenticators });
    const twice = { ...parameters, authenticator: authenticatorParams(taken) };
    const conflict = await recovering.submit("recover_user", twice);
    assert.equal(conflict.status, 409);
    assert.match(conflict.body.message, /`parameters\.authenticator\.attestation\.credentialId`/);
    assert.equal((await keysOf(owner.client, user.userId, RECOVERY)).length, 1, "a refusal uses nothing up");
    assert.equal((await recovering.result("recover_user", parameters)).authenticatorId.length, 1);
  });

  it("takes a passkey whose attestation says what it should, and a refusal uses nothing up", async () => {
    const stage = await newStage(server());
    const { parent, owner, user } = stage;
    const [origin, rpId] = ["https://app.example.com", "app.example.com"];
    await parent.client.result("set_organization_feature", { name: "FEATURE_NAME_WEBAUTHN_ORIGINS", value: origin });
    const recovering = await startRecovery(server(), stage);
    const challenge = Buffer.from(newId());
    /** What the user is to have, and what a browser says of it; each hook may get something wrong. */
    const attempt = (faults: Faults, more: { origin?: string; challenge?: Buffer } = {}) => {
      const attestation = createAuthenticator().attest({ challenge, origin, rpId, faults, ...more });
      const authenticator = { authenticatorName: "New", challenge: challenge.toString("base64url"), attestation };
      return recovering.submit("recover_user", { userId: user.userId, authenticator });
    };
    const at = (part: string) => `invalid authenticator attestation: \`parameters.authenticator.${part}\` `;
    const clientData = at("attestation.clientDataJson");
    const object = at("attestation.attestationObject");
    const refusals: [string, Awaited<ReturnType<typeof attempt>>, string][] = [
      ["another challenge", await attempt({}, { challenge: Buffer.from("other") }), at("challenge")],
      ["another page", await attempt({}, { origin: "https://evil.example" }), `${clientData}has an \`origin\``],
      [
        "a stamp",
        await attempt({ clientData: (it) => ({ ...it, type: "webauthn.get" }) }),
        `${clientData}has a \`type\``,
      ],
      ["nobody there", await attempt({ flags: (flags) => flags & ~0x01 }), `${object}lacks the user-present flag`],
      ["no credential", await attempt({ flags: (flags) => flags & ~0x40 }), object],
      [
        "another format",
        await attempt({ attestationObject: (it) => ({ ...it, fmt: "fido-u2f" }) }),
        `${object}has an att`,
      ],
      [
        "another passkey",
        await attempt({ attestedCredentialId: () => Buffer.alloc(32) }),
        at("attestation.credentialId"),
      ],
    ];
    for (const [what, answer, message] of refusals) {
      assert.equal(answer.status, 400, what);
      assert.ok(answer.body.message.startsWith(message), `${what}: ${answer.body.message}`);
    }
    assert.equal((await keysOf(owner.client, user.userId, RECOVERY)).length, 1);
    assert.equal((await attempt({})).status, 200);
  });

  it("can be denied by a policy of the sub-organization, and needs the feature", async () => {
    const stage = await newStage(server());
    const { owner, user, below, email } = stage;
    const recovering = await startRecovery(server(), stage);
    const { policyId } = await owner.client.result("create_policy", {
      policyName: "No recovery",
      effect: "EFFECT_DENY",
      condition: "activity.resource == 'RECOVERY'",
      notes: "",
    });
    const parameters = { authenticator: authenticatorParams(newPasskey()), userId: user.userId };
    assert.deepEqual(refused(await recovering.submit("recover_user", parameters)), [403, "REQUEST_NOT_AUTHORIZED"]);
    await owner.client.result("delete_policy", { policyId });
    await recovering.result("recover_user", parameters);

    await owner.client.result("remove_organization_feature", { name: "FEATURE_NAME_EMAIL_RECOVERY" });
    const { status, body } = await below.submit("init_user_email_recovery", asked(email));
    assert.equal(status, 403);
    assert.match(body.message, /FEATURE_NAME_EMAIL_RECOVERY/);
    assert.deepEqual(await keysOf(owner.client, user.userId, RECOVERY), []);
  });

  leavesAccounts(server);
});

describe("the life of mailed keys", () => {
  let server: TestServer;
  /** The time that the server is given, where it is not that of now. */
  let then: number | undefined;
  before(async () => {
    server = await startTestServer("sqlite", { clock: () => then ?? Date.now() });
  });
  beforeEach(() => {
    then = undefined;
  });
  after(() => server.close());

  it("is as long as a key that was used up is known by the body that it was used for", async () => {
    const stage = await newStage(server);
    const recovering = await startRecovery(server, stage);
    const parameters = { authenticator: authenticatorParams(newPasskey()), userId: stage.user.userId };
    const body = recovering.submitBody("recover_user", parameters);
    const recover = () => recovering.post("/public/v1/submit/recover_user", body);
    const [key] = await keysOf(stage.owner.client, stage.user.userId, RECOVERY);
    const madeAt = Number(key?.createdAt.seconds) * 1000;
    const { activity } = (await recover()).body;
    then = madeAt + 899_000;
    assert.equal((await recover()).body.activity.id, activity.id);
    then = madeAt + 901_000;
    assert.equal((await recover()).status, 401);
  });

  it("is 15 minutes unless said", async () => {
    const stage = await newStage(server);
    const recovering = await startRecovery(server, stage);
    const parameters = { authenticator: authenticatorParams(newPasskey()), userId: stage.user.userId };
    then = Date.now() + 901_000;
    assert.deepEqual(refused(await recovering.submit("recover_user", parameters)), [401, "API_KEY_EXPIRED"]);
    assert.deepEqual(refused(await recovering.query("whoami")), [401, "API_KEY_EXPIRED"]);
  });
});
