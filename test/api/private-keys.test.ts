import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { it } from "node:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import {
  ADDRESS_FORMATS,
  type AddressFormat,
  addressFormatProblem,
  deriveAddress,
} from "../../src/crypto/addresses.ts";
import type { Curve } from "../../src/crypto/curves.ts";
import { newId } from "../../src/kernel/ids.ts";
import { addUser, type Client, type Json } from "../support/client.ts";
import { onEachEngine } from "../support/server.ts";

const bytes = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));

const createKey = (root: Client, curve: string, formats: string[] = []): Promise<Json> =>
  createKeyWith(
    root,
    `CURVE_${curve}`,
    formats.map((format) => `ADDRESS_FORMAT_${format}`),
  );

async function createKeyWith(root: Client, curve: string, addressFormats: readonly string[]): Promise<Json> {
  const params = { privateKeyName: curve, curve, privateKeyTags: [], addressFormats };
  const created = await root.result("create_private_keys", { privateKeys: [params] });
  const { privateKeyId } = created.privateKeys[0];
  return (await root.read("get_private_key", { privateKeyId })).privateKey;
}

const curves: Curve[] = ["CURVE_SECP256K1", "CURVE_ED25519", "CURVE_P256"];
const formatsOf = (curve: Curve): AddressFormat[] =>
  ADDRESS_FORMATS.filter((format) => addressFormatProblem(format, curve) === undefined);

/** The public key of a private key as addresses are derived of it. */
function compressed(curve: Curve, publicKey: string): Uint8Array {
  if (curve === "CURVE_ED25519") return bytes(publicKey);
  return (curve === "CURVE_P256" ? p256 : secp256k1).Point.fromHex(publicKey).toBytes(true);
}

const signing = (signWith: string, payload: string, encoding: string, hash: string) => ({
  signWith,
  payload,
  encoding: `PAYLOAD_ENCODING_${encoding}`,
  hashFunction: `HASH_FUNCTION_${hash}`,
});

