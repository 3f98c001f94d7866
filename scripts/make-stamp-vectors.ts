/** Writes test/vectors/stamps/stamps.json anew. Keys, nonces and bodies are fixed, so the file comes out the same. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";

type Expect = "valid" | "unverified" | "malformed";
type Vector = { name: string; expect: Expect; reason?: string; body: string; header: string };

const body = '{"organizationId":"0190a1c2-6a3f-7b52-9c3e-1f2a3b4c5d6e"}';
const vectors: Vector[] = [];
const prefix = "SIGNATURE_SCHEME_TK_API_";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const unhex = (text: string) => Buffer.from(text, "hex");
const scalar = (value: bigint, width = 64) => value.toString(16).padStart(width, "0");
const base64Url = (text: string) => Buffer.from(text).toString("base64url");
const privateKey = (label: string) => createHash("sha256").update(`stamp vectors: ${label}`).digest();

function add(expect: Expect, name: string, header: string, more: { body?: string; reason?: string } = {}): void {
  vectors.push({ name, expect, ...(more.reason ? { reason: more.reason } : {}), body: more.body ?? body, header });
}

function stamp(scheme: string, publicKey: string, signature: string): string {
  return base64Url(JSON.stringify({ publicKey, signature, scheme: prefix + scheme }));
}

const schemes = {
  P256: { curve: p256, digest: (text: string) => createHash("sha256").update(text).digest() },
  SECP256K1: { curve: secp256k1, digest: (text: string) => createHash("sha256").update(text).digest() },
  SECP256K1_EIP191: {
    curve: secp256k1,
    digest: (text: string) =>
      keccak_256(Buffer.from(`\x19Ethereum Signed Message:\n${Buffer.byteLength(text)}${text}`)),
  },
} as const;
type EcdsaScheme = keyof typeof schemes;

function rsOf(scheme: EcdsaScheme, text: string, label: string = scheme): { r: bigint; s: bigint } {
  const { curve, digest } = schemes[scheme];
  const bytes = curve.sign(digest(text), privateKey(label), { prehash: false, lowS: true });
  return { r: BigInt(`0x${hex(bytes.subarray(0, 32))}`), s: BigInt(`0x${hex(bytes.subarray(32))}`) };
}

/** An INTEGER of exactly these content bytes. */
const integer = (content: string) => `02${scalar(BigInt(content.length / 2), 2)}${content}`;
const sequence = (content: string) => `30${scalar(BigInt(content.length / 2), 2)}${content}`;

function minimal(value: bigint): string {
  const digits = value.toString(16);
  const even = digits.length % 2 ? `0${digits}` : digits;
  return Number.parseInt(even.slice(0, 2), 16) >= 0x80 ? `00${even}` : even;
}

const der = (r: bigint, s: bigint) => sequence(integer(minimal(r)) + integer(minimal(s)));

function keyOf(scheme: EcdsaScheme, compressed = true): string {
  return hex(schemes[scheme].curve.getPublicKey(privateKey(scheme), compressed));
}

