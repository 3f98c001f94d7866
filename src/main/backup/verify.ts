import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Curve } from "../../crypto/curves.ts";
import { parsePublicKey } from "../../crypto/public-keys.ts";
import { verifySignature } from "../../crypto/verify-signature.ts";
import { type SignerProcess, SignerRefused } from "../../signer/client.ts";
import type { RehearsedItem } from "../../signer/protocol.ts";
import { load, PlaceProblem } from "../../storage/backup/load.ts";
import { neededRootKeys } from "../../storage/backup/manifest.ts";
import { openBackup } from "../../storage/backup/read-file.ts";
import type { Progress } from "../../storage/backup/write-file.ts";
import { type Config, StartProblem } from "../config.ts";
import { signerWithRootKey } from "../root-key/signer.ts";
import { contentsOf, refuseOtherDigest } from "./restore.ts";
import { organizationsOf, type SealedRow, sealedRowsOf } from "./sealed-rows.ts";

export interface VerifyOptions {
  file: string;
  identity: string | undefined;
  sha256: string | undefined;
  rootKeyFile: string;
  rootKeyPassphrase: Config["rootKeyPassphrase"];
  /** The folder that it is restored to; deleted at the end. */
  scratch: string | undefined;
  onProgress: Progress;
}

export interface Report {
  /** Whether the whole backup is usable with this root key. */
  ok: boolean;
  takenAt: string;
  installationId: string | null;
  rootKeyId: string | null;
  sha256: string;
  /** The number of rows by table. The scratch database was read back, and its references are valid. */
  tables: Readonly<Record<string, number>>;
  /** The number of sealed values that were opened, by table. */
  opened: Record<string, number>;
  /** By curve, whether a signature was made and verified; `no key` if the backup has no key on the curve. */
  signed: Record<Curve, "ok" | "no key" | "failed">;
  /** The first problems. */
  problems: string[];
}

const PROBLEMS_SHOWN = 50;
const ITEMS_AT_ONCE = 50;
/** The number of concurrent requests to the signer: it processes one while the rows for the next are read. */
const REQUESTS_AT_ONCE = 4;

/**
 * The drill: restores a backup into a scratch folder, opens everything sealed in it, compares it with the stored public keys, and signs once on
 * each curve.
 *
 * @throws StartProblem, BackupProblem if the backup or the root key cannot be used at all
 */
