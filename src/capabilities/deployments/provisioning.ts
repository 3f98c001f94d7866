import { createHash } from "node:crypto";
import type { Selectable } from "kysely";
import { type Provisioning, provisioningDocument } from "../../crypto/manifests/provisioning.ts";
import { currentServiceKey, type ServiceSigner, signStatements } from "../../engine/keys/service-keys.ts";
import { bootKey } from "../../engine/proofs/boot-proofs.ts";
import { toHex } from "../../kernel/bytes.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { Schema } from "../../storage/schema.ts";
import type { ProvisioningState } from "./model.ts";
import type { OperatorRow } from "./operators.ts";
import { findQuorumKey } from "./quorum-keys.ts";
import {
  type AppRow,
  type DeploymentRow,
  findRuns,
  type Run,
  requireDeployment,
  requireOpenApp,
  type Sets,
  setsOf,
} from "./store.ts";

/**
 * Gives a deployment the quorum key of its app: its runner makes an ephemeral key, operators submit their shares encrypted to that key, and from
 * enough shares the runner reconstructs the quorum key.
 */

type ProvisioningShare = Selectable<Schema["tvc_provisioning_shares"]>;

/** Undefined for an app whose quorum key was not generated here: its programs run without the key. */
export function provisioningStateOf(
  { quorum_key_id }: Pick<AppRow, "quorum_key_id">,
  run: Run | undefined,
): ProvisioningState | undefined {
  if (quorum_key_id === null) return undefined;
  if (run?.isProvisioned) return "PROVISIONING_STATE_PROVISIONED";
  return run?.provisioning === undefined ? "PROVISIONING_STATE_PENDING" : "PROVISIONING_STATE_AWAITING_PROVISION";
}

/** A deployment that waits for shares, with the sets of operators. */
export interface AwaitedProvisioning {
  app: AppRow;
  deployment: DeploymentRow;
  sets: Sets;
  /** The parsed document. */
  asked: Provisioning;
  document: string;
}

/** @throws KeysteadError RESOURCE_NOT_FOUND, TVC_APP_DELETED, TVC_DEPLOYMENT_DELETED or TVC_NOT_AWAITING_PROVISION */
export async function requireAwaiting(
  read: Reader,
  organizationId: string,
  id: string,
  now: number,
): Promise<AwaitedProvisioning> {
  const deployment = await requireDeployment(read, organizationId, id);
  const app = await requireOpenApp(read, organizationId, deployment.app_id);
  if (deployment.deleted_at !== null) fail("TVC_DEPLOYMENT_DELETED", { id });
  const refuse = (reason: string) => fail("TVC_NOT_AWAITING_PROVISION", { id, reason });
  const run = (await findRuns(read, organizationId, [id], now)).get(id);
  const state = provisioningStateOf(app, run);
  if (state === undefined) refuse("the quorum key of its app was not created with create_tvc_quorum_key");
  if (state === "PROVISIONING_STATE_PROVISIONED") refuse("it already has the quorum key");
  const document =
    run?.provisioning ??
    refuse("no runner has started it yet; it must be approved, and a server with a runner must be running");
  const sets = (await setsOf(read, organizationId, [app]))(app);
  return { app, deployment, sets, asked: JSON.parse(document) as Provisioning, document };
}

/** Stores an operator's share in place of any earlier one. */
export async function addShare(
  tx: Transactor,
  { deployment, asked }: AwaitedProvisioning,
  { id: operatorId }: OperatorRow,
  given: { id: string; share: string; signature: string },
  now: number,
): Promise<void> {
  const { organization_id: organizationId, id: deploymentId } = deployment;
  await tx
    .deleteFrom("tvc_provisioning_shares")
    .where("organization_id", "=", organizationId)
    .where("deployment_id", "=", deploymentId)
    .where("operator_id", "=", operatorId)
    .execute();
  const row = {
    organization_id: organizationId,
    deployment_id: deploymentId,
    operator_id: operatorId,
    ephemeral_public_key: asked.ephemeralPublicKey,
    ...given,
    created_at: now,
    updated_at: now,
  };
  await tx.insertInto("tvc_provisioning_shares").values(row).execute();
}

/** The shares for the runner's current key, oldest first. */
export async function findShares(
  read: Reader,
  { organizationId, deploymentId }: { organizationId: string; deploymentId: string },
  ephemeralPublicKey: string,
): Promise<ProvisioningShare[]> {
  const rows = await read
    .selectFrom("tvc_provisioning_shares")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("deployment_id", "=", deploymentId)
    .execute();
  return rows
    .filter(({ ephemeral_public_key }) => ephemeral_public_key === ephemeralPublicKey)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The same shares in the form that a runner takes: each with the digest that the quorum key has for its operator's share. */
export async function sharesFor(
  read: Reader,
  { organization_id, id }: Pick<DeploymentRow, "organization_id" | "id">,
  { quorumKeyId, ephemeralPublicKey }: { quorumKeyId: string; ephemeralPublicKey: string },
): Promise<{ share: string; digest: string }[]> {
  const given = await findShares(read, { organizationId: organization_id, deploymentId: id }, ephemeralPublicKey);
  if (given.length === 0) return [];
  const key = await findQuorumKey(read, organization_id, { id: quorumKeyId });
  const digests = new Map(key?.shares.map(({ operator_id, digest }) => [operator_id, digest]));
  return given.map(({ operator_id, share }) => ({ share, digest: digests.get(operator_id) ?? "" }));
}

/** The installation's signed document about the key that a deployment's runner made. */
export async function stateProvisioning(
  { read, signer }: ServiceSigner,
  { organization_id, id }: Pick<DeploymentRow, "organization_id" | "id">,
  ephemeralPublicKey: string,
): Promise<string> {
  const { manifest } = await requireDeployment(read, organization_id, id);
  const manifestHash = createHash("sha256").update(manifest).digest("hex");
  const provisioning = { deploymentId: id, manifestHash, ephemeralPublicKey };
  const key = await currentServiceKey(read, bootKey);
  const [signature = Buffer.alloc(0)] = await signStatements({ read, signer }, key, [
    { says: "provisioning", ...provisioning },
  ]);
  return provisioningDocument(provisioning, key.publicKey, toHex(signature));
}

/** An operator's share of the app's quorum key. @throws KeysteadError TVC_SHARE_REFUSED */
export async function requireShare(
  read: Reader,
  { organization_id, quorum_key_id }: AppRow,
  operator: OperatorRow,
  field: string,
): Promise<{ encryptedShare: string }> {
  const key = quorum_key_id === null ? undefined : await findQuorumKey(read, organization_id, { id: quorum_key_id });
  const share = key?.shares.find(({ operator_id }) => operator_id === operator.id);
  if (!share)
    return fail("TVC_SHARE_REFUSED", { field, reason: "names an operator without a share of the quorum key" });
  return { encryptedShare: share.encrypted_share };
}
