import { p256VerificationKey, verifySignature } from "../../crypto/verify-signature.ts";
import { isOperatorActivity } from "../../engine/activities/operator-activities.ts";
import { activityOfRow, furtherStampOf, votesOf } from "../../engine/activities/rows.ts";
import { verifyGiven } from "../../engine/activities/verify-stamps.ts";
import { archiveKey } from "../../engine/keys/archive-key.ts";
import { openVerificationTokenWith } from "../../engine/keys/verification-tokens.ts";
import { oldestFirst } from "../../engine/paging.ts";
import type { Reader } from "../../storage/engine.ts";
import {
  type ArchivedActivity,
  ArchiveProblem,
  hasItsFingerprint,
  isSigned,
  type Manifest,
  type Seal,
} from "./format.ts";
import { readArchive } from "./read.ts";

/** The output of `keystead verify`. */
export interface Report {
  ok: boolean;
  installationId: string;
  before: string;
  writtenAt: string;
  sha256: string;
  /** The key that signed it, which is one of the trusted keys. */
  signedBy: { keyId: string; publicKey: string };
  activities: number;
  /** The number of stamps with each verdict. Changes that operators made by commands have no stamp. */
  stamps: { valid: number; invalid: number; notVerifiable: number };
  byOperators: number;
  /** The number of valid and invalid app proofs, made by the signers at the time. */
  proofs: { valid: number; invalid: number };
  /** The first problems. */
  problems: string[];
}

const PROBLEMS_SHOWN = 50;

/**
 * Reads an archive to its end and checks everything that can be checked: counts, digest, signature, and each activity's fingerprint, stamps and
 * proofs.
 *
 * @param trusted the public keys that may have signed it, compressed in hex
 * @throws ArchiveProblem if it cannot be used at all
 */
export async function verifyArchive(file: string, trusted: readonly string[]): Promise<Report> {
  const check = new Check();
  let manifest: Manifest | undefined;
  let seal: Seal | undefined;
  for await (const part of readArchive(file)) {
    if ("manifest" in part) manifest = part.manifest;
    else if ("seal" in part) seal = part.seal;
    else if ("archived" in part) await check.activity(part.archived, (manifest as Manifest).verificationKeys);
    else if (part.shared === "bootProof") check.boot(part.row as { id: string; ephemeral_public_key: string });
  }
  const [begin, end] = [manifest as Manifest, seal as Seal];
  await refuseForeign(file, begin, end, trusted);
  const { installationId, before, writtenAt } = begin;
  const { sha256, keyId, publicKey, activities } = end;
  const { stamps, proofs, byOperators, problems, count } = check;
  const signedBy = { keyId, publicKey };
  const told = { installationId, before, writtenAt, sha256, signedBy, activities };
  return { ok: count === 0, ...told, stamps, byOperators, proofs, problems };
}

/** @throws ArchiveProblem if none of these keys signed it */
export async function refuseForeign(
  file: string,
  manifest: Manifest,
  seal: Seal,
  trusted: readonly string[],
): Promise<void> {
  if (!(await isSigned(manifest, seal))) {
    throw new ArchiveProblem(`the archive ${file} cannot be used: its signature does not match`);
  }
  if (trusted.includes(seal.publicKey)) return;
  throw new ArchiveProblem(
    `the archive ${file} is signed with the key ${seal.publicKey}, which is not one of the keys that it may be signed with: ${trusted.join(", ")}`,
  );
}

/** All keys with which the installation ever signed archives. */
export async function archiveKeysOf(read: Reader): Promise<string[]> {
  const rows = await read
    .selectFrom("service_keys")
    .select("public_key")
    .where("purpose", "=", archiveKey.purpose)
    .execute();
  return rows.map(({ public_key }) => public_key);
}

class Check {
  readonly stamps = { valid: 0, invalid: 0, notVerifiable: 0 };
  readonly proofs = { valid: 0, invalid: 0 };
  readonly problems: string[] = [];
  byOperators = 0;
  count = 0;
  /** The signers' keys, compressed in hex, by the ids of their boot proofs. */
  readonly #boots = new Map<string, string>();

  boot({ id, ephemeral_public_key: key }: { id: string; ephemeral_public_key: string }): void {
    this.#boots.set(id, signingKeyOf(key));
  }

  async activity({ activity: row, vote, authentication, appProof }: ArchivedActivity, keys: readonly string[]) {
    const place = `activity ${row.id} of organization ${row.organization_id}`;
    const activity = activityOfRow(row);
    if (!hasItsFingerprint(row)) this.#problem(`${place}: its fingerprint does not match its body`);
    if (isOperatorActivity(row.type)) this.byOperators++;
    else if (vote.length === 0) this.#problem(`${place} has no vote`);
    const further = authentication.toSorted(oldestFirst).map((each) => furtherStampOf(each, activity));
    const stamped = { votes: votesOf(vote, activity), further };
    for (const stamp of await verifyGiven(activity, stamped, (token) => openVerificationTokenWith(keys, token))) {
      this.stamps[stamp.verdict]++;
      if (stamp.verdict === "invalid") this.#problem(`${place}: the stamp ${stamp.id} is invalid: ${stamp.reason}`);
    }
    for (const { boot_proof_id, payload, signature } of appProof) {
      const isValid = await this.#isProof(boot_proof_id, payload, signature);
      this.proofs[isValid ? "valid" : "invalid"]++;
      if (!isValid) this.#problem(`${place}: a proof does not verify`);
    }
  }

  async #isProof(bootProofId: string, payload: string, signature: string): Promise<boolean> {
    const key = this.#boots.get(bootProofId);
    if (key === undefined) return false;
    try {
      return await verifySignature(
        "sha256",
        Buffer.from(payload),
        p256VerificationKey(key),
        Buffer.from(signature, "hex"),
      );
    } catch {
      return false;
    }
  }

  #problem(text: string): void {
    this.count++;
    if (this.problems.length < PROBLEMS_SHOWN) this.problems.push(text);
  }
}

/** A signer's ephemeral key consists of two points, of which the second one signs. */
function signingKeyOf(ephemeral: string): string {
  const point = ephemeral.slice(130);
  const isOdd = Number.parseInt(point.slice(-1), 16) % 2 === 1;
  return (isOdd ? "03" : "02") + point.slice(2, 66);
}
