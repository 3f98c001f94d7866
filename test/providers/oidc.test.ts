import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { exportSPKI, importJWK, type JWK } from "jose";
import { createOutboundClient, type OutboundClient } from "../../src/delivery/outbound.ts";
import { KeysteadError } from "../../src/kernel/errors.ts";
import {
  MAX_ISSUER_DOCUMENT_BYTES,
  MAX_ISSUER_FETCHES_OF_ONE_ORGANIZATION,
  MAX_ISSUER_KEYS,
} from "../../src/kernel/limits.ts";
import { nonceOfPublicKey } from "../../src/providers/oidc/nonce.ts";
import { createOidcVerifier, type OidcVerifier, type VerifyOptions } from "../../src/providers/oidc/verifier.ts";
import { discoveryPath, keysPath, startIssuer, type TestIssuer } from "../support/issuer.ts";
import { type RealIssuer, startRealIssuer } from "../support/real-issuer.ts";

const publicKey = "0394e549c71fa99dd5cf752fba623090be314949b74e4cdf7ca72031dd638e281a";

let outbound: OutboundClient;
let issuer: TestIssuer;
let verifier: OidcVerifier;
let now = 1_800_000_000_000;
const seconds = () => Math.floor(now / 1000);

before(() => {
  outbound = createOutboundClient({ allowPrivateNetworks: true });
});
after(() => outbound.close());
beforeEach(async () => {
  issuer = await startIssuer({ clock: () => now });
  verifier = newVerifier();
});
afterEach(() => issuer.close());

const newVerifier = (policy = { allowPrivateNetworks: true }) =>
  createOidcVerifier({ outbound, policy, clock: () => now });

