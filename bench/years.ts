import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import pg from "pg";
import type { DatabaseKind } from "../src/storage/engine.ts";
import { Client } from "../test/support/client.ts";
import { residentBytes } from "../test/support/resident-bytes.ts";
import { cpuSeconds, processTree } from "./cpu.ts";
import { type Product, startLoad, startProduct } from "./processes.ts";
import { type BenchHooks, inTurns, measureRound, type RoundOptions, startServer } from "./rounds.ts";
import { type ScenarioName, scenarioNames } from "./scenarios.ts";
import { median, rounded } from "./statistics.ts";

/**
 * What years of activities cost: room on the disk, the start, and requests, of a server with very many activities of one organization against
 * one with a thousand, in turns. The activities are copies of real ones, spread over three years and written by the database itself. So are
 * other tenants, where they are asked for: sub-organizations of that organization, and organizations with keys beside it.
 */

export interface YearsOptions extends RoundOptions {
  activities: number;
  /** Sub-organizations, each with a user and a key; a twentieth as many organizations have a hundred private keys each. */
  tenants: number;
}

/** What one client asks for, one after the other; the last two where there are tenants. */
const looks = ["newest_page", "old_page", "old_activity", "tenants_page", "tenant_of_key"] as const;
const LOOKS_AT_TENANTS: readonly Look[] = ["tenants_page", "tenant_of_key"];
type Look = (typeof looks)[number];

export type YearsBenchResult =
  | {
      engine: DatabaseKind;
      scenario: "size";
      activities: number;
      bytes: number;
      bytesOfOne: number;
      /** From the command until the server is ready and has made a key. */
      startSeconds: [few: number, many: number];
      /** The server and the signer, at the end. */
      residentMiB: [few: number, many: number];
    }
  | {
      engine: DatabaseKind;
      scenario: ScenarioName | Look;
      activities: number;
      p50Ms: [few: number, many: number];
      p99Ms: [few: number, many: number];
      /** Milliseconds of the server's and the signer's CPU per 1,000 requests. */
      cpuMs: [few: number, many: number];
      /** Of the CPU, many to few; the median of the rounds' pairs. */
      cpuRatio: number;
    };

const MIB = 1024 * 1024;
const COPIED_AT_ONCE = 100_000;
const TEMPLATES = 16;
const FEW = 1000;
const FEW_TENANTS = 100;
const TENANTS_FOR_ONE_BESIDE = 20;
const KEYS_OF_ONE_BESIDE = 100;
const YEARS_MS = 3 * 365 * 24 * 3600 * 1000;

export async function benchYears(
  options: YearsOptions,
  { report, onStart }: BenchHooks<YearsBenchResult>,
): Promise<void> {
  const { activities, tenants } = options;
  for (const engine of options.engines) {
    const start = (name: string) =>
      startServer(engine, name, { ...options, folder: join(options.folder, name) }, onStart);
    const pair: [Product, Product] = [await start("few"), await start("many")];
    for (const product of pair) await makeTemplates(product);
    const startSeconds: number[] = [];
    const bytes: number[] = [];
    for (const side of [0, 1] as const) {
      const { folder, databaseUrl, subject, stop } = pair[side];
      await stop();
      await filled(databaseUrl, (filler) =>
        copyActivities(filler, subject.organizationId, side === 0 ? FEW : activities),
      );
      bytes.push(await sizeOf(databaseUrl));
      const others = side === 0 ? Math.min(tenants, FEW_TENANTS) : tenants;
      if (others > 0) await filled(databaseUrl, (filler) => copyTenants(filler, subject.organizationId, others));
      const began = performance.now();
      pair[side] = await startProduct({ folder, databaseUrl, profileFolder: options.profileFolder });
      startSeconds.push((performance.now() - began) / 1000);
      onStart(() => pair[side].stop());
    }
    const [fewBytes = 0, manyBytes = 0] = bytes;
    const asked = looks.filter((look) => tenants > 0 || !LOOKS_AT_TENANTS.includes(look));
    for (const look of asked) report(await measureLook(engine, look, pair, options));
    for (const scenario of scenarioNames) report(await measureLoad(engine, scenario, pair, options, onStart));
    report({
      engine,
      scenario: "size",
      activities,
      bytes: manyBytes,
      bytesOfOne: Math.round((manyBytes - fewBytes) / Math.max(1, activities - FEW)),
      startSeconds: both(startSeconds, 2),
      residentMiB: both(pair.map(residentMiB), 0),
    });
    for (const { stop } of pair) await stop();
  }
}

