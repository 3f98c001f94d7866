import { type Selectable, sql } from "kysely";
import { type Manifest, manifestJson } from "../../crypto/manifests/manifest.ts";
import { timestampOf } from "../../engine/fields.ts";
import { enqueue } from "../../engine/jobs/jobs.ts";
import { isLeased } from "../../engine/jobs/leases.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_LISTED_TVC_DEPLOYMENTS, MAX_PAGE_BYTES } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { Schema } from "../../storage/schema.ts";
import { CLEAN_UP_DEPLOYMENT } from "./clean-up.ts";
import type { DeploymentParams, healthCheckTypes, TvcApp, TvcDeployment } from "./model.ts";
import { findSets, type OperatorSet, renderOperator, renderSet } from "./operators.ts";
import type { DeploymentHost } from "./services.ts";

/** The rows of apps and their deployments. */

export type AppRow = Selectable<Schema["tvc_apps"]>;
export type DeploymentRow = Selectable<Schema["tvc_deployments"]>;

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireApp(read: Reader, organizationId: string, id: string): Promise<AppRow> {
  const row = await read
    .selectFrom("tvc_apps")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? fail("RESOURCE_NOT_FOUND", { kind: "TVC app", id, organizationId });
}

/**
 * The app, if it is not deleted.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND or TVC_APP_DELETED
 */
export async function requireOpenApp(read: Reader, organizationId: string, id: string): Promise<AppRow> {
  const app = await requireApp(read, organizationId, id);
  return app.deleted_at === null ? app : fail("TVC_APP_DELETED", { id });
}

