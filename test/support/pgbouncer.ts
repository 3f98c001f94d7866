import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { reservePort } from "./ports.ts";
import { unprivileged } from "./postgres.ts";

/** PgBouncer before a PostgreSQL server, in transaction mode. */
export interface PgBouncer {
  /** `postgres://…` of a database behind it. */
  urlOf(database: string): string;
  pid: number;
  stop(): Promise<void>;
}

/** Where Debian and others install it. */
export const PGBOUNCER = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"].find(existsSync);

export async function startPgBouncer(
  postgresUrl: string,
  settings: Readonly<Record<string, string | number>>,
): Promise<PgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), "keystead-pgbouncer-"));
  // It refuses to run as root, whose folders others cannot read.
  chmodSync(folder, 0o755);
  const { hostname, port: ofPostgres, username } = new URL(postgresUrl);
  const port = await reservePort();
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "any",
    pool_mode: "transaction",
    ...settings,
  };
  const file = join(folder, "pgbouncer.ini");
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  const target = `* = host=${hostname} port=${ofPostgres} user=${username}`;
  writeFileSync(file, ["[databases]", target, "[pgbouncer]", ...lines, ""].join("\n"), { mode: 0o644 });
  // With the groups of root it could read what only root's group can.
  const bouncer = spawn(PGBOUNCER as string, ["-q", file], { ...unprivileged(), cwd: folder, stdio: "ignore" });
  const kill = () => bouncer.kill("SIGKILL");
  process.once("exit", kill);
  const urlOf = (database: string) => `postgres://${username}@127.0.0.1:${port}/${database}`;
  const stop = async () => {
    process.removeListener("exit", kill);
    const exit = new Promise((resolve) => bouncer.once("exit", resolve));
    if (bouncer.exitCode === null && bouncer.signalCode === null) {
      bouncer.kill("SIGKILL");
      await exit;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  await untilAnswering(urlOf("postgres"), bouncer).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { urlOf, pid: bouncer.pid as number, stop };
}

async function untilAnswering(url: string, bouncer: ChildProcess): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.query("select 1");
      return;
    } catch (error) {
      if (bouncer.exitCode !== null || Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    } finally {
      await client.end().catch(() => {});
    }
  }
}
