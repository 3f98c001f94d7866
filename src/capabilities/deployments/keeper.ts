import { createHash, hash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RegistryCredential } from "../../crypto/registry-credential.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { isFree, isLeased, leaseTimesAt } from "../../engine/jobs/leases.ts";
import type { AskedSigner } from "../../engine/services.ts";
import type { Clock } from "../../kernel/clock.ts";
import { MINUTE_MS } from "../../kernel/durations.ts";
import { newId } from "../../kernel/ids.ts";
import {
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
import type { DeploymentRow } from "./store.ts";

export interface KeeperOptions {
  database: Database;
  runner: Runner;
  images: Images;
  /** Signs the statements about the runner's keys, and opens pull secrets. */
  signer: AskedSigner<KeeperVerb>;
  /** The directory for programs. See `fileNameOf` for their names. */
  directory: string;
  clock: Clock;
  log: Logger;
}

type KeeperVerb = "signStatements" | "openJobSecret";

const LOOK_EVERY_MS = 500;
/** After this time, other servers take over the deployments of a server that died. A living server renews its leases in time. */
const LEASE_MS = 15_000;
const RENEW_MS = 5000;
/** How often to check whether stored programs that this server does not run can still be restored, if the set of them has not changed. */
const FORGET_EVERY_MS = MINUTE_MS;
/** How long to wait after a program could not be fetched. */
const FETCH_PAUSE_MS = 15_000;
/** How long to wait before a refused deployment is judged again. */
const JUDGE_AGAIN_MS = 15_000;

/** The columns for running a deployment. The manifest is not among them: it may be long, and these are read twice a second. */
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

/** Only what choosing needs, because each look reads many candidates of each root organization. */
interface Candidate extends Pick<DeploymentRow, "organization_id" | "id"> {
  /** The organization whose limits apply to it. */
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
  /** The app's quorum key, if it was generated here: only then does the program receive it. */
  quorum_key_id: string | null;
  quorum_public_key: string | null;
  quorum_threshold: number | null;
}

/** A deployment with an approved manifest, and the program of that manifest. */
type Approved = Wanted & { program: ApprovedProgram };

/** The judgement of a deployment's manifest. */
interface Judgement {
  judged: Judged;
  /** The digest of the columns at that time. */
  columns: string;
  at: number;
}

/** A digest of the columns that are compared with the manifest or name the program's source. If it changes, the manifest is judged again. */
const columnsOf = (row: Wanted): string => hash("sha256", JSON.stringify(row), "base64");

/** Whether a pause is still going on. It is over, too, if the clock was set back to before its beginning. */
const isPausing = (until: number, pauseMs: number, now: number): boolean => now < until && until - pauseMs <= now;

const rootOf = ({ organization_id: id, parent_id: parentId }: Wanted): string => rootIdOf({ id, parentId });

const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);

const DIGEST_DIGITS = 64;

/**
 * The file name of a program: its digest, and, if fetching it took a pull secret, a suffix that nobody can guess. Otherwise somebody who knows
 * only the digest could run a program that its registry would not give them.
 */
function fileNameOf({
  pivot_digest: digest,
  sealed_pull_secret: sealed,
}: Pick<DeploymentRow, "pivot_digest" | "sealed_pull_secret">): string {
  return sealed === null ? digest : `${digest}-${createHash("sha256").update(sealed).digest("hex")}`;
}

/** The last state that this server stored of a deployment that it runs. */
interface Told {
  readyReplicas: number;
  /** The key to which shares for the runner are encrypted; undefined if it has none. */
  ephemeralPublicKey: string | undefined;
  isProvisioned: boolean;
  leasedUntil: number;
}

/** The installation's signed statement about a runner's key. */
interface Stated {
  ephemeralPublicKey: string;
  document: string;
}

/**
 * Has this server's runner run the wanted deployments that no other server runs: it leases deployments in the database, fetches their programs,
 * and stores how many replicas are ready.
 */
