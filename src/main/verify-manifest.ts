import { readFileSync } from "node:fs";
import { judgeApprovals, type Verdicts } from "../crypto/manifests/approvals.ts";
import { type Manifest, manifestHash, parseEnvelope } from "../crypto/manifests/manifest.ts";
import { KeysteadError } from "../kernel/errors.ts";
import { StartProblem } from "./config.ts";

export interface VerifiedManifest {
  schema: Manifest["version"];
  /** SHA-256 in hex. Operators sign the SHA-256 of this. */
  hash: string;
  namespace: Manifest["namespace"];
  pivot: Manifest["pivot"];
  manifestSet: { threshold: number; members: string[] };
  /** Only for an envelope. */
  approvals?: Verdicts;
}

const MAX_FILE_BYTES = 4 * 1024 * 1024;

/** @throws StartProblem with the problem if the file cannot be read or contains no manifest */
export function verifyManifest(file: string): VerifiedManifest {
  try {
    const bytes = readFileSync(file);
    if (bytes.length > MAX_FILE_BYTES) throw new StartProblem(`${file} is too large to be a manifest`);
    const envelope = parseEnvelope(bytes);
    const { manifest } = envelope;
    const { threshold, members } = manifest.manifestSet;
    return {
      schema: manifest.version,
      hash: manifestHash(manifest).toString("hex"),
      namespace: manifest.namespace,
      pivot: manifest.pivot,
      manifestSet: { threshold, members: members.map(({ alias }) => alias) },
      ...(envelope.isBare ? {} : { approvals: judgeApprovals(envelope) }),
    };
  } catch (error) {
    if (error instanceof KeysteadError) {
      throw new StartProblem(`${file} is not a manifest: ${error.message.replace(/^[^:]*: /, "")}`);
    }
    const { code } = error as NodeJS.ErrnoException;
    throw code === undefined ? error : new StartProblem(`${file} cannot be read (${code})`);
  }
}
