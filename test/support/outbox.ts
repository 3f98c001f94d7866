import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { p256 } from "@noble/curves/nist.js";
import { decryptCredentialBundle } from "@turnkey/crypto";
import PostalMime, { type Email } from "postal-mime";
import type { StampingKey } from "../../src/crypto/make-stamp.ts";
import type { TestServer } from "./server.ts";
import { until } from "./until.ts";

/** What a server without a mail server of its own has sent. */
async function mailsTo({ dataDir }: TestServer, address: string): Promise<Email[]> {
  const folder = join(dataDir, "outbox");
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith(".eml"));
  } catch {
    names = [];
  }
  const mails = await Promise.all(names.sort().map((name) => PostalMime.parse(readFileSync(join(folder, name)))));
  // Domains are sent in lowercase.
  return mails.filter(({ to }) => to?.some((each) => each.address?.toLowerCase() === address.toLowerCase()));
}

/** So many mails to an address, once they are there, the oldest first; more are a failure. */
export async function mailTo(server: TestServer, address: string, count = 1): Promise<Email[]> {
  let mails: Email[] = [];
  await until(async () => {
    mails = await mailsTo(server, address);
    return mails.length >= count;
  });
  if (mails.length > count) throw new Error(`${mails.length} mails to ${address}`);
  return mails;
}

export const noMailTo = async (server: TestServer, address: string): Promise<boolean> =>
  (await mailsTo(server, address)).length === 0;

/** The encrypted key that a mail brings. */
export function bundleIn({ text }: Pick<Email, "text">): string {
  const [bundle] = /[1-9A-HJ-NP-Za-km-z]{100,}/.exec(text ?? "") ?? [];
  if (bundle === undefined) throw new Error(`no bundle in: ${text}`);
  return bundle;
}

/** The key that a mail is about, opened as the published clients do. */
export function keyIn(mail: Email, privateKey: string): StampingKey {
  const secret = decryptCredentialBundle(bundleIn(mail), privateKey);
  const publicKey = Buffer.from(p256.getPublicKey(Buffer.from(secret, "hex"), true)).toString("hex");
  return { publicKey, privateKey: secret };
}

/** The token of an invitation, as it is mailed. */
export function tokenIn({ text }: Pick<Email, "text">): string {
  const [token] = /[0-9a-f-]{36}\.[0-9a-f-]{36}\.[A-Za-z0-9_-]{43}/.exec(text ?? "") ?? [];
  if (token === undefined) throw new Error(`no token in: ${text}`);
  return token;
}

/** The token of the one invitation that was mailed to an address. */
export async function mailedToken(server: TestServer, address: string): Promise<string> {
  const [mail] = await mailTo(server, address);
  return tokenIn(mail as Email);
}
