import { hash } from "node:crypto";
import { judgeApprovals } from "../../crypto/manifests/approvals.ts";
import { type Manifest, parseManifest } from "../../crypto/manifests/manifest.ts";
import {
  MAX_REMEMBERED_JUDGEMENTS,
  MAX_SHOWN_MANIFEST_DIGITS,
  MAX_TVC_OPERATORS_OF_SET,
  MAX_TVC_REPLICAS,
} from "../../kernel/limits.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import { pause } from "../../kernel/turns.ts";
import type { Reader } from "../../storage/engine.ts";
import type { DeploymentRow } from "./store.ts";

/**
 * Ensures that only approved programs run. They are read from the manifest, whose approvals are verified again, and never from the other columns,
 * because anybody with write access to the database can change those alone.
 */

/** The program of a manifest. */
export interface ApprovedProgram {
  /** The SHA-256 of the program, in hex. */
  digest: string;
  args: readonly string[];
  publicIngressPort: number;
  healthCheckPort: number;
  /** The only quorum key that the program may receive: uncompressed points of P-256 in lowercase hex. */
  quorumPublicKey: string;
  /** The number of shares that reconstruct it. */
  shareThreshold: number;
}

/** A program that may run, or the reason why it may not. */
export type Judged = { program: ApprovedProgram; refusal?: undefined } | { program?: undefined; refusal: string };

/** The columns that are compared with the manifest. */
export interface ClaimedDeployment
  extends Pick<
    DeploymentRow,
    | "app_id"
    | "manifest"
    | "pivot_args"
    | "pivot_digest"
    | "debug_mode"
    | "health_check_port"
    | "public_ingress_port"
    | "replicas"
  > {
  quorum_key_id: string | null;
  quorum_public_key: string | null;
  quorum_threshold: number | null;
}

/** An approval with the operator who gave it. */
export interface GivenApproval {
  name: string;
  /** The pair, hex. */
  public_key: string;
  /** Hex: r || s. */
  signature: string;
}

const BASE64_DIGITS = 4;
const BASE64_BYTES = 3;
const MAX_MANIFEST_BYTES = (MAX_SHOWN_MANIFEST_DIGITS / BASE64_DIGITS) * BASE64_BYTES;

/** Compares a deployment with its manifest, and verifies the manifest set's signatures of that manifest. */
export function judgeDeployment(row: ClaimedDeployment, approvals: readonly GivenApproval[]): Judged {
  const manifest = readManifest(row.manifest);
  if (!manifest) return { refusal: "its manifest cannot be read" };
  const { valid, threshold, reached } = judgeApprovals({
    manifest,
    manifestSetApprovals: approvals.slice(0, MAX_TVC_OPERATORS_OF_SET).map(({ name, public_key, signature }) => ({
      signature,
      member: { alias: name, pubKey: public_key.toLowerCase() },
    })),
    shareSetApprovals: [],
    isBare: false,
  });
  if (!reached) {
    return {
      refusal: `its manifest has valid approvals from ${valid} members of the manifest set, but requires ${threshold}`,
    };
  }
  const { namespace, pivot, shareSet } = manifest;
  const ports = pivot.bridgeConfig?.map(({ port }) => port) ?? [];
  const [publicIngressPort] = ports;
  const healthCheckPort = ports.at(-1);
  const refusal = differenceOf(row, manifest, { publicIngressPort, healthCheckPort });
  if (refusal !== undefined || publicIngressPort === undefined || healthCheckPort === undefined) {
    return { refusal: refusal ?? "its manifest names no port" };
  }
  return {
    program: {
      digest: pivot.hash,
      args: pivot.args,
      publicIngressPort,
      healthCheckPort,
      quorumPublicKey: namespace.quorumKey,
      shareThreshold: shareSet.threshold,
    },
  };
}

function readManifest(text: string): Manifest | undefined {
  // Untrusted: anybody with write access to the database could have written it.
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_MANIFEST_BYTES) return undefined;
  try {
    return parseManifest(bytes);
  } catch {
    return undefined;
  }
}

