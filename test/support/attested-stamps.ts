import { type StampingKey, stamper } from "../../src/crypto/make-stamp.ts";
import type { Client, SubmitOptions, TestAnswer } from "./client.ts";

/** Stamps by a key that nobody has registered, with a token that says whose it is. */

export const BY_CODE = "STAMP_ATTESTED_SCHEME_P256_VERIFICATION_TOKEN";
export const BY_OIDC = "STAMP_ATTESTED_SCHEME_P256_OIDC";

export interface Attested {
  key: StampingKey;
  token: string;
  scheme?: string;
  /** What is sent in place of what the stamp should say. */
  forged?: object;
}

/** What the header says, as the published core client makes it. */
export function attestedStamp({ key, token, scheme = BY_CODE, forged }: Attested, body: string): object {
  const { publicKey, signature } = JSON.parse(Buffer.from(stamper(key)(body), "base64url").toString());
  return { publicKeyAttestation: token, scheme, publicKey, signature, ...forged };
}

/** Sends a body with such a stamp and no other. */
export function postAttested(
  { baseUrl }: Client,
  path: string,
  body: string,
  attested: Attested,
  spelled: (stamp: object) => string = (stamp) => Buffer.from(JSON.stringify(stamp)).toString("base64url"),
): Promise<TestAnswer> {
  return postWith(baseUrl, path, body, { "x-stamp-attested": spelled(attestedStamp(attested, body)) });
}

export async function postWith(
  baseUrl: string,
  path: string,
  body: string,
  headers: Record<string, string>,
): Promise<TestAnswer> {
  const all = { "content-type": "application/json", ...headers };
  const response = await fetch(`${baseUrl}${path}`, { method: "POST", headers: all, body });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

export const submitAttested = (
  client: Client,
  operation: string,
  parameters: object,
  attested: Attested,
  options: SubmitOptions = {},
): Promise<TestAnswer> =>
  postAttested(client, `/public/v1/submit/${operation}`, client.submitBody(operation, parameters, options), attested);