// Every ECDSA scheme
for (const scheme of Object.keys(schemes) as EcdsaScheme[]) {
  const key = keyOf(scheme);
  const n = schemes[scheme].curve.Point.Fn.ORDER;
  const { r, s } = rsOf(scheme, body);
  add("valid", `${scheme}: low s`, stamp(scheme, key, der(r, s)));
  add("valid", `${scheme}: high s`, stamp(scheme, key, der(r, n - s)));
  const text = '{"name":"Zürich – 東京 🗝"}';
  const unicode = rsOf(scheme, text);
  add("valid", `${scheme}: a body beyond ASCII`, stamp(scheme, key, der(unicode.r, unicode.s)), { body: text });
  const nothing = rsOf(scheme, "");
  add("valid", `${scheme}: an empty body`, stamp(scheme, key, der(nothing.r, nothing.s)), { body: "" });
  const short = shortR(scheme);
  add("valid", `${scheme}: r of 31 bytes`, stamp(scheme, key, der(short.r, short.s)), { body: short.body });
  add("unverified", `${scheme}: another body`, stamp(scheme, key, der(r, s)), { body: `${body} ` });
  const foreign = rsOf(scheme, body, "another key");
  add("unverified", `${scheme}: another key's signature`, stamp(scheme, key, der(foreign.r, foreign.s)));
  add("unverified", `${scheme}: r and s swapped`, stamp(scheme, key, der(s, r)));
  add("unverified", `${scheme}: r = s = 1`, stamp(scheme, key, der(1n, 1n)));
  add("unverified", `${scheme}: r = s = n - 1`, stamp(scheme, key, der(n - 1n, n - 1n)));

  const refused: [name: string, signature: string][] = [
    ["r = 0", der(0n, s)],
    ["s = 0", der(r, 0n)],
    ["r = n", der(n, s)],
    ["s = n", der(r, n)],
    ["r = n + 1", der(n + 1n, s)],
    ["s = n + 1", der(r, n + 1n)],
    ["s = s + n, in 33 bytes", der(r, s + n)],
    ["r of 33 bytes without leading zero", sequence(integer(`01${scalar(r)}`) + integer(minimal(s)))],
    ["a negative r", sequence(integer(`80${scalar(r).slice(2)}`) + integer(minimal(s)))],
    ["a negative s", sequence(integer(minimal(r)) + integer(`ff${scalar(s).slice(2)}`))],
    ["a padded r", sequence(integer(`00${minimal(r)}`) + integer(minimal(s)))],
    ["a padded s", sequence(integer(minimal(r)) + integer(`00${minimal(s)}`))],
    ["an empty r", sequence(integer("") + integer(minimal(s)))],
    ["an empty s", sequence(integer(minimal(r)) + integer(""))],
    ["bytes after the sequence", `${der(r, s)}00`],
    ["a recovery byte appended", `${der(r, s)}1b`],
    ["bytes after s inside the sequence", sequence(`${integer(minimal(r))}${integer(minimal(s))}00`)],
    ["a third integer", sequence(integer(minimal(r)) + integer(minimal(s)) + integer("01"))],
    ["only r", sequence(integer(minimal(r)))],
    ["a length in long form", der(r, s).replace(/^30/, "3081")],
    ["an indefinite length", `3080${der(r, s).slice(4)}0000`],
    ["an integer length in long form", sequence(integer(minimal(r)).replace(/^02/, "0281") + integer(minimal(s)))],
    [
      "a sequence one longer than it is",
      der(r, s).replace(/^30(..)/, (_, length) => `30${scalar(BigInt(`0x${length}`) + 1n, 2)}`),
    ],
    ["a set for the sequence", der(r, s).replace(/^30/, "31")],
    ["an octet string for r", sequence(integer(minimal(r)).replace(/^02/, "04") + integer(minimal(s)))],
    ["cut short", der(r, s).slice(0, -2)],
    ["64 bytes r || s", scalar(r) + scalar(s)],
    ["65 bytes r || s || v", `${scalar(r)}${scalar(s)}1c`],
    ["empty", ""],
  ];
  for (const [name, signature] of refused) {
    add("malformed", `${scheme}: ${name}`, stamp(scheme, key, signature), { reason: "strict DER" });
  }

  const sign = der(r, s);
  const uncompressed = keyOf(scheme, false);
  const p = schemes[scheme].curve.Point.Fp.ORDER;
  const keys: [name: string, publicKey: string][] = [
    ["an uncompressed key", uncompressed],
    ["a hybrid key 06", `06${uncompressed.slice(2)}`],
    ["a hybrid key 07", `07${uncompressed.slice(2)}`],
    ["a key with prefix 04 and one coordinate", `04${key.slice(2)}`],
    ["a key without prefix", key.slice(2)],
    ["the point at infinity", "00"],
    ["33 zero bytes", "00".repeat(33)],
    ["x off the curve", `02${scalar(offCurve(scheme))}`],
    ["x = p", `02${scalar(p)}`],
    ["x = p + the smallest x on the curve", `02${scalar(p + onCurve(scheme))}`],
    ["x of all ones", `03${"ff".repeat(32)}`],
    ["a byte too many", `${key}00`],
    ["an odd number of digits", key.slice(0, -1)],
    ["0x before the key", `0x${key}`],
    ["a digit that is none", `${key.slice(0, -1)}g`],
    ["a space before the key", ` ${key}`],
    ["a line feed after the key", `${key}\n`],
    ["an empty key", ""],
    ["an Ed25519 key", hex(ed25519.getPublicKey(privateKey("ED25519")))],
  ];
  for (const [name, publicKey] of keys) {
    add("malformed", `${scheme}: ${name}`, stamp(scheme, publicKey, sign), { reason: "`publicKey` must be" });
  }
}

