import type { Images } from "../../providers/oci/registry.ts";
import type { Runner } from "../../runner/runner.ts";

/** The services that deployments need in addition to those that the engine gives every operation. */

declare module "../../engine/services.ts" {
  interface Services {
    /** The runner for programs, and the access to their images. */
    deployments: DeploymentHost;
  }
}

export interface DeploymentHost {
  /** Undefined if this server runs no deployments. */
  runner: Pick<Runner, "replicasOf" | "logsOf"> | undefined;
  images: Pick<Images, "resolve">;
  /** The parent domain of the apps' domains. */
  domain: string;
  /** Newest first. */
  qosVersions: readonly [string, ...string[]];
  /** How long a deleted deployment can be restored. */
  cleanUpAfterMs: number;
}
