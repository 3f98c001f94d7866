import type { Clock } from "../../kernel/clock.ts";
import { SERVER_ALIVE_MS, SERVER_SIGN_MS } from "../../kernel/limits.ts";
import { type SignerProcess, SignerRefused } from "../../signer/client.ts";
import { INSTALLATION, type Sealed } from "../../signer/protocol.ts";
import { installationIdOf } from "../../storage/backup/manifest.ts";
import type { Database } from "../../storage/database.ts";
import {
  INSTALLATION_ID,
  NEXT_ROOT_KEY_ID,
  PREVIOUS_ROOT_KEY_ID,
  ROOT_KEY_ID,
  SERVICE_OWNER_KEY,
  storeInstallationRow,
} from "../../storage/installation-rows.ts";
import { lineOfRotation } from "../audit/lines.ts";
import { sinkNamesOf } from "../audit/settings.ts";
import { recordOfInstallation } from "../audit/stream.ts";
import type { Config } from "../config.ts";
import { thisOperator } from "../operators/operator.ts";
import { type ShownServer, untilAlive } from "../operators/servers.ts";
import { StartProblem } from "../start-problem.ts";
import { refuseOtherFile, requireRootKeys } from "./remembered.ts";
import { signerWithRootKey } from "./signer.ts";

/** How many keys of organizations are sealed anew in one transaction. */
const ORGANIZATIONS_AT_ONCE = 500;
/** How many organizations whose keys cannot be opened are named. */
const SHOWN = 20;
const SCOPE = "root key";

export interface Rotated {
  /** The root key that seals everything now. */
  rootKeyId: string;
  previousRootKeyId: string;
  /** How many keys of organizations were sealed anew by this run, the installation's own included. */
  resealed: number;
  /** Organizations whose keys no root key of the file opens, and did not before: at most 20 of them. */
  unopened: string[];
}

export interface Rotation {
  config: Config;
  database: Database;
  clock: Clock;
  onProgress: (done: number, all: number) => void;
}

/**
 * Makes the second root key of the file the one that seals, and seals with it the key of every organization. Servers may run; each must have
 * the file. If it is interrupted at any point, running it again completes it.
 *
 * @throws StartProblem
 */
export async function rotateRootKey({ config, database, clock, onProgress }: Rotation): Promise<Rotated> {
  const { rootKeyFile } = config;
  const signer = await signerWithRootKey(config);
  try {
    const remembered = await requireRootKeys(database.read);
    const { current, previous } = remembered;
    const { rootKeyIds } = signer;
    refuseOtherFile(rootKeyFile, rootKeyIds, remembered);
    // A key is added at the end. Once the last one seals, this command does not go back to the one before; it only seals what is left.
    const target = previous === undefined ? rootKeyIds.at(-1) : current;
    const old = previous ?? rootKeyIds.find((id) => id !== target);
    if (target === undefined || old === undefined) {
      throw new StartProblem(
        `the root key file ${rootKeyFile} contains no new root key; run: keystead root-key add. Then copy the file to a safe place, and to every server`,
      );
    }
    const all = new Servers(database, clock);
    if (target !== current) {
      await announce(database, target);
      await all.require(
        ({ rootKeys }) => rootKeys?.open.includes(target) ?? false,
        "has not opened the new root key; nothing is sealed with it yet. Copy the root key file to its machine (a server that is sealed or of an older version must be restarted), then run this command again",
      );
      await requireStill(rootKeyFile, signer, target);
      await switchTo({ config, database, clock }, target, old);
    }
    await signer.sealWith(target);
    await all.require(
      ({ rootKeys }) => rootKeys?.open[0] === target,
      "has not confirmed the rotation; both root keys are still needed. See its log, then run this command again",
    );
    const resealed = await resealAll(database, signer, onProgress);
    await forget(database, old, target);
    await all.require(
      ({ rootKeys }) => rootKeys?.isRotating === false,
      "has not noticed that the rotation is complete. Restart it before you run: keystead root-key retire",
    );
    return { rootKeyId: target, previousRootKeyId: old, ...resealed };
  } finally {
    await signer.close();
  }
}

/** Servers read the file again, so that they can open what others seal with the new key. */
const announce = (database: Database, rootKeyId: string): Promise<void> =>
  database.transact(SCOPE, (tx) => storeInstallationRow(tx, NEXT_ROOT_KEY_ID, rootKeyId));

/** Waiting for the servers may take long, and another command may have replaced the file meanwhile. */
async function requireStill(file: string, signer: SignerProcess, rootKeyId: string): Promise<void> {
  await signer.readRootKeysAgain().catch((error: unknown) => {
    throw error instanceof SignerRefused ? new StartProblem(error.message) : error;
  });
  if (signer.rootKeyIds.includes(rootKeyId)) return;
  throw new StartProblem(
    `the root key file ${file} was replaced in the meantime and lacks the new root key, with which nothing is sealed yet; run this command again`,
  );
}

async function switchTo(
  { config, database, clock }: Omit<Rotation, "onProgress">,
  target: string,
  old: string,
): Promise<void> {
  await database.transact(SCOPE, async (tx) => {
    const { current } = await requireRootKeys(tx);
    if (current !== old) throw new StartProblem("another command is rotating the root key; run this one again");
    const rows = await tx.selectFrom("installation").selectAll().execute();
    const installationId = installationIdOf(new Map(rows.map(({ name, value }) => [name, value])));
    await storeInstallationRow(tx, INSTALLATION_ID, installationId ?? undefined);
    await storeInstallationRow(tx, PREVIOUS_ROOT_KEY_ID, old);
    await storeInstallationRow(tx, ROOT_KEY_ID, target);
    await storeInstallationRow(tx, NEXT_ROOT_KEY_ID, undefined);
    const rotation = { rootKeyId: target, previousRootKeyId: old, operator: thisOperator() };
    const now = clock();
    await recordOfInstallation(tx, sinkNamesOf(config.audit), lineOfRotation(rotation, now), now);
  });
}

