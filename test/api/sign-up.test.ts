import assert from "node:assert/strict";
import { it } from "node:test";
import { encryptOtpCodeToBundle, verifyOtpVerificationToken } from "@turnkey/crypto";
import type { StampingKey } from "../../src/crypto/make-stamp.ts";
import { newId } from "../../src/kernel/ids.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import { apiKeyParams, authenticatorParams, type Client, generateApiKey, type Json } from "../support/client.ts";
import {
  claimsOfToken,
  clientSignature,
  loginSignature,
  mailedCode,
  signupSignature,
  verificationTokenFor,
} from "../support/one-time-codes.ts";
import { leavesAccounts } from "../support/provenance.ts";
import { onEachEngine } from "../support/server.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const newAddress = (): string => `${newId()}@Example.com`;
const V7 = { type: "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V7" };
const site = { origin: "https://wallet.example", rpId: "wallet.example" };

onEachEngine("sign-up with a verified contact", (server) => {
  const tokenFor = (client: Client, contact: string, key?: StampingKey) =>
    verificationTokenFor(server(), client, contact, key ? { key } : {});
  const personOf = (userEmail: string, more: object = {}) => ({
    userName: "Ada",
    userEmail,
    apiKeys: [],
    authenticators: [],
    oauthProviders: [],
    ...more,
  });
  const signUp = (client: Client, person: object, shown: object, options: object = {}) =>
    client.submit(
      "create_sub_organization",
      { subOrganizationName: "Ada's", rootUsers: [person], rootQuorumThreshold: 1, ...shown },
      options,
    );
  const verified = async (parent: Client, filterValue: string): Promise<string[]> =>
    (await parent.read("list_verified_suborgs", { filterType: "EMAIL", filterValue })).organizationIds;

  it("marks the contact, and the same token signs its user in once", async () => {
    const { root } = await createWorld(server());
    const contact = newAddress();
    const keys = (await (await fetch(`${server().baseUrl}/.well-known/keystead.json`)).json()) as Json;
    const otpKey = keys.serviceKeys.otp[0].publicKey;
    const asked = { otpType: "OTP_TYPE_EMAIL", appName: "Shop", contact };
    const { otpId, otpEncryptionTargetBundle } = await root.client.result("init_otp", asked);
    const key = generateApiKey();
    const code = await mailedCode(server(), contact);
    const encryptedOtpBundle = await encryptOtpCodeToBundle(code, otpEncryptionTargetBundle, key.publicKey, otpKey);
    const { verificationToken } = await root.client.result("verify_otp", { otpId, encryptedOtpBundle });
    await verifyOtpVerificationToken(verificationToken, otpKey);
    const passkey = { authenticator: createAuthenticator(), ...site };
    const person = personOf(contact, {
      apiKeys: [apiKeyParams(generateApiKey(), { expirationSeconds: "60" })],
      authenticators: [authenticatorParams(passkey)],
      userPhoneNumber: "+14155550123",
    });
    const shown = { verificationToken, clientSignature: signupSignature(key, verificationToken, person) };
    const { status, body } = await signUp(root.client, person, shown);
    assert.equal(status, 200, JSON.stringify(body));
    const { subOrganizationId, rootUserIds } = body.activity.result.createSubOrganizationResultV8;
    assert.deepEqual(await verified(root.client, contact), [subOrganizationId]);
    const again = await signUp(root.client, personOf(contact), shown);
    assert.equal(again.status, 400, "another user with the same token");
    const { publicKey } = key;
    const login = { verificationToken, publicKey, clientSignature: loginSignature(key, verificationToken, publicKey) };
    assert.equal((await root.client.submit("otp_login", login)).status, 200);
    const inSub = root.client.with({ key, organizationId: subOrganizationId });
    assert.equal((await inSub.read("whoami")).userId, rootUserIds[0]);
    const twice = await root.client.submit("otp_login", login);
    assert.match(twice.body.message, /already been used/);
  });

  it("takes each token once, and a contact once; a refusal leaves nothing", async () => {
    const { root } = await createWorld(server());
    const contact = newAddress();
    const key = generateApiKey();
    const verificationToken = await tokenFor(root.client, contact, key);
    const person = personOf(contact);
    const shown = { verificationToken, clientSignature: signupSignature(key, verificationToken, person) };
    const answers = await Promise.all([1, 2].map(() => signUp(root.client, person, shown)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400]);
    const ids = (await root.client.read("list_suborgs")).organizationIds;
    assert.equal(ids.length, 1);
    const other = await tokenFor(root.client, contact, key);
    const second = { verificationToken: other, clientSignature: signupSignature(key, other, person) };
    const taken = await signUp(root.client, person, second);
    assert.equal(taken.status, 400);
    assert.match(taken.body.message, /verified contact of another user/);
    const [organizationId] = ids;
    const session = generateApiKey();
    const login = {
      verificationToken,
      publicKey: session.publicKey,
      clientSignature: loginSignature(key, verificationToken, session.publicKey),
    };
    await root.client.result("otp_login", login);
    const inSub = root.client.with({ key: session, organizationId });
    await inSub.result("delete_sub_organization", { deleteWithoutExport: true });
    assert.equal((await signUp(root.client, person, second)).status, 200, "what was refused was not used up");
    const used = await signUp(root.client, person, shown);
    assert.match(used.body.message, /already been used|verified contact/);
    assert.equal((await root.client.read("list_suborgs")).organizationIds.length, 1);
  });

  it("has no key made for a token that was used, or a passkey that does not verify", async () => {
    const { root } = await createWorld(server());
    const { signer } = server().opened;
    const contact = newAddress();
    const verificationToken = await tokenFor(root.client, contact);
    const used = personOf(contact);
    assert.equal((await signUp(root.client, used, { verificationToken }, V7)).status, 200);
    const authenticator = authenticatorParams({ authenticator: createAuthenticator(), ...site });
    const badPasskey = personOf(newAddress(), { authenticators: [{ ...authenticator, challenge: "another" }] });
    const verbs: string[] = [];
    const ask = signer.ask;
    signer.ask = ((request, asker) => {
      verbs.push(request.verb);
      return ask.call(signer, request, asker);
    }) as typeof ask;
    try {
      const again = await signUp(root.client, used, { verificationToken }, V7);
      assert.match(again.body.message, /already been used/);
      assert.equal((await signUp(root.client, badPasskey, {})).status, 400);
      assert.deepEqual(verbs, []);
      assert.equal((await signUp(root.client, personOf(newAddress()), {})).status, 200);
      assert.deepEqual(verbs, ["createOrganizationKey"]);
    } finally {
      signer.ask = ask;
    }
  });

  it("refuses tokens that prove something else, and signatures that say something else", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const stranger = (await createWorld(server())).root;
    const contact = newAddress();
    const key = generateApiKey();
    const good = await tokenFor(root.client, contact, key);
    const person = personOf(contact, { apiKeys: [apiKeyParams(generateApiKey())] });
    const signature = signupSignature(key, good, person);
    const signedBy = (message: object, by = key) => ({
      verificationToken: good,
      clientSignature: clientSignature(by, message),
    });
    const said = JSON.parse(signature.message);
    const withToken = async (client: Client, address = contact) => {
      const verificationToken = await tokenFor(client, address, key);
      return { verificationToken, clientSignature: signupSignature(key, verificationToken, person) };
    };
    const [header, payload] = good.split(".") as [string, string];
    const none = `${Buffer.from('{"alg":"none","typ":"JWT"}').toString("base64url")}.${payload}.`;
    const attempts: [string, object, RegExp][] = [
      ["no signature", { verificationToken: good }, /missing field `parameters.clientSignature`/],
      ["no token", { clientSignature: signature }, /missing field `parameters.verificationToken`/],
      ["another's contact", await withToken(root.client, newAddress()), /is the contact of no user to be created/],
      ["a token of another parent", await withToken(stranger.client), /another organization/],
      ["a token of a sub-organization", await withToken(sub.client), /another organization/],
      [
        "a forged token",
        { verificationToken: `${header}.${payload}.${"A".repeat(86)}`, clientSignature: signature },
        /not issued here/,
      ],
      ["alg none", { verificationToken: none, clientSignature: signature }, /not issued here/],
      ["another key", signedBy(said, generateApiKey()), /clientSignature.publicKey` is not the key/],
      [
        "no message",
        signedBy([]),
        /clientSignature.message` must be JSON with the token's usage: it is not a JSON object/,
      ],
      ["a login", signedBy({ ...said, type: "USAGE_TYPE_LOGIN" }), /clientSignature.message` must say/],
      ["another token", signedBy({ ...said, tokenId: newId() }), /clientSignature.message` must say/],
      ["other keys", signedBy({ ...said, signupV2: { ...said.signupV2, apiKeys: [] } }), /another `apiKeys`/],
      [
        "another address",
        signedBy({ ...said, signupV2: { ...said.signupV2, email: newAddress() } }),
        /another `email`/,
      ],
      [
        "a phone number",
        signedBy({ ...said, signupV2: { ...said.signupV2, phoneNumber: "+14155550123" } }),
        /another `phoneN/,
      ],
      ["nothing", signedBy({ ...said, signupV2: undefined }), /member `signupV2`/],
      [
        "a message of another signature",
        { verificationToken: good, clientSignature: { ...signature, message: JSON.stringify({ ...said, more: 1 }) } },
        /does not match the message/,
      ],
    ];
    for (const [what, shown, reason] of attempts) {
      const { status, body } = await signUp(root.client, person, shown);
      assert.equal(status, 400, what);
      assert.match(body.message, reason, what);
    }
    assert.deepEqual((await root.client.read("list_suborgs")).organizationIds, [sub.client.organizationId]);
    const reordered = {
      type: said.type,
      tokenId: said.tokenId,
      signupV2: Object.fromEntries(Object.entries(said.signupV2).reverse()),
    };
    assert.equal((await signUp(root.client, person, signedBy(reordered))).status, 200, "the order says nothing");
  });

  it("takes tokens without a key in the seventh version alone", async () => {
    const { root } = await createWorld(server());
    const contact = newAddress();
    const verificationToken = await tokenFor(root.client, contact);
    assert.equal(claimsOfToken(verificationToken).public_key, undefined);
    const person = personOf(contact);
    const eighth = await signUp(root.client, person, { verificationToken });
    assert.equal(eighth.status, 400);
    assert.match(eighth.body.message, /not bound to a key/);
    assert.equal((await signUp(root.client, person, { verificationToken }, V7)).status, 200);
    const other = newAddress();
    const key = generateApiKey();
    const withKey = await tokenFor(root.client, other, key);
    const oldPerson = personOf(other);
    const unsigned = await signUp(root.client, oldPerson, { verificationToken: withKey }, V7);
    assert.match(unsigned.body.message, /missing field `parameters.clientSignature`/);
    const signature = signupSignature(key, withKey, oldPerson, "signup");
    const shown = { verificationToken: withKey, clientSignature: signature };
    assert.equal((await signUp(root.client, oldPerson, shown, V7)).status, 200);
    assert.equal((await verified(root.client, other)).length, 1);
  });

  leavesAccounts(server);
});
