import { createHash } from "node:crypto";
import type { DatabaseKind } from "../engine.ts";
import { BackupProblem } from "./problem.ts";
import type { Snapshot } from "./snapshot.ts";

/** The first line of a backup. Whoever reads one looks at `format` first. */
export interface Manifest {
  keystead: "backup";
  format: typeof FORMAT;
  /** The version of Keystead that wrote it. */
  version: string;
  /** RFC 3339; the state is the one of this moment. */
  takenAt: string;
  /** Where the rows come from; they fit into either. */
  engine: DatabaseKind;
  /** The last migration that had run. */
  schema: string;
  /** Names the installation and tells nothing of it; null before its first start was finished. */
  installationId: string | null;
  /** Names the root key that its keys are sealed with, as the database does. */
  rootKeyId: string | null;
  /** Rows by table. */
  tables: Readonly<Record<string, number>>;
}

/** The last line: over all that comes before it, uncompressed and in clear. */
export interface End {
  end: true;
  /** Hex. */
  sha256: string;
}

export const FORMAT = 1;

export function manifestOf(snapshot: Snapshot, { version, takenAt }: { version: string; takenAt: Date }): Manifest {
  const { kind, schema, installation, counts } = snapshot;
  return {
    keystead: "backup",
    format: FORMAT,
    version,
    takenAt: takenAt.toISOString(),
    engine: kind,
    schema,
    installationId: installationIdOf(installation),
    rootKeyId: installation.get("root_key_id") ?? null,
    tables: counts,
  };
}

/** Of a sealed key that is made once for each installation and never changes. */
export function installationIdOf(installation: ReadonlyMap<string, string>): string | null {
  const ownerKey = installation.get("service_owner_key");
  return ownerKey === undefined ? null : createHash("sha256").update(ownerKey).digest("hex").slice(0, 32);
}

/** @throws BackupProblem */
export function readManifest(line: Buffer): Manifest {
  const manifest = parsed(line) as Partial<Manifest> | undefined;
  if (manifest?.keystead !== "backup") throw new BackupProblem("it is no backup of Keystead");
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

/** Undefined for what is no JSON object or list. */
export function parsed(line: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(line.toString());
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
