import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { createTestDatabase } from "../../test/support/postgres.ts";
import { testPostgresUrl } from "../../test/support/server.ts";
import { newId } from "../kernel/ids.ts";
import { type Database, openDatabase } from "./database.ts";
import type { Query, Reader } from "./engine.ts";
import { uniqueRow } from "./prepared.ts";
import { GrowingStatistics } from "./statistics.ts";

const COMMITS = 100;
const ROWS_IN_EACH = 50;

describe("a PostgreSQL database that grows from nothing", () => {
  let database: Database;
  let client: pg.Client;
  const organizationId = newId();

  before(async () => {
    const url = await createTestDatabase(testPostgresUrl(), `test_${newId().replaceAll("-", "")}`);
    database = openDatabase({ url });
    await database.migrate();
    client = new pg.Client({ connectionString: url });
    await client.connect();
    const times = { created_at: 1, updated_at: 1 };
    const organization = { id: organizationId, parent_id: null, name: "Grows", sealed_key: Buffer.alloc(1) };
    await database.transact(undefined, (tx) =>
      tx
        .insertInto("organizations")
        .values({ ...organization, ...times, quorum_threshold: 1 })
        .execute(),
    );
  });
  after(async () => {
    await client.end();
    await database.close();
  });

  it("looks fingerprints up by their own index, on connections that planned while it was empty", async () => {
    const { one, many } = await lookUps();
    await client.query(`prepare look_up (text, text) as ${one}`);
    await client.query(`prepare look_up_many (text[], text[]) as ${many}`);
    const executes = [
      `execute look_up ('${organizationId}', 'unknown')`,
      `execute look_up_many (array['${organizationId}', '${organizationId}'], array['unknown', 'unknown too'])`,
    ];
    // PostgreSQL makes five plans for specific values, and then a generic one, which it keeps.
    for (let times = 0; times < 6; times++) for (const execute of executes) await client.query(execute);
    for (let commit = 1; commit < COMMITS; commit++) await addActivities();
    // The statistics are taken in the background after commits.
    while (!(await hasStatistics())) await new Promise(setImmediate);
    for (const execute of executes) {
      const { rows } = await client.query(`explain ${execute}`);
      assert.match(rows.map((row) => row["QUERY PLAN"]).join("\n"), /using activities_fingerprint_unique/);
    }
  });

  /** The statements of the look-up, for one caller and for several. */
  const lookUps = async () => {
    const asked: Query[] = [];
    const all = async (query: Query) => {
      asked.push(query);
      return [];
    };
    const find = uniqueRow("activities", { organizationId: "organization_id", fingerprint: "fingerprint" });
    await find({ kind: "postgres", all } as unknown as Reader, { organizationId, fingerprint: "unknown" });
    const [{ sql: one, together: many }] = asked as [Query];
    return { one, many };
  };

  const addActivities = () =>
    database.transact(organizationId, async (tx) => {
      const rows = Array.from({ length: ROWS_IN_EACH }, () => ({
        id: newId(),
        organization_id: organizationId,
        type: "ACTIVITY_TYPE_CREATE_USER_TAG",
        status: "ACTIVITY_STATUS_COMPLETED" as const,
        fingerprint: newId(),
        intent: "{}",
        created_at: 1,
        updated_at: 1,
      }));
      await tx.insertInto("activities").values(rows).execute();
    });

  async function hasStatistics(): Promise<boolean> {
    const { rows } = await client.query("select reltuples from pg_class where relname = 'activities'");
    return rows[0].reltuples > 0;
  }
});

it("a database that is closed is done with the table that is under way, and begins no other", async () => {
  const analyzed: string[] = [];
  let isBegun = () => {};
  const begun = new Promise<void>((resolve) => {
    isBegun = resolve;
  });
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const statistics = new GrowingStatistics({
    all: async <Row>() => [{ name: "one" }, { name: "two" }] as Row[],
    async exec(text) {
      analyzed.push(text);
      isBegun();
      await held;
      return "ANALYZE";
    },
  });
  for (let commit = 0; commit < COMMITS; commit++) statistics.noteCommit();
  await begun;
  const ended = statistics.ended();
  // Commits that were still in flight no longer count.
  for (let commit = 0; commit < 10 * COMMITS; commit++) statistics.noteCommit();
  goOn();
  await ended;
  await statistics.ended();
  assert.deepEqual(analyzed, ["analyze one"]);
});