async function refuses(token: string, reason: RegExp, options: VerifyOptions = {}): Promise<KeysteadError> {
  const error: unknown = await verifier.verify(token, options).then(
    (claims) => assert.fail(`accepted: ${JSON.stringify(claims)}`),
    (thrown) => thrown,
  );
  assert.ok(error instanceof KeysteadError, String(error));
  assert.equal(error.turnkeyErrorCode, "INVALID_OIDC_TOKEN");
  assert.equal(error.httpStatus, 400);
  assert.match(error.message, reason);
  return error;
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const json = (response: ServerResponse, value: unknown) => response.writeHead(200).end(JSON.stringify(value));

describe("a real OpenID provider", () => {
  let real: RealIssuer;
  before(async () => {
    real = await startRealIssuer();
    now = Date.now();
  });
  after(() => real.close());

  it("issues tokens that verify, bound to the key that asked for them", async () => {
    const nonce = nonceOfPublicKey(publicKey);
    const token = await real.signIn("ada", nonce);
    const { iss, sub, aud } = await verifier.verify(token, { expectedNonce: nonce });
    assert.deepEqual({ iss, sub, aud }, { iss: real.url, sub: "ada", aud: real.clientId });
    await refuses(token, /not bound to this public key/, { expectedNonce: nonceOfPublicKey(`${publicKey}00`) });
    const [header, payload] = token.split(".") as [string, string];
    const forged = { ...JSON.parse(Buffer.from(payload, "base64url").toString()), sub: "eve" };
    await refuses(`${header}.${encode(forged)}.${token.split(".")[2]}`, /signature/);
  });
});

describe("tokens", () => {
  it("of every algorithm with a public key are taken", async () => {
    for (const alg of ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]) {
      await issuer.rotate(alg);
      verifier = newVerifier();
      const claims = await verifier.verify(await issuer.token({ email: "ada@example.com", email_verified: true }));
      assert.deepEqual(claims, {
        iss: issuer.url,
        sub: "somebody",
        aud: "app",
        email: "ada@example.com",
        emailVerified: true,
        expiresAt: (seconds() + 3600) * 1000,
      });
    }
  });

  it("name one audience, alone or as a list of one", async () => {
    assert.equal((await verifier.verify(await issuer.token({ aud: ["app"] }))).aud, "app");
    await refuses(await issuer.token({ aud: ["app", "other"] }), /one audience/);
    await refuses(await issuer.token({ aud: [] }), /one audience/);
  });

  it("are bound by `nonce` or by `tknonce`", async () => {
    const expectedNonce = nonceOfPublicKey(publicKey);
    for (const name of ["nonce", "tknonce"]) {
      await verifier.verify(await issuer.token({ [name]: expectedNonce }), { expectedNonce });
      await refuses(await issuer.token({ [name]: expectedNonce.toUpperCase() }), /not bound/, { expectedNonce });
    }
    await refuses(await issuer.token(), /not bound/, { expectedNonce });
  });

  it("that are over, too early or from the future are refused, within a minute of skew", async () => {
    const at = seconds();
    await verifier.verify(await issuer.token({ exp: at - 59 }));
    await refuses(await issuer.token({ exp: at - 60 }), /expired/);
    await verifier.verify(await issuer.token({ nbf: at + 60 }));
    await refuses(await issuer.token({ nbf: at + 61 }), /not valid yet/);
    await verifier.verify(await issuer.token({ iat: at + 60 }));
    await refuses(await issuer.token({ iat: at + 61 }), /in the future/);
  });

  it("without a claim, or with one of another kind, are refused", async () => {
    for (const name of ["iss", "sub", "aud", "exp"]) {
      for (const value of [undefined, null, {}, "", "x".repeat(256), -1]) {
        await refuses(await issuer.token({ [name]: value as never }), new RegExp(name === "aud" ? "aud" : name));
      }
    }
    for (const exp of [1e300, "1800000300", true]) await refuses(await issuer.token({ exp: exp as never }), /exp/);
  });

  it("that are not signed by their issuer are refused", async () => {
    const token = await issuer.token();
    const [header, payload, signature] = token.split(".") as [string, string, string];
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
    const { kid } = JSON.parse(Buffer.from(header, "base64url").toString()) as { kid: string };
    const other = await startIssuer({ clock: () => now });
    try {
      await refuses(`${header}.${encode({ ...claims, sub: "eve" })}.${signature}`, /signature/);
      await refuses(`${header}.${payload}.`, /signature/);
      await refuses(`${header}.${payload}.${randomBytes(64).toString("base64url")}`, /signature/);
      // Another issuer's key under the same name, and one that nobody publishes.
      await refuses(await other.token({ iss: issuer.url }), /signature/);
      await refuses(await other.token({ iss: issuer.url }, { kid: "unknown" }), /does not publish/);
      for (const alg of ["none", "None", "HS256", "HS512", "RSA1_5", "ES256K", ""]) {
        await refuses(`${encode({ alg, kid })}.${payload}.${signature}`, /algorithms/);
        await refuses(`${encode({ alg, kid })}.${payload}.`, /algorithms/);
      }
    } finally {
      await other.close();
    }
  });

  it("signed with the text of a public key as a shared secret are refused", async () => {
    const [published] = issuer.keys;
    const pem = await exportSPKI((await importJWK(published as never, "ES256")) as CryptoKey);
    const payload = (await issuer.token()).split(".")[1] as string;
    for (const secret of [pem, pem.trim(), JSON.stringify(published)]) {
      const signed = `${encode({ alg: "HS256", kid: published?.kid })}.${payload}`;
      const mac = createHmac("sha256", secret).update(signed).digest("base64url");
      await refuses(`${signed}.${mac}`, /algorithms/);
    }
  });

  it("signed with an RSA key whose exponent makes verifying slow are refused", async () => {
    await issuer.rotate("RS256");
    const [key] = issuer.keys as [JWK];
    const token = await issuer.token();
    const { n: exponent } = key;
    issuer.keys.splice(0, 1, { ...key, e: exponent as string });
    await refuses(token, /does not publish/);
    verifier = newVerifier();
    // Of 8 bytes, as far as OpenSSL goes with large moduli.
    issuer.keys.splice(0, 1, { ...key, e: Buffer.alloc(8, 0xff).toString("base64url") });
    await refuses(token, /signature by its issuer/);
  });

  it("that are something else are refused, and nobody is asked", async () => {
    const payload = encode({ iss: issuer.url, sub: "a", aud: "b", exp: seconds() + 60 });
    const header = encode({ alg: "ES256" });
    const texts = ["", "a", "a.b", "..", "a.b.c", `${header}.${payload}`, `${header}.${payload}.a.b`, `${header}..`];
    for (const text of [...texts, `${header}.${payload}.=`, ` ${header}.${payload}.a`, "x".repeat(100_000)]) {
      await refuses(text, /./);
    }
    const twice = Buffer.from(`{"iss":"https://a.example","iss":"${issuer.url}"}`).toString("base64url");
    await refuses(`${header}.${twice}.a`, /JSON/);
    await refuses(`${encode({ alg: "ES256", typ: "at+jwt" })}.${payload}.a`, /ID token/);
    await refuses(`${encode({ alg: "ES256", kid: 1 })}.${payload}.a`, /key/);
    assert.deepEqual(issuer.requests, []);
  });

  it("that name no key are taken if there is one, and refused if there are several", async () => {
    await verifier.verify(await issuer.token({}, { kid: undefined as never }));
    issuer.keys.push({ ...issuer.keys[0], kid: "second" });
    verifier = newVerifier();
    await refuses(await issuer.token({}, { kid: undefined as never }), /which of its issuer's keys/);
  });
});

describe("issuers", () => {
  it("are asked once, by all who verify at one time and for as long as their keys stand", async () => {
    const maxAge = (seconds: number) =>
      issuer.answer(keysPath, (_, response) => {
        response.setHeader("cache-control", `public, max-age=${seconds}`);
        json(response, { keys: issuer.keys });
      });
    issuer.answer(discoveryPath, (_, response) => {
      response.setHeader("cache-control", "max-age=86400");
      json(response, { issuer: issuer.url, jwks_uri: `${issuer.url}${keysPath}` });
    });
    maxAge(600);
    const verify = async () => verifier.verify(await issuer.token());
    await Promise.all(Array.from({ length: 50 }, verify));
    assert.deepEqual(issuer.requests, [discoveryPath, keysPath]);
    now += 599_000;
    await verify();
    assert.equal(issuer.requests.length, 2);
    now += 1_000;
    await verify();
    assert.equal(issuer.requests.length, 4);
    // Neither too often, whatever the issuer says ...
    maxAge(0);
    now += 600_000;
    for (const pause of [0, 29_999]) {
      now += pause;
      await verify();
    }
    assert.equal(issuer.requests.length, 6);
    // ... nor for too long.
    maxAge(10_000_000);
    now += 1;
    await verify();
    now += 86_400_000;
    await verify();
    assert.equal(issuer.requests.length, 10);
  });

  it("are asked again for a key that is not known, at most once in 30 seconds", async () => {
    const old = await issuer.token();
    await verifier.verify(old);
    await issuer.rotate();
    const fresh = await issuer.token();
    // The first look was a moment ago.
    await refuses(fresh, /does not publish/);
    assert.equal(issuer.requests.length, 2);
    now += 30_000;
    await Promise.all(Array.from({ length: 20 }, () => verifier.verify(fresh)));
    assert.equal(issuer.requests.length, 4);
    await refuses(old, /does not publish/);
    for (let each = 0; each < 20; each++)
      await refuses(await issuer.token({}, { kid: `forged-${each}` }), /does not publish/);
    assert.equal(issuer.requests.length, 4);
    // What is known stands while the issuer is away.
    now += 30_000;
    issuer.answer(keysPath, (_, response) => response.writeHead(500).end());
    await refuses(await issuer.token({}, { kid: "forged" }), /does not publish/);
    await verifier.verify(fresh);
  });

  it("are asked again where a key may have taken the name of another, at most once in 30 seconds", async () => {
    const old = await issuer.token();
    await verifier.verify(old);
    // Also where the new key is of another kind.
    for (const alg of ["ES256", "RS256"]) {
      const { length } = issuer.requests;
      await issuer.rotate(alg);
      const [key] = issuer.keys as [JWK];
      issuer.keys.splice(0, 1, { ...key, kid: "key-1" });
      const fresh = await issuer.token({}, { kid: "key-1" });
      // The last look was a moment ago.
      await refuses(fresh, /signature by|does not publish/);
      assert.equal(issuer.requests.length, length);
      now += 30_000;
      await Promise.all(Array.from({ length: 20 }, () => verifier.verify(fresh)));
      assert.equal(issuer.requests.length, length + 2);
      for (let each = 0; each < 20; each++) await refuses(old, /signature by|does not publish/);
      assert.equal(issuer.requests.length, length + 2);
    }
    // Forged tokens have it asked no more often, and what is known stands while it is away.
    const fresh = await issuer.token({}, { kid: "key-1" });
    issuer.answer(keysPath, (_, response) => response.writeHead(500).end());
    now += 30_000;
    const { length } = issuer.requests;
    for (let each = 0; each < 20; each++) await refuses(`${fresh.slice(0, -20)}${"A".repeat(20)}`, /signature by/);
    assert.equal(issuer.requests.length, length + 2);
    await verifier.verify(fresh);
  });

  it("are asked again after the clock was set back, whatever was asked by the time before", async () => {
    const HOUR_MS = 3_600_000;
    // Whose keys are kept.
    now += HOUR_MS;
    await verifier.verify(await issuer.token());
    now -= HOUR_MS;
    await issuer.rotate();
    await verifier.verify(await issuer.token());
    assert.equal(issuer.requests.length, 4);
    // That gave none.
    verifier = newVerifier();
    now += HOUR_MS;
    issuer.answer(keysPath, (_, response) => response.writeHead(500).end());
    await refuses(await issuer.token(), /status 500/);
    now -= HOUR_MS;
    issuer.answer(keysPath, undefined);
    await verifier.verify(await issuer.token());
  });

  it("must be who the token says", async () => {
    const other = await startIssuer({ clock: () => now });
    try {
      await refuses(await other.token({ iss: `${other.url}/` }), /names another one/);
      issuer.answer(discoveryPath, (_, response) =>
        json(response, { issuer: other.url, jwks_uri: `${other.url}${keysPath}` }),
      );
      await refuses(await other.token({ iss: issuer.url }), /names another one/);
      assert.deepEqual(other.requests, [discoveryPath]);
    } finally {
      await other.close();
    }
  });

  it("are not asked at an address inside, nor without TLS", async () => {
    const url = issuer.url.replace("127.0.0.1", "localhost");
    const inside = [
      issuer.url,
      url,
      "https://127.0.0.1",
      "https://10.0.0.1",
      "https://169.254.169.254",
      "https://[::1]",
    ];
    verifier = newVerifier({ allowPrivateNetworks: false });
    for (const iss of [...inside, "http://issuer.example", "https://intranet"]) {
      await refuses(await issuer.token({ iss }), /its URL must/);
    }
    verifier = newVerifier();
    for (const iss of [
      "http://issuer.example",
      "http://10.0.0.1",
      "ftp://localhost",
      "localhost",
      "https://u@localhost",
    ]) {
      await refuses(await issuer.token({ iss }), /its URL must/);
    }
    await refuses(await issuer.token({ iss: `${issuer.url}/?a=b` }), /query/);
    assert.deepEqual(issuer.requests, []);
  });

  it("whose keys are said to be inside, or somewhere without TLS, are refused", async () => {
    // Discovery through a client that may reach this machine; the rules of the verifier are those of production.
    const reached = new Set<string>();
    const asked: Pick<OutboundClient, "request"> = {
      request: (request) => {
        reached.add(new URL(request.url).host);
        return outbound.request({ ...request, url: request.url.replace("https://issuer.example", issuer.url) });
      },
    };
    verifier = createOidcVerifier({ outbound: asked, policy: { allowPrivateNetworks: false }, clock: () => now });
    for (const keys of [
      `${issuer.url}${keysPath}`,
      "https://169.254.169.254/keys",
      "https://localhost/keys",
      "x",
      1,
      null,
    ]) {
      issuer.answer(discoveryPath, (_, response) =>
        json(response, { issuer: "https://issuer.example", jwks_uri: keys }),
      );
      await refuses(await issuer.token({ iss: "https://issuer.example" }), /URL must|jwks_uri/);
      now += 60_000;
    }
    assert.deepEqual([...reached], ["issuer.example"]);
  });

  it("that redirect, answer with too much or with something else are refused, and left alone for a while", async () => {
    const huge = JSON.stringify({ keys: [], padding: "x".repeat(MAX_ISSUER_DOCUMENT_BYTES) });
    const many = JSON.stringify({ keys: Array.from({ length: MAX_ISSUER_KEYS + 1 }, () => issuer.keys[0]) });
    const answers: [number, string, RegExp][] = [
      [302, "", /status 302/],
      [404, "{}", /status 404/],
      [503, "{}", /status 503/],
      [200, huge, /more than/],
      [200, many, /JWK Set/],
      [200, "{}", /JWK Set/],
      [200, "[]", /JSON object/],
      [200, "<html>", /JSON/],
      [200, '{"keys":[],"keys":[]}', /JSON/],
      [200, '{"keys":[null,1,{},{"kty":"oct","k":"AAAA"},{"kty":"RSA","n":5,"e":"AQAB"}]}', /does not publish/],
    ];
    for (const [status, body, reason] of answers) {
      issuer.answer(keysPath, (_, response) =>
        response.writeHead(status, { location: `${issuer.url}/elsewhere` }).end(body),
      );
      await refuses(await issuer.token(), reason);
      const { length } = issuer.requests;
      await refuses(await issuer.token(), reason);
      assert.equal(issuer.requests.length, length);
      now += 24 * 60 * 60 * 1000;
    }
    assert.ok(!issuer.requests.includes("/elsewhere"));
    issuer.answer(keysPath, undefined);
    await verifier.verify(await issuer.token());
  });

  it("that are away may be tried again, and say so", async () => {
    const away = await startIssuer({ clock: () => now });
    const token = await away.token();
    await away.close();
    const error = await refuses(token, /cannot be asked/);
    assert.equal(error.isTransient, true);
    assert.equal((await refuses(await issuer.token({ exp: 1 }), /expired/)).isTransient, false);
  });

  it("are not asked again because another organization names many with large documents", async () => {
    const padding = "x".repeat(MAX_ISSUER_DOCUMENT_BYTES - 1024);
    const padded = await startIssuer({ clock: () => now });
    const paths = Array.from({ length: 80 }, (_, index) => `/${index}`);
    for (const path of paths) {
      const url = padded.url + path;
      padded.answer(path + discoveryPath, (_, response) => json(response, { issuer: url, jwks_uri: url + keysPath }));
      padded.answer(path + keysPath, (_, response) => json(response, { keys: padded.keys, padding }));
    }
    const quietly = async () => verifier.verify(await issuer.token(), { organizationId: "quiet" });
    // Whoever has an issuer asked first, it is kept for all who use it.
    await verifier.verify(await issuer.token(), { organizationId: "greedy" });
    await quietly();
    try {
      for (const path of paths)
        await verifier.verify(await padded.token({ iss: padded.url + path }), { organizationId: "greedy" });
      await quietly();
      assert.equal(issuer.requests.length, 2);
      // Of what the greedy one had kept, the first has gone, the last has not.
      const asked = padded.requests.length;
      await verifier.verify(await padded.token({ iss: `${padded.url}/79` }), { organizationId: "greedy" });
      assert.equal(padded.requests.length, asked);
      await verifier.verify(await padded.token({ iss: `${padded.url}/0` }), { organizationId: "greedy" });
      assert.equal(padded.requests.length, asked + 2);
    } finally {
      await padded.close();
    }
  });

  it("that do not answer hold up neither other issuers nor other organizations", async () => {
    const slow = await startIssuer({ clock: () => now });
    const held: ServerResponse[] = [];
    const isHeld = Promise.withResolvers<void>();
    const paths = Array.from({ length: 3 * MAX_ISSUER_FETCHES_OF_ONE_ORGANIZATION }, (_, index) => `/${index}`);
    for (const path of paths) {
      slow.answer(`${path}${discoveryPath}`, (_, response) => {
        held.push(response);
        if (held.length === MAX_ISSUER_FETCHES_OF_ONE_ORGANIZATION) isHeld.resolve();
      });
    }
    try {
      const slowTokens = await Promise.all(paths.map((path) => slow.token({ iss: slow.url + path })));
      const waiting = slowTokens.map((token) =>
        verifier.verify(token, { organizationId: "busy" }).catch(() => "refused"),
      );
      // Behind all of them, one of a quick issuer: whoever else asks for that one does not wait with it.
      waiting.push(verifier.verify(await issuer.token(), { organizationId: "busy" }).then(() => "verified"));
      await isHeld.promise;
      await verifier.verify(await issuer.token(), { organizationId: "bystander" });
      assert.equal(held.length, MAX_ISSUER_FETCHES_OF_ONE_ORGANIZATION);
      await slow.close();
      assert.deepEqual(await Promise.all(waiting), [...paths.map(() => "refused"), "verified"]);
    } finally {
      await slow.close().catch(() => undefined);
    }
  });
});
