import { fingerprintOf } from "../../crypto/fingerprint.ts";
import { p256VerificationKey, verifySignature } from "../../crypto/verify-signature.ts";
import type { ActivityRow, FurtherStampRow, VoteRow } from "../../engine/activities/rows.ts";
import { type ArchiveStatement, archiveText } from "../../signer/statements.ts";
import { StartProblem } from "../config.ts";

/**
 * The format of an archive: lines of JSON, compressed with zstd. First the manifest, then each activity followed by its rows, one row per line,
 * and last the seal.
 */

/** The first line. Readers must check `format` first. */
export interface Manifest {
  keystead: "archive";
  format: typeof FORMAT;
  /** The version of Keystead that wrote it. */
  version: string;
  /** The last migration that had run, which determines the columns of the rows. */
  schema: string;
  installationId: string;
  /** RFC 3339; all activities in it were submitted and had ended before. */
  before: string;
  writtenAt: string;
  /** The keys that check verification tokens in stamps: P-256, compressed, in hex. */
  verificationKeys: readonly string[];
}

/** The kinds of rows that follow an activity, by the names that lines use. */
export const under = {
  vote: "votes",
  authentication: "authentications",
  policyEvaluation: "policy_evaluations",
  appProof: "app_proofs",
} as const;
export type UnderName = keyof typeof under;

/** The kinds of rows that several activities refer to. Each row is written once, before the first activity that needs it. */
export const shared = { policyList: "policy_lists", bootProof: "boot_proofs" } as const;
export type SharedName = keyof typeof shared;

/** The last line. */
export interface Seal {
  end: true;
  activities: number;
  /** The number of lines of each other kind. */
  rows: Readonly<Record<UnderName | SharedName, number>>;
  /** In hex, over all previous lines. */
  sha256: string;
  /** The id of the installation's key. Its signature, r and s in hex, is over the text of the statement. */
  keyId: string;
  publicKey: string;
  signature: string;
}

export const FORMAT = 1;

/** An activity with its rows, as they were in the database. */
export interface ArchivedActivity {
  activity: ActivityRow;
  vote: VoteRow[];
  authentication: (FurtherStampRow & { activity_id: string })[];
  policyEvaluation: Record<string, unknown>[];
  appProof: { boot_proof_id: string; payload: string; signature: string }[];
}

/** Why an archive cannot be written, read or removed; the message is for the operator. */
export class ArchiveProblem extends StartProblem {}

export const statementOf = (
  { installationId, before, writtenAt }: Manifest,
  { activities, sha256 }: Pick<Seal, "activities" | "sha256">,
): ArchiveStatement => ({
  installationId,
  before: Date.parse(before),
  writtenAt: Date.parse(writtenAt),
  activities,
  sha256,
});

/** Whether the key that the seal names has signed it. */
export async function isSigned(manifest: Manifest, seal: Seal): Promise<boolean> {
  const text = Buffer.from(archiveText(statementOf(manifest, seal)));
  try {
    return await verifySignature(
      "sha256",
      text,
      p256VerificationKey(seal.publicKey),
      Buffer.from(seal.signature, "hex"),
    );
  } catch {
    return false;
  }
}

/** Whether the fingerprint matches the body. For an activity without a body, this cannot be checked. */
export const hasItsFingerprint = ({ body, fingerprint }: ActivityRow): boolean =>
  body === null || fingerprintOf(body) === fingerprint;
