import type { Static, TSchema } from "typebox";
import { compactToken } from "../../crypto/jwt.ts";
import { p256VerificationKey, verifySignature } from "../../crypto/verify-signature.ts";
import { type TokenStatement, tokenInput } from "../../signer/statements.ts";
import type { Reader } from "../../storage/engine.ts";
import { matches } from "../validate.ts";
import {
  currentServiceKey,
  publishedServiceKeys,
  type ServiceKeyKind,
  type ServiceSigner,
  signStatements,
} from "./service-keys.ts";

/** Compact tokens (RFC 7515, ES256) that the installation signs and verifies. */

const MAX_TOKEN_LENGTH = 4096;
const SHAPE = /^([\w-]+)\.([\w-]+)\.([\w-]{86})$/;

/** Signs a token with the current key of a kind, whose id may be in the header. */
export async function signToken(
  signer: ServiceSigner,
  kind: ServiceKeyKind,
  statementBy: (keyId: string) => TokenStatement,
): Promise<string> {
  const key = await currentServiceKey(signer.read, kind);
  const statement = statementBy(key.id);
  const [signature] = await signStatements(signer, key, [statement]);
  return compactToken(tokenInput(statement), signature as Buffer);
}

/** The claims of a token with this header, without verifying its signature; undefined for other text. */
export function claimsOf<Claims extends TSchema>(
  token: string,
  header: object,
  claims: Claims,
): Static<Claims> | undefined {
  const [, sentHeader, payload] = (token.length <= MAX_TOKEN_LENGTH && SHAPE.exec(token)) || [];
  if (payload === undefined || sentHeader !== Buffer.from(JSON.stringify(header)).toString("base64url"))
    return undefined;
  try {
    const said: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
    return matches(claims, said) ? (said as Static<Claims>) : undefined;
  } catch {
    return undefined;
  }
}

/** The claims of a token signed by a key of this kind, the current one or one that is still published. */
export async function openToken<Claims extends TSchema>(
  read: Reader,
  { kind, ...form }: { kind: ServiceKeyKind; header: object; claims: Claims },
  token: string,
  now: number,
): Promise<Static<Claims> | undefined> {
  // Most other text is rejected here, without a database read.
  if (claimsOf(token, form.header, form.claims) === undefined) return undefined;
  const keys = await publishedServiceKeys(read, kind, now);
  return openTokenWith(
    keys.map(({ publicKey }) => publicKey),
    form,
    token,
  );
}

/** Like `openToken`, with the given keys, compressed in hex. */
export async function openTokenWith<Claims extends TSchema>(
  publicKeys: readonly string[],
  { header, claims }: { header: object; claims: Claims },
  token: string,
): Promise<Static<Claims> | undefined> {
  const said = claimsOf(token, header, claims);
  if (said === undefined) return undefined;
  const end = token.lastIndexOf(".");
  const input = Buffer.from(token.slice(0, end));
  const signature = Buffer.from(token.slice(end + 1), "base64url");
  for (const publicKey of publicKeys) {
    if (await verifySignature("sha256", input, p256VerificationKey(publicKey), signature)) return said;
  }
  return undefined;
}
