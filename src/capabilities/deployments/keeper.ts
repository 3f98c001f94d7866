import { createHash, hash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RegistryCredential } from "../../crypto/registry-credential.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import type { AskedSigner } from "../../engine/services.ts";
import type { Clock } from "../../kernel/clock.ts";
import { MINUTE_MS } from "../../kernel/durations.ts";
import { newId } from "../../kernel/ids.ts";
import {
  LONGEST_LEASE_MS,
  MAX_CONSIDERED_DEPLOYMENTS_OF_ONE_ORGANIZATION,
  MAX_KEPT_PROGRAMS,
  MAX_RUN_DEPLOYMENTS,
  MAX_RUN_DEPLOYMENTS_OF_ONE_ORGANIZATION,
} from "../../kernel/limits.ts";
import type { Logger } from "../../kernel/log.ts";
import { sha256InTurns } from "../../providers/oci/digest.ts";
import { ImageProblem, type Images } from "../../providers/oci/registry.ts";
import type { AwaitedQuorumKey, Program, Runner } from "../../runner/runner.ts";
import type { Database } from "../../storage/database.ts";
import { type ApprovedProgram, type Judged, judgeStored } from "./approved-program.ts";
import { sharesFor, stateProvisioning } from "./provisioning.ts";
import { unsealPullSecret } from "./pull-secrets.ts";
import { type DeploymentRow, isLeased } from "./store.ts";

export interface KeeperOptions {
  database: Database;
  runner: Runner;
  images: Images;
  /** Has the installation state which keys its runner makes, and opens secrets to pull images with. */
  signer: AskedSigner<KeeperVerb>;
  /** Where programs are kept, each under its digest; those that a pull secret was needed for by themselves. */
  directory: string;
  clock: Clock;
  log: Logger;
}

type KeeperVerb = "signStatements" | "openJobSecret";

const LOOK_EVERY_MS = 500;
/** A server that died leaves its deployments to others after this long; a living one says in time that it is there. */
const LEASE_MS = 15_000;
const RENEW_MS = 5000;
/** How often it is asked whether programs that nothing runs can still be restored, as long as they are the same. */
const FORGET_EVERY_MS = MINUTE_MS;
/** How long a program rests that could not be fetched. */
const FETCH_PAUSE_MS = 15_000;
/** When a deployment is looked at again that was refused. */
const JUDGE_AGAIN_MS = 15_000;

/** What it takes to run a deployment; its manifest, which may be long, is not looked at again and again. */
const WHAT_RUNS = [
  "d.organization_id",
  "d.id",
  "d.image_url",
  "d.image_digest",
  "d.sealed_pull_secret",
  "d.pivot_path",
  "d.pivot_args",
  "d.pivot_digest",
  "d.debug_mode",
  "d.replicas",
  "d.health_check_type",
  "d.health_check_port",
  "d.public_ingress_port",
] as const;

/** What choosing takes, and no more: of each root organization this is read of many at each look. */
interface Candidate extends Pick<DeploymentRow, "organization_id" | "id"> {
  /** The organization with whose bounds it runs. */
  root_id: string;
}

interface Wanted
  extends Pick<
    DeploymentRow,
    | "organization_id"
    | "id"
    | "image_url"
    | "image_digest"
    | "sealed_pull_secret"
    | "pivot_path"
    | "pivot_args"
    | "pivot_digest"
    | "debug_mode"
    | "replicas"
    | "health_check_type"
    | "health_check_port"
    | "public_ingress_port"
  > {
  parent_id: string | null;
  /** Of the app, if it was made here: a program is handed that one. */
  quorum_key_id: string | null;
  quorum_public_key: string | null;
  quorum_threshold: number | null;
}

/** One whose manifest was found to be approved, with what that says. */
type Approved = Wanted & { program: ApprovedProgram };

/** What came of the look at the manifest of a deployment. */
interface Judgement {
  judged: Judged;
  /** The digest of the columns as they were then. */
  columns: string;
  at: number;
}

/** All that is held against the manifest, or says where the program is from: once it is another, the manifest is looked at again. */
const columnsOf = (row: Wanted): string => hash("sha256", JSON.stringify(row), "base64");

