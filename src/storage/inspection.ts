import { randomUUID } from "node:crypto";
import { realpathSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { dirname, join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { ConnectionOptions } from "node:tls";
import type pg from "pg";
import { INSPECTION_DEADLINE_MS } from "../kernel/limits.ts";
import { type CertificateEnd, certificateEnds } from "./certificates.ts";
import { sqliteFileOf } from "./database.ts";
import type { DatabaseKind } from "./engine.ts";
import { DatabaseFailure, isOutOfRoom, translate } from "./failure.ts";
import { type SchemaState, schemaState } from "./migrate.ts";
import { type Pooler, poolerBefore } from "./pooler.ts";
import { singleClient } from "./postgres-client.ts";
import { connectToOne } from "./postgres-hosts.ts";
import { refuseIfFull } from "./sqlite-files.ts";

/**
 * Inspects a database without changing it, on a separate connection and without the session settings of a server, so that PostgreSQL shows
 * what its operator has configured.
 */
export interface Inspection {
  readonly kind: DatabaseKind;
  /** @throws DatabaseFailure */
  all<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
  /** How the tables differ from those of this version. */
  schemaState(): Promise<SchemaState>;
  /**
   * Performs the steps of a write and rolls them back. Does not wait for a file that another process is writing to.
   *
   * @throws DatabaseFailure
   */
  tryWrite(): Promise<void>;
  /** How the traffic is protected from others. */
  readonly encryption: Encryption;
  /** The certificates of a TLS connection, and when they expire. */
  readonly certificates: readonly CertificateEnd[];
  /** The pooler in front of PostgreSQL, if any. @throws DatabaseFailure */
  pooler(): Promise<Pooler>;
  close(): Promise<void>;
}

/** `nameless`: a verified certificate, which may be for another host name. `local`: unencrypted on this machine. */
export type Encryption = "verified" | "nameless" | "unverified" | "local" | "none";

/** The file of a SQLite database must exist; an in-memory database cannot be inspected. @throws DatabaseFailure */
export async function openInspection(url: string): Promise<Inspection> {
  const file = sqliteFileOf(url);
  return file === undefined ? inspectPostgres(url) : inspectSqlite(file);
}

function inspectSqlite(file: string): Inspection {
  try {
    const database = new DatabaseSync(file, { timeout: INSPECTION_DEADLINE_MS });
    const all = async <Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> => {
      try {
        return database.prepare(sql).all(...(parameters as SQLInputValue[])) as Row[];
      } catch (error) {
        throw translate(error);
      }
    };
    database.exec("pragma query_only = on");
    const tryWrite = async () => {
      try {
        const real = realpathSync(file);
        refuseIfFull(real);
        tryDisk(dirname(real));
        database.exec("pragma query_only = off; pragma busy_timeout = 0; begin immediate; rollback");
      } catch (error) {
        throw translate(error);
      } finally {
        database.exec(`pragma query_only = on; pragma busy_timeout = ${INSPECTION_DEADLINE_MS}`);
      }
    };
    const close = async () => database.close();
    return inspectionOn("sqlite", { all, tryWrite, close });
  } catch (error) {
    throw translate(error);
  }
}

/**
 * A rolled back transaction never reaches the disk, and a disk that became read-only under a running server still lets files be opened.
 * Only writing and syncing something shows the truth.
 *
 * @throws DatabaseFailure
 */
function tryDisk(folder: string): void {
  const file = join(folder, `keystead-doctor-${randomUUID()}`);
  try {
    try {
      writeFileSync(file, "nothing stays of this\n", { flag: "wx", mode: 0o600, flush: true });
    } finally {
      rmSync(file, { force: true });
    }
  } catch (error) {
    if (isOutOfRoom(error)) throw translate(error);
    const code = (error as NodeJS.ErrnoException).code ?? "EIO";
    throw new DatabaseFailure("unavailable", error, `is in a folder that accepts no writes (${code})`);
  }
}

async function inspectPostgres(url: string): Promise<Inspection> {
  // The sockets of this connection only, so that one that hangs can be destroyed.
  const sockets: Socket[] = [];
  const close = async () => {
    for (const socket of sockets) socket.destroy();
  };
  const open = (connectionString: string) =>
    singleClient(connectionString, "keystead doctor", {
      stream: () => {
        const socket = new Socket();
        sockets.push(socket);
        return socket;
      },
      connectionTimeoutMillis: INSPECTION_DEADLINE_MS,
      query_timeout: INSPECTION_DEADLINE_MS,
      keepAlive: false,
    });
  try {
    const client = await connectToOne(url, open);
    const all = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
      try {
        return (await client.query({ text, values: values as unknown[] })).rows as Row[];
      } catch (error) {
        throw translate(error);
      }
    };
    return inspectionOn("postgres", {
      all,
      tryWrite: async () => {
        await all(SPILL);
      },
      close,
      encryption: encryptionOf(client),
      certificates: certificateEnds(client),
      pooler: () =>
        poolerBefore(client, () => connectToOne(url, open)).catch((error: unknown) => {
          throw translate(error);
        }),
    });
  } catch (error) {
    await close();
    throw translate(error);
  }
}

/**
 * A sort that does not fit into memory: it uses some megabytes of disk while it runs, and changes no table. It may take as long as a
 * server's writes; a short timeout configured for the role says nothing about the disk.
 */
const SPILL = `set local work_mem = '64kB'; set local temp_tablespaces = ''; set local statement_timeout = ${INSPECTION_DEADLINE_MS};
  select count(*) from (select each from generate_series(1, 400000) as each order by -each) as sorted`;

/** The driver connects without TLS only if TLS is not requested. */
function encryptionOf({ ssl, host }: pg.Client): Encryption {
  const options = ssl as boolean | ConnectionOptions;
  if (options === false) {
    const isLocal = host.startsWith("/") || host === "localhost" || host === "::1" || host.startsWith("127.");
    return isLocal ? "local" : "none";
  }
  if (options === true) return "verified";
  if (options.rejectUnauthorized === false) return "unverified";
  return options.checkServerIdentity === undefined ? "verified" : "nameless";
}

function inspectionOn(
  kind: DatabaseKind,
  { all, ...others }: Pick<Inspection, "all" | "tryWrite" | "close"> & Partial<Inspection>,
): Inspection {
  return {
    kind,
    all,
    encryption: "local",
    certificates: [],
    pooler: async () => "none",
    ...others,
    schemaState: () => schemaState(kind, all),
  };
}
