import type { Clock } from "../../kernel/clock.ts";
import type { Database } from "../../storage/database.ts";
import type { Config } from "../config.ts";
import { listServers, type ShownServer } from "../operators/servers.ts";
import { findRootKeys, type RememberedRootKeys } from "./remembered.ts";
import { signerWithRootKey } from "./signer.ts";

export interface ShownRootKeys {
  file: string;
  /** The ids of the root keys in the file. */
  rootKeyIds: string[];
  /** Whether the file needs a passphrase. */
  protected: boolean;
  /** Those that the database remembers; null before the first start. */
  database: RememberedRootKeys | null;
  servers: Pick<ShownServer, "id" | "host" | "pid" | "isAlive" | "rootKeys">[];
}

/** @throws StartProblem */
export async function showRootKeys(config: Config, { read }: Database, clock: Clock): Promise<ShownRootKeys> {
  const signer = await signerWithRootKey(config);
  const rootKeyIds = [...signer.rootKeyIds];
  await signer.close();
  const servers = await listServers(read, clock());
  return {
    file: config.rootKeyFile,
    rootKeyIds,
    protected: config.rootKeyPassphrase !== undefined,
    database: (await findRootKeys(read)) ?? null,
    servers: servers.map(({ id, host, pid, isAlive, rootKeys }) => ({ id, host, pid, isAlive, rootKeys })),
  };
}
