import type pg from "pg";

/** What is between this server and PostgreSQL: nothing, a pooler of sessions, or a pooler that may give each transaction another session. */
export type Pooler = "none" | "sessions" | "transactions";

/**
 * Detects a pooler with two connections; the second is opened only if needed and is left in a transaction. A pooler reports its own process
 * id to each client, and only a pooler of sessions stays on the same process behind it.
 */
export async function poolerBefore(client: pg.ClientBase, another: () => Promise<pg.ClientBase>): Promise<Pooler> {
  const first = await processOf(client);
  if (first === (client as pg.ClientBase & { processID?: number }).processID) return "none";
  const other = await another();
  await other.query("begin");
  const ofOther = await processOf(other);
  const second = await processOf(client);
  return ofOther === first || second !== first ? "transactions" : "sessions";
}

async function processOf(client: pg.ClientBase): Promise<number | undefined> {
  return (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]?.pid;
}
