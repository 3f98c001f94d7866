import type { LogEntry, Program, ProvisioningState, Replica } from "./runner.ts";

/** The messages between the server and the runner's process. */

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
  /** The folder for programs' working directories and for records of running processes. */
  directory: string;
  /** The first of the users as which programs run, one for each deployment. If undefined, they run as the server's user. */
  firstUid: number | undefined;
}