/** The rotation is complete, unless another command has begun the next one meanwhile. */
const forget = (database: Database, old: string, target: string): Promise<void> =>
  database.transact(SCOPE, async (tx) => {
    const { current, previous } = await requireRootKeys(tx);
    if (current === target && previous === old) await storeInstallationRow(tx, PREVIOUS_ROOT_KEY_ID, undefined);
  });

class Servers {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** A server that was killed could not say so. */
  #unlessGone({ lastSeenAt }: ShownServer): string {
    const silentMs = this.#clock() - Date.parse(lastSeenAt);
    if (silentMs < 2 * SERVER_SIGN_MS) return "";
    const [silent, left] = [silentMs, SERVER_ALIVE_MS - silentMs].map((ms) => Math.max(1, Math.ceil(ms / 1000)));
    return `. It was last heard of ${silent} seconds ago: if it was killed, it counts as running for ${left} more`;
  }

  /** @throws StartProblem naming the live servers for which it does not become true in time */
  async require(is: (server: ShownServer) => boolean, otherwise: string): Promise<void> {
    const { isSo, instances } = await untilAlive(this.#database.read, this.#clock, is);
    if (isSo) return;
    const [first, ...more] = instances.filter((each) => each.isAlive && !is(each));
    if (!first) return;
    const others = more.length === 0 ? "" : `, as ${more.length} others,`;
    throw new StartProblem(
      `server ${first.id} (process ${first.pid} on ${first.host})${others} ${otherwise}${this.#unlessGone(first)}`,
    );
  }
}

/** Repeats until nothing is sealed with the previous key, as a server may have created an organization in the meantime. */
async function resealAll(
  database: Database,
  signer: SignerProcess,
  onProgress: Rotation["onProgress"],
): Promise<Pick<Rotated, "resealed" | "unopened">> {
  for (let resealed = 0; ; ) {
    const pass = await resealOnce(database, signer, onProgress);
    resealed += pass.resealed;
    if (pass.resealed === 0) return { resealed, unopened: pass.unopened };
  }
}

async function resealOnce(
  database: Database,
  signer: SignerProcess,
  onProgress: Rotation["onProgress"],
): Promise<Pick<Rotated, "resealed" | "unopened">> {
  const unopened: string[] = [];
  let resealed = await resealOwner(database, signer);
  for await (const sealed of sealedKeysOf(database, signer, onProgress)) {
    for (const { organizationId, after } of sealed) {
      if (after === null && unopened.length < SHOWN) unopened.push(organizationId);
    }
    const changed = sealed.filter(({ before, after }) => after !== null && after !== before);
    if (changed.length === 0) continue;
    await database.transact(SCOPE, async (tx) => {
      for (const { organizationId, before, after } of changed) {
        await tx
          .updateTable("organizations")
          .set({ sealed_key: Buffer.from(after as Sealed, "base64") })
          .where("id", "=", organizationId)
          .where("sealed_key", "=", Buffer.from(before, "base64"))
          .execute();
      }
    });
    resealed += changed.length;
  }
  return { resealed, unopened };
}

async function resealOwner(database: Database, signer: SignerProcess): Promise<number> {
  const row = await database.read
    .selectFrom("installation")
    .select("value")
    .where("name", "=", SERVICE_OWNER_KEY)
    .executeTakeFirst();
  if (!row) return 0;
  const organizations = [{ organizationId: INSTALLATION, organizationKey: row.value }];
  const [after] = (await signer.ask({ verb: "resealOrganizationKeys", organizations })).organizationKeys;
  if (after === undefined || after === null) {
    throw new StartProblem("no root key of the file opens the installation's own keys; nothing was changed");
  }
  if (after === row.value) return 0;
  await database.transact(SCOPE, async (tx) => {
    await tx
      .updateTable("installation")
      .set({ value: after })
      .where("name", "=", SERVICE_OWNER_KEY)
      .where("value", "=", row.value)
      .execute();
  });
  return 1;
}

/** The key of an organization as it is stored, and as the root key that seals would seal it; null if it cannot be opened. */
interface SealedKey {
  organizationId: string;
  before: Sealed;
  after: Sealed | null;
}

/** The keys of all organizations except deleted ones, which have none. */
export async function* sealedKeysOf(
  { read }: Pick<Database, "read">,
  signer: Pick<SignerProcess, "ask">,
  onProgress: Rotation["onProgress"],
): AsyncGenerator<SealedKey[]> {
  const { count } = await read
    .selectFrom("organizations")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("deleted_at", "is", null)
    .executeTakeFirstOrThrow();
  let done = 0;
  for (let last = ""; ; ) {
    const rows = await read
      .selectFrom("organizations")
      .select(["id", "sealed_key"])
      .where("id", ">", last)
      .where("deleted_at", "is", null)
      .orderBy("id")
      .limit(ORGANIZATIONS_AT_ONCE)
      .execute();
    if (rows.length === 0) return;
    const organizations = rows.map(({ id, sealed_key }) => ({
      organizationId: id,
      organizationKey: Buffer.from(sealed_key).toString("base64"),
    }));
    const { organizationKeys } = await signer.ask({ verb: "resealOrganizationKeys", organizations });
    yield organizations.map(({ organizationId, organizationKey: before }, index) => ({
      organizationId,
      before,
      after: organizationKeys[index] ?? null,
    }));
    last = rows.at(-1)?.id as string;
    done += rows.length;
    onProgress(done, Math.max(done, Number(count)));
  }
}