// Schemes against each other
{
  const p256Signature = rsOf("P256", body);
  const k1 = rsOf("SECP256K1", body);
  const eip191 = rsOf("SECP256K1_EIP191", body);
  const k1Key = keyOf("SECP256K1");
  const eip191Key = keyOf("SECP256K1_EIP191");
  add("unverified", "a SHA-256 signature under the EIP-191 scheme", stamp("SECP256K1_EIP191", k1Key, der(k1.r, k1.s)));
  add(
    "unverified",
    "an EIP-191 signature under the SHA-256 scheme",
    stamp("SECP256K1", eip191Key, der(eip191.r, eip191.s)),
  );
  const signDigest = (digest: Uint8Array) => {
    const bytes = secp256k1.sign(digest, privateKey("SECP256K1_EIP191"), { prehash: false });
    return der(BigInt(`0x${hex(bytes.subarray(0, 32))}`), BigInt(`0x${hex(bytes.subarray(32))}`));
  };
  const message = (text: string) => keccak_256(Buffer.from(text));
  const wide = '{"name":"Zürich"}';
  const prefixed: [name: string, digest: Uint8Array, text: string][] = [
    ["the length one too large", message(`\x19Ethereum Signed Message:\n${body.length + 1}${body}`), body],
    ["the length in characters", message(`\x19Ethereum Signed Message:\n${wide.length}${wide}`), wide],
    ["the length in hex", message(`\x19Ethereum Signed Message:\n0x${body.length.toString(16)}${body}`), body],
    ["the length padded", message(`\x19Ethereum Signed Message:\n0${body.length}${body}`), body],
    ["no length", message(`\x19Ethereum Signed Message:\n${body}`), body],
    ["no prefix", message(body), body],
    ["the prefix without its first byte", message(`Ethereum Signed Message:\n${body.length}${body}`), body],
    [
      "SHA-256 for keccak",
      createHash("sha256").update(`\x19Ethereum Signed Message:\n${body.length}${body}`).digest(),
      body,
    ],
  ];
  for (const [name, digest, text] of prefixed) {
    add("unverified", `EIP-191 with ${name}`, stamp("SECP256K1_EIP191", eip191Key, signDigest(digest)), { body: text });
  }
  const both = hex(p256.Point.fromHex(`02${scalar(onBoth())}`).toBytes(true));
  add(
    "unverified",
    "a P-256 signature beside a key that is on both curves",
    stamp("SECP256K1", both, der(p256Signature.r, 2n)),
  );
  const p256Only = `02${scalar(onFirstOnly("P256", "SECP256K1"))}`;
  const k1Only = `02${scalar(onFirstOnly("SECP256K1", "P256"))}`;
  add("malformed", "a P-256 key under the secp256k1 scheme", stamp("SECP256K1", p256Only, der(k1.r, k1.s)), {
    reason: "secp256k1",
  });
  add("malformed", "a secp256k1 key under the P-256 scheme", stamp("P256", k1Only, der(k1.r, k1.s)), {
    reason: "P-256",
  });
}

