import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import type { Credentials } from "../../src/main/credentials-file.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { type Arena, arenas, newArenaDatabase } from "../support/arena.ts";
import { submitAttested } from "../support/attested-stamps.ts";
import { clientBundle } from "../support/bundles.ts";
import { addUser, apiKeyParams, Client, generateApiKey, type Json, type TestAnswer } from "../support/client.ts";
import { type MailServer, startMailServer } from "../support/mail-server.ts";
import { loginSignature } from "../support/one-time-codes.ts";
import { tokenIn } from "../support/outbox.ts";
import { readJson, serving, spawnServer, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { addSubOrganization } from "../support/world.ts";

/** Requests that get in each other's way: on one server, and on two servers that share a database. */

const AT_ONCE = 16;

for (const [name, start] of Object.entries(arenas)) {
  describe(`requests at the same time: ${name}`, () => {
    let arena: Arena;
    let store: Database;
    let mails: MailServer;
    /** The clients in turn, so that neighbours meet on different servers. */
    const client = (turn: number, change: Parameters<Client["with"]>[0] = {}) => arena.client(turn).with(change);

    before(async () => {
      mails = await startMailServer();
      arena = await start({ KEYSTEAD_SMTP_URL: mails.url, KEYSTEAD_MAIL_FROM: "keys@keystead.example" });
      store = openDatabase({ url: arena.databaseUrl });
    });
    after(async () => {
      await store.close();
      await arena.close();
      await mails.close();
    });

    const atOnce = <T>(count: number, act: (turn: number) => Promise<T>): Promise<T[]> =>
      Promise.all(Array.from({ length: count }, (_, turn) => act(turn)));

    async function createKey(addressFormats: string[] = []): Promise<string> {
      const params = { privateKeyName: "raced", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats };
      const { privateKeys } = await client(0).result("create_private_keys", { privateKeys: [params] });
      return privateKeys[0].privateKeyId;
    }

    /** An invitation, with the token that was mailed. */
    async function invited(receiverUserName: string): Promise<{ invitationId: string; token: string }> {
      const { userId: senderUserId } = await client(0).read("whoami");
      const receiverUserEmail = `${newId()}@example.com`;
      const invitation = { receiverUserName, receiverUserEmail, receiverUserTags: [], senderUserId };
      const { invitationIds } = await client(0).result("create_invitations", {
        invitations: [{ ...invitation, accessType: "ACCESS_TYPE_ALL" }],
      });
      const isIt = ({ envelope }: { envelope: { to: string[] } }) => envelope.to.includes(receiverUserEmail);
      await until(() => mails.caught.some(isIt), `a mail to ${receiverUserEmail}`);
      return { invitationId: invitationIds[0], token: tokenIn(mails.caught.find(isIt) as { text?: string }) };
    }

    const usersNamed = async (name: string): Promise<Json[]> =>
      (await client(0).read("list_users")).users.filter(({ userName }: Json) => userName === name);

    const signing = (signWith: string, payload: string) => ({
      signWith,
      payload,
      encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
      hashFunction: "HASH_FUNCTION_SHA256",
    });

    /** Of a bundle that nothing was imported with yet. */
    async function newImport(privateKeyName: string) {
      const { userId } = await client(0).read("whoami");
      const { importBundle } = await client(0).result("init_import_private_key", { userId });
      const encryptedBundle = clientBundle(importBundle, Buffer.alloc(32, 7));
      return { userId, privateKeyName, encryptedBundle, curve: "CURVE_P256", addressFormats: [] };
    }

    async function activitiesOf(fingerprint: string) {
      return store.read.selectFrom("activities").selectAll().where("fingerprint", "=", fingerprint).execute();
    }

    describe("identical submits are one activity, carried out once", () => {
      const cases: Record<string, () => Promise<unknown>> = {
        create_private_keys: async () => ({
          privateKeys: [{ privateKeyName: "only one", curve: "CURVE_ED25519", privateKeyTags: [], addressFormats: [] }],
        }),
        create_user_tag: async () => ({ userTagName: "only one", userIds: [] }),
        sign_raw_payload: async () => signing(await createKey(), "once"),
        import_private_key: () => newImport("only import"),
        create_users: async () => ({
          users: [
            {
              userName: "only one",
              apiKeys: [apiKeyParams(generateApiKey())],
              authenticators: [],
              oauthProviders: [],
              userTags: [],
            },
          ],
        }),
      };
      for (const [path, parametersOf] of Object.entries(cases)) {
        it(path, async () => {
          const body = client(0).submitBody(path, await parametersOf());
          const answers = await atOnce(AT_ONCE, (turn) => client(turn).post(`/public/v1/submit/${path}`, body));
          for (const { status, body } of answers) assert.equal(status, 200, JSON.stringify(body));
          const activities = answers.map(({ body }) => body.activity);
          const [first] = activities;
          for (const { id, status, result, votes } of activities) {
            assert.equal(id, first.id);
            assert.equal(status, "ACTIVITY_STATUS_COMPLETED");
            assert.deepEqual(result, first.result);
            assert.equal(votes.length, 1);
          }
          assert.equal((await activitiesOf(first.fingerprint)).length, 1);
          const named = {
            create_private_keys: ["private_keys", "only one"],
            import_private_key: ["private_keys", "only import"],
            create_user_tag: ["tags", "only one"],
            create_users: ["users", "only one"],
          } as const;
          const entry = named[path as keyof typeof named];
          if (!entry) return;
          const [table, name] = entry;
          const rows = await store.read.selectFrom(table).select("id").where("name", "=", name).execute();
          assert.equal(rows.length, 1, "its effect is there once");
        });
      }
    });

    it("a bundle is imported once, however many ask at once", async () => {
      const { encryptedBundle, ...rest } = await newImport("raced for");
      const answers = await atOnce(AT_ONCE, (turn) =>
        client(turn).submit("import_private_key", { ...rest, encryptedBundle }),
      );
      const statuses = Map.groupBy(answers, ({ status }) => status);
      assert.deepEqual([statuses.get(200)?.length, statuses.get(400)?.length], [1, AT_ONCE - 1]);
      for (const { body } of statuses.get(400) ?? []) assert.match(body.message, /not encrypted to a valid import key/);
      const keys = await store.read.selectFrom("private_keys").select("id").where("name", "=", "raced for").execute();
      assert.equal(keys.length, 1);
      const left = await store.read.selectFrom("import_keys").select("id").execute();
      assert.equal(left.length, 0);
    });

    it("an invitation makes one user, however many accept it at once with keys of their own", async () => {
      const invitation = await invited("raced guest");
      const answers = await atOnce(AT_ONCE, (turn) => {
        const key = generateApiKey();
        return client(turn, { key }).submit("accept_invitation", { ...invitation, apiKeys: [apiKeyParams(key)] });
      });
      const statuses = Map.groupBy(answers, ({ status }) => status);
      assert.deepEqual([statuses.get(200)?.length, statuses.get(400)?.length], [1, AT_ONCE - 1]);
      for (const { body } of statuses.get(400) ?? []) assert.match(body.message, /no open invitation/);
      assert.equal((await usersNamed("raced guest")).length, 1);
    });

    it("the same acceptance sent many times at once is one activity of one user", async () => {
      const key = generateApiKey();
      const parameters = { ...(await invited("repeated guest")), apiKeys: [apiKeyParams(key)] };
      const body = client(0, { key }).submitBody("accept_invitation", parameters);
      const answers = await atOnce(AT_ONCE, (turn) =>
        client(turn, { key }).post("/public/v1/submit/accept_invitation", body),
      );
      for (const { status, body } of answers) assert.equal(status, 200, JSON.stringify(body));
      assert.equal(new Set(answers.map(({ body }) => body.activity.id)).size, 1);
      const [user, another] = await usersNamed("repeated guest");
      assert.equal(another, undefined);
      for (const { body } of answers) assert.equal(body.activity.result.acceptInvitationResult.userId, user.userId);
    });

    it("one key that accepts two invitations at once has one user", async () => {
      const invitations = [await invited("twofold guest"), await invited("twofold guest")];
      const key = generateApiKey();
      const answers = await atOnce(2, (turn) =>
        client(turn, { key }).submit("accept_invitation", { ...invitations[turn], apiKeys: [apiKeyParams(key)] }),
      );
      const [first, second = 0] = answers.map(({ status }) => status).sort();
      assert.equal(first, 200);
      // As late as in the transaction, or when the user is there already.
      assert.ok([409, 401].includes(second), `${second}`);
      assert.equal((await usersNamed("twofold guest")).length, 1);
    });

    it("one-time codes are started, guessed at and used as often as allowed, whichever server is asked", async () => {
      const newContact = () => `codes.${newId()}@example.com`;
      const start = (turn: number, contact: string) =>
        client(turn).submit("init_otp", { otpType: "OTP_TYPE_EMAIL", appName: "Shop", contact });
      const verify = (turn: number, otpId: string, otpCode: string) =>
        client(turn).submit("verify_otp", { otpId, otpCode }, { type: "ACTIVITY_TYPE_VERIFY_OTP" });
      const guessed = newContact();
      const started = await atOnce(8, (turn) => start(turn, guessed));
      const otpIds = started.flatMap(({ status, body }) =>
        status === 200 ? [body.activity.result.initOtpResultV2.otpId as string] : [],
      );
      assert.equal(otpIds.length, 3);
      assert.equal(started.filter(({ status }) => status === 429).length, 5);
      const wrong = await atOnce(24, (turn) => verify(turn, otpIds[turn % 3] as string, "000000000"));
      assert.ok(wrong.every(({ status }) => status === 400 || status === 429));
      const failures = await store.read
        .selectFrom("otp_failures")
        .select("id")
        .where("contact", "=", guessed)
        .execute();
      assert.equal(failures.length, 9);
      for (const turn of [0, 1]) assert.equal((await verify(turn, otpIds[0] as string, "000000000")).status, 429);

      const used = newContact();
      const { otpId } = (await start(0, used)).body.activity.result.initOtpResultV2;
      const isIt = ({ envelope }: MailServer["caught"][0]) => envelope.to.includes(used);
      await until(() => mails.caught.some(isIt), `a mail to ${used}`);
      const [code = ""] = /^[0-9A-Z]{9}$/m.exec(mails.caught.find(isIt)?.text ?? "") ?? [];
      const right = await atOnce(8, (turn) => verify(turn, otpId, code));
      assert.deepEqual(right.map(({ status }) => status).sort(), [200, ...Array.from({ length: 7 }, () => 400)]);
    });

    it("a verification token signs in once, whichever way and server it is brought to", async () => {
      const key = generateApiKey();
      const contact = `token.${newId()}@example.com`;
      const { userId, client: person } = await addSubOrganization(client(0));
      const { organizationId } = person;
      await person.result("update_user", { userId, userEmail: contact });
      const { otpId } = await client(0).result("init_otp", { otpType: "OTP_TYPE_EMAIL", appName: "Shop", contact });
      const isIt = ({ envelope }: MailServer["caught"][0]) => envelope.to.includes(contact);
      await until(() => mails.caught.some(isIt), `a mail to ${contact}`);
      const [otpCode = ""] = /^[0-9A-Z]{9}$/m.exec(mails.caught.find(isIt)?.text ?? "") ?? [];
      const guess = { otpId, otpCode, publicKey: key.publicKey };
      const verified = await client(1).result("verify_otp", guess, { type: "ACTIVITY_TYPE_VERIFY_OTP" });
      const { verificationToken } = verified as { verificationToken: string };
      const answers = await atOnce(AT_ONCE, (turn) => {
        const asker = client(turn, { organizationId });
        const { publicKey } = generateApiKey();
        if (turn % 4 < 2) return submitAttested(asker, "stamp_login", { publicKey }, { key, token: verificationToken });
        const clientSignature = loginSignature(key, verificationToken, publicKey);
        return asker.submit("otp_login", { verificationToken, publicKey, clientSignature });
      });
      assert.equal(answers.filter(({ status }) => status === 200).length, 1);
      for (const { status, body } of answers) {
        if (status !== 200) assert.match(body.message, /already been used/);
      }
      const { user } = await person.read("get_user", { userId });
      const isSession = ({ credential }: Json) => credential.type === "CREDENTIAL_TYPE_LOGIN";
      assert.equal(user.apiKeys.filter(isSession).length, 1);
    });

    it("an invitation that is accepted and revoked at once is one of both", async () => {
      for (const attempt of [1, 2, 3]) {
        const guest = `guest or none ${attempt}`;
        const invitation = await invited(guest);
        const answers = await atOnce(6, (turn) => {
          const { invitationId } = invitation;
          if (turn % 3 === 2) return client(turn).submit("delete_invitation", { invitationId });
          const key = generateApiKey();
          return client(turn, { key }).submit("accept_invitation", { ...invitation, apiKeys: [apiKeyParams(key)] });
        });
        assert.equal(answers.filter(({ status }) => status === 200).length, 1);
        const { invitations } = await client(0).read("list_invitations");
        const { status } = invitations.find(({ invitationId }: Json) => invitationId === invitation.invitationId);
        const isAccepted = (await usersNamed(guest)).length === 1;
        assert.equal(status, `INVITATION_STATUS_${isAccepted ? "ACCEPTED" : "REVOKED"}`);
      }
    });

    it("a limit holds however many ask at once", async () => {
      const { userTags } = await client(0).read("list_user_tags");
      const answers = await atOnce(130, (turn) =>
        client(turn).submit("create_user_tag", { userTagName: `tag ${turn}`, userIds: [] }),
      );
      const statuses = Map.groupBy(answers, ({ status }) => status);
      assert.deepEqual([...statuses.keys()].sort(), [200, 429]);
      assert.equal(statuses.get(200)?.length, 100 - userTags.length);
      assert.equal((await client(1).read("list_user_tags")).userTags.length, 100);
      const refused = statuses.get(429)?.[0]?.body;
      assert.match(refused.message, /at most 100 user tags/);
    });

    it("a deleted API key stamps nothing that is sent after its deletion", async () => {
      const { userId } = await addUser(client(0), "two keys");
      const key = generateApiKey();
      const { apiKeyIds } = await client(0).result("create_api_keys", { userId, apiKeys: [apiKeyParams(key)] });
      let deleted = false;
      const late: TestAnswer[] = [];
      const early: TestAnswer[] = [];
      const holder = async (turn: number) => {
        while (late.length < 20) {
          const book = deleted ? late : early;
          const ownName = { userId, apiKeys: [apiKeyParams(generateApiKey(), { expirationSeconds: "60" })] };
          book.push(await client(turn, { key }).submit("create_api_keys", ownName));
        }
      };
      const remover = async () => {
        while (early.length < 10) await new Promise(setImmediate);
        await client(1).result("delete_api_keys", { userId, apiKeyIds });
        deleted = true;
      };
      await Promise.all([holder(0), holder(1), holder(2), remover()]);
      for (const { status, body } of late) {
        assert.equal(status, 401, JSON.stringify(body));
        assert.equal(body.turnkeyErrorCode, "PUBLIC_KEY_NOT_FOUND");
      }
      for (const { status, body } of early) assert.ok([200, 401].includes(status), JSON.stringify(body));
      const voted = await store.read.selectFrom("votes").select("id").where("public_key", "=", key.publicKey).execute();
      assert.equal(
        voted.length,
        early.filter(({ status }) => status === 200).length,
        "a refused request leaves nothing",
      );
    });

    it("a deleted private key signs nothing that is asked after its deletion", async () => {
      const privateKeyId = await createKey();
      let deleted = false;
      const early: TestAnswer[] = [];
      const late: TestAnswer[] = [];
      const asker = async (turn: number) => {
        for (let count = 0; late.length < 20; count++) {
          const book = deleted ? late : early;
          book.push(await client(turn).submit("sign_raw_payload", signing(privateKeyId, `${turn}-${count}`)));
        }
      };
      const remover = async () => {
        while (early.length < 10) await new Promise(setImmediate);
        const deletion = { privateKeyIds: [privateKeyId], deleteWithoutExport: true };
        await client(1).result("delete_private_keys", deletion);
        deleted = true;
      };
      await Promise.all([asker(0), asker(1), asker(2), asker(3), remover()]);
      for (const { status, body } of late) assert.equal(status, 404, JSON.stringify(body));
      for (const { status, body } of early) assert.ok([200, 404].includes(status), JSON.stringify(body));
      const signed = await store.read
        .selectFrom("activities")
        .select("id")
        .where("type", "=", "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2")
        .where("body", "like", `%${privateKeyId}%`)
        .execute();
      assert.equal(signed.length, early.filter(({ status }) => status === 200).length);
    });

    it("keys of one user deleted at once: the last lasting credential stays", async () => {
      const { userId } = await addUser(client(0), "keeps one");
      const { user } = await client(0).read("get_user", { userId });
      const { apiKeyIds } = await client(0).result("create_api_keys", {
        userId,
        apiKeys: [apiKeyParams(generateApiKey())],
      });
      const ids: string[] = [user.apiKeys[0].apiKeyId, ...apiKeyIds];
      const answers = await atOnce(ids.length, (turn) =>
        client(turn).submit("delete_api_keys", { userId, apiKeyIds: [ids[turn]] }),
      );
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400]);
      assert.equal((await client(0).read("get_user", { userId })).user.apiKeys.length, 1);
    });

    describe("the same body from users of whom some need others", () => {
      const body = async (privateKeyId: string, payload: string) =>
        client(0).submitBody("sign_raw_payload", signing(privateKeyId, payload));
      let people: { userId: string; client: Client }[];
      let privateKeyId: string;
      before(async () => {
        privateKeyId = await createKey();
        people = [];
        for (const name of ["needs one", "alone", "alone too"]) people.push(await addUser(client(0), name));
        const [needsOne, alone, aloneToo] = people.map(({ userId }) => `approvers.any(u, u.id == '${userId}')`);
        for (const consensus of [`${needsOne} && ${alone}`, alone, aloneToo]) {
          const condition = "activity.action == 'SIGN'";
          const policy = { policyName: newId(), effect: "EFFECT_ALLOW", condition, consensus, notes: "" };
          await client(0).result("create_policy", policy);
        }
      });

      for (let attempt = 1; attempt <= 10; attempt++) {
        it(`is allowed once (${attempt})`, async () => {
          const sent = await body(privateKeyId, `allowed once ${attempt}`);
          const answers = await atOnce(12, (turn) => {
            const { key } = (people[turn % people.length] as (typeof people)[number]).client;
            return client(turn, { key }).post("/public/v1/submit/sign_raw_payload", sent);
          });
          for (const { status, body } of answers) assert.equal(status, 200, JSON.stringify(body));
          const activityId = answers[0]?.body.activity.id;
          const { policyEvaluations } = await client(0).read("get_policy_evaluations", { activityId });
          const allowing = policyEvaluations.filter(({ policyEvaluations }: Json) =>
            policyEvaluations.some(({ outcome }: Json) => outcome === "OUTCOME_ALLOW"),
          );
          assert.equal(allowing.length, 1);
        });
      }
    });

    // Last: from here on two of the three members must agree.
    describe("with a root quorum of two of three", () => {
      let members: { userId: string; as: (turn: number) => Client }[];
      before(async () => {
        const { userId: rootId } = await client(0).read("whoami");
        const others = await Promise.all([addUser(client(0), "second"), addUser(client(0), "third")]);
        members = [
          { userId: rootId, as: (turn) => client(turn) },
          ...others.map(({ userId, client: { key } }) => ({ userId, as: (turn: number) => client(turn, { key }) })),
        ];
        const userIds = members.map(({ userId }) => userId);
        await client(0).result("update_root_quorum", { threshold: 2, userIds });
      });
      const member = (index: number) => members[index] as (typeof members)[number];

      async function waiting(path: string, parameters: unknown): Promise<Json> {
        const { status, body } = await member(0).as(0).submit(path, parameters);
        assert.equal(status, 200, JSON.stringify(body));
        assert.equal(body.activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
        return body.activity;
      }

      const newKeys = (privateKeyName: string) => ({
        privateKeys: [{ privateKeyName, curve: "CURVE_P256", privateKeyTags: [], addressFormats: [] }],
      });

      for (let attempt = 1; attempt <= 5; attempt++) {
        it(`two approvals at once carry it out once (${attempt})`, async () => {
          const name = `approved ${attempt}`;
          const { id, fingerprint } = await waiting("create_private_keys", newKeys(name));
          const answers = await atOnce(2, (turn) =>
            member(turn + 1)
              .as(turn)
              .submit("approve_activity", { fingerprint }),
          );
          const [first, second] = answers.map(({ status }) => status).sort();
          assert.deepEqual([first, second], [200, 400]);
          for (const { status, body } of answers) {
            if (status === 200) assert.equal(body.activity.status, "ACTIVITY_STATUS_COMPLETED");
            else assert.match(body.message, /can no longer be voted on/);
          }
          const { activity } = await client(0).read("get_activity", { activityId: id });
          assert.equal(activity.votes.length, 2);
          const keys = await store.read.selectFrom("private_keys").select("id").where("name", "=", name).execute();
          const [{ privateKeyId }] = activity.result.createPrivateKeysResultV2.privateKeys;
          assert.deepEqual(
            keys.map((key) => key.id),
            [privateKeyId],
          );
        });

        it(`an approval and a rejection at once: one of them decides (${attempt})`, async () => {
          const name = `disputed ${attempt}`;
          const { id, fingerprint } = await waiting("create_private_keys", newKeys(name));
          const answers = await Promise.all([
            member(1).as(0).submit("approve_activity", { fingerprint }),
            member(2).as(1).submit("reject_activity", { fingerprint }),
          ]);
          assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400]);
          const { activity } = await client(0).read("get_activity", { activityId: id });
          const keys = await store.read.selectFrom("private_keys").select("id").where("name", "=", name).execute();
          const approved = answers[0]?.status === 200;
          assert.equal(activity.status, approved ? "ACTIVITY_STATUS_COMPLETED" : "ACTIVITY_STATUS_REJECTED");
          assert.equal(keys.length, approved ? 1 : 0);
        });

        it(`the same body from two members at once is one activity with both votes (${attempt})`, async () => {
          const name = `twice ${attempt}`;
          const body = member(0).as(0).submitBody("create_private_keys", newKeys(name));
          const answers = await atOnce(2, (turn) =>
            member(turn).as(turn).post("/public/v1/submit/create_private_keys", body),
          );
          const [first, second] = answers.map((answer) => answer.body.activity);
          assert.equal(first.id, second.id);
          const statuses = [first.status, second.status].sort();
          assert.deepEqual(statuses, ["ACTIVITY_STATUS_COMPLETED", "ACTIVITY_STATUS_CONSENSUS_NEEDED"]);
          const { activity } = await client(0).read("get_activity", { activityId: first.id });
          assert.equal(activity.votes.length, 2);
          const keys = await store.read.selectFrom("private_keys").select("id").where("name", "=", name).execute();
          assert.equal(keys.length, 1);
        });
      }
    });
  });
}

