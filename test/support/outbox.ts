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

/** The key that a mail is about, opened as the published clients do. */
export function keyIn({ text }: Email, privateKey: string): StampingKey {
  const [bundle] = /[1-9A-HJ-NP-Za-km-z]{100,}/.exec(text ?? "") ?? [];
  if (bundle === undefined) throw new Error(`no bundle in: ${text}`);
  const secret = decryptCredentialBundle(bundle, privateKey);
  const publicKey = Buffer.from(p256.getPublicKey(Buffer.from(secret, "hex"), true)).toString("hex");
  return { publicKey, privateKey: secret };
}