// Ed25519
{
  const secret = privateKey("ED25519");
  const key = hex(ed25519.getPublicKey(secret));
  const signature = hex(ed25519.sign(Buffer.from(body), secret));
  const [R, S] = [signature.slice(0, 64), signature.slice(64)];
  const order = ed25519.Point.Fn.ORDER;
  const little = (value: bigint) => hex(unhex(scalar(value)).reverse());
  const sNumber = BigInt(`0x${hex(unhex(S).reverse())}`);
  const put = (expect: Expect, name: string, publicKey: string, sign: string, reason?: string) =>
    add(expect, `ED25519: ${name}`, stamp("ED25519", publicKey, sign), reason ? { reason } : {});
  put("valid", "a plain signature", key, signature);
  put("valid", "an uppercase key and signature", key.toUpperCase(), signature.toUpperCase());
  add("valid", "ED25519: an empty body", stamp("ED25519", key, hex(ed25519.sign(new Uint8Array(), secret))), {
    body: "",
  });
  add("unverified", "ED25519: another body", stamp("ED25519", key, signature), { body: `${body} ` });
  put("unverified", "another key's signature", key, hex(ed25519.sign(Buffer.from(body), privateKey("another key"))));
  put(
    "unverified",
    "the signature of the body's SHA-256",
    key,
    hex(ed25519.sign(createHash("sha256").update(body).digest(), secret)),
  );
  put("unverified", "S = 0 and R the neutral point", key, `01${"00".repeat(63)}`);
  put("unverified", "R of all zeros and S = 0", key, "00".repeat(64));
  put("unverified", "S = L - 1", key, R + little(order - 1n));
  put(
    "unverified",
    "R = p + 1, another spelling of the neutral point",
    key,
    `ee${"ff".repeat(30)}7f${"00".repeat(32)}`,
  );
  put("unverified", "R and S swapped where S is still below L", key, S + little(sNumber % 7n));
  const range = "below the group order";
  put("malformed", "S + L", key, R + little(sNumber + order), range);
  put("malformed", "S = L", key, R + little(order), range);
  put("malformed", "S of all ones", key, R + "ff".repeat(32), range);
  put("malformed", "63 bytes", key, signature.slice(0, -2), range);
  put("malformed", "65 bytes", key, `${signature}00`, range);
  put("malformed", "DER around it", key, sequence(integer(R) + integer(S)), range);
  put("malformed", "an empty signature", key, "", range);
  put("malformed", "a signature in base64url", key, unhex(signature).toString("base64url"), "not hex");
  const keyForm = "`publicKey` must be";
  put("malformed", "the neutral point as key", `01${"00".repeat(31)}`, signature, keyForm);
  put("malformed", "the point of order 2 as key", `ec${"ff".repeat(30)}7f`, signature, keyForm);
  put("malformed", "a point of order 4 as key", "00".repeat(32), signature, keyForm);
  put(
    "malformed",
    "a point of order 8 as key",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    signature,
    keyForm,
  );
  put("malformed", "y = p + 3", `f0${"ff".repeat(30)}7f`, signature, keyForm);
  put("malformed", "y = 1 with the sign bit", `01${"00".repeat(30)}80`, signature, keyForm);
  put("malformed", "y off the curve", `02${"00".repeat(31)}`, signature, keyForm);
  put("malformed", "a key of 31 bytes", key.slice(0, -2), signature, keyForm);
  put("malformed", "a key of 33 bytes", `${key}00`, signature, keyForm);
  put("malformed", "0x before the key", `0x${key}`, signature, keyForm);
  put("malformed", "a compressed EC key", keyOf("P256"), signature, keyForm);
}