for (let attempt = 1; attempt <= 3; attempt++) {
  it(`two servers that start for the first time at once share one organization (${attempt})`, async () => {
    const databaseUrl = await newArenaDatabase();
    const dataDirs = [temporaryFolder(), temporaryFolder()];
    const settings = { KEYSTEAD_ROOT_KEY_FILE: `${dataDirs[0]}/root.key` };
    const servers = dataDirs.map((dataDir) => spawnServer({ dataDir, databaseUrl, settings }));
    const baseUrls = await Promise.all(servers.map((server, index) => serving(server, dataDirs[index] as string)));
    const files = dataDirs.map((dataDir) => `${dataDir}/credentials.json`).filter(existsSync);
    assert.equal(files.length, 1, "whoever made the organization has its credentials");
    const { organizationId, apiKey } = readJson(files[0] as string) as Credentials;
    const key = { publicKey: apiKey.publicKey, privateKey: apiKey.privateKey as string };
    for (const baseUrl of baseUrls) {
      const root = new Client(baseUrl, organizationId, key);
      await root.result("create_private_keys", {
        privateKeys: [{ privateKeyName: "key", curve: "CURVE_P256", privateKeyTags: [], addressFormats: [] }],
      });
    }
    await Promise.all(servers.map((server) => server.end("SIGTERM")));
  });
}
