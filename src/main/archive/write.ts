import { createHash, randomBytes } from "node:crypto";
import { createWriteStream, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress } from "node:zlib";
import { stillNeeded } from "../../engine/activities/archived.ts";
import type { ActivityRow, ActivityStatus } from "../../engine/activities/rows.ts";
import { archiveKey } from "../../engine/keys/archive-key.ts";
import { currentServiceKey, publishedServiceKeys, signStatements } from "../../engine/keys/service-keys.ts";
import { otpKey } from "../../engine/keys/verification-tokens.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { giveName } from "../../kernel/give-name.ts";
import { lowestIdAt } from "../../kernel/ids.ts";
import { ARCHIVED_ACTIVITIES_AT_ONCE } from "../../kernel/limits.ts";
import { syncFolder } from "../../kernel/sync-folder.ts";
import type { Signer } from "../../signer/client.ts";
import { installationIdOf } from "../../storage/backup/manifest.ts";
import type { Database } from "../../storage/database.ts";
import type { Reader } from "../../storage/engine.ts";
import { DatabaseFailure } from "../../storage/failure.ts";
import { migrations } from "../../storage/migrations/index.ts";
import { version } from "../version.ts";
import {
  ArchiveProblem,
  FORMAT,
  type Manifest,
  type Seal,
  type SharedName,
  statementOf,
  type UnderName,
} from "./format.ts";

export interface Store {
  database: Database;
  signer: Pick<Signer, "ask">;
}

const ORGANIZATIONS_AT_ONCE = 500;

/** The statuses that never change. */
const FINAL: readonly ActivityStatus[] = [
  "ACTIVITY_STATUS_COMPLETED",
  "ACTIVITY_STATUS_FAILED",
  "ACTIVITY_STATUS_REJECTED",
];

/**
 * Writes all activities that were submitted and had ended before a time to a file that only its owner can read. The file gets its name once it is
 * complete, signed and on disk. A process that is killed leaves `<file>.<something>.partial`.
 *
 * @throws ArchiveProblem, also if there are no such activities
 */
export async function writeArchive(
  store: Store,
  { file, before, now }: { file: string; before: number; now: number },
): Promise<void> {
  const partial = `${file}.${randomBytes(4).toString("hex")}.partial`;
  const remove = () => rmSync(partial, { force: true });
  process.once("exit", remove);
  try {
    writeFileSync(partial, "", { flag: "wx", mode: 0o600 });
    const text = Readable.from(textOf(store, before, now), { objectMode: false });
    await pipeline(text, createZstdCompress(), createWriteStream(partial, { flags: "r+", flush: true }));
    publish(partial, file);
    syncFolder(dirname(resolve(file)));
  } catch (error) {
    remove();
    // These errors are not caused by the file: the database or the signer may fail during the writing.
    if ([ArchiveProblem, DatabaseFailure, KeysteadError].some((kind) => error instanceof kind)) throw error;
    throw new ArchiveProblem(`${file} could not be written: ${(error as Error).message}`);
  } finally {
    process.removeListener("exit", remove);
  }
}