// The envelope
{
  const publicKey = keyOf("P256");
  const { r, s } = rsOf("P256", body);
  const signature = der(r, s);
  const scheme = `${prefix}P256`;
  const fields = { publicKey, signature, scheme };
  const json = (value: unknown) => base64Url(JSON.stringify(value));
  const good = json(fields);
  add("valid", "fields in another order", json({ scheme, signature, publicKey }));
  add("valid", "white space in the JSON", base64Url(JSON.stringify(fields, null, 2)));
  add("valid", "other fields beside", json({ ...fields, version: 2, extra: { publicKey: [] } }));
  add("valid", "an uppercase key", json({ ...fields, publicKey: publicKey.toUpperCase() }));
  add("valid", "an uppercase signature", json({ ...fields, signature: signature.toUpperCase() }));
  add("valid", "escapes in the JSON", base64Url(JSON.stringify(fields).replace('"scheme"', '"\\u0073cheme"')));

  const malformed: [name: string, header: string, reason: string][] = [
    ["nothing", "", "empty"],
    ["padded base64url", `${base64Url(`${JSON.stringify(fields)} `.padEnd(301))}==`, "base64url"],
    ["standard base64", Buffer.from(JSON.stringify({ ...fields, x: "ÿþ>?~" })).toString("base64"), "base64url"],
    ["plain JSON", JSON.stringify(fields), "base64url"],
    ["stray bits at the end", "AB", "base64url"],
    ["an impossible length", "AAAAA", "base64url"],
    ["a space before", ` ${good}`, "base64url"],
    ["a line feed inside", `${good.slice(0, 8)}\n${good.slice(8)}`, "base64url"],
    ["two headers joined", `${good}, ${good}`, "base64url"],
    ["a multipart token", `${good}.${good}`, "base64url"],
    ["base64url of no JSON", base64Url("stamp"), "not valid JSON"],
    ["JSON cut short", base64Url(JSON.stringify(fields).slice(0, -1)), "not valid JSON"],
    ["bytes after the JSON", base64Url(`${JSON.stringify(fields)}x`), "not valid JSON"],
    ["two objects", base64Url(JSON.stringify(fields).repeat(2)), "not valid JSON"],
    ["a byte order mark", base64Url(`\ufeff${JSON.stringify(fields)}`), "not valid JSON"],
    ["a comment", base64Url(`${JSON.stringify(fields)}//`), "not valid JSON"],
    ["not UTF-8", Buffer.concat([Buffer.from(JSON.stringify(fields)), Buffer.of(0xff)]).toString("base64url"), "UTF-8"],
    ["base64url twice", base64Url(good), "not valid JSON"],
    ["null", base64Url("null"), "not a JSON object"],
    ["a string", base64Url('"stamp"'), "not a JSON object"],
    ["an array", json([publicKey, signature, scheme]), "not a JSON object"],
    ["an array of one stamp", json([fields]), "not a JSON object"],
    ["a stamp inside a stamp", json({ stamp: fields }), "`publicKey` is missing"],
    ["an empty object", json({}), "`publicKey` is missing"],
    [
      "the scheme twice",
      base64Url(`{"scheme":"${prefix}ED25519",${JSON.stringify(fields).slice(1)}`),
      "`scheme` occurs twice",
    ],
    [
      "the key twice, once escaped",
      base64Url(`{"publicKe\\u0079":"00",${JSON.stringify(fields).slice(1)}`),
      "`publicKey` occurs twice",
    ],
    [
      "a key twice further down",
      base64Url(`{"x":{"a":1,"a":2},${JSON.stringify(fields).slice(1)}`),
      "`a` occurs twice",
    ],
    ["__proto__", base64Url(`{"__proto__":${JSON.stringify(fields)}}`), "`__proto__`"],
    [
      "nested too deep",
      base64Url(`{"x":${"[".repeat(70)}${"]".repeat(70)},${JSON.stringify(fields).slice(1)}`),
      "nested deeper",
    ],
    ["NUL after the key", json({ ...fields, publicKey: `${publicKey}\0` }), "NUL"],
    ["a lone surrogate", base64Url(`{"x":"\\ud800",${JSON.stringify(fields).slice(1)}`), "lone surrogate"],
    ["no publicKey", json({ signature, scheme }), "`publicKey` is missing"],
    ["no signature", json({ publicKey, scheme }), "`signature` is missing"],
    ["no scheme", json({ publicKey, signature }), "`scheme` is missing"],
    [
      "field names in another case",
      json({ PublicKey: publicKey, Signature: signature, Scheme: scheme }),
      "`publicKey` is missing",
    ],
    ["a null publicKey", json({ ...fields, publicKey: null }), "`publicKey` must be a string"],
    ["a numeric signature", json({ ...fields, signature: 1 }), "`signature` must be a string"],
    ["a list of signatures", json({ ...fields, signature: [signature] }), "`signature` must be a string"],
    ["an object for the scheme", json({ ...fields, scheme: { toString: scheme } }), "`scheme` must be a string"],
    ["an unknown scheme", json({ ...fields, scheme: `${prefix}P384` }), "`scheme` must be one of"],
    ["an empty scheme", json({ ...fields, scheme: "" }), "`scheme` must be one of"],
    ["a scheme in lowercase", json({ ...fields, scheme: scheme.toLowerCase() }), "`scheme` must be one of"],
    ["a scheme with a space", json({ ...fields, scheme: `${scheme} ` }), "`scheme` must be one of"],
    ["the passkey scheme", json({ ...fields, scheme: "SIGNATURE_SCHEME_TK_WEBAUTHN" }), "`scheme` must be one of"],
    ["a curve for the scheme", json({ ...fields, scheme: "API_KEY_CURVE_P256" }), "`scheme` must be one of"],
    ["constructor for the scheme", json({ ...fields, scheme: "constructor" }), "`scheme` must be one of"],
    ["an odd number of signature digits", json({ ...fields, signature: signature.slice(1) }), "not hex"],
    ["0x before the signature", json({ ...fields, signature: `0x${signature}` }), "not hex"],
    ["a signature in base64", json({ ...fields, signature: unhex(signature).toString("base64") }), "not hex"],
    ["a space in the signature", json({ ...fields, signature: `${signature} ` }), "not hex"],
    ["a line feed after the signature", json({ ...fields, signature: `${signature}\n` }), "not hex"],
  ];
  for (const [name, header, reason] of malformed) add("malformed", name, header, reason ? { reason } : {});
}

