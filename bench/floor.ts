import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { secp256k1 } from "../src/crypto/secp256k1.ts";
import { type ApiKeyStamp, decodeApiKeyStamp, verifyApiKeyStamp } from "../src/crypto/stamps.ts";

/**
 * What any server has to do at the least, in plain node:http with the same stamp check, JSON.parse and prepared statements of the same
 * durability. Nothing is decided, validated or logged. Everything the product does on top shows as the ratio to this.
 *
 * Two of them take turns. `records` keeps what nobody could do without: the body, its signature and its key in one row, which is unique by
 * organization and SHA-256 of the body; a signature that was asked for is made and verified; and an answer is as long as the product's.
 * `bare`, which older results were held against, stores the body alone, signs nothing, and answers with a few bytes.
 */
export type FloorKind = "records" | "bare";

export interface FloorOptions {
  kind: FloorKind;
  /** `sqlite:<file>` or `postgres://…` of a new database. */
  url: string;
  /** The one key that will stamp. */
  publicKey: string;
  /** How long the product's answers are, by path. */
  answerBytes: Readonly<Record<string, number>>;
}

/** What is kept of a request that changes something. */
interface Stored {
  organizationId: string;
  fingerprint: Buffer;
  body: Buffer;
  signature: Buffer;
  publicKey: string;
}

interface Store {
  read(publicKey: string): Promise<unknown>;
  /** Resolves when the row is durable. */
  write(record: Stored): Promise<void>;
}

interface Waiting {
  record: Stored;
  resolve: () => void;
  reject: (error: unknown) => void;
}

interface Table {
  columns: Readonly<Record<string, { type: "text" | "bytes"; of: (record: Stored) => string | Buffer }>>;
  constraint: string;
}

const tables: Record<FloorKind, Table> = {
  records: {
    columns: {
      organization_id: { type: "text", of: ({ organizationId }) => organizationId },
      fingerprint: { type: "bytes", of: ({ fingerprint }) => fingerprint },
      body: { type: "bytes", of: ({ body }) => body },
      signature: { type: "bytes", of: ({ signature }) => signature },
      public_key: { type: "text", of: ({ publicKey }) => publicKey },
    },
    constraint: ", unique (organization_id, fingerprint)",
  },
  bare: { columns: { body: { type: "bytes", of: ({ body }) => body } }, constraint: "" },
};

/** The tables in the words of a database. */
function definitions({ columns, constraint }: Table, types: { text: string; bytes: string; id: string }): string[] {
  const own = Object.entries(columns).map(([name, { type }]) => `${name} ${types[type]} not null`);
  return [
    "create table holders (public_key text primary key, organization_id text, name text)",
    `create table records (id ${types.id}, ${own.join(", ")}${constraint})`,
  ];
}

function openSqlite(file: string, publicKey: string, table: Table): Store {
  const database = new DatabaseSync(file);
  database.exec("pragma journal_mode = wal; pragma synchronous = full;");
  // As the product has them.
  database.exec("pragma wal_autocheckpoint = 8000; pragma cache_size = -16384;");
  const types = { text: "text", bytes: "blob", id: "integer primary key" };
  for (const definition of definitions(table, types)) database.exec(definition);
  database.prepare("insert into holders values (?, 'organization', 'user')").run(publicKey);
  const select = database.prepare("select organization_id, name from holders where public_key = ?");
  const columns = Object.entries(table.columns);
  const names = columns.map(([name]) => name);
  const insert = database.prepare(`insert into records (${names}) values (${names.map(() => "?")})`);
  const begin = database.prepare("begin immediate");
  const commit = database.prepare("commit");
  return {
    read: async (key) => select.get(key),
    write: groupCommit(async (batch) => {
      begin.run();
      for (const { record } of batch) insert.run(...columns.map(([, { of }]) => of(record)));
      commit.run();
    }),
  };
}

