import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { decodeApiKeyStamp, verifyApiKeyStamp } from "../src/crypto/stamps.ts";

/**
 * What any server has to do at the least: plain node:http, the same stamp check, JSON.parse, and one prepared statement
 * with the same durability. Everything the product does on top shows as the ratio to this.
 *
 * A read looks up who holds the stamp's key; a write stores the raw body. Nothing is decided, validated, signed or logged.
 */

export interface FloorOptions {
  /** `sqlite:<file>` or `postgres://…` of a new database. */
  url: string;
  /** The one key that will stamp. */
  publicKey: string;
}

interface Store {
  read(publicKey: string): Promise<unknown>;
  /** Resolves when the row is durable. */
  write(body: Buffer): Promise<void>;
}

interface Waiting {
  body: Buffer;
  resolve: () => void;
  reject: (error: unknown) => void;
}

function openSqlite(file: string, publicKey: string): Store {
  const database = new DatabaseSync(file);
  database.exec("pragma journal_mode = wal; pragma synchronous = full;");
  database.exec("create table holders (public_key text primary key, organization_id text, name text)");
  database.exec("create table bodies (id integer primary key, body blob not null)");
  database.prepare("insert into holders values (?, 'organization', 'user')").run(publicKey);
  const select = database.prepare("select organization_id, name from holders where public_key = ?");
  const insert = database.prepare("insert into bodies (body) values (?)");
  const begin = database.prepare("begin immediate");
  const commit = database.prepare("commit");
  return {
    read: async (key) => select.get(key),
    write: groupCommit(async (batch) => {
      begin.run();
      for (const { body } of batch) insert.run(body);
      commit.run();
    }),
  };
}

async function openPostgres(url: string, publicKey: string): Promise<Store> {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  await pool.query("create table holders (public_key text primary key, organization_id text, name text)");
  await pool.query("create table bodies (id bigint generated always as identity primary key, body bytea not null)");
  await pool.query("insert into holders values ($1, 'organization', 'user')", [publicKey]);
  const select = { name: "read", text: "select organization_id, name from holders where public_key = $1" };
  const insert = { name: "write", text: "insert into bodies (body) values ($1)" };
  return {
    read: async (key) => (await pool.query({ ...select, values: [key] })).rows[0],
    write: groupCommit(async (batch) => {
      const client = await pool.connect();
      try {
        await client.query("begin");
        for (const { body } of batch) await client.query({ ...insert, values: [body] });
        await client.query("commit");
      } finally {
        client.release();
      }
    }),
  };
}

/** What came in during one turn of the event loop, or while the last one was stored, is one transaction. */
function groupCommit(store: (batch: Waiting[]) => Promise<void>): Store["write"] {
  let waiting: Waiting[] = [];
  let busy = false;
  let scheduled = false;
  const schedule = () => {
    if (scheduled || busy || waiting.length === 0) return;
    scheduled = true;
    setImmediate(async () => {
      scheduled = false;
      const batch = waiting;
      waiting = [];
      busy = true;
      try {
        await store(batch);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
      busy = false;
      schedule();
    });
  };
  return (body) =>
    new Promise((resolve, reject) => {
      waiting.push({ body, resolve, reject });
      schedule();
    });
}

async function handle(store: Store, request: IncomingMessage, body: Buffer): Promise<unknown> {
  const stamp = decodeApiKeyStamp(String(request.headers["x-stamp"]));
  const parsed = JSON.parse(body.toString()) as { organizationId: string };
  if (!(await verifyApiKeyStamp(stamp, body))) throw new Error("the stamp is wrong");
  if (request.url?.startsWith("/public/v1/query/")) return store.read(stamp.publicKey);
  await store.write(body);
  return { organizationId: parsed.organizationId };
}

function answer(response: ServerResponse, status: number, value: unknown): void {
  const text = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { "content-type": "application/json", "content-length": text.length });
  response.end(text);
}

const { url, publicKey } = JSON.parse(process.argv[2] ?? "") as FloorOptions;
const store = url.startsWith("sqlite:")
  ? openSqlite(url.slice("sqlite:".length), publicKey)
  : await openPostgres(url, publicKey);

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    handle(store, request, Buffer.concat(chunks)).then(
      (value) => answer(response, 200, value),
      (error: Error) => answer(response, 500, { message: error.message }),
    );
  });
});
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
// It never outlives the benchmark.
process.on("disconnect", () => process.exit());
