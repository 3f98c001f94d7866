import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { StampingKey } from "../../src/crypto/make-stamp.ts";
import { newId } from "../../src/kernel/ids.ts";
import { INVITATION_LIFETIME_MS, LARGE_JSON_BYTES, MAX_USERS } from "../../src/kernel/limits.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import {
  addUser,
  apiKeyParams,
  authenticatorParams,
  type Client,
  generateApiKey,
  type Json,
  type Passkey,
  type TestAnswer,
} from "../support/client.ts";
import { assertSameDump, dumpDatabase, watchDatabase } from "../support/database-dump.ts";
import { type CaughtMail, type MailServer, startMailServer } from "../support/mail-server.ts";
import { tokenIn } from "../support/outbox.ts";
import { leavesAccounts } from "../support/provenance.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, createWorld, type World } from "../support/world.ts";

/** An invitation as it came by mail. */
interface Invited {
  invitationId: string;
  email: string;
  token: string;
  mail: CaughtMail;
}

const newPasskey = (): Passkey => ({
  authenticator: createAuthenticator(),
  origin: "https://app.example.com",
  rpId: "example.com",
});

let clockAheadMs = 0;
/** Lets the server's clock pass by so much while something is done. */
async function later<T>(ms: number, act: () => Promise<T>): Promise<T> {
  clockAheadMs = ms;
  try {
    return await act();
  } finally {
    clockAheadMs = 0;
  }
}

