import { attestedSchemes, decodeAttestedStamp, verifyAttestedStamp } from "../../crypto/attested-stamps.ts";
import { decodeApiKeyStamp, verifyApiKeyStamp } from "../../crypto/stamps.ts";
import { verifyRecordedAssertion } from "../../crypto/webauthn-assertion.ts";
import { fail, KeysteadError } from "../../kernel/errors.ts";
import { nonceOfPublicKey } from "../../providers/oidc/nonce.ts";
import { readToken } from "../../providers/oidc/token.ts";
import type { Reader } from "../../storage/engine.ts";
import { openPastVerificationToken, type VerificationClaims } from "../keys/verification-tokens.ts";
import { isStoredCut, isStoredMasked } from "./denied.ts";
import { type ActivityRecord, type FurtherStamp, findFurtherStamps, findVotes, type VoteRecord } from "./rows.ts";

/** Verifies the stamps of a stored activity again, using only the keys recorded with them. */

export interface VerifiedStamp {
  /** The id of the vote, or of the further stamp. */
  id: string;
  of: "vote" | "further proof";
  userId: string;
  scheme: string;
  publicKey: string;
  /**
   * `notVerifiable` if too little is stored: for a denied body that was large or contained a code, for a passkey's stamp from a release that
   * did not store those completely, and for an OIDC token, because the issuer's keys are not stored.
   */
  verdict: "valid" | "invalid" | "notVerifiable";
  reason?: string;
}

type StampToVerify = Pick<VerifiedStamp, "id" | "of" | "userId" | "scheme" | "publicKey"> & {
  message: string;
  signature: string;
  assertion: string | null;
  isCut: boolean;
  isMasked: boolean;
};

/** Reads a verification token that the installation signed, however long ago; undefined for any other text. */
export type OpenToken = (token: string) => Promise<VerificationClaims | undefined>;

/** Verifies every stamp of the activity, the submission's first. */
export async function verifyStamps(read: Reader, activity: ActivityRecord): Promise<VerifiedStamp[]> {
  const votes = await findVotes(read, activity);
  const further = await findFurtherStamps(read, activity);
  return verifyGiven(activity, { votes, further }, (token) => openPastVerificationToken(read, token));
}

/** Like `verifyStamps`, for rows that were read already. */
export async function verifyGiven(
  activity: ActivityRecord,
  { votes, further }: { votes: readonly VoteRecord[]; further: readonly FurtherStamp[] },
  openToken: OpenToken,
): Promise<VerifiedStamp[]> {
  const isMasked = isStoredMasked(activity);
  const stamps: StampToVerify[] = [
    ...votes.map((vote) => ({ ...vote, of: "vote" as const, isCut: isStoredCut(activity, vote.message), isMasked })),
    ...further.map((stamp) => ({ ...stamp, of: "further proof" as const, isCut: false, isMasked })),
  ];
  return Promise.all(stamps.map((stamp) => verified(openToken, stamp)));
}

async function verified(openToken: OpenToken, stamp: StampToVerify): Promise<VerifiedStamp> {
  const { id, of, userId, scheme, publicKey } = stamp;
  const known = { id, of, userId, scheme, publicKey };
  if (stamp.isCut)
    return { ...known, verdict: "notVerifiable", reason: "denied, and too large to be stored completely" };
  if (stamp.isMasked) {
    return { ...known, verdict: "notVerifiable", reason: "denied, and stored without the code that it contained" };
  }
  if (scheme === "SIGNATURE_SCHEME_TK_WEBAUTHN" && stamp.assertion === null) {
    return {
      ...known,
      verdict: "notVerifiable",
      reason: "stored by a version that did not keep stamps of passkeys completely",
    };
  }
  try {
    if (isOfAttestedKind(stamp))
      return { ...known, ...(await verifiedAttestation(openToken, stamp, stamp.assertion ?? "{}")) };
    const isValid = await (stamp.assertion === null ? isApiKeyStamp(stamp) : isAssertion(stamp, stamp.assertion));
    return {
      ...known,
      ...(isValid ? { verdict: "valid" } : { verdict: "invalid", reason: "the signature does not match" }),
    };
  } catch (error) {
    if (!(error instanceof KeysteadError) && !(error instanceof SyntaxError)) throw error;
    return { ...known, verdict: "invalid", reason: error.message };
  }
}

const isOfAttestedKind = ({ scheme }: StampToVerify): boolean => attestedSchemes.some((known) => known === scheme);

/** Verifies that the stamp's key signed the body, and that a token binds that key to the user: one of ours, since issuers' keys are not stored. */
async function verifiedAttestation(
  openToken: OpenToken,
  { publicKey, signature, message, scheme }: StampToVerify,
  assertion: string,
): Promise<Pick<VerifiedStamp, "verdict" | "reason">> {
  const kept = JSON.parse(assertion) as { publicKeyAttestation?: string; publicKey?: string };
  const { publicKeyAttestation = "", publicKey: asSent = publicKey } = kept;
  const stamp = decodeAttestedStamp(JSON.stringify({ publicKeyAttestation, publicKey: asSent, signature, scheme }));
  if (stamp.publicKey !== publicKey || !(await verifyAttestedStamp(stamp, Buffer.from(message)))) {
    return { verdict: "invalid", reason: "the signature does not match" };
  }
  const isBound =
    scheme === "STAMP_ATTESTED_SCHEME_P256_OIDC"
      ? claimsOfOidcToken(publicKeyAttestation).nonces.includes(nonceOfPublicKey(asSent))
      : (await openToken(publicKeyAttestation))?.public_key === publicKey;
  if (!isBound) return { verdict: "invalid", reason: "its token is not bound to this key" };
  if (scheme !== "STAMP_ATTESTED_SCHEME_P256_OIDC") return { verdict: "valid" };
  return {
    verdict: "notVerifiable",
    reason: "signed by the key that its OIDC token names; the keys of that token's issuer are not stored",
  };
}

const claimsOfOidcToken = (token: string) =>
  readToken(token, (reason) => fail("ATTESTED_STAMP_INVALID", { reason })).claims;

function isApiKeyStamp({ publicKey, signature, scheme, message }: StampToVerify): Promise<boolean> {
  const header = Buffer.from(JSON.stringify({ publicKey, signature, scheme })).toString("base64url");
  return verifyApiKeyStamp(decodeApiKeyStamp(header), Buffer.from(message));
}

async function isAssertion({ publicKey, signature, message }: StampToVerify, assertion: string): Promise<boolean> {
  const { authenticatorData, clientDataJson } = JSON.parse(assertion) as Record<string, string>;
  await verifyRecordedAssertion(
    {
      authenticatorData: Buffer.from(authenticatorData ?? "", "base64url"),
      clientDataJson: Buffer.from(clientDataJson ?? "", "base64url"),
      signature: Buffer.from(signature, "hex"),
    },
    Buffer.from(message),
    Buffer.from(publicKey, "hex"),
  );
  return true;
}
