import { createHash } from "node:crypto";
import type { DatabaseKind } from "../engine.ts";
import { INSTALLATION_ID, PREVIOUS_ROOT_KEY_ID, ROOT_KEY_ID, SERVICE_OWNER_KEY } from "../installation-rows.ts";
import { BackupProblem } from "./problem.ts";
import type { Snapshot } from "./snapshot.ts";

/** The first line of a backup. Readers check `format` first. */
export interface Manifest {
  keystead: "backup";
  format: typeof FORMAT;
  /** The version of Keystead that wrote the backup. */
  version: string;
  /** RFC 3339; the backup contains the state at this moment. */
  takenAt: string;
  /** The engine of the database of origin. The rows can be restored into either engine. */
  engine: DatabaseKind;
  /** The last migration that had run. */
  schema: string;
  /** Identifies the installation without revealing anything about it; null before the first start has finished. */
  installationId: string | null;
  /** Identifies the root key that seals the keys, with the same id as in the database. */
  rootKeyId: string | null;
  /** The root key from before a rotation that had not ended: both are needed. */
  previousRootKeyId?: string;
  /** Number of rows by table. */
  tables: Readonly<Record<string, number>>;
}

/** The last line. The hash covers everything before it, uncompressed and unencrypted. */
export interface End {
  end: true;
  /** Hex. */
  sha256: string;
}

export const FORMAT = 1;

export function manifestOf(snapshot: Snapshot, { version, takenAt }: { version: string; takenAt: Date }): Manifest {
  const { kind, schema, installation, counts } = snapshot;
  const previousRootKeyId = installation.get(PREVIOUS_ROOT_KEY_ID);
  return {
    keystead: "backup",
    format: FORMAT,
    version,
    takenAt: takenAt.toISOString(),
    engine: kind,
    schema,
    installationId: installationIdOf(installation),
    rootKeyId: installation.get(ROOT_KEY_ID) ?? null,
    ...(previousRootKeyId === undefined ? {} : { previousRootKeyId }),
    tables: counts,
  };
}

/** The ids of the root keys without which some of the backup's keys cannot be opened. */
export const neededRootKeys = ({ rootKeyId, previousRootKeyId }: Manifest): string[] =>
  [rootKeyId, previousRootKeyId ?? null].filter((id) => id !== null);

/** Derived from the installation's sealed key, which only a rotation of the root key changes; the rotation stores the id first. */
export function installationIdOf(installation: ReadonlyMap<string, string>): string | null {
  const stored = installation.get(INSTALLATION_ID);
  if (stored !== undefined) return stored;
  const ownerKey = installation.get(SERVICE_OWNER_KEY);
  return ownerKey === undefined ? null : createHash("sha256").update(ownerKey).digest("hex").slice(0, 32);
}

/** @throws BackupProblem */
export function readManifest(line: Buffer): Manifest {
  const manifest = parsed(line) as Partial<Manifest> | undefined;
  if (manifest?.keystead !== "backup") throw new BackupProblem("it is not a Keystead backup");
  if (manifest.format !== FORMAT) {
    throw new BackupProblem(
      `it has format ${JSON.stringify(manifest.format)}, and this version reads format ${FORMAT}; use the version of Keystead that wrote it, or a newer one`,
    );
  }
  const { tables, schema } = manifest;
  const isWhole = typeof schema === "string" && typeof tables === "object" && tables !== null;
  if (!isWhole) throw new BackupProblem("its first line is damaged");
  return manifest as Manifest;
}

/** Undefined for any other line. */
export function readEnd(line: Buffer): End | undefined {
  if (line[0] !== "{".charCodeAt(0)) return undefined;
  const end = parsed(line) as Partial<End> | undefined;
  return end?.end === true ? (end as End) : undefined;
}

/** Undefined if the line is not a JSON object or list. */
export function parsed(line: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(line.toString());
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
