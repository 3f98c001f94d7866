import assert from "node:assert/strict";
import { it } from "node:test";
import { decryptCredentialBundle, encryptOauth2ClientSecret } from "@turnkey/crypto";
import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose";
import { generateReceiver } from "../../src/crypto/hpke.ts";
import { createOutboundClient } from "../../src/delivery/outbound.ts";
import { newId } from "../../src/kernel/ids.ts";
import { nonceOfPublicKey } from "../../src/providers/oidc/nonce.ts";
import { createOidcVerifier } from "../../src/providers/oidc/verifier.ts";
import { addUser, generateApiKey, type Json } from "../support/client.ts";
import { credentialParams, oauth2ProviderOfTests, PERSON } from "../support/oauth2-provider.ts";
import { onEachEngine, type TestServer } from "../support/server.ts";

const nonce = nonceOfPublicKey(generateApiKey().publicKey);

async function newCredential({ root, baseUrl }: TestServer, more: object = {}) {
  const params = { ...(await credentialParams(baseUrl)), ...more };
  const { oauth2CredentialId } = await root.result("create_oauth2_credential", params);
  return { ...params, oauth2CredentialId };
}

async function newExchange(server: TestServer, more: object = {}) {
  const { oauth2CredentialId, clientId } = await newCredential(server, more);
  const code = (await oauth2ProviderOfTests()).signIn(clientId);
  return { clientId, parameters: { oauth2CredentialId, ...code, nonce } };
}

onEachEngine("OAuth 2.0 credentials", (server) => {
  it("are made, shown, changed and deleted", async () => {
    const { root, baseUrl } = server();
    const { oauth2CredentialId, ...params } = await newCredential(server());
    const shown = (await root.read("get_oauth2_credential", { oauth2CredentialId })).oauth2Credential as Json;
    const { createdAt, updatedAt, ...rest } = shown;
    assert.deepEqual(rest, { oauth2CredentialId, organizationId: root.organizationId, ...params });
    assert.deepEqual(createdAt, updatedAt);
    const next = { ...(await credentialParams(baseUrl)), provider: "OAUTH2_PROVIDER_DISCORD" };
    assert.deepEqual(await root.result("update_oauth2_credential", { oauth2CredentialId, ...next }), {
      oauth2CredentialId,
    });
    const { oauth2Credentials } = await root.read("list_oauth2_credentials");
    const listed = oauth2Credentials.find((each: Json) => each.oauth2CredentialId === oauth2CredentialId);
    assert.deepEqual([listed.provider, listed.clientId], [next.provider, next.clientId]);
    await root.result("delete_oauth2_credential", { oauth2CredentialId });
    for (const answer of [
      await root.query("get_oauth2_credential", { oauth2CredentialId }),
      await root.submit("delete_oauth2_credential", { oauth2CredentialId }),
      await root.submit("update_oauth2_credential", { oauth2CredentialId, ...next }),
    ]) {
      assert.equal(answer.status, 404);
      assert.equal(answer.body.turnkeyErrorCode, "OAUTH2_CREDENTIAL_NOT_FOUND");
    }
  });

  it("are one for each client of a provider", async () => {
    const { root } = server();
    const { clientId, provider, encryptedClientSecret } = await newCredential(server());
    const again = { clientId, provider, encryptedClientSecret };
    assert.equal((await root.submit("create_oauth2_credential", again)).status, 409);
    const { oauth2CredentialId } = await newCredential(server());
    assert.equal((await root.submit("update_oauth2_credential", { oauth2CredentialId, ...again })).status, 409);
    await root.result("create_oauth2_credential", { ...again, provider: "OAUTH2_PROVIDER_DISCORD" });
  });

  it("need a secret that was encrypted to this server, and a provider that there is", async () => {
    const { root, baseUrl } = server();
    const params = await credentialParams(baseUrl);
    const other = await encryptOauth2ClientSecret("secret", generateReceiver().publicKey.toString("hex"));
    for (const encryptedClientSecret of [other, "00", `${params.encryptedClientSecret}00`]) {
      const answer = await root.submit("create_oauth2_credential", { ...params, encryptedClientSecret });
      assert.equal(answer.status, 400);
      assert.match(
        answer.body.message,
        /`parameters\.encryptedClientSecret` was not encrypted to a key of this server/,
      );
    }
    assert.equal(
      (await root.submit("create_oauth2_credential", { ...params, provider: "OAUTH2_PROVIDER_MYSPACE" })).status,
      400,
    );
  });

  it("are not a plain user's to manage or to use", async () => {
    const { root } = server();
    const { client } = await addUser(root);
    const { parameters } = await newExchange(server());
    const { oauth2CredentialId } = parameters;
    assert.equal((await client.submit("delete_oauth2_credential", { oauth2CredentialId })).status, 403);
    assert.equal((await client.submit("oauth2_authenticate", parameters)).status, 403);
  });

  it("keep their secret to themselves", async () => {
    const { opened, log } = server();
    const { oauth2CredentialId } = await newCredential(server());
    const { clientSecret } = await oauth2ProviderOfTests();
    const row = await opened.database.read
      .selectFrom("oauth2_credentials")
      .selectAll()
      .where("id", "=", oauth2CredentialId)
      .executeTakeFirstOrThrow();
    assert.ok(!Buffer.from(row.sealed_client_secret).includes(clientSecret));
    assert.ok(!log().includes(clientSecret));
  });
});