type Round = { p50Ms: number; p99Ms: number; cpuMs: number };
const clientOf = ({ port, subject, key }: Product) =>
  new Client(`http://127.0.0.1:${port}`, subject.organizationId, key);

async function makeTemplates(product: Product): Promise<void> {
  const client = clientOf(product);
  const { userId, privateKeyId: signWith } = product.subject;
  for (let index = 0; index < TEMPLATES / 2; index++) {
    await client.result("update_user_name", { userId, userName: `User ${index}` });
    await client.result("sign_raw_payload", {
      signWith,
      payload: index.toString(16).padStart(64, "0"),
      encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
      hashFunction: "HASH_FUNCTION_NO_OP",
    });
  }
}

/** A connection for long statements, and the words in which the engines differ. */
interface Filler {
  run(sql: string): Promise<unknown>;
  columnsOf(table: string): Promise<string[]>;
  close(): Promise<void>;
  hex(value: string, digits: number): string;
  /** 64 hexadecimal digits that stand nowhere else in the column. */
  digest: string;
  /** A table `numbers` with the column `i`. */
  numbers(from: number, to: number): string;
}

async function filled(url: string, fill: (filler: Filler) => Promise<void>): Promise<void> {
  const filler = url.startsWith("sqlite:") ? sqliteFiller(url.slice("sqlite:".length)) : await postgresFiller(url);
  await fill(filler);
  await filler.close();
}

async function copyActivities(filler: Filler, organizationId: string, count: number): Promise<void> {
  const { hex } = filler;
  const newest = `from activities where organization_id = '${organizationId}' order by id desc limit ${TEMPLATES}`;
  await filler.run(
    `create temp table template as select row_number() over () - 1 as n, a.* from (select * ${newest}) a`,
  );
  await filler.run(
    "create temp table ballot as select t.n, v.* from votes v join template t on t.organization_id = v.organization_id and t.id = v.activity_id",
  );
  const began = Date.now() - YEARS_MS;
  const ms = `(${began} + i * ${Math.floor(YEARS_MS / count)})`;
  const id = `${hex(`${ms} / 65536`, 8)} || '-' || ${hex(`${ms} % 65536`, 4)} || '-7' || ${hex("i / 4096 % 4096", 3)} || '-8' || ${hex("i % 4096", 3)} || '-' || ${hex("i", 12)}`;
  const copies: [from: string, into: string, made: Record<string, string>][] = [
    ["template", "activities", { id, fingerprint: `'sha256:' || ${filler.digest}`, created_at: ms, updated_at: ms }],
    ["ballot", "votes", { id, activity_id: id, created_at: ms }],
  ];
  for (let from = 0; from < count; from += COPIED_AT_ONCE) {
    const numbers = filler.numbers(from, Math.min(count, from + COPIED_AT_ONCE));
    for (const [source, table, made] of copies) {
      await copyRows(filler, table, made, `${numbers} cross join ${source} s where s.n = i % ${TEMPLATES}`);
    }
    // An interrupt has its turn.
    await setImmediate();
  }
}

/** Rows of a table, from `numbers` and rows `s` to be copied; `made` has the SQL of columns that differ. */
async function copyRows(filler: Filler, table: string, made: Record<string, string>, from: string): Promise<void> {
  const columns = await filler.columnsOf(table);
  const values = columns.map((column) => made[column] ?? `s.${column}`).join(", ");
  await filler.run(`insert into ${table} (${columns.join(", ")}) select ${values} from ${from}`);
}

/** Of a tenant by its number: ids that nothing else has. */
const tenantId = ({ hex }: Filler, kind: string, number: string): string =>
  `${hex(number, 8)} || '-${kind}-7000-8000-000000000000'`;