for (const engine of engines) {
  describe(`accepting invitations (${engine})`, () => {
    let mails: MailServer;
    let server: TestServer;
    before(async () => {
      mails = await startMailServer();
      const settings = {
        KEYSTEAD_SMTP_URL: mails.url,
        KEYSTEAD_MAIL_FROM: "Keystead <keys@keystead.example>",
        KEYSTEAD_MAIL_SENDER_DOMAINS: "app.example.com",
        KEYSTEAD_FAILED_AUTHENTICATIONS_PER_SECOND: "0",
      };
      server = await startTestServer(engine, { settings, clock: () => Date.now() + clockAheadMs });
    });
    after(async () => {
      await server.close();
      await mails.close();
    });

    const worldOf = () => createWorld(server);

    const paramsFor = (senderUserId: string, more: object = {}): Json => ({
      receiverUserName: "Guest",
      receiverUserEmail: `Guest.${newId()}@Example.com`,
      receiverUserTags: [],
      accessType: "ACCESS_TYPE_ALL",
      senderUserId,
      ...more,
    });

    async function mailTo(address: string): Promise<CaughtMail> {
      const isIt = ({ envelope }: CaughtMail) => envelope.to.some((to) => to.toLowerCase() === address.toLowerCase());
      await until(() => mails.caught.some(isIt), `a mail to ${address}`);
      const found = mails.caught.filter(isIt);
      assert.equal(found.length, 1);
      return found[0] as CaughtMail;
    }

    async function invite(
      { client, userId }: { client: Client; userId: string },
      more: object = {},
      beside: object = {},
    ): Promise<Invited> {
      const params = paramsFor(userId, more);
      const { invitationIds } = await client.result("create_invitations", { invitations: [params], ...beside });
      const mail = await mailTo(params.receiverUserEmail);
      return { invitationId: invitationIds[0], email: params.receiverUserEmail, token: tokenIn(mail), mail };
    }

    const withKey = ({ invitationId, token }: Invited, key: StampingKey) => ({
      invitationId,
      token,
      apiKeys: [apiKeyParams(key)],
    });
    const accept = ({ root }: World, invited: Invited, key = generateApiKey()) =>
      root.client
        .with({ key })
        .submit("accept_invitation", withKey(invited, key), { timestampMs: String(Date.now() + clockAheadMs) });

    const statusOf = async ({ root }: World, invited: Invited): Promise<string> => {
      const { invitations } = await root.client.read("list_invitations");
      return invitations.find(({ invitationId }: Json) => invitationId === invited.invitationId).status;
    };
    const usersOf = async ({ root }: World): Promise<Json[]> => (await root.client.read("list_users")).users;

    /** That a request is refused so and leaves nothing, whatever it is. */
    async function refused(world: World, send: () => Promise<TestAnswer>, status: number, message: RegExp) {
      const contents = watchDatabase(server.opened.database, [world.organizationId]);
      const beforehand = await contents();
      const answer = await send();
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.match(answer.body.message, message);
      assertSameDump(beforehand, await contents(), String(message), []);
      return answer.body;
    }

    it("makes the user who was invited, known by the API key that stamps", async () => {
      const world = await worldOf();
      const { client } = world.root;
      const tag = async (userTagName: string) =>
        (await client.result("create_user_tag", { userTagName, userIds: [] })).userTagId;
      const [kept, gone] = [await tag("kept"), await tag("gone")];
      const invited = await invite(world.root, { receiverUserTags: [kept, gone] });
      await client.result("delete_user_tags", { userTagIds: [gone] });

      const key = generateApiKey();
      const guest = client.with({ key });
      const { invitationId, userId } = await guest.result("accept_invitation", withKey(invited, key));
      assert.equal(invitationId, invited.invitationId);
      const { user } = await client.read("get_user", { userId });
      assert.deepEqual(
        [user.userName, user.userEmail, user.userTags, user.authenticators],
        ["Guest", invited.email, [kept], []],
      );
      assert.deepEqual(
        user.apiKeys.map(({ credential }: Json) => credential.publicKey),
        [key.publicKey],
      );
      assert.equal((await guest.read("whoami")).userId, userId);
      assert.equal(await statusOf(world, invited), "INVITATION_STATUS_ACCEPTED");
      // A user like all others: nothing is theirs to do but what policies or their own credentials allow.
      assert.equal((await guest.submit("create_user_tag", { userTagName: "mine", userIds: [] })).status, 403);
      await guest.result("create_api_keys", { userId, apiKeys: [apiKeyParams(generateApiKey())] });
      const { activities } = await client.read("list_activities", {
        filterByType: ["ACTIVITY_TYPE_ACCEPT_INVITATION"],
      });
      assert.deepEqual(
        activities.map(({ votes }: Json) => votes.map((vote: Json) => vote.userId)),
        [[userId]],
      );
    });

    it("makes the user known by the passkey that stamps, under a name of their own", async () => {
      const world = await worldOf();
      const invited = await invite(world.root);
      const passkey = newPasskey();
      const guest = world.root.client.withPasskey(passkey);
      const { userId } = await guest.result("accept_invitation", {
        invitationId: invited.invitationId,
        token: invited.token,
        userName: "Ada",
        apiKeys: [],
        authenticators: [authenticatorParams(passkey)],
      });
      assert.equal((await guest.read("whoami")).userId, userId);
      const { user } = await guest.read("get_user", { userId });
      assert.deepEqual([user.userName, user.authenticators.length, user.apiKeys], ["Ada", 1, []]);
      await guest.result("create_api_keys", { userId, apiKeys: [apiKeyParams(generateApiKey())] });
    });

    it("mails the token to the invited address alone, and stores no more than its hash", async () => {
      const world = await worldOf();
      const invited = await invite(
        world.root,
        {},
        {
          emailCustomization: { appName: "Ledger", magicLinkTemplate: "https://app.example.com/join#%s" },
          sendFromEmailAddress: "team@app.example.com",
          sendFromEmailSenderName: "Ledger team",
        },
      );
      const { mail, token, invitationId } = invited;
      assert.deepEqual(
        mail.envelope.to.map((to) => to.toLowerCase()),
        [invited.email.toLowerCase()],
      );
      assert.deepEqual([mail.cc, mail.bcc], [undefined, undefined]);
      assert.equal(mail.subject, "You are invited to Ledger");
      assert.deepEqual([mail.from?.address, mail.from?.name], ["team@app.example.com", "Ledger team"]);
      assert.ok(mail.text?.includes(`https://app.example.com/join#${token}`), mail.text);
      assert.deepEqual(token.split(".").slice(0, 2), [world.organizationId, invitationId]);
      const secret = token.split(".")[2] as string;
      assert.equal(Buffer.from(secret, "base64url").length, 32);
      const dump = JSON.stringify(await dumpDatabase(server.opened.database, [world.organizationId]));
      assert.ok(!dump.includes(secret));
      assert.ok(!server.log().includes(secret));
      const shown = JSON.stringify([
        await world.root.client.read("list_invitations"),
        await world.root.client.read("list_activities"),
      ]);
      assert.ok(!shown.includes(secret));
      await until(async () => {
        const { emailEvents } = await world.root.client.read("list_email_events", { email: invited.email });
        return emailEvents.some(({ eventType }: Json) => eventType === "Send");
      }, "the mail's event");
    });

    it("answers the same body by the same key with the same activity", async () => {
      const world = await worldOf();
      const invited = await invite(world.root);
      const key = generateApiKey();
      const guest = world.root.client.with({ key });
      const body = guest.submitBody("accept_invitation", withKey(invited, key));
      const path = "/public/v1/submit/accept_invitation";
      const [first, again] = [await guest.post(path, body), await guest.post(path, body)];
      assert.equal(first.status, 200);
      assert.deepEqual([again.status, again.body.activity.id], [200, first.body.activity.id]);
      assert.deepEqual(again.body.activity.result, first.body.activity.result);
      assert.equal((await usersOf(world)).length, 3);
      // Another body by it would make a user of somebody who is one.
      await refused(
        world,
        () => guest.submit("accept_invitation", withKey(invited, key)),
        401,
        /belongs to a user of organization/,
      );
    });

    it("tells unknown, wrong, revoked, expired and used ones in the same words", async () => {
      const world = await worldOf();
      const elsewhere = await worldOf();
      const [good, revoked, used] = [await invite(world.root), await invite(world.root), await invite(world.root)];
      const foreign = await invite(elsewhere.root);
      await world.root.client.result("delete_invitation", { invitationId: revoked.invitationId });
      assert.equal((await accept(world, used)).status, 200);
      const [organizationId, id, secret = ""] = good.token.split(".");
      const wrong: Record<string, Invited> = {
        revoked,
        used,
        "of another organization": foreign,
        "that nobody made": { ...good, invitationId: newId() },
        "another one's token": { ...good, token: revoked.token },
        "another one's id": { ...revoked, token: good.token },
        "a bit off": {
          ...good,
          token: `${organizationId}.${id}.${secret.startsWith("A") ? "B" : "A"}${secret.slice(1)}`,
        },
        "the secret alone": { ...good, token: secret },
        "in other letters": { ...good, token: good.token.toUpperCase() },
        "with a blank": { ...good, token: `${good.token} ` },
      };
      const bodies = [];
      for (const invited of Object.values(wrong)) {
        bodies.push(
          await refused(world, () => accept(world, invited), 400, /no open invitation has this id and token/),
        );
      }
      const key = generateApiKey();
      const expired = () => later(INVITATION_LIFETIME_MS, () => accept(world, good, key));
      bodies.push(await refused(world, expired, 400, /no open invitation has this id and token/));
      const [first] = bodies;
      for (const body of bodies) assert.deepEqual({ ...body, requestId: "" }, { ...first, requestId: "" });
      assert.equal((await later(INVITATION_LIFETIME_MS - 60_000, () => accept(world, good, key))).status, 200);
    });

    it("takes no stamp but that of the credential it registers", async () => {
      const world = await worldOf();
      const invited = await invite(world.root);
      const [registered, other] = [generateApiKey(), generateApiKey()];
      const { client } = world.root;
      const passkey = newPasskey();
      const notRegistered = /is not by the credential that the request registers/;
      const submit = (by: Client, parameters: object) => () => by.submit("accept_invitation", parameters);
      await refused(world, submit(client.with({ key: other }), withKey(invited, registered)), 401, notRegistered);
      await refused(world, submit(client.withPasskey(passkey), withKey(invited, registered)), 401, notRegistered);
      const { invitationId, token } = invited;
      const withPasskey = { invitationId, token, authenticators: [authenticatorParams(passkey)] };
      await refused(world, submit(client.with({ key: other }), withPasskey), 401, notRegistered);
      await refused(world, submit(client.withPasskey(newPasskey()), withPasskey), 401, notRegistered);
      // The right credential ID, and another key than the one that is registered with it.
      const { credentialId } = passkey.authenticator;
      const twin = {
        ...passkey,
        authenticator: createAuthenticator("ES256", undefined, Buffer.from(credentialId, "base64url")),
      };
      await refused(world, submit(client.withPasskey(twin), withPasskey), 401, /could not verify WebAuthN signature/);
      // A stamp over another body.
      const guest = client.with({ key: registered });
      const body = guest.submitBody("accept_invitation", withKey(invited, registered));
      const altered = body.replace('"apiKeyName":"key"', '"apiKeyName":"kex"');
      const headers = { "x-stamp": guest.stamp(body) };
      const path = "/public/v1/submit/accept_invitation";
      await refused(world, () => guest.post(path, altered, headers), 401, /could not verify api key signature/);
      assert.equal((await guest.post(path, body)).status, 200);
    });

    it("takes one credential, rightly attested, of nobody else", async () => {
      const world = await worldOf();
      const { client } = world.root;
      const invited = await invite(world.root);
      const { invitationId, token } = invited;
      const key = generateApiKey();
      const guest = client.with({ key });
      const passkey = newPasskey();
      const registration = authenticatorParams(passkey);
      for (const credentials of [
        {},
        { apiKeys: [], authenticators: [] },
        { apiKeys: [apiKeyParams(key)], authenticators: [registration] },
      ]) {
        const parameters = { invitationId, token, ...credentials };
        await refused(
          world,
          () => guest.submit("accept_invitation", parameters),
          400,
          /must have exactly one credential/,
        );
      }
      const two = { invitationId, token, apiKeys: [apiKeyParams(key), apiKeyParams(generateApiKey())] };
      await refused(world, () => guest.submit("accept_invitation", two), 400, /parameters\.apiKeys/);
      const challenge = Buffer.alloc(32).toString("base64url");
      const forged = { invitationId, token, authenticators: [{ ...registration, challenge }] };
      await refused(world, () => client.withPasskey(passkey).submit("accept_invitation", forged), 400, /challenge/);
      await client.result("set_organization_feature", {
        name: "FEATURE_NAME_WEBAUTHN_ORIGINS",
        value: "https://other.example.com",
      });
      const foreign = { invitationId, token, authenticators: [registration] };
      await refused(world, () => client.withPasskey(passkey).submit("accept_invitation", foreign), 400, /origin/);
      // A key that somebody of the organization holds; it is told even to who stamps with it.
      const taken = await addUser(client);
      const { key: takenKey } = taken.client;
      await refused(world, () => accept(world, invited, takenKey), 401, /belongs to a user of organization/);
      const large = { ...withKey(invited, key), userName: "x".repeat(LARGE_JSON_BYTES) };
      await refused(world, () => guest.submit("accept_invitation", large), 413, /larger than/);
      assert.equal((await accept(world, invited, key)).status, 200);
    });

    it("registers a key that has a user elsewhere, in the parent too", async () => {
      const world = await worldOf();
      const below = await addSubOrganization(world.root.client);
      const invited = await invite(below);
      const { key } = world.user.client;
      const guest = below.client.with({ key });
      const { userId } = await guest.result("accept_invitation", withKey(invited, key));
      assert.equal((await guest.read("whoami")).userId, userId);
    });

    it("is held up by no policy, nor let in from where the allowlist lets nobody in from", async () => {
      const world = await worldOf();
      const { client } = world.root;
      const [first, second] = [await invite(world.root), await invite(world.root)];
      for (const [index, effect] of ["EFFECT_DENY", "EFFECT_ALLOW"].entries()) {
        await client.result("create_policy", {
          policyName: `policy ${index}`,
          effect,
          condition: "activity.resource == 'INVITATION'",
          consensus: "approvers.count() >= 2",
          notes: "",
        });
      }
      assert.equal((await accept(world, first)).status, 200);
      const rules = [{ cidr: "203.0.113.0/24" }];
      await client.result("set_ip_allowlist", { enabled: true, rules, onEvaluationError: "DENY" });
      await refused(world, () => accept(world, second), 403, /is not on the IP allowlist/);
    });

    it("leaves the invitation open where the organization is full", async () => {
      const world = await worldOf();
      const { client } = world.root;
      const invited = await invite(world.root);
      const users = Array.from({ length: MAX_USERS - 2 }, (_, index) => ({
        userName: `user ${index}`,
        apiKeys: [apiKeyParams(generateApiKey())],
        authenticators: [],
        oauthProviders: [],
        userTags: [],
      }));
      const { userIds } = await client.result("create_users", { users });
      await refused(world, () => accept(world, invited), 429, /at most 100 users/);
      await client.result("delete_users", { userIds: [userIds[0]] });
      assert.equal((await accept(world, invited)).status, 200);
    });

    it("makes room for another invitation when it has expired", async () => {
      const world = await worldOf();
      const invited = await invite(world.root);
      const again = { invitations: [paramsFor(world.root.userId, { receiverUserEmail: invited.email })] };
      assert.equal((await world.root.client.submit("create_invitations", again)).status, 409);
      const submitted = await later(INVITATION_LIFETIME_MS, () => {
        const timestampMs = String(Date.now() + clockAheadMs);
        return world.root.client.submit("create_invitations", again, { timestampMs });
      });
      assert.equal(submitted.status, 200, JSON.stringify(submitted.body));
      assert.equal(await statusOf(world, invited), "INVITATION_STATUS_REVOKED");
    });

    it("shows invitations in pages, newest first, with what became of them", async () => {
      const world = await worldOf();
      const all = [await invite(world.root), await invite(world.root), await invite(world.root)];
      const page = async (paginationOptions: object): Promise<string[]> => {
        const { invitations } = await world.root.client.read("list_invitations", { paginationOptions });
        return invitations.map(({ invitationId }: Json) => invitationId);
      };
      const [first, second, third] = all.map(({ invitationId }) => invitationId);
      assert.deepEqual(await page({ limit: "2" }), [third, second]);
      assert.deepEqual(await page({ limit: "2", before: second }), [first]);
      assert.deepEqual(await page({ limit: "1", after: first }), [second]);
      const { invitations } = await world.root.client.read("list_invitations");
      const [{ createdAt, expiresAt }] = invitations;
      assert.equal(Number(expiresAt.seconds) - Number(createdAt.seconds), INVITATION_LIFETIME_MS / 1000);
    });

    it("is not asked for by mail when the invitation itself is refused", async () => {
      const world = await worldOf();
      const params = paramsFor(newId());
      const count = mails.caught.length;
      assert.equal((await world.root.client.submit("create_invitations", { invitations: [params] })).status, 404);
      const invitations = [paramsFor(world.root.userId)];
      for (const [member, value] of Object.entries({
        templateId: "nothing",
        magicLinkTemplate: "no-place",
        logoUrl: "x",
      })) {
        const parameters = { invitations, emailCustomization: { [member]: value } };
        const { status, body } = await world.root.client.submit("create_invitations", parameters);
        assert.equal(status, 400);
        assert.match(body.message, new RegExp(`\`parameters\\.emailCustomization\\.${member}\``));
      }
      await invite(world.root);
      assert.equal(mails.caught.length, count + 1);
    });

    leavesAccounts(() => server);
  });

  it(`wrong tokens are counted by the address they come from (${engine})`, async () => {
    const settings = { KEYSTEAD_FAILED_AUTHENTICATIONS_PER_SECOND: "1" };
    // No time passes, so that nothing is let in again.
    const server = await startTestServer(engine, { settings, elapsed: () => 0 });
    try {
      const statuses = [];
      for (let turn = 0; turn < 20; turn++) {
        const key = generateApiKey();
        const parameters = { invitationId: newId(), token: "x", apiKeys: [apiKeyParams(key)] };
        statuses.push((await server.root.with({ key }).submit("accept_invitation", parameters)).status);
      }
      assert.equal(statuses[0], 400);
      assert.equal(statuses.at(-1), 429);
    } finally {
      await server.close();
    }
  });
}
