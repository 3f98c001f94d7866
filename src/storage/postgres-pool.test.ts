import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { testPostgresUrl } from "../../test/support/server.ts";
import { KeysteadError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { DatabaseFailure } from "./failure.ts";
import { PostgresHosts } from "./postgres-hosts.ts";
import { PostgresPool } from "./postgres-pool.ts";
import { POSTGRES_DEFAULTS, type PostgresSettings } from "./postgres-settings.ts";

describe("a pool of connections to PostgreSQL", () => {
  const role = `role_${newId().replaceAll("-", "")}`;
  const operator = new pg.Client({ connectionString: testPostgresUrl() });
  const pools: PostgresPool[] = [];
  before(async () => {
    await operator.connect();
    await operator.query(`create role ${role} login connection limit 3`);
  });
  after(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await operator.query(`drop role ${role}`);
    await operator.end();
  });

  function open(settings: Partial<PostgresSettings>): PostgresPool {
    const url = new URL(testPostgresUrl());
    url.username = role;
    const pool = new PostgresPool({
      hosts: new PostgresHosts(url.href),
      settings: { ...POSTGRES_DEFAULTS, ...settings },
      onError: () => {},
    });
    pools.push(pool);
    return pool;
  }

  it("makes do with fewer than it may open, where the server gives no more: the rest waits", async () => {
    const pool = open({ connections: 10 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, number) => pool.query({ text: "select $1::int as number", values: [number] })),
    );
    assert.deepEqual(
      answers.map(({ rows }) => rows[0].number),
      Array.from({ length: 100 }, (_, number) => number),
    );
    assert.deepEqual(pool.figures(), { inUse: 0, idle: 3, waiting: 0, certificateEndsAt: undefined });

    // Others may have taken all connections: that is an outage, and waiting here would not help.
    const failure = await open({})
      .query({ text: "select 1" })
      .catch((error: unknown) => error);
    assert.ok(failure instanceof DatabaseFailure);
    assert.deepEqual([failure.kind, failure.reason], ["outage", "has no connection left for this server"]);
    await pools.pop()?.end();
    await pools.pop()?.end();
  });

  it("tells who waited too long for one, and goes on when there are some again", async () => {
    const pool = open({ connections: 2, waitMs: 1 });
    const held = await Promise.all([pool.take("read"), pool.take("transaction")]);
    const { rows } = await operator.query("select count(*)::int as count from pg_stat_activity where usename = $1", [
      role,
    ]);
    assert.equal(rows[0].count, 2);
    await assert.rejects(
      pool.query({ text: "select 1" }),
      (error) => error instanceof KeysteadError && error.code === "DATABASE_BUSY",
    );
    pool.giveBack(held[0], "read", false);
    assert.equal((await pool.query({ text: "select 1 as one" })).rows[0].one, 1);
    pool.giveBack(held[1], "transaction", false);
    assert.deepEqual(pool.figures(), { inUse: 0, idle: 2, waiting: 0, certificateEndsAt: undefined });
  });

  it("keeps what belongs to a session out of it, where it is not its own", async () => {
    const settingOf = async (pool: PostgresPool) =>
      (await pool.query({ text: "show idle_in_transaction_session_timeout" })).rows[0];
    assert.deepEqual(await settingOf(open({ connections: 2, prepared: false })), {
      idle_in_transaction_session_timeout: "0",
    });
  });
});
