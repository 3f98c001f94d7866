import assert from "node:assert/strict";
import { it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { addUser, type Client, generateApiKey, type Json } from "../support/client.ts";
import { loginSignature, verificationTokenFor } from "../support/one-time-codes.ts";
import { leavesAccounts } from "../support/provenance.ts";
import { onEachEngine } from "../support/server.ts";
import { addSubOrganization, createWorld, type Member } from "../support/world.ts";

const newAddress = (): string => `Person-${newId()}@example.com`;

onEachEngine("verified contacts", (server) => {
  const tokenFor = (client: Client, contact: string, more: object = {}) =>
    verificationTokenFor(server(), client, contact, more);
  const setEmail = ({ client, userId }: Member, userEmail: string, verificationToken?: string) =>
    client.submit("update_user_email", { userId, userEmail, ...(verificationToken ? { verificationToken } : {}) });
  const verify = async (member: Member, contact: string, by: Client) => {
    const { status, body } = await setEmail(member, contact, await tokenFor(by, contact));
    assert.equal(status, 200, JSON.stringify(body));
  };
  const verified = async (parent: Client, filterValue: string, filterType = "EMAIL"): Promise<string[]> =>
    (await parent.read("list_verified_suborgs", { filterType, filterValue })).organizationIds;
  const emailOf = async ({ client, userId }: Member): Promise<string | undefined> =>
    (await client.read("get_user", { userId })).user.userEmail;

  it("are found in any letter case, until they are changed without a token or removed", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const ids = [sub.client.organizationId];
    const [contact, other] = [newAddress(), newAddress()];
    await setEmail(sub, contact);
    assert.deepEqual(await verified(root.client, contact), [], "written down is not shown");
    await verify(sub, contact.toUpperCase(), root.client);
    assert.equal(await emailOf(sub), contact.toUpperCase());
    assert.deepEqual(await verified(root.client, contact), ids);
    assert.deepEqual((await root.client.read("list_verified_suborgs")).organizationIds, ids);
    await sub.client.result("update_user", { userId: sub.userId, userEmail: contact.toLowerCase(), userName: "Ada" });
    assert.deepEqual(await verified(root.client, contact), ids, "the same address in other letters");
    await sub.client.result("update_user", { userId: sub.userId, userEmail: other });
    assert.deepEqual(await verified(root.client, contact), []);
    assert.deepEqual(await verified(root.client, other), []);
    await verify(sub, other, sub.client);
    assert.deepEqual(await verified(root.client, other), ids, "a token of the sub-organization's own");
    assert.equal((await setEmail(sub, "")).status, 200);
    assert.equal(await emailOf(sub), undefined);
    assert.deepEqual((await root.client.read("list_verified_suborgs")).organizationIds, []);
  });

  it("are phone numbers too", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const { userId } = sub;
    const userPhoneNumber = "+14155550123";
    const verificationToken = await tokenFor(sub.client, userPhoneNumber);
    await sub.client.result("update_user_phone_number", { userId, userPhoneNumber, verificationToken });
    assert.deepEqual(await verified(root.client, userPhoneNumber, "PHONE_NUMBER"), [sub.client.organizationId]);
    const { user } = await sub.client.read("get_user", { userId });
    assert.equal(user.userPhoneNumber, userPhoneNumber);
    await sub.client.result("update_user_phone_number", { userId, userPhoneNumber: "" });
    assert.deepEqual(await verified(root.client, userPhoneNumber, "PHONE_NUMBER"), []);
  });

  it("take a token that is live, of this installation and organization, and for that very contact", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const other = await addSubOrganization(root.client);
    const stranger = (await createWorld(server())).root;
    const contact = newAddress();
    const good = await tokenFor(root.client, contact);
    const [header, payload, signature] = good.split(".") as [string, string, string];
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const attempts: [string, string, RegExp][] = [
      ["another contact", await tokenFor(root.client, newAddress()), /a contact other than `parameters.userEmail`/],
      ["another parent", await tokenFor(stranger.client, contact), /another organization/],
      ["a sub-organization beside", await tokenFor(other.client, contact), /another organization/],
      ["forged claims", `${header}.${part({ ...claims, id: newId() })}.${signature}`, /was not issued here/],
      ["alg none", `${part({ alg: "none", typ: "JWT" })}.${payload}.`, /was not issued here/],
      ["no token", "token", /was not issued here/],
    ];
    for (const [what, token, reason] of attempts) {
      const { status, body } = await setEmail(sub, contact, token);
      assert.equal(status, 400, what);
      assert.match(body.message, /`parameters.verificationToken` is not a valid verification token/, what);
      assert.match(body.message, reason, what);
    }
    assert.equal(await emailOf(sub), undefined);
    const { status } = await setEmail(sub, contact, good);
    assert.equal(status, 200);
    assert.equal((await setEmail(other, contact)).status, 200);
    const { body } = await setEmail(other, contact, good);
    assert.match(body.message, /verified contact of another user/, "the token serves again, but the contact is taken");
  });

  it("are one user's below a parent; the second is refused, also where two come at once", async () => {
    const { root } = await createWorld(server());
    const subs = [await addSubOrganization(root.client), await addSubOrganization(root.client)] as const;
    const contact = newAddress();
    const token = await tokenFor(root.client, contact);
    const answers = await Promise.all(subs.map((sub) => setEmail(sub, contact.toLowerCase(), token)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400]);
    const refused = answers.find(({ status }) => status === 400) as Json;
    assert.match(refused.body.message, /`parameters.verificationToken` shows .* verified contact of another user/);
    const [holder, loser] = answers[0]?.status === 200 ? subs : ([subs[1], subs[0]] as const);
    assert.deepEqual(await verified(root.client, contact), [holder.client.organizationId]);
    assert.equal((await setEmail({ ...root }, contact, token)).status, 400, "the parent's own users count");
    const elsewhere = await createWorld(server());
    const far = await addSubOrganization(elsewhere.root.client);
    await verify(far, contact, elsewhere.root.client);
    await holder.client.result("delete_sub_organization", { deleteWithoutExport: true });
    assert.equal((await setEmail(loser, contact, token)).status, 200, "free again");
    const second = await addUser(loser.client);
    assert.equal((await setEmail({ ...second, client: loser.client }, contact, token)).status, 400);
    await setEmail(loser, newAddress());
    assert.equal((await setEmail({ ...second, client: loser.client }, contact, token)).status, 200);
    await loser.client.result("delete_users", { userIds: [second.userId] });
    assert.deepEqual(await verified(root.client, contact), []);
  });

  it("cannot be removed from who has no other way in", async () => {
    const { root } = await createWorld(server());
    const nothing = { apiKeys: [], authenticators: [], oauthProviders: [], userTags: [] };
    const person = { ...nothing, userName: "By mail", userEmail: newAddress() };
    const [userId] = (await root.client.result("create_users", { users: [person] })).userIds;
    const answer = await setEmail({ ...root, userId }, "");
    assert.equal(answer.status, 400);
    assert.match(answer.body.message, /user missing valid credential/);
    assert.equal(await emailOf({ ...root, userId }), person.userEmail);
    await root.client.result("update_user_phone_number", { userId, userPhoneNumber: "+14155550199" });
    assert.equal((await setEmail({ ...root, userId }, "")).status, 200);
  });

  it("find who signs in with the parent's id; an address that was only written down catches nobody's login", async () => {
    const { root } = await createWorld(server());
    const owner = await addSubOrganization(root.client);
    const thief = await addSubOrganization(root.client);
    const contact = newAddress();
    const login = async (client: Client) => {
      const key = generateApiKey();
      const verificationToken = await tokenFor(root.client, contact, { key });
      const { publicKey } = key;
      const clientSignature = loginSignature(key, verificationToken, publicKey);
      const answer = await client.submit("otp_login", { verificationToken, publicKey, clientSignature });
      return { ...answer, key };
    };
    await setEmail(thief, contact);
    const early = await login(root.client);
    assert.equal(early.status, 404, "nobody has shown it");
    await verify(owner, contact, root.client);
    const late = await login(root.client);
    assert.equal(late.status, 200, JSON.stringify(late.body));
    assert.equal(late.body.activity.organizationId, root.client.organizationId, "the parent asked and keeps it");
    const { organizationId } = owner.client;
    assert.equal((await owner.client.with({ key: late.key }).read("whoami")).userId, owner.userId);
    const [, payload] = late.body.activity.result.otpLoginResult.session.split(".");
    assert.equal(JSON.parse(Buffer.from(payload, "base64url").toString()).organization_id, organizationId);
  });

  it("sign nobody in where the organization has switched codes off", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client, { disableOtpEmailAuth: true });
    const contact = newAddress();
    await verify(sub, contact, root.client);
    const key = generateApiKey();
    const verificationToken = await tokenFor(root.client, contact, { key });
    const { publicKey } = key;
    const clientSignature = loginSignature(key, verificationToken, publicKey);
    const { status, body } = await root.client.submit("otp_login", { verificationToken, publicKey, clientSignature });
    assert.equal(status, 403);
    assert.match(body.message, /FEATURE_NAME_OTP_EMAIL_AUTH/);
  });

  it("of two users with one address in an organization mean the one who has shown it", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const other = { ...(await addUser(sub.client)), client: sub.client };
    const contact = newAddress();
    await setEmail(sub, contact);
    await setEmail(other, contact);
    const inSub = root.client.with({ organizationId: sub.client.organizationId });
    const mailed = { email: contact, targetPublicKey: `04${"00".repeat(64)}`, emailCustomization: { appName: "Shop" } };
    assert.equal((await inSub.submit("email_auth", mailed)).status, 400);
    const key = generateApiKey();
    const { publicKey } = key;
    const verificationToken = await tokenFor(root.client, contact, { key });
    const clientSignature = loginSignature(key, verificationToken, publicKey);
    const login = { verificationToken, publicKey, clientSignature };
    const ambiguous = await inSub.submit("otp_login", login);
    assert.equal(ambiguous.status, 401);
    assert.equal(ambiguous.body.turnkeyErrorCode, "CREDENTIAL_CONFLICT");
    assert.equal((await setEmail(other, contact, verificationToken)).status, 200);
    assert.equal((await inSub.submit("otp_login", login)).status, 200);
    assert.equal((await sub.client.with({ key }).read("whoami")).userId, other.userId);
    assert.equal((await setEmail(other, newAddress())).status, 200);
    const again = await setEmail(other, contact, verificationToken);
    assert.equal(again.status, 200, "a login uses a token up for logins alone");
  });

  leavesAccounts(server);
});
