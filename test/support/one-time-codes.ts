import { createPrivateKey, sign } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { decompressPublicKey } from "../../src/crypto/curves.ts";
import type { Client, Json } from "./client.ts";
import type { TestServer } from "./server.ts";
import { until } from "./until.ts";

/** What somebody who signs in by a code does: reads the mail, and signs with the key that the code vouches for. */

interface Key {
  publicKey: string;
  privateKey: string;
}

/** The first code that was mailed to an address, once it is there; messages that are known already do not count. */
export const mailedCode = (server: Outbox, address: string, known?: ReadonlySet<string>): Promise<string> =>
  firstCode(server, ".eml", address, known, (mail) =>
    mail.toLowerCase().includes(`to: ${address.toLowerCase()}`) ? /\r?\n\r?\n([0-9A-Z]{6,9})\r?\n/.exec(mail) : null,
  );

/** The same of text messages. */
export const textedCode = (server: Outbox, phoneNumber: string, known?: ReadonlySet<string>): Promise<string> =>
  firstCode(server, ".txt", phoneNumber, known, (text) =>
    text.startsWith(`${phoneNumber}\n`) ? /\b([0-9A-Z]{6,9})\b/.exec(text.slice(phoneNumber.length)) : null,
  );

type Outbox = Pick<TestServer, "dataDir">;

async function firstCode(
  server: Outbox,
  extension: string,
  contact: string,
  known: ReadonlySet<string> = new Set(),
  codeIn: (message: string) => RegExpExecArray | null,
): Promise<string> {
  let code: string | undefined;
  await until(() => {
    code = messagesOf(server)
      .filter((name) => name.endsWith(extension) && !known.has(name))
      .map((name) => readFileSync(join(server.dataDir, "outbox", name), "utf8"))
      .map((message) => codeIn(message)?.[1])
      .find((found) => found !== undefined);
    return code !== undefined;
  }, `a code for ${contact}`);
  return code as string;
}

/** The names of messages that are there whole. */
export function messagesOf({ dataDir }: Outbox): string[] {
  try {
    return readdirSync(join(dataDir, "outbox")).filter((name) => name.endsWith(".eml") || name.endsWith(".txt"));
  } catch {
    // Nothing was sent yet.
    return [];
  }
}

/** Has a code sent to a contact and exchanges it for a token, bound to `key` if one is given. */
export async function verificationTokenFor(
  server: Outbox,
  client: Client,
  contact: string,
  { key, ...more }: { key?: Pick<Key, "publicKey">; expirationSeconds?: string } = {},
): Promise<string> {
  const isEmail = contact.includes("@");
  const asked = { otpType: isEmail ? "OTP_TYPE_EMAIL" : "OTP_TYPE_SMS", appName: "Shop", contact };
  const known = new Set(messagesOf(server));
  const { otpId } = await client.result("init_otp", asked, { type: "ACTIVITY_TYPE_INIT_OTP_V3" });
  const otpCode = await (isEmail ? mailedCode : textedCode)(server, contact, known);
  const guess = { otpId, otpCode, ...(key ? { publicKey: key.publicKey } : {}), ...more };
  return (await client.result("verify_otp", guess, { type: "ACTIVITY_TYPE_VERIFY_OTP" })).verificationToken;
}

/** As the published core client signs what it asks for. */
export function clientSignature({ publicKey, privateKey }: Key, message: object) {
  const text = JSON.stringify(message);
  const point = Buffer.from(decompressPublicKey("CURVE_P256", Buffer.from(publicKey, "hex")));
  const jwk = {
    kty: "EC",
    crv: "P-256",
    d: Buffer.from(privateKey, "hex").toString("base64url"),
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33).toString("base64url"),
  };
  const key = createPrivateKey({ key: jwk, format: "jwk" });
  const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }).toString("hex");
  return { publicKey, scheme: "CLIENT_SIGNATURE_SCHEME_API_P256", message: text, signature };
}

/** What a login by a verification token is signed with. */
export function loginSignature(key: Key, verificationToken: string, publicKey: string) {
  const { id: tokenId } = claimsOfToken(verificationToken);
  return clientSignature(key, { login: { publicKey }, tokenId, type: "USAGE_TYPE_LOGIN" });
}

/** What a sign-up by a verification token is signed with, as the published core client does it. */
export function signupSignature(
  key: Key,
  verificationToken: string,
  { userEmail, userPhoneNumber, apiKeys, authenticators, oauthProviders }: Json,
  member: "signupV2" | "signup" = "signupV2",
) {
  const contacts = {
    ...(userEmail ? { email: userEmail } : {}),
    ...(userPhoneNumber ? { phoneNumber: userPhoneNumber } : {}),
  };
  const usage = { apiKeys, authenticators, oauthProviders, ...contacts };
  const { id: tokenId } = claimsOfToken(verificationToken);
  return clientSignature(key, { [member]: usage, tokenId, type: "USAGE_TYPE_SIGNUP" });
}

/** What a token says, whoever signed it. */
export const claimsOfToken = (token: string): Json =>
  JSON.parse(Buffer.from(token.split(".")[1] as string, "base64url").toString());
