import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { it } from "node:test";
import { keccak_256 } from "@noble/hashes/sha3.js";
import secp256k1 from "secp256k1";
import { encodeEcdsaDer } from "../../src/crypto/ecdsa-der.ts";
import { parsePublicKey } from "../../src/crypto/public-keys.ts";
import { newId } from "../../src/kernel/ids.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import { addUser, apiKeyParams, type Client, generateApiKey, type Json } from "../support/client.ts";
import { onEachEngine } from "../support/server.ts";

const base64Url = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const whoamiBody = (client: Client): string => JSON.stringify({ organizationId: client.organizationId });

async function whoami(client: Client, headers: Record<string, string>, body = whoamiBody(client)) {
  const response = await fetch(`${client.baseUrl}/public/v1/query/whoami`, { method: "POST", headers, body });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
}

onEachEngine("stamps", (server) => {
  it("of every scheme are accepted", async () => {
    const { root } = server();
    const { userId } = await root.read("whoami");
    const ed = generateKeyPairSync("ed25519");
    const edPublic = Buffer.from(ed.publicKey.export({ format: "jwk" }).x as string, "base64url").toString("hex");
    const secret = createHash("sha256").update("a wallet").digest();
    const secpPublic = Buffer.from(secp256k1.publicKeyCreate(secret)).toString("hex");
    const { publicKey: k1Public, key: k1Private } = secpKeyPair();
    const keys: [string, string][] = [
      [edPublic, "API_KEY_CURVE_ED25519"],
      [secpPublic, "API_KEY_CURVE_SECP256K1"],
      [k1Public, "API_KEY_CURVE_SECP256K1"],
    ];
    await root.result("create_api_keys", {
      userId,
      apiKeys: keys.map(([publicKey, curveType]) => ({ apiKeyName: "k", publicKey, curveType })),
    });
    const body = Buffer.from(whoamiBody(root));
    const eip191 = keccak_256(Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${body.length}`), body]));
    const stamps = [
      { publicKey: edPublic, scheme: "ED25519", signature: sign(null, body, ed.privateKey).toString("hex") },
      { publicKey: k1Public, scheme: "SECP256K1", signature: sign("sha256", body, k1Private).toString("hex") },
      {
        publicKey: secpPublic,
        scheme: "SECP256K1_EIP191",
        signature: encodeEcdsaDer(secp256k1.ecdsaSign(eip191, secret).signature).toString("hex"),
      },
    ];
    for (const { publicKey, scheme, signature } of stamps) {
      const stamp = { publicKey, signature, scheme: `SIGNATURE_SCHEME_TK_API_${scheme}` };
      const answer = await whoami(root, { "x-stamp": base64Url(stamp) });
      assert.equal(answer.status, 200, `${scheme}: ${JSON.stringify(answer.body)}`);
      assert.equal(answer.body.userId, userId);
      const altered = await whoami(root, { "x-stamp": base64Url(stamp) }, `${body} `);
      assert.equal(altered.status, 401, scheme);
    }
  });

  it("of a key's letters on another curve than it is registered for are refused, though the signature is good", async () => {
    const { root } = server();
    const { userId } = await root.read("whoami");
    // Half of all points of the one curve have an x that the other curve has too.
    let pair = secpKeyPair();
    while (!parsePublicKey("API_KEY_CURVE_P256", pair.publicKey)) pair = secpKeyPair();
    const { publicKey, key } = pair;
    const { apiKeyIds } = await root.result("create_api_keys", {
      userId,
      apiKeys: [{ apiKeyName: "k", publicKey, curveType: "API_KEY_CURVE_P256" }],
    });
    const body = whoamiBody(root);
    const signature = sign("sha256", Buffer.from(body), key).toString("hex");
    const stamp = base64Url({ publicKey, signature, scheme: "SIGNATURE_SCHEME_TK_API_SECP256K1" });
    const refused = await whoami(root, { "x-stamp": stamp }, body);
    assert.equal(refused.status, 401, JSON.stringify(refused.body));
    assert.match(refused.body.message, /the key is not registered for SIGNATURE_SCHEME_TK_API_SECP256K1/);
    await root.result("delete_api_keys", { userId, apiKeyIds });
    const apiKeys = [{ apiKeyName: "k", publicKey, curveType: "API_KEY_CURVE_SECP256K1" }];
    await root.result("create_api_keys", { userId, apiKeys });
    assert.equal((await whoami(root, { "x-stamp": stamp }, body)).status, 200);
  });

  it("are refused with the catalogue's words", async () => {
    const { root } = server();
    const body = whoamiBody(root);
    const good = root.stamp(body);
    const parts = JSON.parse(Buffer.from(good, "base64url").toString());
    const { publicKey: ed } = (() => {
      const { publicKey } = generateKeyPairSync("ed25519");
      return { publicKey: Buffer.from(publicKey.export({ format: "jwk" }).x as string, "base64url").toString("hex") };
    })();
    const cases: [string, Record<string, string>, RegExp][] = [
      ["none", {}, /no valid authentication signature found for request/],
      ["two headers", { "x-stamp": good, "x-stamp-webauthn": "{}" }, /more than one stamp header/],
      ["empty", { "x-stamp": "" }, /could not extract api key stamp/],
      ["junk", { "x-stamp": "!!!" }, /could not extract api key stamp/],
      ["repeated", { "x-stamp": `${good}, ${good}` }, /could not extract api key stamp/],
      ["large", { "x-stamp": "A".repeat(20_000) }, /could not extract api key stamp/],
      ["very large", { "x-stamp": "A".repeat(200_000) }, /could not extract api key stamp/],
      ["trailing bytes", { "x-stamp": base64Url({ ...parts, signature: `${parts.signature}00` }) }, /api key stamp/],
      ["unknown scheme", { "x-stamp": base64Url({ ...parts, scheme: "X" }) }, /api key stamp/],
      [
        "another curve",
        { "x-stamp": base64Url({ ...parts, scheme: "SIGNATURE_SCHEME_TK_API_SECP256K1" }) },
        /could not verify api key signature|could not extract api key stamp/,
      ],
      [
        "unknown key",
        {
          "x-stamp": base64Url({
            publicKey: ed,
            scheme: "SIGNATURE_SCHEME_TK_API_ED25519",
            signature: "00".repeat(64),
          }),
        },
        /could not find public key in organization or its parent organization/,
      ],
      ["webauthn junk", { "x-stamp-webauthn": "{}" }, /could not extract webauthn stamp/],
      ["another body", { "x-stamp": root.stamp(`${body} `) }, /could not verify api key signature/],
    ];
    for (const [name, headers, message] of cases) {
      const answer = await whoami(root, headers);
      assert.equal(answer.status, 401, name);
      assert.equal(answer.body.code, 16, name);
      assert.match(answer.body.message, message, name);
      assert.ok(Array.isArray(answer.body.details));
      assert.equal(answer.headers.get("content-type"), "application/json");
    }
  });

  it("name their organization: another one's key is unknown there", async () => {
    const { root } = server();
    const answer = await root.with({ organizationId: newId() }).query("whoami");
    assert.equal(answer.status, 401);
    assert.match(answer.body.message, /could not find public key in organization/);
    const malformed = await root.with({ organizationId: "not-an-id" }).query("whoami");
    assert.equal(malformed.status, 400);
    assert.equal(malformed.body.message, "malformed organization ID provided");
  });

  it("end with their key and their user", async () => {
    const { root } = server();
    const { userId, client } = await addUser(root);
    const spare = generateApiKey();
    const { apiKeyIds } = await root.result("create_api_keys", { userId, apiKeys: [apiKeyParams(spare)] });
    const withSpare = client.with({ key: spare });
    assert.equal((await withSpare.query("whoami")).status, 200);
    await root.result("delete_api_keys", { userId, apiKeyIds });
    assert.equal((await withSpare.query("whoami")).status, 401);
    assert.equal((await client.query("whoami")).status, 200);
    await root.result("delete_users", { userIds: [userId] });
    const answer = await client.query("whoami");
    assert.equal(answer.status, 401);
    assert.equal(answer.body.turnkeyErrorCode, "PUBLIC_KEY_NOT_FOUND");
  });

  it("of a passkey are accepted for its relying party alone", async () => {
    const { root } = server();
    const { userId } = await root.read("whoami");
    for (const algorithm of ["ES256", "RS256"] as const) {
      const passkey = createAuthenticator(algorithm);
      const challengeBytes = Buffer.from(newId());
      const challenge = challengeBytes.toString("base64url");
      const site = { origin: "https://wallet.example", rpId: "wallet.example" };
      const attestation = passkey.attest({ challenge: challengeBytes, ...site, format: "none" });
      const authenticator = { authenticatorName: algorithm, challenge, attestation };
      const { authenticatorIds } = await root.result("create_authenticators", {
        userId,
        authenticators: [authenticator],
      });
      const body = whoamiBody(root);
      const stamp = passkey.assert({ body, ...site });
      const encoded = Buffer.from(stamp).toString("base64url");
      for (const header of [stamp, encoded]) {
        const answer = await whoami(root, { "x-stamp-webauthn": header });
        assert.equal(answer.status, 200, JSON.stringify(answer.body));
        assert.equal(answer.body.userId, userId);
      }
      const elsewhere = passkey.assert({ body, origin: "https://evil.example", rpId: "evil.example" });
      assert.equal((await whoami(root, { "x-stamp-webauthn": elsewhere })).status, 401);
      const altered = await whoami(root, { "x-stamp-webauthn": stamp }, `${body} `);
      assert.equal(altered.status, 401);
      assert.match(altered.body.message, /could not verify WebAuthN signature/);
      const [authenticatorId] = authenticatorIds;
      const shown = await root.read("get_authenticator", { authenticatorId });
      assert.equal(shown.authenticator.credentialId, passkey.credentialId);
      await root.result("delete_authenticators", { userId, authenticatorIds });
      const gone = await whoami(root, { "x-stamp-webauthn": stamp });
      assert.equal(gone.status, 401);
      assert.match(gone.body.message, /credential ID could not be found in organization/);
    }
  });
});

function secpKeyPair(): { publicKey: string; key: KeyObject } {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "secp256k1" });
  const d = Buffer.from(privateKey.export({ format: "jwk" }).d as string, "base64url");
  return { publicKey: Buffer.from(secp256k1.publicKeyCreate(d)).toString("hex"), key: privateKey };
}