/** Gives the file its name, but never replaces another file, because rows in that one may have been removed from the database. */
function publish(partial: string, file: string): void {
  try {
    giveName(partial, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new ArchiveProblem(
      `another archive command has written ${file} in the meantime; run the same command again to remove from the database what is in that file`,
    );
  }
}

async function* textOf(store: Store, before: number, now: number): AsyncGenerator<Buffer> {
  const { read } = store.database;
  const hash = createHash("sha256");
  const rows = { vote: 0, authentication: 0, policyEvaluation: 0, appProof: 0, policyList: 0, bootProof: 0 };
  let activities = 0;
  const hashed = (line: object): Buffer => {
    const bytes = Buffer.from(lineOf(line));
    hash.update(bytes);
    return bytes;
  };
  const manifest = await manifestOf(read, before, now);
  yield hashed(manifest);
  for await (const { name, row } of rowsOf(read, before)) {
    if (name === "activity") activities++;
    else rows[name]++;
    yield hashed({ [name]: row });
  }
  if (activities === 0) {
    throw new ArchiveProblem(
      `there are no activities to archive: none was submitted and ended before ${manifest.before}`,
    );
  }
  const sha256 = hash.digest("hex");
  const key = await currentServiceKey(read, archiveKey);
  const statement = statementOf(manifest, { activities, sha256 });
  const [signature] = await signStatements({ read, signer: store.signer }, key, [{ says: "archive", ...statement }]);
  const { id: keyId, publicKey } = key;
  const sealed: Seal = { end: true, activities, rows, sha256, keyId, publicKey, signature: toHex(signature as Buffer) };
  yield Buffer.from(lineOf(sealed));
}

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`;
const toHex = (bytes: Buffer): string => bytes.toString("hex");

async function manifestOf(read: Reader, before: number, now: number): Promise<Manifest> {
  const keys = await publishedServiceKeys(
    read,
    { ...otpKey, publishedAfterRetirementMs: Number.MAX_SAFE_INTEGER },
    now,
  );
  return {
    keystead: "archive",
    format: FORMAT,
    version,
    schema: Object.keys(migrations).at(-1) as string,
    installationId: await installationOf(read),
    before: new Date(before).toISOString(),
    writtenAt: new Date(now).toISOString(),
    verificationKeys: keys.map(({ publicKey }) => publicKey),
  };
}

/** The installation's id, as in backups. */
export async function installationOf(read: Reader): Promise<string> {
  const rows = await read.selectFrom("installation").selectAll().execute();
  const id = installationIdOf(new Map(rows.map(({ name, value }) => [name, value])));
  if (id === null) throw new ArchiveProblem("the installation does not have its own keys yet; start the server once");
  return id;
}

type NamedRow = { name: "activity" | UnderName | SharedName; row: object };

/** Ended activities do not change, so they are read in pages without holding a snapshot. */
async function* rowsOf(read: Reader, before: number): AsyncGenerator<NamedRow> {
  const below = lowestIdAt(before);
  const told = { policyList: new Set<string>(), bootProof: new Set<string>() };
  for await (const organizationId of organizationsOf(read)) {
    told.policyList.clear();
    let after = "";
    for (;;) {
      const page = await read
        .selectFrom("activities")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("id", ">", after)
        .where("id", "<", below)
        .orderBy("id")
        .limit(ARCHIVED_ACTIVITIES_AT_ONCE)
        .execute();
      const over = page.filter(
        ({ status, updated_at }) => FINAL.some((final) => final === status) && updated_at < before,
      );
      const needed = await stillNeeded(
        read,
        organizationId,
        over.map(({ id }) => id),
      );
      const ended = over.filter(({ id }) => !needed.has(id));
      if (ended.length > 0) yield* withTheirs(read, organizationId, ended, told);
      if (page.length < ARCHIVED_ACTIVITIES_AT_ONCE) break;
      after = page.at(-1)?.id as string;
    }
  }
}

async function* organizationsOf(read: Reader): AsyncGenerator<string> {
  let after = "";
  for (;;) {
    const page = await read
      .selectFrom("organizations")
      .select("id")
      .where("id", ">", after)
      .orderBy("id")
      .limit(ORGANIZATIONS_AT_ONCE)
      .execute();
    for (const { id } of page) yield id;
    if (page.length < ORGANIZATIONS_AT_ONCE) return;
    after = page.at(-1)?.id as string;
  }
}

async function* withTheirs(
  read: Reader,
  organizationId: string,
  activities: readonly ActivityRow[],
  told: { policyList: Set<string>; bootProof: Set<string> },
): AsyncGenerator<NamedRow> {
  const ids = activities.map(({ id }) => id);
  const of = <Row extends { activity_id: string }>(rows: Row[], id: string) =>
    rows.filter(({ activity_id }) => activity_id === id);
  const rowsIn = (table: "votes" | "authentications" | "policy_evaluations" | "app_proofs") =>
    read
      .selectFrom(table)
      .selectAll()
      .where("organization_id", "=", organizationId)
      .where("activity_id", "in", ids)
      .execute();
  const votes = await rowsIn("votes");
  const authentications = await rowsIn("authentications");
  const evaluations = (await rowsIn("policy_evaluations")) as { activity_id: string; evaluations: string }[];
  const proofs = (await rowsIn("app_proofs")) as { activity_id: string; boot_proof_id: string }[];
  yield* listsOf(read, organizationId, evaluations, told.policyList);
  yield* bootsOf(read, proofs, told.bootProof);
  for (const activity of activities) {
    yield { name: "activity", row: activity };
    for (const row of of(votes, activity.id)) yield { name: "vote", row };
    for (const row of of(authentications, activity.id)) yield { name: "authentication", row };
    for (const row of of(evaluations, activity.id)) yield { name: "policyEvaluation", row };
    for (const row of of(proofs, activity.id)) yield { name: "appProof", row };
  }
}

/** The lists of policies that activities' outcomes refer to. */
async function* listsOf(
  read: Reader,
  organizationId: string,
  evaluations: readonly { evaluations: string }[],
  told: Set<string>,
): AsyncGenerator<NamedRow> {
  const named = evaluations.map((row) => (JSON.parse(row.evaluations) as { list?: string }).list);
  const ids = newOnes(named, told);
  if (ids.length === 0) return;
  const rows = await read
    .selectFrom("policy_lists")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("id", "in", ids)
    .execute();
  for (const row of rows) yield { name: "policyList", row };
}

/** The boot proofs of the signers that made the app proofs. They are deleted once nothing refers to them. */
async function* bootsOf(
  read: Reader,
  proofs: readonly { boot_proof_id: string }[],
  told: Set<string>,
): AsyncGenerator<NamedRow> {
  const ids = newOnes(
    proofs.map((row) => row.boot_proof_id),
    told,
  );
  if (ids.length === 0) return;
  const rows = await read.selectFrom("boot_proofs").selectAll().where("id", "in", ids).execute();
  for (const row of rows) yield { name: "bootProof", row };
}

function newOnes(ids: readonly (string | undefined)[], told: Set<string>): string[] {
  const fresh = [...new Set(ids)].filter((id): id is string => id !== undefined && !told.has(id));
  for (const id of fresh) told.add(id);
  return fresh;
}
