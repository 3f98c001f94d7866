import { createPrivateKey, sign } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { decompressPublicKey } from "../../src/crypto/curves.ts";
import type { TestServer } from "./server.ts";
import { until } from "./until.ts";

/** What somebody who signs in by a code does: reads the mail, and signs with the key that the code vouches for. */

interface Key {
  publicKey: string;
  privateKey: string;
}

/** The first code that was mailed to an address, once it is there. */
export async function mailedCode({ dataDir }: Pick<TestServer, "dataDir">, address: string): Promise<string> {
  let code: string | undefined;
  await until(() => {
    code = mailsIn(join(dataDir, "outbox"))
      .filter((mail) => mail.toLowerCase().includes(`to: ${address.toLowerCase()}`))
      .map((mail) => /\r?\n\r?\n([0-9A-Z]{6,9})\r?\n/.exec(mail)?.[1])
      .find((found) => found !== undefined);
    return code !== undefined;
  }, `a code for ${address}`);
  return code as string;
}

/** Mails that are there whole. */
function mailsIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".eml"))
      .map((name) => readFileSync(join(folder, name), "utf8"));
  } catch {
    // Nothing was sent yet.
    return [];
  }
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
  const { id: tokenId } = JSON.parse(Buffer.from(verificationToken.split(".")[1] as string, "base64url").toString());
  return clientSignature(key, { login: { publicKey }, tokenId, type: "USAGE_TYPE_LOGIN" });
}