onEachEngine("private keys", (server) => {
  it("have the addresses they were asked for, and never their secret", async () => {
    const { root } = server();
    const secp = await createKey(root, "SECP256K1", ["ETHEREUM", "COMPRESSED", "UNCOMPRESSED"]);
    assert.deepEqual(
      secp.addresses.map(({ format }: Json) => format),
      ["ADDRESS_FORMAT_ETHEREUM", "ADDRESS_FORMAT_COMPRESSED", "ADDRESS_FORMAT_UNCOMPRESSED"],
    );
    assert.equal(secp.publicKey, secp.addresses[2].address);
    const point = secp256k1.Point.fromHex(secp.publicKey);
    assert.equal(point.toHex(true), secp.addresses[1].address);
    const account = Buffer.from(keccak_256(point.toBytes(false).subarray(1)).subarray(12)).toString("hex");
    assert.equal(secp.addresses[0].address.toLowerCase(), `0x${account}`);
    assert.deepEqual([secp.exported, secp.imported], [false, false]);
    const ed = await createKey(root, "ED25519", ["SOLANA"]);
    assert.equal(ed.publicKey.length, 64);
    const listed = (await root.read("list_private_keys")).privateKeys;
    assert.deepEqual(
      listed.find(({ privateKeyId }: Json) => privateKeyId === ed.privateKeyId),
      ed,
    );
    assert.ok(!JSON.stringify(listed).includes("sealed"));
  });

  it("have an address in every format, and lists show them all", async () => {
    const { root } = server();
    const asked = curves.map((curve) => ({
      privateKeyName: curve,
      curve,
      privateKeyTags: [],
      addressFormats: formatsOf(curve),
    }));
    assert.equal(new Set(asked.flatMap(({ addressFormats }) => addressFormats)).size, 38);
    const { privateKeys: created } = await root.result("create_private_keys", { privateKeys: asked });
    const listed: Json[] = (await root.read("list_private_keys")).privateKeys;
    for (const [index, { curve, addressFormats }] of asked.entries()) {
      const { privateKeyId, addresses } = created[index];
      const shown = listed.find((key) => key.privateKeyId === privateKeyId);
      assert.deepEqual(shown?.addresses, addresses);
      const publicKey = compressed(curve, shown?.publicKey);
      assert.deepEqual(
        addresses,
        addressFormats.map((format) => ({ format, address: deriveAddress(format, curve, publicKey) })),
      );
    }
  });

  it("refuse formats of other curves and those that do not exist", async () => {
    const { root } = server();
    const cases: [string, string, RegExp][] = [
      ["CURVE_SECP256K1", "ADDRESS_FORMAT_SOLANA", /takes CURVE_ED25519 keys/],
      ["CURVE_ED25519", "ADDRESS_FORMAT_ETHEREUM", /takes CURVE_SECP256K1 keys/],
      ["CURVE_P256", "ADDRESS_FORMAT_COSMOS", /takes CURVE_SECP256K1 keys/],
      ["CURVE_ED25519", "ADDRESS_FORMAT_SEI", /takes CURVE_SECP256K1 keys/],
      ["CURVE_ED25519", "ADDRESS_FORMAT_UNCOMPRESSED", /takes CURVE_SECP256K1 or CURVE_P256 keys/],
      ["CURVE_SECP256K1", "ADDRESS_FORMAT_NONE", /must be one of/],
    ];
    for (const [curve, format, message] of cases) {
      const key = { privateKeyName: "k", curve, privateKeyTags: [], addressFormats: [format] };
      const answer = await root.submit("create_private_keys", { privateKeys: [key] });
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, /parameters\.privateKeys\.0\.addressFormats\.0/);
      assert.match(answer.body.message, message);
    }
  });

  it("of the first version answer with ids alone", async () => {
    const { root } = server();
    const key = { privateKeyName: "k", curve: "CURVE_P256", privateKeyTags: [], addressFormats: [] };
    const type = "ACTIVITY_TYPE_CREATE_PRIVATE_KEYS";
    const { body } = await root.submit("create_private_keys", { privateKeys: [key] }, { type });
    const { createPrivateKeysResult } = body.activity.result;
    assert.equal(createPrivateKeysResult.privateKeyIds.length, 1);
  });

  it("are deleted only when exported, unless the caller insists", async () => {
    const { root } = server();
    const { privateKeyId } = await createKey(root, "P256");
    const refused = await root.submit("delete_private_keys", { privateKeyIds: [privateKeyId] });
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /deleteWithoutExport/);
    const unknown = { privateKeyIds: [privateKeyId, newId()], deleteWithoutExport: true };
    assert.equal((await root.submit("delete_private_keys", unknown)).status, 404);
    const parameters = { privateKeyIds: [privateKeyId], deleteWithoutExport: true };
    assert.deepEqual(await root.result("delete_private_keys", parameters), { privateKeyIds: [privateKeyId] });
    assert.equal((await root.query("get_private_key", { privateKeyId })).status, 404);
    const answer = await root.submit("sign_raw_payload", signing(privateKeyId, "x", "TEXT_UTF8", "SHA256"));
    assert.equal(answer.status, 404);
    assert.equal(answer.body.message, "Could not find any resource to sign with");
  });
});

