import type { LogEntry, Program, ProvisioningState, Replica } from "./runner.ts";

/** What the server and the runner's process say to each other. */

export type ToRunner =
  | { say: "begin"; settings: ProcessSettings }
  | { say: "run"; programs: readonly Program[] }
  | { say: "logs"; id: number; deploymentId: string; tailLines: number };

export type FromRunner =
  | {
      say: "replicas";
      deployments: Record<string, readonly Replica[]>;
      provisioning: Record<string, ProvisioningState>;
    }
  | { say: "logs"; id: number; entries: readonly LogEntry[] };

export interface ProcessSettings {
  /** Where programs have their working directories, and where it is noted which processes run. */
  directory: string;
  /** The first of the users that programs run as, one for each deployment; undefined: the user that the server runs as. */
  firstUid: number | undefined;
}
