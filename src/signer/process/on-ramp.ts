import { createHmac, createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from "node:crypto";
import { coinbaseRequestLine } from "../../crypto/coinbase-requests.ts";
import { compactToken, signingInput } from "../../crypto/jwt.ts";
import { moonPayUrl, parseMoonPayUrl, withMoonPaySignature } from "../../crypto/moonpay-url.ts";
import { wipe } from "../../kernel/bytes.ts";
import { MAX_ON_RAMP_SECRET_BYTES } from "../../kernel/limits.ts";
import type {
  AuthorizeCoinbaseRequest,
  HpkeMessage,
  ImportOnRampKeysResponse,
  ImportProblem,
  OnRampProviderName,
  SignMoonPayUrlRequest,
  SignMoonPayUrlResponse,
} from "../protocol.ts";
import { type ImportKey, openImport } from "./imports-exports.ts";
import { ed25519PrivateKey } from "./keys.ts";
import { withSecret } from "./organization.ts";
import { SigningRefused } from "./refused.ts";

/** An organization's keys at providers that sell crypto for fiat, and the signatures and tokens made with them. */

/** Both as issued by the provider, as bytes of text; an empty private key means none. */
interface OnRampKeys {
  secretApiKey: Uint8Array;
  privateApiKey: Uint8Array;
}

const LENGTH_BYTES = 2;
const SEED_BYTES = 32;
const TOKEN_SECONDS = 120;

/**
 * Opens what a client encrypted, checks that the keys work with the provider's requests, and passes both keys on, packed, to be sealed.
 * Everything is wiped afterwards.
 */
export function importOnRampKeys(
  targets: readonly ImportKey[],
  provider: OnRampProviderName,
  bundles: { secretApiKey: HpkeMessage; privateApiKey?: HpkeMessage },
  sealPacked: (packed: Uint8Array) => string,
): ImportOnRampKeysResponse {
  const opened: OnRampKeys = { secretApiKey: Buffer.alloc(0), privateApiKey: Buffer.alloc(0) };
  try {
    for (const which of ["secretApiKey", "privateApiKey"] as const) {
      const bundle = bundles[which];
      if (bundle === undefined) continue;
      const taken = openImport(targets, bundle, MAX_ON_RAMP_SECRET_BYTES, (plaintext) =>
        isUsable(provider, which, plaintext) ? { copy: Buffer.from(plaintext) } : "invalidKey",
      );
      if ("problem" in taken) return { problem: taken.problem as OnRampKeyProblem, of: which };
      opened[which] = taken.copy;
    }
    return { sealedKeys: withSecret(pack(opened), sealPacked) };
  } finally {
    wipe(opened.secretApiKey, opened.privateApiKey);
  }
}
type OnRampKeyProblem = Exclude<ImportProblem, "invalidMnemonic">;

function isUsable(provider: OnRampProviderName, of: keyof OnRampKeys, plaintext: Uint8Array): boolean {
  if (provider === "coinbase" && of === "privateApiKey") return parseCoinbaseKey(plaintext) !== undefined;
  // A MoonPay secret with a trailing line break would produce signatures, but MoonPay would reject all of them.
  if (provider === "moonpay") return plaintext.length > 0 && plaintext.every((byte) => byte > 0x20 && byte < 0x7f);
  return plaintext.length > 0;
}

function pack({ secretApiKey, privateApiKey }: OnRampKeys): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(secretApiKey.length);
  return Buffer.concat([length, secretApiKey, privateApiKey]);
}

/** Views into the packed bytes, which the caller wipes. */
function unpack(packed: Buffer): OnRampKeys {
  const end = LENGTH_BYTES + packed.readUInt16BE();
  return { secretApiKey: packed.subarray(LENGTH_BYTES, end), privateApiKey: packed.subarray(end) };
}

/** @throws SigningRefused for a URL that is not MoonPay's */
export function signMoonPayUrl(
  packed: Buffer,
  { sandbox, of }: Pick<SignMoonPayUrlRequest, "sandbox" | "of">,
): SignMoonPayUrlResponse {
  const parsed = "url" in of ? parseMoonPayUrl(of.url, sandbox) : { url: moonPayUrl(of.purchase, sandbox) };
  if ("problem" in parsed) throw new SigningRefused(`the URL ${parsed.problem}`);
  const { url } = parsed;
  const signature = createHmac("sha256", unpack(packed).secretApiKey).update(url.search).digest("base64");
  return { url: withMoonPaySignature(url, signature), signature };
}

const HOST = /^[a-z0-9.-]{1,253}(:[0-9]{1,5})?$/;

/**
 * A token (JWT) for one request to Coinbase's developer platform, valid for two minutes. Coinbase's current clients send the claim `uris`,
 * older ones `uri`; both have the same content.
 *
 * @throws SigningRefused if the host has another form, or if the keys have no private key
 */
export function coinbaseToken(
  packed: Buffer,
  { keyId, host, request }: Pick<AuthorizeCoinbaseRequest, "keyId" | "host" | "request">,
): string {
  if (!HOST.test(host)) throw new SigningRefused("the host is not a host name");
  const key = parseCoinbaseKey(unpack(packed).privateApiKey);
  if (!key) throw new SigningRefused("the on-ramp keys have no private key for Coinbase");
  const { method, path } = coinbaseRequestLine(request);
  const uri = `${method} ${host}${path}`;
  const now = Math.floor(Date.now() / 1000);
  const isEd25519 = key.asymmetricKeyType === "ed25519";
  const header = {
    alg: isEd25519 ? "EdDSA" : "ES256",
    kid: keyId,
    typ: "JWT",
    nonce: randomBytes(16).toString("hex"),
  };
  const claims = { iss: "cdp", sub: keyId, iat: now, nbf: now, exp: now + TOKEN_SECONDS, uri, uris: [uri] };
  const input = signingInput(header, claims);
  const signature = isEd25519
    ? sign(null, Buffer.from(input), key)
    : sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" });
  return compactToken(input, signature);
}

/** The PEM of a P-256 key, or base64 of an Ed25519 seed, optionally followed by its public key. */
function parseCoinbaseKey(text: Uint8Array): KeyObject | undefined {
  // If copied from a JSON file, each line break of a PEM is two characters.
  const lines = Buffer.from(text).toString("latin1").replaceAll("\\n", "\n").trim();
  return lines.startsWith("-----BEGIN ") ? parsePem(lines) : parseEd25519(lines);
}

function parsePem(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyDetails?.namedCurve === "prime256v1" ? key : undefined;
  } catch {
    return undefined;
  }
}

function parseEd25519(text: string): KeyObject | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64");
  return withSecret(bytes, () => {
    if (bytes.length !== SEED_BYTES && bytes.length !== 2 * SEED_BYTES) return undefined;
    const key = ed25519PrivateKey(bytes.subarray(0, SEED_BYTES));
    const { x } = createPublicKey(key).export({ format: "jwk" });
    const isPair = bytes.length === SEED_BYTES || bytes.subarray(SEED_BYTES).toString("base64url") === x;
    return isPair ? key : undefined;
  });
}
