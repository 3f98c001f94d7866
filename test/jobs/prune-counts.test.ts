import assert from "node:assert/strict";
import { it } from "node:test";
import { dayOf, pruneCounts } from "../../src/capabilities/activities/count-by-day.ts";
import { ORGANIZATIONS_LOOKED_AT_AT_ONCE } from "../../src/kernel/limits.ts";
import { openDatabase } from "../../src/storage/database.ts";
import type { Query } from "../../src/storage/engine.ts";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import { temporaryFolder } from "../support/server-process.ts";

const NOW = 1_800_000_000_000;
const DELETED = 2 * ORGANIZATIONS_LOOKED_AT_AT_ONCE + 200;

for (const engine of engines) {
  it(`counts of deleted organizations are found a page at a time, and no transaction looks for them (${engine})`, async (test) => {
    const database = openDatabase({ url: await freshDatabaseUrl(engine, temporaryFolder()) });
    test.after(() => database.close());
    await database.migrate();
    const idOf = (number: number) => `organization-${String(number).padStart(6, "0")}`;
    const organizations = Array.from({ length: DELETED + 1 }, (_, number) => ({
      id: idOf(number),
      name: "deleted",
      parent_id: null,
      quorum_threshold: 1,
      sealed_key: Buffer.alloc(0),
      // The last one lives.
      deleted_at: number === DELETED ? null : NOW,
      created_at: NOW,
      updated_at: NOW,
    }));
    for (let start = 0; start < organizations.length; start += 100) {
      await database.transact(undefined, (tx) =>
        tx
          .insertInto("organizations")
          .values(organizations.slice(start, start + 100))
          .execute(),
      );
    }
    const left = [0, ORGANIZATIONS_LOOKED_AT_AT_ONCE, DELETED - 1];
    const count = { day: dayOf(NOW), source: "ACTIVITY", type: "T", outcome: "O", detail: "", count: 1 } as const;
    await database.transact(undefined, (tx) =>
      tx
        .insertInto("daily_counts")
        .values([...left, DELETED].map((number) => ({ organization_id: idOf(number), ...count })))
        .execute(),
    );

    const rows: number[] = [];
    let transactions = 0;
    const watched = {
      read: Object.assign(Object.create(database.read), {
        async all<Row>(query: Query<Row>): Promise<Row[]> {
          const found = await database.read.all(query);
          rows.push(found.length);
          return found;
        },
      }),
      transact: <T>(...given: Parameters<typeof database.transact<T>>) => {
        transactions++;
        return database.transact(...given);
      },
    };
    await pruneCounts.run({ database: watched, clock: () => NOW } as never);
    assert.deepEqual(rows, [ORGANIZATIONS_LOOKED_AT_AT_ONCE, ORGANIZATIONS_LOOKED_AT_AT_ONCE, 201]);
    // One for what is old, and one for each that has anything left.
    assert.equal(transactions, 1 + left.length);
    const kept = await database.read.selectFrom("daily_counts").select("organization_id").execute();
    assert.deepEqual(
      kept.map(({ organization_id }) => organization_id),
      [idOf(DELETED)],
    );
  });
}