/** Whether a pause of so long that ends then goes on: not where the clock has been set back since it began. */
const isPausing = (until: number, pauseMs: number, now: number): boolean => now < until && until - pauseMs <= now;

const rootOf = ({ organization_id: id, parent_id: parentId }: Wanted): string => rootIdOf({ id, parentId });

const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);

const DIGEST_DIGITS = 64;

/**
 * What a program is kept as: its digest first. One that its registry does not give everybody is not for those who know no more than the
 * digest, so that there follows what nobody can guess.
 */
function fileNameOf({
  pivot_digest: digest,
  sealed_pull_secret: sealed,
}: Pick<DeploymentRow, "pivot_digest" | "sealed_pull_secret">): string {
  return sealed === null ? digest : `${digest}-${createHash("sha256").update(sealed).digest("hex")}`;
}

/** What this server last said of a deployment that it runs. */
interface Told {
  readyReplicas: number;
  /** The key that its runner takes shares with; undefined where it has none, or could not be stated. */
  ephemeralPublicKey: string | undefined;
  isProvisioned: boolean;
  leasedUntil: number;
}

/** What the installation stated of a key. */
interface Stated {
  ephemeralPublicKey: string;
  document: string;
}

/**
 * Has the runner of this server run what is to run and no other server runs: it leases deployments in the database, fetches
 * their programs, and writes down how many replicas are ready.
 */
