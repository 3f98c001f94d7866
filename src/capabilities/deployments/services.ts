import type { Images } from "../../providers/oci/registry.ts";
import type { Runner } from "../../runner/runner.ts";

/** What deployments need of the house beside what the engine has for all. */

declare module "../../engine/services.ts" {
  interface Services {
    /** Where programs of deployments run, and where their images are. */
    deployments: DeploymentHost;
  }
}

export interface DeploymentHost {
  /** Undefined: this server runs none. */
  runner: Pick<Runner, "replicasOf" | "logsOf"> | undefined;
  images: Pick<Images, "resolve">;
  /** Below which the domains of apps are. */
  domain: string;
  /** The newest first. */
  qosVersions: readonly [string, ...string[]];
  /** How long a deleted deployment can be restored. */
  cleanUpAfterMs: number;
}
