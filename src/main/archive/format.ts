import { fingerprintOf } from "../../crypto/fingerprint.ts";
import { p256VerificationKey, verifySignature } from "../../crypto/verify-signature.ts";
import type { ActivityRow, FurtherStampRow, VoteRow } from "../../engine/activities/rows.ts";
import { type ArchiveStatement, archiveText } from "../../signer/statements.ts";
import { StartProblem } from "../config.ts";

/**
 * An archive: lines of JSON, compressed with zstd. The manifest; each activity with what stands under it, a row in a line; the seal.
 */

/** The first line. Whoever reads one looks at `format` first. */
export interface Manifest {
  keystead: "archive";
  format: typeof FORMAT;
  /** The version of Keystead that wrote it. */
  version: string;
  /** The last migration that had run: it names the columns of the rows. */
  schema: string;
  installationId: string;
  /** RFC 3339: what it holds was submitted and ended before. */
  before: string;
  writtenAt: string;
  /** What verification tokens in stamps are checked with: P-256 keys, compressed in hex. */
  verificationKeys: readonly string[];
}

/** The kinds of rows that follow an activity, by the names of their lines. */
export const under = {
  vote: "votes",
  authentication: "authentications",
  policyEvaluation: "policy_evaluations",
  appProof: "app_proofs",
} as const;
export type UnderName = keyof typeof under;

/** The kinds of rows that others refer to, written once before the first activity that needs them. */
export const shared = { policyList: "policy_lists", bootProof: "boot_proofs" } as const;
export type SharedName = keyof typeof shared;

/** The last line. */
export interface Seal {
  end: true;
  activities: number;
  /** Lines of each other kind. */
  rows: Readonly<Record<UnderName | SharedName, number>>;
  /** Hex, over all lines before it. */
  sha256: string;
  /** The installation's key, and its signature, r and s in hex, over the text of the statement. */
  keyId: string;
  publicKey: string;
  signature: string;
}

export const FORMAT = 1;

/** An activity with what stands under it, as its rows were. */
export interface ArchivedActivity {
  activity: ActivityRow;
  vote: VoteRow[];
  authentication: (FurtherStampRow & { activity_id: string })[];
  policyEvaluation: Record<string, unknown>[];
  appProof: { boot_proof_id: string; payload: string; signature: string }[];
}

/** Why an archive cannot be written, read or removed, in words for the operator. */
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

/** Whether the seal is signed by the key that it names. */
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

/** Whether the fingerprint is that of the body; of an activity without one nobody can tell. */
export const hasItsFingerprint = ({ body, fingerprint }: ActivityRow): boolean =>
  body === null || fingerprintOf(body) === fingerprint;
