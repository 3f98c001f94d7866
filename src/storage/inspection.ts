import { randomUUID } from "node:crypto";
import { realpathSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { dirname, join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { ConnectionOptions } from "node:tls";
import pg from "pg";
import { INSPECTION_DEADLINE_MS } from "../kernel/limits.ts";
import { type CertificateEnd, certificateEnds } from "./certificates.ts";
import { sqliteFileOf } from "./database.ts";
import type { DatabaseKind } from "./engine.ts";
import { DatabaseFailure, isOutOfRoom, translate } from "./failure.ts";
import { type SchemaState, schemaState } from "./migrate.ts";
import { type Pooler, poolerBefore } from "./pooler.ts";
import { connectToOne } from "./postgres-hosts.ts";
import { postgresTypes } from "./postgres-pool.ts";
import { refuseIfFull } from "./sqlite-files.ts";

/**
 * A look at a database that changes nothing in it, on a connection of its own and with none of the settings that a server asks for:
 * what PostgreSQL shows is what its operator has set.
 */
export interface Inspection {
  readonly kind: DatabaseKind;
  /** @throws DatabaseFailure */
  all<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
  /** How far its tables are from those of this version. */
  schemaState(): Promise<SchemaState>;
  /**
   * Has it do what a write takes, and take it back. A file that somebody else is writing to is not waited for.
   *
   * @throws DatabaseFailure
   */
  tryWrite(): Promise<void>;
  /** What keeps others from what is said to it. */
  readonly encryption: Encryption;
  /** Of a connection by TLS. */
  readonly certificates: readonly CertificateEnd[];
  /** What hands on to PostgreSQL what is said to it. @throws DatabaseFailure */
  pooler(): Promise<Pooler>;
  close(): Promise<void>;
}

/** `nameless`: by a certificate in which the name of the host may be another. `local`: nothing, on this machine. */
export type Encryption = "verified" | "nameless" | "unverified" | "local" | "none";

/** The file of a SQLite database must be there; one in memory cannot be looked at. @throws DatabaseFailure */
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
 * What is rolled back never comes to the disk, and one that became read-only under a running server lets files be opened as before:
 * only something that is written and synced tells.
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
    throw new DatabaseFailure("unavailable", error, `is in a folder that takes no writes (${code})`);
  }
}

async function inspectPostgres(url: string): Promise<Inspection> {
  // Theirs alone, so that one that hangs can be ended.
  const sockets: Socket[] = [];
  const close = async () => {
    for (const socket of sockets) socket.destroy();
  };
  const open = (connectionString: string) => {
    const client = new pg.Client({
      connectionString,
      stream: () => {
        const socket = new Socket();
        sockets.push(socket);
        return socket;
      },
      types: postgresTypes as pg.CustomTypesConfig,
      connectionTimeoutMillis: INSPECTION_DEADLINE_MS,
      query_timeout: INSPECTION_DEADLINE_MS,
      application_name: "keystead doctor",
    });
    client.on("error", () => {});
    return client;
  };
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
 * Sorts more than fits into memory, so that it takes some megabytes of the disk until it is done, and changes no table. It has the time
 * of an answer, as the writes of a server have theirs: a short time-out of the role says nothing of the disk.
 */
const SPILL = `set local work_mem = '64kB'; set local temp_tablespaces = ''; set local statement_timeout = ${INSPECTION_DEADLINE_MS};
  select count(*) from (select each from generate_series(1, 400000) as each order by -each) as sorted`;

/** The driver goes without TLS only where it is not asked for. */
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