/** The apps that are not deleted, oldest first. */
export async function findApps(read: Reader, organizationId: string): Promise<AppRow[]> {
  const rows = await read.selectFrom("tvc_apps").selectAll().where("organization_id", "=", organizationId).execute();
  return rows.filter(({ deleted_at }) => deleted_at === null).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireDeployment(read: Reader, organizationId: string, id: string): Promise<DeploymentRow> {
  const row = await read
    .selectFrom("tvc_deployments")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? fail("RESOURCE_NOT_FOUND", { kind: "TVC deployment", id, organizationId });
}

/**
 * The newest deployments of an app that fit into a list, newest first and at least one, with the size of each in the response. The database
 * computes the sizes, so that no manifest is read.
 */
export async function findListed(
  read: Reader,
  organizationId: string,
  app: AppRow,
): Promise<{ id: string; bytes: number }[]> {
  const sets = (await setsOf(read, organizationId, [app]))(app);
  const rows = await read
    .selectFrom("tvc_deployments as d")
    .select(["d.id", sql<number | string>`octet_length(d.manifest) + octet_length(d.pivot_args)`.as("bytes")])
    .select(({ selectFrom }) =>
      selectFrom("tvc_manifest_approvals as a")
        .select(({ fn }) => fn.countAll<number | string>().as("count"))
        .whereRef("a.organization_id", "=", "d.organization_id")
        .whereRef("a.deployment_id", "=", "d.id")
        .as("approvals"),
    )
    .where("d.organization_id", "=", organizationId)
    .where("d.app_id", "=", app.id)
    .orderBy("d.id", "desc")
    .limit(MAX_LISTED_TVC_DEPLOYMENTS)
    .execute();
  const sized = rows.map(({ id, bytes, approvals }) => ({
    id,
    // The response contains the manifest in base64, the sets, and each approval with its operator.
    bytes: 2 * Number(bytes) + bytesOfSets(sets) + Number(approvals) * SHOWN_OPERATOR_BYTES,
  }));
  let total = 0;
  return sized.filter(({ bytes }, index) => {
    total += bytes;
    return index === 0 || total <= MAX_PAGE_BYTES;
  });
}

/** The deployments with these ids, the newest first. */
export async function findDeployments(
  read: Reader,
  organizationId: string,
  ids: readonly string[],
): Promise<DeploymentRow[]> {
  if (ids.length === 0) return [];
  return read
    .selectFrom("tvc_deployments")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("id", "in", [...ids])
    .orderBy("id", "desc")
    .execute();
}

/** A deployment that is not cleaned up, without its manifest. */
export type OpenDeployment = Pick<
  DeploymentRow,
  "organization_id" | "id" | "replicas" | "deleted_at" | "is_wanted" | "updated_at"
>;

/** All deployments of an app that are not cleaned up, newest first: those that run or can be restored. */
export async function findOpenDeployments(
  read: Reader,
  organizationId: string,
  appId: string,
): Promise<OpenDeployment[]> {
  const rows = await read
    .selectFrom("tvc_deployments")
    .select(["organization_id", "id", "replicas", "deleted_at", "is_wanted", "updated_at"])
    .where("organization_id", "=", organizationId)
    .where("app_id", "=", appId)
    .where("cleaned_up_at", "is", null)
    .execute();
  return rows.sort((a, b) => (a.id < b.id ? 1 : -1));
}

/** The state of a deployment on the server that runs it. There is none if no server runs it. */
export interface Run {
  readyReplicas: number;
  /** When the state last changed, in milliseconds. */
  since: number;
  /** The signed document about the key to which shares for the runner are encrypted; undefined if it has none. */
  provisioning: string | undefined;
  /** Whether the runner has the quorum key. */
  isProvisioned: boolean;
}

/** By the ids of those deployments that a server runs now. */
export async function findRuns(
  read: Reader,
  organizationId: string,
  deploymentIds: readonly string[],
  now: number,
): Promise<Map<string, Run>> {
  if (deploymentIds.length === 0) return new Map();
  const rows = await read
    .selectFrom("tvc_runs")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("deployment_id", "in", [...deploymentIds])
    .execute();
  return new Map(
    rows
      .filter(({ leased_until }) => isLeased(leased_until, now))
      .map((row) => [
        row.deployment_id,
        {
          readyReplicas: row.ready_replicas,
          since: row.updated_at,
          provisioning: row.provisioning ?? undefined,
          isProvisioned: row.is_provisioned === 1,
        },
      ]),
  );
}

/** Queues the clean-up. It waits only for its time, and for nothing outside the service. */
async function enqueueCleanUp(
  tx: Transactor,
  { organization_id, id }: Pick<DeploymentRow, "organization_id" | "id">,
  times: { now: number; cleanUpAfterMs: number },
) {
  const { now, cleanUpAfterMs } = times;
  await enqueue(tx, {
    kind: CLEAN_UP_DEPLOYMENT,
    payload: { organizationId: organization_id, deploymentId: id, deletedAt: now },
    lane: `${CLEAN_UP_DEPLOYMENT}/${id}`,
    gate: CLEAN_UP_DEPLOYMENT,
    organizationId: organization_id,
    runAt: now + cleanUpAfterMs,
    now,
  });
}

/** Stops a deployment. It can be restored until it is cleaned up. */
export async function deleteDeployment(
  tx: Transactor,
  row: Pick<DeploymentRow, "organization_id" | "id">,
  times: { now: number; cleanUpAfterMs: number },
): Promise<void> {
  await updateDeployment(tx, row, { deleted_at: times.now, is_wanted: 0, updated_at: times.now });
  // If it is restored, it has no state until it runs again, and its runner then has another key.
  await forgetRun(tx, row.organization_id, row.id);
  await forgetShares(tx, row.organization_id, row.id);
  await enqueueCleanUp(tx, row, times);
}

async function forgetShares(tx: Transactor, organizationId: string, deploymentId: string): Promise<void> {
  await tx
    .deleteFrom("tvc_provisioning_shares")
    .where("organization_id", "=", organizationId)
    .where("deployment_id", "=", deploymentId)
    .execute();
}

async function forgetRun(tx: Transactor, organizationId: string, deploymentId: string): Promise<void> {
  await tx
    .deleteFrom("tvc_runs")
    .where("organization_id", "=", organizationId)
    .where("deployment_id", "=", deploymentId)
    .execute();
}

export async function updateDeployment(
  tx: Transactor,
  { organization_id, id }: Pick<DeploymentRow, "organization_id" | "id">,
  changes: Partial<DeploymentRow>,
): Promise<void> {
  await tx
    .updateTable("tvc_deployments")
    .set(changes)
    .where("organization_id", "=", organization_id)
    .where("id", "=", id)
    .execute();
}

export async function updateApp(
  tx: Transactor,
  { organization_id, id }: Pick<AppRow, "organization_id" | "id">,
  changes: Partial<AppRow>,
): Promise<void> {
  await tx
    .updateTable("tvc_apps")
    .set(changes)
    .where("organization_id", "=", organization_id)
    .where("id", "=", id)
    .execute();
}

/** Programs here do not run in an enclave, so there is nothing to measure. The manifest says so by empty values. */
const NO_ENCLAVE = { pcr0: "", pcr1: "", pcr2: "", pcr3: "", awsRootCertificate: "", qosCommit: "" };

/** The manifest that an app's operators approve. */
export function manifestFor(app: AppRow, params: DeploymentParams, sets: Sets, now: number): string {
  const { publicIngressPort, healthCheckPort, nonce = Math.floor(now / 1000), debugMode = false } = params;
  const ports = [...new Set([publicIngressPort, healthCheckPort])];
  const membersOf = ({ threshold, operators }: OperatorSet) => ({
    threshold,
    members: operators.map((operator) => ({ alias: operator.name, pubKey: operator.public_key })),
  });
  const manifest: Manifest = {
    version: "v2",
    namespace: { name: `prod/tvc/${app.id}`, nonce, quorumKey: app.quorum_public_key },
    pivot: {
      hash: pivotDigestOf(params),
      restart: "Always",
      bridgeConfig: ports.map((port) => ({ type: "server", port, host: "0.0.0.0" })),
      debugMode,
      args: params.pivotArgs,
      env: {},
    },
    manifestSet: membersOf(sets.manifestSet),
    shareSet: membersOf(sets.shareSet),
    enclave: NO_ENCLAVE,
    dns: undefined,
    patchSet: undefined,
  };
  return manifestJson(manifest);
}

export const pivotDigestOf = ({ expectedPivotDigest }: DeploymentParams): string =>
  expectedPivotDigest.replace(/^sha256:/, "").toLowerCase();

export interface Sets {
  manifestSet: OperatorSet;
  shareSet: OperatorSet;
}

/** The sets of these apps. Each set is read once. */
export async function setsOf(
  read: Reader,
  organizationId: string,
  apps: readonly AppRow[],
): Promise<(app: AppRow) => Sets> {
  const found = await findSets(
    read,
    organizationId,
    apps.flatMap((app) => [app.manifest_set_id, app.share_set_id]),
  );
  return (app) => ({
    manifestSet: found.get(app.manifest_set_id) as OperatorSet,
    shareSet: found.get(app.share_set_id) as OperatorSet,
  });
}

/** The approximate size of an operator in a response: each key twice, two ids, two times, and a name. */
const SHOWN_OPERATOR_BYTES = 1024;

/** The approximate size of an app's sets in a response. */
export const bytesOfSets = ({ manifestSet, shareSet }: Sets): number =>
  SHOWN_OPERATOR_BYTES * (manifestSet.operators.length + shareSet.operators.length);

export const renderApp = (
  app: AppRow,
  { manifestSet, shareSet }: Sets,
  { domain }: Pick<DeploymentHost, "domain">,
): TvcApp => ({
  id: app.id,
  organizationId: app.organization_id,
  name: app.name,
  quorumPublicKey: app.quorum_public_key,
  manifestSet: renderSet(app.organization_id, manifestSet),
  shareSet: renderSet(app.organization_id, shareSet),
  enableEgress: app.enable_egress === 1,
  createdAt: timestampOf(app.created_at),
  updatedAt: timestampOf(app.updated_at),
  ...(app.live_deployment_id === null ? {} : { liveDeploymentId: app.live_deployment_id }),
  publicDomain: `app-${app.id}.${domain}`,
  enableDebugModeDeployments: app.enable_debug === 1,
});

/** These deployments of one app, in the form of responses. */
export async function renderDeployments(
  read: Reader,
  app: AppRow,
  rows: readonly DeploymentRow[],
): Promise<TvcDeployment[]> {
  const { organization_id: organizationId } = app;
  const sets = (await setsOf(read, organizationId, [app]))(app);
  const manifestSet = renderSet(organizationId, sets.manifestSet);
  const shareSet = renderSet(organizationId, sets.shareSet);
  const approvals = await findApprovals(
    read,
    organizationId,
    rows.map(({ id }) => id),
  );
  const approvalsOf = Map.groupBy(approvals, ({ deployment_id }) => deployment_id);
  const operators = new Map(sets.manifestSet.operators.map((operator) => [operator.id, operator]));
  return rows.map((row) => ({
    id: row.id,
    organizationId,
    appId: row.app_id,
    manifestSet,
    shareSet,
    manifest: {
      id: row.manifest_id,
      manifest: Buffer.from(row.manifest).toString("base64"),
      createdAt: timestampOf(row.created_at),
      updatedAt: timestampOf(row.created_at),
    },
    manifestApprovals: (approvalsOf.get(row.id) ?? []).flatMap((approval) => {
      const operator = operators.get(approval.operator_id);
      return operator === undefined
        ? []
        : [
            {
              id: approval.id,
              manifestId: row.manifest_id,
              operator: renderOperator(operator),
              approval: Buffer.from(approval.signature, "hex").toString("base64"),
              createdAt: timestampOf(approval.created_at),
              updatedAt: timestampOf(approval.updated_at),
            },
          ];
    }),
    qosVersion: row.qos_version,
    pivotContainer: {
      containerUrl: row.image_url,
      path: row.pivot_path,
      args: JSON.parse(row.pivot_args) as string[],
      hasPullSecret: row.sealed_pull_secret !== null,
      healthCheckType: row.health_check_type as (typeof healthCheckTypes)[number],
      healthCheckPort: row.health_check_port,
      publicIngressPort: row.public_ingress_port,
    },
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
    delete: row.deleted_at !== null,
    debugMode: row.debug_mode === 1,
  }));
}

/** The approvals of these deployments' manifests, oldest first. */
export async function findApprovals(
  read: Reader,
  organizationId: string,
  deploymentIds: readonly string[],
): Promise<Selectable<Schema["tvc_manifest_approvals"]>[]> {
  if (deploymentIds.length === 0) return [];
  const rows = await read
    .selectFrom("tvc_manifest_approvals")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("deployment_id", "in", [...deploymentIds])
    .execute();
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1));
}