async function openPostgres(url: string, publicKey: string, kind: FloorKind): Promise<Store> {
  const table = tables[kind];
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  const types = { text: "text", bytes: "bytea", id: "bigint generated always as identity primary key" };
  for (const definition of definitions(table, types)) await pool.query(definition);
  await pool.query("insert into holders values ($1, 'organization', 'user')", [publicKey]);
  const select = { name: "read", text: "select organization_id, name from holders where public_key = $1" };
  const columns = Object.entries(table.columns);
  const names = columns.map(([name]) => name);
  const lists = columns.map(([, { type }], index) => `$${index + 1}::${types[type]}[]`);
  const together = {
    name: "write",
    text: `insert into records (${names}) select * from unnest(${lists})`,
  };
  const one = { name: "write", text: `insert into records (${names}) values (${names.map((_, i) => `$${i + 1}`)})` };
  return {
    read: async (key) => (await pool.query({ ...select, values: [key] })).rows[0],
    write: groupCommit(async (batch) => {
      if (kind === "records") {
        // A single statement is a transaction of its own.
        const values = columns.map(([, { of }]) => batch.map(({ record }) => of(record)));
        await pool.query({ ...together, values });
        return;
      }
      const client = await pool.connect();
      try {
        await client.query("begin");
        for (const { record } of batch) await client.query({ ...one, values: columns.map(([, { of }]) => of(record)) });
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
  return (record) =>
    new Promise((resolve, reject) => {
      waiting.push({ record, resolve, reject });
      schedule();
    });
}

const signingKey = randomBytes(32);
const verifyingKey = secp256k1.publicKeyCreate(signingKey);

/** One signature, verified before it is released. */
function sign(payload: string): string {
  const digest = Buffer.from(payload, "hex");
  const { signature } = secp256k1.ecdsaSign(digest, signingKey);
  if (!secp256k1.ecdsaVerify(signature, digest, verifyingKey)) throw new Error("the signature is wrong");
  return Buffer.from(signature).toString("hex");
}

interface Body {
  organizationId: string;
  parameters?: { payload?: string };
}

async function handle(kind: FloorKind, store: Store, request: IncomingMessage, body: Buffer): Promise<unknown> {
  const stamp = decodeApiKeyStamp(String(request.headers["x-stamp"]));
  const { organizationId, parameters } = JSON.parse(body.toString()) as Body;
  if (!(await verifyApiKeyStamp(stamp, body))) throw new Error("the stamp is wrong");
  if (request.url?.startsWith("/public/v1/query/")) return store.read(stamp.publicKey);
  const payload = kind === "records" ? parameters?.payload : undefined;
  const signed = payload === undefined ? {} : { signature: sign(payload) };
  await store.write(recordOf(kind, organizationId, stamp, body));
  return { organizationId, ...signed };
}

function recordOf(kind: FloorKind, organizationId: string, stamp: ApiKeyStamp, body: Buffer): Stored {
  const fingerprint = kind === "records" ? createHash("sha256").update(body).digest() : body;
  return { organizationId, fingerprint, body, signature: stamp.signatureAsSent, publicKey: stamp.publicKey };
}

/** With as many further bytes as the product's answer has. */
function answer(response: ServerResponse, status: number, value: object, bytes = 0): void {
  const bare = JSON.stringify(value);
  const padding = Math.max(0, bytes - bare.length - PADDING_NAME);
  const text = Buffer.from(padding === 0 ? bare : JSON.stringify({ ...value, padding: "x".repeat(padding) }));
  response.writeHead(status, { "content-type": "application/json", "content-length": text.length });
  response.end(text);
}

/** Of `,"padding":""`. */
const PADDING_NAME = 13;

const { kind, url, publicKey, answerBytes } = JSON.parse(process.argv[2] ?? "") as FloorOptions;
const store = url.startsWith("sqlite:")
  ? openSqlite(url.slice("sqlite:".length), publicKey, tables[kind])
  : await openPostgres(url, publicKey, kind);

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const bytes = kind === "records" ? answerBytes[request.url ?? ""] : 0;
    handle(kind, store, request, Buffer.concat(chunks)).then(
      (value) => answer(response, 200, value as object, bytes),
      (error: Error) => answer(response, 500, { message: error.message }),
    );
  });
});
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
// It never outlives the benchmark.
process.on("disconnect", () => process.exit());
