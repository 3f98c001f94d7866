import { setTimeout } from "node:timers/promises";
import { findMaintenance, type Maintenance, storeMaintenance } from "../../engine/maintenance.ts";
import type { Clock } from "../../kernel/clock.ts";
import { SERVER_ALIVE_MS, SERVER_LOOK_MS, SERVER_TOLD_DEADLINE_MS } from "../../kernel/limits.ts";
import type { Database } from "../../storage/database.ts";
import type { Reader } from "../../storage/engine.ts";
import { StartProblem } from "../config.ts";
import type { ServerState } from "../presence.ts";
import type { RootKeysOfServer } from "../root-key/follower.ts";
import { requireLabel, thisOperator } from "./operator.ts";

/** The servers that run on a database, and the operators' commands to them. */

export interface ShownServer {
  id: string;
  host: string;
  pid: number;
  version: string;
  url: string;
  state: ServerState;
  /** RFC 3339. */
  startedAt: string;
  lastSeenAt: string;
  /** Whether it sent a heartbeat recently. A server that was shut down properly is not in the list. */
  isAlive: boolean;
  /** Null if it is of a version that does not tell. */
  rootKeys: RootKeysOfServer | null;
}

const isInMaintenance = (state: ServerState) => state === "maintenance" || state === "draining in maintenance";
const isDraining = (state: ServerState) => state === "draining" || state === "draining in maintenance";

/** Whether a server with its last heartbeat at this time counts as running. */
export const isAlive = (seenAt: number, now: number): boolean => now - seenAt < SERVER_ALIVE_MS;

export async function listServers(read: Reader, now: number): Promise<ShownServer[]> {
  const rows = await read.selectFrom("servers").selectAll().orderBy("id").execute();
  return rows.map(({ id, host, pid, version, url, state, started_at, seen_at, root_keys }) => ({
    id,
    host,
    pid,
    version,
    url,
    state,
    startedAt: new Date(started_at).toISOString(),
    lastSeenAt: new Date(seen_at).toISOString(),
    isAlive: isAlive(seen_at, now),
    rootKeys: root_keys === null ? null : (JSON.parse(root_keys) as RootKeysOfServer),
  }));
}

export interface ShownMaintenance extends Omit<Maintenance, "since"> {
  /** RFC 3339. */
  since: string;
}

export interface ToldServers {
  maintenance: ShownMaintenance | null;
  /** The previous maintenance that this one replaced, probably with another operator's reason. */
  replaced: ShownMaintenance | null;
  /** Whether all live servers apply it. */
  isKnownToAll: boolean;
  instances: ShownServer[];
}

/**
 * Begins or ends a maintenance, and waits until all live servers know it.
 *
 * @throws StartProblem
 */
export async function setMaintenance(
  database: Database,
  { isOn, reason }: { isOn: boolean; reason: string | undefined },
  clock: Clock,
): Promise<ToldServers> {
  requireLabel("--reason", reason);
  const { before, after } = await database.transact("maintenance", async (tx) => {
    const before = await findMaintenance(tx);
    const after = isOn ? begun(before, reason, clock()) : undefined;
    await storeMaintenance(tx, after);
    return { before, after };
  });
  const isTold = ({ state }: ShownServer) => isInMaintenance(state) === isOn;
  const { isSo, instances } = await untilAlive(database.read, clock, isTold);
  const replaced = after && before !== after ? before : undefined;
  return {
    maintenance: shownOrNull(after),
    replaced: shownOrNull(replaced),
    isKnownToAll: isSo,
    instances,
  };
}

/** A repeated command keeps the original start time and, if it gives no reason, the original reason. */
function begun(before: Maintenance | undefined, reason: string | undefined, now: number): Maintenance {
  if (before && reason === undefined) return before;
  const since = before?.since ?? now;
  return { since, ...(reason === undefined ? {} : { reason }), operator: thisOperator() };
}

const shownOrNull = (maintenance: Maintenance | undefined): ShownMaintenance | null =>
  maintenance ? { ...maintenance, since: new Date(maintenance.since).toISOString() } : null;

/**
 * Tells a server to drain, and waits until it does. Without an id, it is the server on this machine.
 *
 * @throws StartProblem if there is no such server, or several on this machine
 */
export async function drainServer(database: Database, id: string | undefined, clock: Clock): Promise<ShownServer> {
  const alive = (await listServers(database.read, clock())).filter(({ isAlive }) => isAlive);
  const { host } = thisOperator();
  const found = id === undefined ? ownOf(alive, host) : alive.filter((server) => server.id === id);
  const [server] = found;
  if (!server) {
    throw new StartProblem(
      id === undefined
        ? "no server runs on this database on this machine; `keystead instances` lists those on other machines"
        : `no running server has the ID ${id}; \`keystead instances\` lists those that run`,
    );
  }
  if (found.length > 1) {
    throw new StartProblem(
      `several servers run on this machine; name one of ${found.map((each) => each.id).join(", ")}`,
    );
  }
  await database.transact(undefined, async (tx) => {
    await tx.updateTable("servers").set({ is_draining: 1 }).where("id", "=", server.id).execute();
  });
  const { isSo, instances } = await untilAlive(
    database.read,
    clock,
    ({ id: each, state }) => each !== server.id || isDraining(state),
  );
  const told = instances.find((each) => each.id === server.id);
  if (!isSo || !told) throw new StartProblem(`server ${server.id} was told to drain, but has not confirmed it`);
  return told;
}

/** The servers on this machine. Those whose process is gone are excluded, unless none has a running process. */
function ownOf(alive: readonly ShownServer[], host: string): ShownServer[] {
  const own = alive.filter((server) => server.host === host);
  const running = own.filter(({ pid }) => isRunning(pid));
  // Containers with the same host name cannot see each other's processes, so the process ids may tell nothing.
  return running.length > 0 ? running : own;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Polls the servers until all live ones meet the condition, or the deadline for that is over. */
export async function untilAlive(
  read: Reader,
  clock: Clock,
  is: (server: ShownServer) => boolean,
): Promise<{ isSo: boolean; instances: ShownServer[] }> {
  const deadline = performance.now() + SERVER_TOLD_DEADLINE_MS;
  for (;;) {
    const instances = await listServers(read, clock());
    const isSo = instances.every((each) => !each.isAlive || is(each));
    if (isSo || performance.now() > deadline) return { isSo, instances };
    await setTimeout(SERVER_LOOK_MS / 2);
  }
}