onEachEngine("signing", (server) => {
  it("follows the encoding and the hash function on every curve", async () => {
    const { root } = server();
    const text = "héllo, wörld";
    const hex = Buffer.from(text).toString("hex");
    const digests = { SHA256: sha256(Buffer.from(text)), KECCAK256: keccak_256(Buffer.from(text)) };
    const secp = await createKey(root, "SECP256K1", ["ETHEREUM"]);
    const p = await createKey(root, "P256");
    const curves = [
      [secp, secp256k1],
      [p, p256],
    ] as const;
    for (const [key, curve] of curves) {
      for (const [hash, digest] of Object.entries(digests)) {
        const digestHex = Buffer.from(digest).toString("hex");
        for (const [payload, encoding, hashFunction] of [
          [text, "TEXT_UTF8", hash],
          [hex, "HEXADECIMAL", hash],
          [`0x${hex.toUpperCase()}`, "HEXADECIMAL", hash],
          [digestHex, "HEXADECIMAL", "NO_OP"],
        ] as const) {
          const { r, s, v } = await root.result(
            "sign_raw_payload",
            signing(key.privateKeyId, payload, encoding, hashFunction),
          );
          assert.match(r + s, /^[0-9a-f]{128}$/);
          assert.ok(curve.verify(bytes(r + s), digest, bytes(key.publicKey), { prehash: false, lowS: true }));
          const recovered = curve.Signature.fromHex(r + s)
            .addRecoveryBit(Number(v))
            .recoverPublicKey(digest);
          assert.equal(recovered.toHex(false), key.publicKey);
        }
      }
    }
    const ed = await createKey(root, "ED25519", ["SOLANA"]);
    const { r, s, v } = await root.result(
      "sign_raw_payload",
      signing(ed.addresses[0].address, text, "TEXT_UTF8", "NOT_APPLICABLE"),
    );
    const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(ed.publicKey, "hex").toString("base64url") };
    assert.ok(verify(null, Buffer.from(text), createPublicKey({ format: "jwk", key: jwk }), bytes(r + s)));
    assert.equal(v, "00");
  });

  it("finds a key by its Ethereum address in any case", async () => {
    const { root } = server();
    const { addresses } = await createKey(root, "SECP256K1", ["ETHEREUM"]);
    const { address } = addresses[0];
    const results = [];
    for (const signWith of [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`]) {
      results.push(await root.result("sign_raw_payload", signing(signWith, "same", "TEXT_UTF8", "KECCAK256")));
    }
    assert.deepEqual(results[1], results[0]);
    assert.deepEqual(results[2], results[0]);
  });

  it("finds a secp256k1 key by its address in every format that signs with ECDSA", async () => {
    const { root } = server();
    const ecdsa = formatsOf("CURVE_SECP256K1").filter((format) => !/_P2TR$|_SPARK_/.test(format));
    assert.equal(ecdsa.length, 25);
    const { publicKey, addresses } = await createKeyWith(root, "CURVE_SECP256K1", ecdsa);
    const digest = keccak_256(Buffer.from("same"));
    for (const { address } of addresses) {
      const { r, s } = await root.result("sign_raw_payload", signing(address, "same", "TEXT_UTF8", "KECCAK256"));
      assert.ok(secp256k1.verify(bytes(r + s), digest, bytes(publicKey), { prehash: false }), address);
    }
  });

  it("finds an Ed25519 key by its address in every format", async () => {
    const { root } = server();
    const formats = formatsOf("CURVE_ED25519");
    assert.equal(formats.length, 8);
    const { publicKey, addresses } = await createKeyWith(root, "CURVE_ED25519", formats);
    for (const { address } of addresses) {
      const { r, s } = await root.result("sign_raw_payload", signing(address, "same", "TEXT_UTF8", "NOT_APPLICABLE"));
      assert.ok(ed25519.verify(bytes(r + s), Buffer.from("same"), bytes(publicKey)), address);
    }
  });

  it("finds keys by other spellings of their addresses, and by no wrong ones", async () => {
    const { root } = server();
    const edwards: AddressFormat[] = ["ADDRESS_FORMAT_TON_V4R2", "ADDRESS_FORMAT_SUI", "ADDRESS_FORMAT_XLM"];
    const ed = await createKeyWith(root, "CURVE_ED25519", edwards);
    const secp = await createKeyWith(root, "CURVE_SECP256K1", ["ADDRESS_FORMAT_BITCOIN_MAINNET_P2WPKH"]);
    const [ton, sui, xlm] = ed.addresses.map(({ address }: Json) => address);
    const account = Buffer.from(ton, "base64url").toString("hex").slice(4, 68);
    const segwit = secp.addresses[0].address;
    for (const signWith of [`0:${account}`, `0:${account.toUpperCase()}`, `0x${sui.slice(2).toUpperCase()}`]) {
      await root.result("sign_raw_payload", signing(signWith, "same", "TEXT_UTF8", "NOT_APPLICABLE"));
    }
    await root.result("sign_raw_payload", signing(segwit.toUpperCase(), "same", "TEXT_UTF8", "SHA256"));
    for (const signWith of [`-1:${account}`, xlm.toLowerCase(), `B${segwit.slice(1)}`]) {
      const answer = await root.submit("sign_raw_payload", signing(signWith, "same", "TEXT_UTF8", "SHA256"));
      assert.equal(answer.status, 404, signWith);
    }
  });

  it("hashes EIP-712 typed data and EIP-7702 authorizations", async () => {
    const { root } = server();
    const { privateKeyId, publicKey } = await createKey(root, "SECP256K1", ["ETHEREUM"]);
    const mail = {
      types: {
        EIP712Domain: [
          { name: "name", type: "string" },
          { name: "version", type: "string" },
          { name: "chainId", type: "uint256" },
          { name: "verifyingContract", type: "address" },
        ],
        Person: [
          { name: "name", type: "string" },
          { name: "wallet", type: "address" },
        ],
        Mail: [
          { name: "from", type: "Person" },
          { name: "to", type: "Person" },
          { name: "contents", type: "string" },
        ],
      },
      primaryType: "Mail",
      domain: {
        name: "Ether Mail",
        version: "1",
        chainId: 1,
        verifyingContract: "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
      },
      message: {
        from: { name: "Cow", wallet: "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826" },
        to: { name: "Bob", wallet: "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB" },
        contents: "Hello, Bob!",
      },
    };
    // The digest that the text of EIP-712 gives for its example.
    const digest = bytes("be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2");
    const typed = signing(privateKeyId, JSON.stringify(mail), "EIP712", "NO_OP");
    const { r, s } = await root.result("sign_raw_payload", typed);
    assert.ok(secp256k1.verify(bytes(r + s), digest, bytes(publicKey), { prehash: false }));
    const authorization = JSON.stringify({ address: `0x${"11".repeat(20)}`, chainId: 1, nonce: 0 });
    await root.result("sign_raw_payload", signing(privateKeyId, authorization, "EIP7702_AUTHORIZATION", "NO_OP"));
    for (const [payload, encoding, hash] of [
      [JSON.stringify(mail), "EIP712", "KECCAK256"],
      [JSON.stringify({ ...mail, primaryType: "Nothing" }), "EIP712", "NO_OP"],
      ["{", "EIP712", "NO_OP"],
      [JSON.stringify({ address: "0x1", chainId: 1, nonce: 0 }), "EIP7702_AUTHORIZATION", "NO_OP"],
    ] as const) {
      const answer = await root.submit("sign_raw_payload", signing(privateKeyId, payload, encoding, hash));
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, /parameters\.(payload|hashFunction)/);
    }
  });

  it("refuses what does not fit the key", async () => {
    const { root } = server();
    const secp = await createKey(root, "SECP256K1");
    const ed = await createKey(root, "ED25519");
    const cases: [string, string, string, string, RegExp][] = [
      [secp.privateKeyId, "abc", "HEXADECIMAL", "SHA256", /parameters\.payload` must be an even number of hex digits/],
      [secp.privateKeyId, "aabb", "HEXADECIMAL", "NO_OP", /parameters\.payload` must be a digest of 32 bytes/],
      [secp.privateKeyId, "x", "TEXT_UTF8", "NOT_APPLICABLE", /parameters\.hashFunction/],
      [ed.privateKeyId, "x", "TEXT_UTF8", "SHA256", /parameters\.hashFunction` must be HASH_FUNCTION_NOT_APPLICABLE/],
    ];
    for (const [signWith, payload, encoding, hash, message] of cases) {
      const answer = await root.submit("sign_raw_payload", signing(signWith, payload, encoding, hash));
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, message);
    }
  });

  it("of several payloads keeps their order", async () => {
    const { root } = server();
    const { privateKeyId, publicKey } = await createKey(root, "SECP256K1");
    const payloads = ["one", "two", "three"];
    const parameters = {
      signWith: privateKeyId,
      payloads,
      encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
      hashFunction: "HASH_FUNCTION_SHA256",
    };
    const { signatures } = await root.result("sign_raw_payloads", parameters);
    for (const [index, { r, s }] of signatures.entries()) {
      const digest = sha256(Buffer.from(payloads[index] as string));
      assert.ok(secp256k1.verify(bytes(r + s), digest, bytes(publicKey), { prehash: false }));
    }
  });

  it("of the first version names a private key", async () => {
    const { root } = server();
    const { privateKeyId } = await createKey(root, "SECP256K1");
    const { signWith: _, ...rest } = signing("", "x", "TEXT_UTF8", "SHA256");
    const answer = await root.submit(
      "sign_raw_payload",
      { privateKeyId, ...rest },
      { type: "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD" },
    );
    assert.equal(answer.status, 200);
    assert.deepEqual(Object.keys(answer.body.activity.intent), ["signRawPayloadIntent"]);
    assert.deepEqual(Object.keys(answer.body.activity.result), ["signRawPayloadResult"]);
  });

  it("is not a plain user's", async () => {
    const { root } = server();
    const { privateKeyId } = await createKey(root, "SECP256K1");
    const { client } = await addUser(root);
    const answer = await client.submit("sign_raw_payload", signing(privateKeyId, "x", "TEXT_UTF8", "SHA256"));
    assert.equal(answer.status, 403);
  });
});