async function copyTenants(filler: Filler, organizationId: string, count: number): Promise<void> {
  const beside = Math.ceil(count / TENANTS_FOR_ONE_BESIDE);
  const publicKey = `'02' || ${filler.digest}`;
  for (const [kind, parentId, made] of [
    ["0001", `'${organizationId}'`, count],
    ["0002", "null", beside],
  ] as const) {
    const numbers = filler.numbers(0, made);
    const id = tenantId(filler, kind, "i");
    const user = { organization_id: id, id };
    // Their ids are those of their organizations.
    const tables: [table: string, made: Record<string, string>][] = [
      ["organizations", { id, parent_id: parentId, name: "'Tenant ' || i" }],
      ["users", { ...user, root_id: kind === "0001" ? parentId : id }],
      ["api_keys", { ...user, user_id: id, public_key: publicKey }],
      ["root_quorum_members", { organization_id: id, user_id: id }],
    ];
    for (const [table, values] of tables) {
      const one = `select * from ${table} where ${table === "organizations" ? "id" : "organization_id"} = '${organizationId}' limit 1`;
      await copyRows(filler, table, values, `${numbers} cross join (${one}) s`);
    }
  }
  const key = {
    organization_id: tenantId(filler, "0002", `i / ${KEYS_OF_ONE_BESIDE}`),
    id: tenantId(filler, "0003", "i"),
  };
  const numbers = filler.numbers(0, beside * KEYS_OF_ONE_BESIDE);
  const one = `select * from private_keys where organization_id = '${organizationId}' limit 1`;
  await copyRows(filler, "private_keys", { ...key, public_key: publicKey }, `${numbers} cross join (${one}) s`);
}

function sqliteFiller(file: string): Filler {
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  // Nobody else has the file open; a server that opens it takes its own way of writing again.
  database.exec(
    "pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -2000000; pragma temp_store = memory",
  );
  return {
    run: async (sql) => database.exec(sql),
    columnsOf: async (table) =>
      database
        .prepare(`select name from pragma_table_info('${table}')`)
        .all()
        .map(({ name }) => name as string),
    async close() {
      database.exec("analyze");
      database.close();
    },
    hex: (value, digits) => `printf('%0${digits}x', ${value})`,
    digest: "lower(hex(randomblob(32)))",
    numbers: (from, to) =>
      `(with recursive numbers(i) as (select ${from} union all select i + 1 from numbers where i < ${to - 1}) select i from numbers)`,
  };
}

async function postgresFiller(url: string): Promise<Filler> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("set synchronous_commit = off");
  return {
    run: (sql) => client.query(sql),
    async columnsOf(table) {
      const { rows } = await client.query<{ name: string }>(
        "select column_name as name from information_schema.columns where table_schema = current_schema() and table_name = $1",
        [table],
      );
      return rows.map(({ name }) => name);
    },
    async close() {
      await client.query("vacuum analyze");
      await client.end();
    },
    hex: (value, digits) => `lpad(to_hex(${value}), ${digits}, '0')`,
    digest: "encode(sha256(i::text::bytea), 'hex')",
    numbers: (from, to) => `generate_series(${from}::bigint, ${to - 1}) as numbers(i)`,
  };
}

async function sizeOf(url: string): Promise<number> {
  if (url.startsWith("sqlite:")) {
    const file = url.slice("sqlite:".length);
    return [file, `${file}-wal`].reduce((sum, each) => sum + (existsSync(each) ? statSync(each).size : 0), 0);
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query("select pg_database_size(current_database()) as bytes");
  await client.end();
  return Number(rows[0].bytes);
}

async function measureLoad(
  engine: DatabaseKind,
  scenario: ScenarioName,
  pair: readonly [Product, Product],
  options: YearsOptions,
  onStart: BenchHooks<YearsBenchResult>["onStart"],
): Promise<YearsBenchResult> {
  const { connections, rounds } = options;
  const loads = pair.map((product) => startLoad({ scenario, parties: [product], connections }));
  for (const load of loads) onStart(() => load.stop());
  const measured = await inTurns(rounds, (side) =>
    measureRound(loads[side] as (typeof loads)[number], pair[side], options),
  );
  await Promise.all(loads.map((load) => load.stop()));
  return resultOf(engine, scenario, options, measured);
}

const LOOKS_IN_A_ROUND = 100;
const PAGE = 20;

async function measureLook(
  engine: DatabaseKind,
  look: Look,
  pair: readonly [Product, Product],
  options: YearsOptions,
): Promise<YearsBenchResult> {
  const old = await Promise.all(pair.map(oldActivity));
  const ofKey = await Promise.all(
    pair.map(async (product) => ({ filterType: "PUBLIC_KEY", filterValue: await keyOfTenant(product) })),
  );
  const measured = await inTurns(options.rounds, async (side) => {
    const product = pair[side];
    const client = clientOf(product);
    const ask = async () => {
      if (look === "old_activity") return client.query("get_activity", { activityId: old[side] });
      if (look === "tenants_page") return client.query("list_suborgs", { paginationOptions: { limit: String(PAGE) } });
      if (look === "tenant_of_key") return client.query("list_suborgs", ofKey[side]);
      const from = look === "old_page" ? { after: old[side] } : {};
      return client.query("list_activities", { paginationOptions: { limit: String(PAGE), ...from } });
    };
    await ask();
    const times: number[] = [];
    const before = cpuSeconds(product.pid);
    for (let index = 0; index < LOOKS_IN_A_ROUND; index++) {
      const began = performance.now();
      const { status, body } = await ask();
      const isEmpty = LOOKS_AT_TENANTS.includes(look) && body.organizationIds?.length === 0;
      if (status !== 200 || isEmpty) throw new Error(`${look} was answered with ${status}: ${JSON.stringify(body)}`);
      times.push(performance.now() - began);
    }
    const cpuMs = ((cpuSeconds(product.pid) - before) * 1e6) / LOOKS_IN_A_ROUND;
    times.sort((one, other) => one - other);
    const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] as number;
    return { p50Ms: at(0.5), p99Ms: at(0.99), cpuMs };
  });
  return resultOf(engine, look, options, measured);
}

