import { type Chains, writeChains } from "./chain.ts";
import { type ServerProcess, startServerProcess } from "./server-process.ts";

interface ServerOnNodes {
  /** Where the credentials and the root key are. */
  folder: string;
  /** Of this server, if not the same. */
  dataDir?: string;
  databaseUrl: string;
  chains: Chains;
  /** More of its configuration file. */
  parts?: object;
  settings?: Record<string, string>;
}

/** A server to be killed and started again on the same database and nodes; nobody waits long for the leases of one that was killed. */
export const startOnNodes = ({
  folder,
  dataDir = folder,
  databaseUrl,
  chains,
  parts = {},
  settings = {},
}: ServerOnNodes): Promise<ServerProcess> =>
  startServerProcess({
    dataDir,
    databaseUrl,
    credentialsFrom: folder,
    settings: {
      KEYSTEAD_ROOT_KEY_FILE: `${folder}/root.key`,
      KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
      KEYSTEAD_JOB_LEASE_SECONDS: "2",
      KEYSTEAD_LOG_LEVEL: "error",
      KEYSTEAD_CONFIG: writeChains(dataDir, chains, parts),
      ...settings,
    },
  });