/** How the row differs from the manifest, or what in it this runner does not support; undefined if nothing. */
function differenceOf(
  row: ClaimedDeployment,
  { namespace, pivot, shareSet }: Manifest,
  ports: { publicIngressPort: number | undefined; healthCheckPort: number | undefined },
): string | undefined {
  const differs = (what: string) => `${what} in the database is not the one in the approved manifest`;
  if (namespace.name !== `prod/tvc/${row.app_id}`) return "its manifest is that of another app";
  if (row.pivot_digest !== pivot.hash) return differs("the program's digest");
  if (row.pivot_args !== JSON.stringify(pivot.args)) return differs("the list of arguments");
  if (row.public_ingress_port !== ports.publicIngressPort) return differs("the public ingress port");
  if (row.health_check_port !== ports.healthCheckPort) return differs("the health check port");
  if ((row.debug_mode === 1) !== pivot.debugMode) return differs("the debug mode");
  if (row.quorum_key_id !== null) {
    if (row.quorum_public_key?.toLowerCase() !== namespace.quorumKey) return differs("the quorum key");
    if (row.quorum_threshold !== shareSet.threshold) return differs("the threshold of the quorum key");
  }
  if (pivot.restart !== "Always") return "its manifest does not have it restarted, which this runner always does";
  if (Object.keys(pivot.env).length > 0) return "its manifest sets an environment, which this runner does not give";
  if (row.replicas < 1 || row.replicas > MAX_TVC_REPLICAS) return `it has ${row.replicas} replicas`;
  return undefined;
}

/** By the digest of everything that was judged. */
const remembered = recentlyUsed<Judged>({ entries: MAX_REMEMBERED_JUDGEMENTS });

/**
 * The same with a cache: an app's status may be polled all the time, and verifying 50 signatures takes 14 ms. A new judgement pauses first.
 *
 * @param queue the queue of `pause`
 */
export async function judgeOnce(
  row: ClaimedDeployment,
  approvals: readonly GivenApproval[],
  queue: string,
): Promise<Judged> {
  const key = hash("sha256", JSON.stringify([row, approvals]), "base64");
  const known = remembered.get(key);
  if (known) return known;
  await pause(queue);
  const judged = judgeDeployment(row, approvals);
  remembered.set(key, judged);
  return judged;
}

/** The same for a deployment as stored in the database. */
export async function judgeStored(read: Reader, organizationId: string, id: string): Promise<Judged> {
  const row = await read
    .selectFrom("tvc_deployments as d")
    .innerJoin("tvc_apps as a", (join) =>
      join.onRef("a.organization_id", "=", "d.organization_id").onRef("a.id", "=", "d.app_id"),
    )
    .leftJoin("tvc_quorum_keys as q", (join) =>
      join.onRef("q.organization_id", "=", "a.organization_id").onRef("q.id", "=", "a.quorum_key_id"),
    )
    .select(["d.app_id", "d.manifest", "d.pivot_args", "d.pivot_digest", "d.debug_mode", "d.health_check_port"])
    .select(["d.public_ingress_port", "d.replicas", "a.quorum_key_id"])
    .select(["q.public_key as quorum_public_key", "q.threshold as quorum_threshold"])
    .where("d.organization_id", "=", organizationId)
    .where("d.id", "=", id)
    .executeTakeFirst();
  if (!row) return { refusal: "it is gone" };
  const approvals = await read
    .selectFrom("tvc_manifest_approvals as m")
    .innerJoin("tvc_operators as o", (join) =>
      join.onRef("o.organization_id", "=", "m.organization_id").onRef("o.id", "=", "m.operator_id"),
    )
    .select(["o.name", "o.public_key", "m.signature"])
    .where("m.organization_id", "=", organizationId)
    .where("m.deployment_id", "=", id)
    .limit(MAX_TVC_OPERATORS_OF_SET)
    .execute();
  return judgeOnce(row, approvals, organizationId);
}