/** The name of one that is half as old as the oldest, with as many before it as after it. */
async function oldActivity({ databaseUrl, subject: { organizationId } }: Product): Promise<string> {
  const half = (Date.now() - YEARS_MS / 2).toString(16).padStart(12, "0");
  const from = `${half.slice(0, 8)}-${half.slice(8)}`;
  const sql = `select id as name from activities where organization_id = '${organizationId}' and id > '${from}' order by id limit 1`;
  return (await nameIn(databaseUrl, sql)) ?? "";
}

/** A key of the sub-organization in the middle. */
async function keyOfTenant({ databaseUrl, subject: { organizationId } }: Product): Promise<string> {
  const ids = `select id from organizations where parent_id = '${organizationId}'`;
  const middle = `${ids} order by id limit 1 offset (select count(*) / 2 from (${ids}) t)`;
  const sql = `select public_key as name from api_keys where organization_id = (${middle})`;
  return (await nameIn(databaseUrl, sql)) ?? "";
}

async function nameIn(databaseUrl: string, sql: string): Promise<string | undefined> {
  if (databaseUrl.startsWith("sqlite:")) {
    const database = new DatabaseSync(databaseUrl.slice("sqlite:".length), { readOnly: true });
    const row = database.prepare(sql).get() as { name: string } | undefined;
    database.close();
    return row?.name;
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(sql);
  await client.end();
  return rows[0]?.name;
}

function resultOf(
  engine: DatabaseKind,
  scenario: ScenarioName | Look,
  { activities }: YearsOptions,
  pairs: readonly [Round, Round][],
): YearsBenchResult {
  const middle = (pick: (round: Round) => number, digits: number) =>
    both([median(pairs.map(([few]) => pick(few))), median(pairs.map(([, many]) => pick(many)))], digits);
  return {
    engine,
    scenario,
    activities,
    p50Ms: middle(({ p50Ms }) => p50Ms, 1),
    p99Ms: middle(({ p99Ms }) => p99Ms, 1),
    cpuMs: middle(({ cpuMs }) => cpuMs, 0),
    cpuRatio: rounded(median(pairs.map(([few, many]) => many.cpuMs / few.cpuMs)), 2),
  };
}

const residentMiB = ({ pid }: Product): number =>
  processTree(pid).reduce((sum, member) => sum + (residentBytes(member) || 0), 0) / MIB;

const both = (values: readonly number[], digits: number): [number, number] =>
  values.map((value) => rounded(value, digits)) as [number, number];

export function lineOfYears(result: YearsBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  const { engine, scenario, activities } = result;
  if (scenario === "size") {
    const { bytes, bytesOfOne, startSeconds, residentMiB: memory } = result;
    return `${engine} with ${activities} activities: ${bytes} bytes, ${bytesOfOne} for each; start ${startSeconds[1]} s (${startSeconds[0]} s with a thousand), memory ${memory[1]} MiB (${memory[0]})`;
  }
  const { p50Ms, p99Ms, cpuMs, cpuRatio } = result;
  return `${engine} ${scenario} with ${activities} activities: p50 ${p50Ms[1]} ms (${p50Ms[0]} with a thousand), p99 ${p99Ms[1]} ms (${p99Ms[0]}); CPU ${cpuRatio} (${cpuMs[1]} ms to ${cpuMs[0]} ms per 1,000)`;
}