onEachEngine("a code of an OAuth 2.0 provider", (server) => {
  it("is exchanged for an OIDC token that verifies through this server's own discovery document", async () => {
    const { root, baseUrl } = server();
    const subjects = { OAUTH2_PROVIDER_X: `x:${PERSON.id}`, OAUTH2_PROVIDER_DISCORD: `discord:${PERSON.id}` };
    const outbound = createOutboundClient({ allowPrivateNetworks: true });
    try {
      const verifier = createOidcVerifier({ outbound, policy: { allowPrivateNetworks: true }, clock: Date.now });
      for (const [provider, subject] of Object.entries(subjects)) {
        const { clientId, parameters } = await newExchange(server(), { provider });
        const { oidcToken } = await root.result("oauth2_authenticate", parameters);
        const claims = await verifier.verify(oidcToken, { expectedNonce: nonce });
        assert.deepEqual([claims.iss, claims.sub, claims.aud], [baseUrl, subject, clientId]);
        assert.equal(claims.email, provider === "OAUTH2_PROVIDER_DISCORD" ? PERSON.email : undefined);
        const { iat, exp, encrypted_bearer_token: bundle } = decodeJwt(oidcToken);
        assert.equal((exp as number) - (iat as number), 900);
        assert.equal(bundle, undefined);
        const keys = (await (await fetch(`${baseUrl}/.well-known/jwks.json`)).json()) as { keys: Json[] };
        await jwtVerify(oidcToken, createLocalJWKSet(keys as never), { issuer: baseUrl, audience: clientId });
        assert.ok(keys.keys.every((key) => key.d === undefined));
        // The server itself takes it as it takes any other issuer's.
        const { userId } = await addUser(root);
        const oauthProviders = [{ providerName: provider, oidcToken }];
        await root.result("create_oauth_providers", { userId, oauthProviders });
        const [stored] = (await root.read("get_oauth_providers", { userId })).oauthProviders;
        assert.deepEqual([stored.issuer, stored.subject, stored.audience], [baseUrl, subject, clientId]);
      }
    } finally {
      await outbound.close();
    }
  });

  it("brings the provider's bearer token along, encrypted to the app", async () => {
    const { root } = server();
    const { parameters } = await newExchange(server());
    const { secret, publicKey } = generateReceiver();
    const bearerTokenTargetPublicKey = publicKey.toString("hex");
    const { oidcToken } = await root.result("oauth2_authenticate", { ...parameters, bearerTokenTargetPublicKey });
    const bundle = decodeJwt(oidcToken).encrypted_bearer_token as string;
    const opened = Buffer.from(decryptCredentialBundle(bundle, secret.toString("hex")), "hex").toString();
    assert.equal(opened, (await oauth2ProviderOfTests()).granted.at(-1));
    assert.ok(!server().log().includes(opened));
  });

  it("is exchanged once: the same body answers the same activity, and another one is refused", async () => {
    const { root } = server();
    const provider = await oauth2ProviderOfTests();
    const { parameters } = await newExchange(server());
    const body = root.submitBody("oauth2_authenticate", parameters);
    const before = provider.granted.length;
    const post = () => root.post("/public/v1/submit/oauth2_authenticate", body);
    const answers = await Promise.all([post(), post(), post()]);
    answers.push(await post());
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    );
    assert.equal(new Set(answers.map((answer) => JSON.stringify(answer.body.activity.result))).size, 1);
    assert.equal(provider.granted.length, before + 1);
    const replayed = await root.submit("oauth2_authenticate", {
      ...parameters,
      nonce: nonceOfPublicKey("another key"),
    });
    assert.equal(replayed.status, 400);
    assert.match(replayed.body.message, /OAUTH2_PROVIDER_X rejected the code: invalid_grant/);
    assert.equal(provider.granted.length, before + 1);
  });

  it("is refused where the provider refuses it, and nothing of its text is shown", async () => {
    const { root, baseUrl } = server();
    const { parameters } = await newExchange(server());
    const refused = async (more: object, reason: RegExp, code: string) => {
      const answer = await root.submit("oauth2_authenticate", { ...parameters, ...more });
      assert.equal(answer.status, 400, JSON.stringify(answer.body));
      assert.match(answer.body.message, reason);
      assert.equal(answer.body.turnkeyErrorCode, code);
    };
    const { clientId, oauth2CredentialId } = await newCredential(
      server(),
      await credentialParams(baseUrl, { clientSecret: "another secret" }),
    );
    const ofOther = { oauth2CredentialId, ...(await oauth2ProviderOfTests()).signIn(clientId) };
    await refused(ofOther, /invalid_client/, "OAUTH2_PROVIDER_NOT_CONFIGURED");
    await refused({ codeVerifier: "another verifier" }, /invalid_grant/, "REQUEST_INVALID");
    await refused({ authCode: "unknown" }, /invalid_grant/, "REQUEST_INVALID");
    const missing = await root.submit("oauth2_authenticate", { ...parameters, oauth2CredentialId: newId() });
    assert.equal(missing.body.turnkeyErrorCode, "OAUTH2_CREDENTIAL_NOT_FOUND");
    const fields = {
      authCode: "auth_code",
      redirectUri: "redirect_uri",
      codeVerifier: "code_verifier",
      nonce: "nonce",
    };
    for (const [name, spoken] of Object.entries(fields)) {
      await refused(
        { [name]: "" },
        new RegExp(`\`parameters\\.${name}\` is empty: ${spoken} must be set`),
        "REQUEST_INVALID",
      );
    }
  });

  it("may be brought again when the provider was away, or said nothing that can be used", async () => {
    const { root } = server();
    const provider = await oauth2ProviderOfTests();
    const { parameters } = await newExchange(server());
    const answers: [string, number, string][] = [
      ["/2/oauth2/token", 503, "{}"],
      ["/2/oauth2/token", 302, ""],
      ["/2/oauth2/token", 200, "<html>"],
      ["/2/oauth2/token", 200, '{"token_type":"mac","access_token":"a"}'],
      ["/2/oauth2/token", 200, JSON.stringify({ token_type: "bearer", access_token: "x".repeat(70_000) })],
    ];
    for (const [path, status, text] of answers) {
      provider.answer(path, (request, response) => {
        request.resume();
        response.writeHead(status, { location: provider.url }).end(text);
      });
      const answer = await root.submit("oauth2_authenticate", parameters);
      assert.equal(answer.status, 503, JSON.stringify(answer.body));
      assert.match(answer.body.message, /OAUTH2_PROVIDER_X is not available/);
      provider.answer(path, undefined);
    }
    assert.equal((await root.submit("oauth2_authenticate", parameters)).status, 200);
    const second = (await newExchange(server())).parameters;
    provider.answer("/2/users/me", (_, response) => response.writeHead(200).end('{"data":{"id":["1"]}}'));
    assert.equal((await root.submit("oauth2_authenticate", second)).status, 503);
    provider.answer("/2/users/me", undefined);
  });
});