export async function verifyBackup(options: VerifyOptions): Promise<Report> {
  const { rootKeyFile } = options;
  if (!existsSync(rootKeyFile)) {
    throw new StartProblem(
      `the root key file ${rootKeyFile} is missing; name the one that belongs to the backup: on a server it is root.key in the data directory`,
    );
  }
  const backup = await openBackup(options);
  refuseOtherDigest(backup, options.sha256);
  const folder = mkdtempSync(join(options.scratch ?? tmpdir(), "keystead-verify-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  let signer: SignerProcess | undefined;
  try {
    signer = await signerWithRootKey(options);
    const { takenAt, installationId, rootKeyId, tables } = backup.manifest;
    const drill = new Drill(signer);
    const { rootKeyIds } = signer;
    for (const needed of neededRootKeys(backup.manifest)) {
      if (rootKeyIds.includes(needed)) continue;
      drill.problem(
        `the root key file contains ${rootKeyIds.join(" and ")}, but the backup's keys are sealed with ${needed}`,
      );
    }
    const file = join(folder, "keystead.db");
    await load(`sqlite:${file}`, contentsOf(backup), options.onProgress).catch((error: unknown) => {
      if (!(error instanceof PlaceProblem)) throw error;
      throw new StartProblem(`${error.message}; make room there, or name another folder with --scratch`);
    });
    await drill.run(file);
    const { problems, opened, signed, count } = drill;
    return {
      ok: count === 0,
      takenAt,
      installationId,
      rootKeyId,
      sha256: backup.sha256,
      tables,
      opened,
      signed,
      problems,
    };
  } finally {
    await signer?.close();
    process.removeListener("exit", remove);
    remove();
  }
}

type Owner = Pick<SealedRow, "organizationId" | "organizationKey">;
/** The answers in the order of the requested items; undefined if the signer cannot open the organization. */
type Answered = readonly RehearsedItem[] | undefined;

class Drill {
  readonly #signer: SignerProcess;
  /** The handlers of pending requests, the oldest first. */
  readonly #asked: (() => Promise<void>)[] = [];
  readonly problems: string[] = [];
  count = 0;
  readonly opened: Record<string, number> = {};
  readonly signed: Report["signed"] = { CURVE_SECP256K1: "no key", CURVE_P256: "no key", CURVE_ED25519: "no key" };

  constructor(signer: SignerProcess) {
    this.#signer = signer;
  }

  problem(text: string): void {
    this.count++;
    if (this.problems.length < PROBLEMS_SHOWN) this.problems.push(text);
  }

  async run(file: string): Promise<void> {
    const database = new DatabaseSync(file);
    try {
      for (const { id, organizationKey } of organizationsOf(database)) {
        await this.#ask({ organizationId: id, organizationKey }, [], async (answered) => {
          if (answered) this.#opened("organizations");
        });
      }
      let batch: SealedRow[] = [];
      for (const row of sealedRowsOf(database)) {
        const [first] = batch;
        const isFull = batch.length >= ITEMS_AT_ONCE || row.item.of === "wallet";
        if (first && (isFull || first.organizationId !== row.organizationId || first.table !== row.table)) {
          await this.#look(batch);
          batch = [];
        }
        batch.push(row);
      }
      if (batch.length > 0) await this.#look(batch);
      while (this.#asked.length > 0) await this.#asked.shift()?.();
    } finally {
      database.close();
    }
  }

  #look(rows: readonly SealedRow[]): Promise<void> {
    return this.#ask(rows[0] as SealedRow, rows, async (answered) => {
      for (const [index, row] of rows.entries()) {
        const found = answered?.[index];
        if (found) this.#judge(row, found);
        const isOpen = found !== undefined && !("problem" in found);
        for (const one of signersIn(row)) await this.#sign(one, isOpen);
      }
    });
  }

  /** Sends a request to the signer. Answers are handled in the order of the requests. */
  async #ask(owner: Owner, rows: readonly SealedRow[], look: (answered: Answered) => Promise<void>): Promise<void> {
    const answer = this.#rehearse(owner, rows);
    // The handler below reports a failure; this prevents an unhandled rejection before then.
    answer.catch(() => {});
    this.#asked.push(async () => {
      const answered = await answer;
      if (answered instanceof SignerRefused) this.problem(answered.message);
      await look(answered instanceof SignerRefused ? undefined : answered);
    });
    if (this.#asked.length >= REQUESTS_AT_ONCE) await this.#asked.shift()?.();
  }

  /** On each curve, the first key that can sign does so, regardless of its kind. */
  async #sign({ curve, row }: Signing, isOpen: boolean): Promise<void> {
    if (this.signed[curve] === "ok") return;
    this.signed[curve] = "failed";
    if (!isOpen) return;
    const answered = await this.#rehearse(row, [row]);
    if (answered instanceof SignerRefused) return this.problem(answered.message);
    const [found] = answered;
    if (!found || "problem" in found || !found.signature) return;
    const { message, r, s } = found.signature;
    if (await isSignedBy(curve, found.publicKeys[0] as string, message, r + s)) this.signed[curve] = "ok";
    else this.problem(`a signature on ${curve} does not verify (${placeOf(row)})`);
  }

  async #rehearse(
    { organizationId, organizationKey }: Owner,
    rows: readonly SealedRow[],
  ): Promise<RehearsedItem[] | SignerRefused> {
    const items = rows.map(({ item }) => item);
    try {
      return (await this.#signer.ask({ verb: "rehearse", organizationId, organizationKey, items })).items;
    } catch (error) {
      if (error instanceof SignerRefused) return error;
      throw error;
    }
  }

  #judge(row: SealedRow, found: RehearsedItem): void {
    if ("problem" in found) {
      this.problem(`${found.problem} (${placeOf(row)})`);
      return;
    }
    const { table, publicKeys, isMore } = row;
    if (!isMore) this.#opened(table);
    const same = publicKeys.every((key, index) =>
      key.startsWith("04") ? compressedOf(key) === found.publicKeys[index] : key === found.publicKeys[index],
    );
    if (!same) this.problem(`a public key ${placeOf(row)} does not belong to the sealed key`);
  }

  #opened(table: string): void {
    this.opened[table] = (this.opened[table] ?? 0) + 1;
  }
}

const placeOf = ({ table, organizationId }: SealedRow): string => `of ${table} in organization ${organizationId}`;

/** A key to make a signature with. */
interface Signing {
  curve: Curve;
  row: SealedRow;
}

/** The keys in a row that can sign: a key itself, or one account on each curve of a wallet, which signs with the first account in a request. */
function signersIn(row: SealedRow): Signing[] {
  const { item } = row;
  if (item.of === "secret") return [];
  if (item.of === "key") return [{ curve: item.curve, row: { ...row, item: { ...item, sign: true } } }];
  const accounts = new Map(item.accounts.map((account) => [account.curve, account]));
  return [...accounts].map(([curve, account]) => ({
    curve,
    row: { ...row, item: { ...item, accounts: [account], sign: true } },
  }));
}

/** Compresses an uncompressed point in hex. An Ed25519 key may begin with 04 too, but has half the length. */
const compressedOf = (point: string): string =>
  point.length === 130 ? (Number.parseInt(point.slice(-1), 16) % 2 === 0 ? "02" : "03") + point.slice(2, 66) : point;

async function isSignedBy(curve: Curve, publicKey: string, message: string, signature: string): Promise<boolean> {
  const key = parsePublicKey(`API_KEY_${curve}`, publicKey);
  const hash = curve === "CURVE_ED25519" ? null : "sha256";
  return (
    key !== undefined &&
    verifySignature(hash, Buffer.from(message), { key, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "hex"))
  );
}
