import type pg from "pg";

/** What is between this server and PostgreSQL: nothing, or a pooler that gives sessions, or the next best one to each transaction. */
export type Pooler = "none" | "sessions" | "transactions";

/**
 * Finds out by two connections, of which the other one is opened only if need be and is left in a transaction. A pooler tells each client a
 * process of its own, and only one that pools sessions keeps to the same process behind it.
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