export class Keeper {
  readonly #options: KeeperOptions;
  readonly #id = newId();
  readonly #told = new Map<string, Told>();
  /** By the id of a candidate. */
  readonly #judgements = new Map<string, Judgement>();
  readonly #restsUntil = new Map<string, number>();
  readonly #stated = new Map<string, Stated>();
  readonly #wrongShares = new Map<string, number>();
  readonly #fetching = new Map<string, Promise<void>>();
  readonly #renewing = new Map<string, Promise<void>>();
  /** The names of the unused programs at the last check whether they can be restored, and the time of that check. */
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
      .catch((error: Error) => this.#options.log.warn({ reason: error.message }, "deployments could not be checked"))
      .finally(() => {
        if (!this.#stopped) this.#timer = setTimeout(() => this.start(), LOOK_EVERY_MS);
      });
  }

  /** Stops the programs and releases the leases, so that other servers can take over. */
  async close(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
    await this.#options.runner.close();
    // A pending renewal would otherwise store its lease after the deletion below.
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
    // If an organization is so busy that a lease cannot be renewed in time, only that lease ends; no other deployment waits for it.
    const ours = chosen.filter(({ id }) => (this.#told.get(id)?.leasedUntil ?? 0) > now);
    for (const row of ours) this.#fetch(row);
    const fetched = ours.filter((row) => existsSync(this.#fileOf(row)));
    runner.run(await Promise.all(fetched.map((row) => this.#programOf(row))));
    await this.#forgetPrograms(new Set(rows.map(fileNameOf)), now);
  }

  /** The candidates that this server should run: the oldest, within the limits. */
  #choose(candidates: readonly Candidate[], now: number): Candidate[] {
    const ofRoot = new Map<string, number>();
    const isWithin = ({ root_id }: Candidate) => {
      const before = ofRoot.get(root_id) ?? 0;
      ofRoot.set(root_id, before + 1);
      return before < MAX_RUN_DEPLOYMENTS_OF_ONE_ORGANIZATION;
    };
    return (
      candidates
        // Refused deployments do not count toward the limits.
        .filter(({ id }) => !this.#isRefused(id, now))
        .sort(byId)
        .filter(isWithin)
        .slice(0, MAX_RUN_DEPLOYMENTS)
    );
  }

  /** As many refused candidates as the limit leaves room for. They are read as well, so that one that was corrected need not wait. */
  #refusedBeside(picked: readonly Candidate[], candidates: readonly Candidate[], now: number): Candidate[] {
    const refused = candidates.filter(({ id }) => this.#isRefused(id, now)).sort(byId);
    return refused.slice(0, MAX_RUN_DEPLOYMENTS - picked.length);
  }

  #isRefused(id: string, now: number): boolean {
    const known = this.#judgements.get(id);
    return known?.judged.refusal !== undefined && isPausing(known.at + JUDGE_AGAIN_MS, JUDGE_AGAIN_MS, now);
  }

  /** Forgets the refusals of rows that have changed since; the next look considers them again. */
  #forgetRefusals(rows: readonly Wanted[]): void {
    for (const row of rows) {
      if (this.#judgements.get(row.id)?.columns !== columnsOf(row)) this.#judgements.delete(row.id);
    }
  }

  /** The last judgement, if it is still valid: nothing has changed since, and the manifest was approved, or refused only recently. */
  #judgementOf(row: Wanted, now: number): Judgement | undefined {
    const known = this.#judgements.get(row.id);
    if (!known || known.columns !== columnsOf(row)) return undefined;
    return known.judged.program || this.#isRefused(row.id, now) ? known : undefined;
  }

  /** The deployments with approved manifests. For the others, the reason is logged once. */
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
      log.warn(
        { organizationId, deploymentId: id, reason },
        "a deployment is not run because it is not what was approved",
      );
    }
    this.#judgements.set(id, judgement);
    return judgement;
  }

  /** Renews the lease and the stored state in the background, if the state has changed or the lease ends soon. */
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
      this.#options.log.warn(
        { deploymentId: id, wrongShares },
        "shares were submitted that do not belong to the quorum key",
      );
    }
    this.#wrongShares.set(id, wrongShares);
  }

  /** The installation's statement about the runner's key, signed once per key. */
  async #stateKey(row: Wanted): Promise<Stated | undefined> {
    const { ephemeralPublicKey } = this.#options.runner.provisioningOf(row.id) ?? {};
    // A restarted runner makes a new key. Until it has one, there is nothing to state: its previous key can no longer decrypt shares.
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

  /** Stores the lease and the deployment's state, unless another server runs it or it is no longer wanted. */
  async #lease(row: Wanted): Promise<void> {
    const { organization_id, id } = row;
    // If the statement fails, the next renewal tries again.
    const { ephemeralPublicKey } = this.#options.runner.provisioningOf(id) ?? {};
    const stated = await this.#stateKey(row).catch(({ message: reason }: Error) => {
      this.#options.log.warn(
        { deploymentId: id, reason },
        "the key that receives a deployment's shares could not be published",
      );
      return undefined;
    });
    const told = await this.#options.database.transact(organization_id, async (tx) => {
      // The transaction may have waited until after `close`.
      if (this.#stopped) return undefined;
      const now = this.#options.clock();
      // The runner may have restarted since. Nobody should encrypt shares to its previous key, so that statement is not stored.
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
      // The deployment or its organization was deleted meanwhile.
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

  /** Fetches a program in the background, so that a slow registry does not delay the leases of other deployments. */
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
      throw new ImageProblem(`its program has the digest ${digest}, but ${row.program.digest} was approved`);
    }
    const file = this.#fileOf(row);
    await mkdir(this.#programs, { recursive: true, mode: 0o711 });
    const temporary = `${file}.${newId()}`;
    await writeFile(temporary, program, { mode: 0o555 });
    // The umask of the process restricts the mode of a new file.
    await chmod(temporary, 0o555);
    await rename(temporary, file);
  }

  /** The credential for the image's registry. The signer opens it for each fetch. */
  async #credentialFor({ image_url, sealed_pull_secret: sealed }: Wanted): Promise<RegistryCredential | undefined> {
    if (sealed === null) return undefined;
    const { database, signer } = this.#options;
    return unsealPullSecret({ read: database.read, signer }, image_url, sealed);
  }

  /**
   * Removes the programs that this server neither runs nor fetches and that nobody can restore. If this server takes over another deployment
   * later, it fetches that program again.
   */
  async #forgetPrograms(ours: ReadonlySet<string>, now: number): Promise<void> {
    // After a crash, the deployments that ran here are leased to the dead process until then.
    if (now - this.#startedAt <= LEASE_MS || !existsSync(this.#programs)) return;
    // A program that is being fetched is in a temporary file: the program's name with a suffix.
    const isOurs = (name: string) => ours.has(name) || this.#fetching.has(name.split(".", 1)[0] ?? name);
    const others = (await readdir(this.#programs)).filter((name) => !isOurs(name)).sort();
    if (!this.#mayHaveGone(others)) return;
    const restorable = await findRestorable(this.#options.database.read, others);
    for (const name of others) {
      if (!restorable.has(name)) await rm(join(this.#programs, name), { force: true });
    }
  }

  /** Whether to check if these can still be restored: if they are not the same as at the last check, or that was long ago. */
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

  /** The app's quorum key, with the submitted shares until the runner has reconstructed it. */
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

/** The wanted deployments that no other server runs: the oldest of each root organization, including its sub-organizations. */
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
        isFree(eb.ref("r.leased_until"), leaseTimesAt(now)),
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
 * The rows of these candidates, oldest first. The query does not test `is_wanted`, because databases would then scan all wanted deployments;
 * `#lease` tests it.
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

/** The file names of programs of deleted deployments that can still be restored. They are kept because their registry may not have them any more. */
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
