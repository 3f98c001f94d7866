import { decodeApiKeyStamp, verifyApiKeyStamp } from "../../crypto/stamps.ts";
import { verifyRecordedAssertion } from "../../crypto/webauthn-assertion.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_DENIED_MESSAGE_LENGTH } from "../../kernel/limits.ts";
import type { Reader } from "../../storage/engine.ts";
import { storedMessage } from "./bodies.ts";
import { type ActivityRecord, findAuthentications, findVotes } from "./records.ts";

/** The stamps of a stored activity, verified again with the keys that are recorded beside them: nothing else is asked. */

export interface VerifiedStamp {
  /** Of the vote, or of the further proof that a user gave beside one. */
  id: string;
  of: "vote" | "further proof";
  userId: string;
  scheme: string;
  publicKey: string;
  /** `notVerifiable`: too little is kept, of a large body that was denied or by a release before passkeys' stamps were kept whole. */
  verdict: "valid" | "invalid" | "notVerifiable";
  reason?: string;
}

type Stamp = Pick<VerifiedStamp, "id" | "of" | "userId" | "scheme" | "publicKey"> & {
  message: string;
  signature: string;
  assertion: string | null;
  isCut: boolean;
};

/** Every stamp of the activity, the submission's first. */
export async function verifyStamps(read: Reader, activity: ActivityRecord): Promise<VerifiedStamp[]> {
  const { organizationId, id: activityId } = activity;
  const votes = await findVotes(read, activity);
  const further = await findAuthentications(read, { organizationId, activityId, since: 0 });
  const stamps: Stamp[] = [
    ...votes.map((vote) => ({ ...vote, of: "vote" as const, isCut: isCut(activity, vote.message) })),
    ...further.map((row) => ({
      ...row,
      of: "further proof" as const,
      isCut: false,
      userId: row.user_id,
      publicKey: row.public_key,
      message: storedMessage(activity.body, row.message),
    })),
  ];
  return Promise.all(stamps.map(verified));
}

/** Of a denied body that was too large to keep, the beginning is there. */
const isCut = ({ body, status, failure }: ActivityRecord, message: string): boolean =>
  body === undefined &&
  status === "ACTIVITY_STATUS_REJECTED" &&
  failure !== null &&
  message.length === MAX_DENIED_MESSAGE_LENGTH;

async function verified(stamp: Stamp): Promise<VerifiedStamp> {
  const { id, of, userId, scheme, publicKey } = stamp;
  const known = { id, of, userId, scheme, publicKey };
  if (stamp.isCut) return { ...known, verdict: "notVerifiable", reason: "denied, and too large to be kept whole" };
  if (scheme === "SIGNATURE_SCHEME_TK_WEBAUTHN" && stamp.assertion === null) {
    return { ...known, verdict: "notVerifiable", reason: "stored before passkeys' stamps were kept whole" };
  }
  try {
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

function isApiKeyStamp({ publicKey, signature, scheme, message }: Stamp): Promise<boolean> {
  const header = Buffer.from(JSON.stringify({ publicKey, signature, scheme })).toString("base64url");
  return verifyApiKeyStamp(decodeApiKeyStamp(header), Buffer.from(message));
}

async function isAssertion({ publicKey, signature, message }: Stamp, assertion: string): Promise<boolean> {
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