function shortR(scheme: EcdsaScheme): { r: bigint; s: bigint; body: string } {
  for (let counter = 0; ; counter++) {
    const text = JSON.stringify({ counter });
    const { r, s } = rsOf(scheme, text);
    if (r < 2n ** 247n) return { r, s, body: text };
  }
}

function isOnCurve(scheme: EcdsaScheme, x: bigint): boolean {
  try {
    return Boolean(schemes[scheme].curve.Point.fromHex(`02${scalar(x)}`));
  } catch {
    return false;
  }
}

function firstX(matches: (x: bigint) => boolean): bigint {
  let x = 1n;
  while (!matches(x)) x++;
  return x;
}

function onCurve(scheme: EcdsaScheme): bigint {
  return firstX((x) => isOnCurve(scheme, x));
}

function offCurve(scheme: EcdsaScheme): bigint {
  return firstX((x) => !isOnCurve(scheme, x));
}

function onBoth(): bigint {
  return firstX((x) => isOnCurve("P256", x) && isOnCurve("SECP256K1", x));
}

function onFirstOnly(first: EcdsaScheme, second: EcdsaScheme): bigint {
  return firstX((x) => isOnCurve(first, x) && !isOnCurve(second, x));
}

writeFileSync(new URL("../test/vectors/stamps/stamps.json", import.meta.url), `${JSON.stringify(vectors, null, 2)}\n`);