export class Keeper {
  readonly #options: KeeperOptions;
  readonly #id = newId();
  readonly #told = new Map<string, Told>();
  /** By deployment that is wanted. */
  readonly #judgements = new Map<string, Judgement>();
  readonly #restsUntil = new Map<string, number>();
  readonly #stated = new Map<string, Stated>();
  readonly #wrongShares = new Map<string, number>();
  readonly #fetching = new Map<string, Promise<void>>();
  readonly #renewing = new Map<string, Promise<void>>();
  /** What the programs that nothing ran here were called at the last look at who may restore them, and when that was. */
  #idle: { names: string; since: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #stopped = false;
  readonly #startedAt: number;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#startedAt = options.clock();
  }

  start(): void {
    this.#looking = this.#look()
      .catch((error: Error) =>
        this.#options.log.warn({ reason: error.message }, "deployments could not be looked after"),
      )
      .finally(() => {
        if (!this.#stopped) this.#timer = setTimeout(() => this.start(), LOOK_EVERY_MS);
      });
  }

  /** Stops the programs, and leaves the deployments to other servers. */
  async close(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
    await this.#options.runner.close();
    // A lease that is on its way would outlive the others.
    await Promise.all(this.#renewing.values());
    const { database } = this.#options;
    await database
      .transact("tvc_runs", async (tx) => {
        await tx.deleteFrom("tvc_runs").where("runner_id", "=", this.#id).execute();
      })
      .catch(() => undefined);
  }

  async #look(): Promise<void> {
    const { database, runner, clock } = this.#options;
    const now = clock();
    const candidates = await findCandidates(database.read, this.#id, now);
    const picked = this.#choose(candidates, now);
    const rows = await findWanted(database.read, [...picked, ...this.#refusedBeside(picked, candidates, now)]);
    const pickedIds = new Set(picked.map(({ id }) => id));
    this.#forgetRefusals(rows.filter(({ id }) => !pickedIds.has(id)));
    const chosen = await this.#approvedOf(
      rows.filter(({ id }) => pickedIds.has(id)),
      now,
    );
    for (const row of chosen) this.#renew(row, now);
    const ids = new Set(chosen.map(({ id }) => id));
    const candidateIds = new Set(candidates.map(({ id }) => id));
    for (const id of this.#judgements.keys()) if (!candidateIds.has(id)) this.#judgements.delete(id);
    for (const known of [this.#told, this.#stated, this.#wrongShares]) {
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    }
    // A lease that cannot be renewed, as its organization has much to do, ends by itself and keeps no other one waiting.
    const ours = chosen.filter(({ id }) => (this.#told.get(id)?.leasedUntil ?? 0) > now);
    for (const row of ours) this.#fetch(row);
    const fetched = ours.filter((row) => existsSync(this.#fileOf(row)));
    runner.run(await Promise.all(fetched.map((row) => this.#programOf(row))));
    await this.#forgetPrograms(new Set(rows.map(fileNameOf)), now);
  }

  /** Those that this server is to run: the oldest, within the bounds. */
  #choose(candidates: readonly Candidate[], now: number): Candidate[] {
    const ofRoot = new Map<string, number>();
    const isWithin = ({ root_id }: Candidate) => {
      const before = ofRoot.get(root_id) ?? 0;
      ofRoot.set(root_id, before + 1);
      return before < MAX_RUN_DEPLOYMENTS_OF_ONE_ORGANIZATION;
    };
    return (
      candidates
        // What was refused takes nobody's place.
        .filter(({ id }) => !this.#isRefused(id, now))
        .sort(byId)
        .filter(isWithin)
        .slice(0, MAX_RUN_DEPLOYMENTS)
    );
  }

  /** Those refused that there is room left to look at: if one was set right, it need not wait. */
  #refusedBeside(picked: readonly Candidate[], candidates: readonly Candidate[], now: number): Candidate[] {
    const refused = candidates.filter(({ id }) => this.#isRefused(id, now)).sort(byId);
    return refused.slice(0, MAX_RUN_DEPLOYMENTS - picked.length);
  }

  #isRefused(id: string, now: number): boolean {
    const known = this.#judgements.get(id);
    return known?.judged.refusal !== undefined && isPausing(known.at + JUDGE_AGAIN_MS, JUDGE_AGAIN_MS, now);
  }

  /** Of rows that were refused and are others now; the next look chooses among them again. */
  #forgetRefusals(rows: readonly Wanted[]): void {
    for (const row of rows) {
      if (this.#judgements.get(row.id)?.columns !== columnsOf(row)) this.#judgements.delete(row.id);
    }
  }

  /** What is known of its manifest, where that holds: it was approved, or refused not long ago, and nothing was changed since. */
  #judgementOf(row: Wanted, now: number): Judgement | undefined {
    const known = this.#judgements.get(row.id);
    if (!known || known.columns !== columnsOf(row)) return undefined;
    return known.judged.program || this.#isRefused(row.id, now) ? known : undefined;
  }

  /** Those of them whose manifests are approved; of the others it is said once why they do not run. */
  async #approvedOf(rows: readonly Wanted[], now: number): Promise<Approved[]> {
    const approved: Approved[] = [];
    for (const row of rows) {
      const { judged } = this.#judgementOf(row, now) ?? (await this.#judge(row, now));
      if (judged.program) approved.push({ ...row, program: judged.program });
    }
    return approved;
  }

  async #judge(row: Wanted, now: number): Promise<Judgement> {
    const { database, log } = this.#options;
    const { organization_id: organizationId, id } = row;
    const judgement = {
      judged: await judgeStored(database.read, organizationId, id),
      columns: columnsOf(row),
      at: now,
    };
    const { refusal: reason } = judgement.judged;
    if (reason !== undefined && reason !== this.#judgements.get(id)?.judged.refusal) {
      log.warn({ organizationId, deploymentId: id, reason }, "a deployment is not run, as it is not what was approved");
    }
    this.#judgements.set(id, judgement);
    return judgement;
  }

  /** Says in the background that this server runs it and how it goes, where that is not known or not for long any more. */
  #renew(row: Wanted, now: number): void {
    const { id } = row;
    const told = this.#told.get(id);
    this.#tellWrongShares(id);
    const isFresh = told && isLeased(told.leasedUntil, now) && told.leasedUntil - now > LEASE_MS - RENEW_MS;
    if (isFresh && !this.#hasChanged(id, told)) return;
    if (this.#renewing.has(id)) return;
    const renewed = this.#lease(row)
      .catch(({ message: reason }: Error) => {
        this.#options.log.warn({ deploymentId: id, reason }, "a deployment could not be leased");
      })
      .finally(() => this.#renewing.delete(id));
    this.#renewing.set(id, renewed);
  }

  #hasChanged(id: string, told: Told): boolean {
    const provisioning = this.#options.runner.provisioningOf(id);
    return (
      told.readyReplicas !== this.#readyReplicasOf(id) ||
      told.isProvisioned !== (provisioning?.isProvisioned ?? false) ||
      told.ephemeralPublicKey !== provisioning?.ephemeralPublicKey
    );
  }

  #tellWrongShares(id: string): void {
    const { wrongShares = 0 } = this.#options.runner.provisioningOf(id) ?? {};
    if (wrongShares > (this.#wrongShares.get(id) ?? 0)) {
      this.#options.log.warn({ deploymentId: id, wrongShares }, "shares were handed in that are not the quorum key's");
    }
    this.#wrongShares.set(id, wrongShares);
  }

  /** What the installation says of the key that the runner made, once for each. */
  async #stateKey(row: Wanted): Promise<Stated | undefined> {
    const { ephemeralPublicKey } = this.#options.runner.provisioningOf(row.id) ?? {};
    // A runner that was started anew has another key, and until it has, nobody can open what is encrypted to the last.
    if (ephemeralPublicKey === undefined) return undefined;
    const known = this.#stated.get(row.id);
    if (known?.ephemeralPublicKey === ephemeralPublicKey) return known;
    const { database, signer } = this.#options;
    const document = await stateProvisioning({ read: database.read, signer }, row, ephemeralPublicKey);
    const stated = { ephemeralPublicKey, document };
    this.#stated.set(row.id, stated);
    return stated;
  }

  #readyReplicasOf(id: string): number {
    return (this.#options.runner.replicasOf(id) ?? []).filter(({ isReady }) => isReady).length;
  }

  /** If this server may run it, the database knows that, and how it goes. */
  async #lease(row: Wanted): Promise<void> {
    const { organization_id, id } = row;
    // Where it cannot be stated, that is tried again with the next renewal.
    const { ephemeralPublicKey } = this.#options.runner.provisioningOf(id) ?? {};
    const stated = await this.#stateKey(row).catch(({ message: reason }: Error) => {
      this.#options.log.warn(
        { deploymentId: id, reason },
        "the key that takes shares of a deployment could not be stated",
      );
      return undefined;
    });
    const told = await this.#options.database.transact(organization_id, async (tx) => {
      // Its turn may have come late.
      if (this.#stopped) return undefined;
      const now = this.#options.clock();
      // The runner may have been started anew since: what was stated of the last one's key is nobody's to encrypt to.
      const provisioning = this.#options.runner.provisioningOf(id);
      const isOfNow = stated?.ephemeralPublicKey === provisioning?.ephemeralPublicKey;
      const state = {
        runner_id: this.#id,
        leased_until: now + LEASE_MS,
        ready_replicas: this.#readyReplicasOf(id),
        provisioning: (isOfNow && stated?.document) || null,
        is_provisioned: Number(provisioning?.isProvisioned ?? false),
      };
      const isWanted = await tx
        .selectFrom("tvc_deployments")
        .select("is_wanted")
        .where("organization_id", "=", organization_id)
        .where("id", "=", id)
        .executeTakeFirst();
      // It was deleted meanwhile, or its whole organization.
      if (isWanted?.is_wanted !== 1) return undefined;
      const run = await tx
        .selectFrom("tvc_runs")
        .selectAll()
        .where("organization_id", "=", organization_id)
        .where("deployment_id", "=", id)
        .executeTakeFirst();
      if (run && run.runner_id !== this.#id && isLeased(run.leased_until, now)) return undefined;
      const hasChanged =
        run?.ready_replicas !== state.ready_replicas ||
        run.is_provisioned !== state.is_provisioned ||
        run.runner_id !== this.#id;
      if (run) {
        await tx
          .updateTable("tvc_runs")
          .set({ ...state, updated_at: hasChanged ? now : run.updated_at })
          .where("organization_id", "=", organization_id)
          .where("deployment_id", "=", id)
          .execute();
      } else {
        const row = { organization_id, deployment_id: id, created_at: now, updated_at: now };
        await tx
          .insertInto("tvc_runs")
          .values({ ...row, ...state })
          .execute();
      }
      return {
        readyReplicas: state.ready_replicas,
        ephemeralPublicKey,
        isProvisioned: state.is_provisioned === 1,
        leasedUntil: state.leased_until,
      };
    });
    if (told) this.#told.set(id, told);
    else this.#told.delete(id);
  }

  /** Fetches a program in the background, so that a slow registry keeps no other deployment waiting for its lease. */
  #fetch(row: Approved): void {
    const { id } = row;
    const name = fileNameOf(row);
    const { clock, log } = this.#options;
    if (existsSync(this.#fileOf(row)) || this.#fetching.has(name)) return;
    if (isPausing(this.#restsUntil.get(id) ?? 0, FETCH_PAUSE_MS, clock())) return;
    const fetched = this.#store(row)
      .then(() => void this.#restsUntil.delete(id))
      .catch((error: Error) => {
        this.#restsUntil.set(id, clock() + FETCH_PAUSE_MS);
        log.warn({ deploymentId: id, reason: error.message }, "the program of a deployment could not be fetched");
      })
      .finally(() => this.#fetching.delete(name));
    this.#fetching.set(name, fetched);
  }

  async #store(row: Approved): Promise<void> {
    const { images } = this.#options;
    const image = { reference: row.image_url, digest: row.image_digest, path: row.pivot_path };
    const program = await images.readFile(image, rootOf(row), await this.#credentialFor(row));
    const digest = await sha256InTurns(program);
    if (digest !== row.program.digest) {
      throw new ImageProblem(`its program has the digest ${digest}, and ${row.program.digest} was approved`);
    }
    const file = this.#fileOf(row);
    await mkdir(this.#programs, { recursive: true, mode: 0o711 });
    const temporary = `${file}.${newId()}`;
    await writeFile(temporary, program, { mode: 0o555 });
    // The mode of a new file is cut by the process's mask.
    await chmod(temporary, 0o555);
    await rename(temporary, file);
  }

  /** What its registry is shown, which the signer opens for each time. */
  async #credentialFor({ image_url, sealed_pull_secret: sealed }: Wanted): Promise<RegistryCredential | undefined> {
    if (sealed === null) return undefined;
    const { database, signer } = this.#options;
    return unsealPullSecret({ read: database.read, signer }, image_url, sealed);
  }

  /**
   * Removes what this server does not run or fetch, and nobody can restore: programs of what other servers run, or none, are fetched again
   * if their turn comes here.
   */
  async #forgetPrograms(ours: ReadonlySet<string>, now: number): Promise<void> {
    // What ran here before a crash is leased in the name of the process that ended, until then.
    if (now - this.#startedAt <= LEASE_MS || !existsSync(this.#programs)) return;
    // What is being fetched lies beside it, under its name and an ending.
    const isOurs = (name: string) => ours.has(name) || this.#fetching.has(name.split(".", 1)[0] ?? name);
    const others = (await readdir(this.#programs)).filter((name) => !isOurs(name)).sort();
    if (!this.#mayHaveGone(others)) return;
    const restorable = await findRestorable(this.#options.database.read, others);
    for (const name of others) {
      if (!restorable.has(name)) await rm(join(this.#programs, name), { force: true });
    }
  }

  /** Whether it is to be asked who can restore these: where they are not those of the last time, and once in a while. */
  #mayHaveGone(others: readonly string[]): boolean {
    const now = this.#options.clock();
    const names = others.join(" ");
    if (this.#idle?.names === names && now - this.#idle.since < FORGET_EVERY_MS) return false;
    this.#idle = { names, since: now };
    return others.length > 0;
  }

  get #programs(): string {
    return join(this.#options.directory, "programs");
  }

  #fileOf(row: Approved): string {
    return join(this.#programs, fileNameOf(row));
  }

  async #programOf(row: Approved): Promise<Program> {
    const { digest, args, healthCheckPort, publicIngressPort } = row.program;
    const quorumKey = await this.#quorumKeyOf(row);
    return {
      ...(quorumKey ? { quorumKey } : {}),
      deploymentId: row.id,
      file: this.#fileOf(row),
      digest,
      args,
      replicas: row.replicas,
      healthCheck: {
        kind: row.health_check_type === "TVC_HEALTH_CHECK_TYPE_GRPC" ? "grpc" : "http",
        port: healthCheckPort,
      },
      publicIngressPort,
    };
  }

  /** With what was handed in, until the runner has made the key of it. */
  async #quorumKeyOf(row: Approved): Promise<AwaitedQuorumKey | undefined> {
    const { quorum_key_id } = row;
    const { quorumPublicKey: publicKey, shareThreshold: threshold } = row.program;
    if (quorum_key_id === null) return undefined;
    const { database, runner } = this.#options;
    const provisioning = runner.provisioningOf(row.id);
    const isAwaiting = provisioning !== undefined && !provisioning.isProvisioned;
    const shares = isAwaiting
      ? await sharesFor(database.read, row, { quorumKeyId: quorum_key_id, ...provisioning })
      : [];
    return { publicKey, threshold, shares };
  }
}

/** What is to run and no other server runs: of each root organization and all its sub-organizations the oldest. */
async function findCandidates(read: Database["read"], runnerId: string, now: number): Promise<Candidate[]> {
  const free = read
    .selectFrom("tvc_deployments as d")
    .innerJoin("organizations as o", "o.id", "d.organization_id")
    .leftJoin("tvc_runs as r", (join) =>
      join.onRef("r.organization_id", "=", "d.organization_id").onRef("r.deployment_id", "=", "d.id"),
    )
    .select(["d.organization_id", "d.id"])
    .select((eb) => eb.fn.coalesce("o.parent_id", "o.id").as("root_id"))
    .where("d.is_wanted", "=", 1)
    .where((eb) =>
      eb.or([
        eb("r.runner_id", "is", null),
        eb("r.runner_id", "=", runnerId),
        eb("r.leased_until", "<=", now),
        // As `isLeased` has it.
        eb("r.leased_until", ">", now + LONGEST_LEASE_MS),
      ]),
    );
  const placed = read
    .selectFrom(free.as("free"))
    .selectAll()
    .select(({ fn }) =>
      fn
        .agg<number>("row_number")
        .over((over) => over.partitionBy("root_id").orderBy("id"))
        .as("place"),
    );
  return read
    .selectFrom(placed.as("placed"))
    .select(["organization_id", "id", "root_id"])
    .where("place", "<=", MAX_CONSIDERED_DEPLOYMENTS_OF_ONE_ORGANIZATION)
    .execute();
}

/**
 * All that is held against the manifests of these, the oldest first. That they are still wanted is not asked, as databases would go by it
 * through all that are: whoever leases one looks.
 */
async function findWanted(read: Database["read"], of: readonly Candidate[]): Promise<Wanted[]> {
  if (of.length === 0) return [];
  const rows = await read
    .selectFrom("tvc_deployments as d")
    .innerJoin("organizations as o", "o.id", "d.organization_id")
    .innerJoin("tvc_apps as a", (join) =>
      join.onRef("a.organization_id", "=", "d.organization_id").onRef("a.id", "=", "d.app_id"),
    )
    .leftJoin("tvc_quorum_keys as q", (join) =>
      join.onRef("q.organization_id", "=", "a.organization_id").onRef("q.id", "=", "a.quorum_key_id"),
    )
    .select(WHAT_RUNS)
    .select(["o.parent_id", "a.quorum_key_id"])
    .select(["q.public_key as quorum_public_key", "q.threshold as quorum_threshold"])
    .where("d.organization_id", "in", [...new Set(of.map(({ organization_id }) => organization_id))])
    .where(
      "d.id",
      "in",
      of.map(({ id }) => id),
    )
    .execute();
  return rows.sort(byId);
}

/** Of these files' names those of programs that ran and can be restored, whether or not their registry still has them. */
async function findRestorable(read: Database["read"], names: readonly string[]): Promise<Set<string>> {
  const digests = new Set(names.map((name) => name.slice(0, DIGEST_DIGITS)));
  const rows = await read
    .selectFrom("tvc_deployments")
    .select((eb) => ["pivot_digest", "sealed_pull_secret", eb.fn.max("deleted_at").as("deleted_at")])
    .where("pivot_digest", "in", [...digests])
    .where("cleaned_up_at", "is", null)
    .where("deleted_at", "is not", null)
    .where("approved_at", "is not", null)
    .groupBy(["pivot_digest", "sealed_pull_secret"])
    .orderBy("deleted_at", "desc")
    .limit(MAX_KEPT_PROGRAMS)
    .execute();
  return new Set(rows.map(fileNameOf));
}
