import { newId } from "../../src/kernel/ids.ts";
import type { Client } from "./client.ts";
import { createTestDatabase } from "./postgres.ts";
import { testPostgresUrl } from "./server.ts";
import {
  type ServerProcess,
  type ServerProcessOptions,
  startServerProcess,
  temporaryFolder,
} from "./server-process.ts";

/** Servers as processes, alone or on one database together, for requests that get in each other's way. */

export interface Arena {
  databaseUrl: string;
  /** Of the root user, of the servers in turn, so that neighbours meet on different ones. */
  client(turn: number): Client;
  /** Kills the last server, and starts it again at another port. */
  killOne(): Promise<void>;
  close(): Promise<void>;
}

export const arenas: Record<string, (settings?: Record<string, string>) => Promise<Arena>> = {
  "one server on SQLite": (settings = {}) => {
    const dataDir = temporaryFolder();
    return arenaOf(`sqlite:${dataDir}/keystead.db`, [{ dataDir, settings }]);
  },
  "one server on PostgreSQL": async (settings = {}) => {
    const databaseUrl = await newArenaDatabase();
    return arenaOf(databaseUrl, [{ dataDir: temporaryFolder(), databaseUrl, settings }]);
  },
  "two servers on one PostgreSQL": async (given = {}) => {
    const databaseUrl = await newArenaDatabase();
    const [dataDir, otherDataDir] = [temporaryFolder(), temporaryFolder()];
    const settings = { ...given, KEYSTEAD_ROOT_KEY_FILE: `${dataDir}/root.key` };
    return arenaOf(databaseUrl, [
      { dataDir, databaseUrl, settings },
      { dataDir: otherDataDir, databaseUrl, settings, credentialsFrom: dataDir },
    ]);
  },
};

export const newArenaDatabase = (): Promise<string> =>
  createTestDatabase(testPostgresUrl(), `races_${newId().replaceAll("-", "")}`);

/** The first makes the installation. */
async function arenaOf(databaseUrl: string, options: readonly ServerProcessOptions[]): Promise<Arena> {
  const servers: ServerProcess[] = [];
  for (const each of options) servers.push(await startServerProcess(each));
  return {
    databaseUrl,
    client: (turn) => (servers[turn % servers.length] as ServerProcess).root,
    async killOne() {
      const last = servers.length - 1;
      await servers[last]?.end("SIGKILL");
      servers[last] = await startServerProcess(options[last] as ServerProcessOptions);
    },
    close: async () => {
      await Promise.all(servers.map((server) => server.end("SIGTERM")));
    },
  };
}
