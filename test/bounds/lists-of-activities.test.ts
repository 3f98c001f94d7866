import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { findIdsOnPage } from "../../src/capabilities/activities/store.ts";
import type { ActivityStatus } from "../../src/engine/activities/rows.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { Reader } from "../../src/storage/engine.ts";
import { analyze, openPlanReader } from "../support/query-plans.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";

/** Of the common type; the others are rare among them. */
const MANY = 5000;
const PAGE = 10;
const COMMON = "ACTIVITY_TYPE_CREATE_USER_TAG";
const RARE = "ACTIVITY_TYPE_CREATE_POLICY_V3";

for (const engine of engines) {
  describe(`${MANY} activities of one type, and a few of another (${engine})`, () => {
    let server: TestServer;
    let organizationId: string;
    const rows: { id: string; type: string; status: ActivityStatus }[] = [];

    before(async () => {
      server = await startTestServer(engine);
      organizationId = server.root.organizationId;
      for (let index = 0; index < MANY; index++) {
        const isRare = index % 1000 === 7;
        const status = `ACTIVITY_STATUS_${index % 900 === 5 ? "FAILED" : "COMPLETED"}` as const;
        rows.push({ id: newId(), type: isRare ? RARE : COMMON, status });
      }
      await add(server, rows);
    });
    after(() => server.close());

    const filters: { types: string[]; statuses: ActivityStatus[] }[] = [
      { types: [RARE], statuses: [] },
      { types: [], statuses: ["ACTIVITY_STATUS_FAILED"] },
      { types: [COMMON], statuses: ["ACTIVITY_STATUS_FAILED"] },
      { types: [RARE, COMMON, RARE], statuses: [] },
      { types: [], statuses: ["ACTIVITY_STATUS_PENDING"] },
      { types: ["ACTIVITY_TYPE_OF_NOTHING"], statuses: ["ACTIVITY_STATUS_COMPLETED"] },
    ];

    it("are listed by reading about as many rows as there are on a page, whatever is asked for", async () => {
      if (engine === "postgres") await analyze(server.databaseUrl);
      const plans = await openPlanReader(server.databaseUrl);
      try {
        for (const filter of filters)
          for (const cursor of [
            {},
            { before: rows[MANY / 2]?.id as string },
            { after: rows[MANY / 2]?.id as string },
          ]) {
            const page = { limit: PAGE, ...cursor };
            const question = JSON.stringify({ filter, cursor });
            let found: string[] = [];
            const made = await plans.plansOf(async (tx) => {
              found = await findIdsOnPage(tx, { organizationId, ...filter }, page);
            });
            const expected = nearest(rows, filter, page);
            const listed = found.filter((id) => rows.some((row) => row.id === id));
            assert.deepEqual(listed, expected.slice(0, listed.length), question);
            assert.ok(found.length === PAGE || listed.length === expected.length, question);
            const steps = made.flatMap((plan) => plan.steps).join("\n");
            if (engine === "sqlite") assert.doesNotMatch(steps, /SCAN activities|TEMP B-TREE/, question);
            else for (const plan of made) assert.ok((plan.mostRows as number) <= 10 * PAGE, JSON.stringify(plan));
          }
      } finally {
        await plans.close();
      }
    });

    it("are each listed once, in a status that they had, while they change it", async () => {
      const kinds = ["FAILED", "REJECTED"].map((name) => `ACTIVITY_STATUS_${name}` as const) as ActivityStatus[];
      const type = "ACTIVITY_TYPE_DELETE_POLICY";
      const changing = Array.from({ length: 4 }, (_, at) => ({
        id: newId(),
        type,
        status: kinds[at % 2] as ActivityStatus,
      }));
      await add(server, changing);
      const { database } = server.opened;
      // After whatever is read, those in one status are in the other.
      let last: Promise<unknown> = Promise.resolve();
      const swap = () =>
        database.transact(organizationId, async (tx) => {
          for (const one of changing) {
            one.status = kinds.find((kind) => kind !== one.status) as ActivityStatus;
            await tx.updateTable("activities").set({ status: one.status }).where("id", "=", one.id).execute();
          }
        });
      const read: Reader = {
        ...database.read,
        all: <Row>(query: Parameters<Reader["all"]>[0]) => {
          const rows = last.then(() => database.read.all<Row>(query as never));
          last = rows.then(swap);
          return last.then(() => rows);
        },
      };
      const all = changing.map(({ id }) => id).sort();
      for (const cursor of [{}, { after: all[0] as string }, { before: all[3] as string }]) {
        const filter = { organizationId, types: [type], statuses: kinds };
        const found = await findIdsOnPage(read, filter, { limit: PAGE, ...cursor });
        const expected = nearest(changing, filter, { limit: PAGE, ...cursor });
        assert.deepEqual(found, expected);
      }
    });
  });
}

function nearest(
  rows: readonly { id: string; type: string; status: ActivityStatus }[],
  { types, statuses }: { types: string[]; statuses: ActivityStatus[] },
  { limit, before, after }: { limit: number; before?: string; after?: string },
): string[] {
  const ids = rows
    .filter(({ type }) => types.length === 0 || types.includes(type))
    .filter(({ status }) => statuses.length === 0 || statuses.includes(status))
    .map(({ id }) => id)
    .filter((id) => (before === undefined || id < before) && (after === undefined || id > after))
    .sort();
  return (after === undefined ? ids.reverse() : ids).slice(0, limit);
}

async function add(
  { opened, root: { organizationId } }: TestServer,
  rows: readonly { id: string; type: string; status: ActivityStatus }[],
): Promise<void> {
  for (let start = 0; start < rows.length; start += 500) {
    const values = rows.slice(start, start + 500).map((row) => ({
      ...row,
      organization_id: organizationId,
      fingerprint: `sha256:${row.id}`,
      intent: "{}",
      created_at: 1,
      updated_at: 1,
    }));
    await opened.database.transact(organizationId, async (tx) => {
      await tx.insertInto("activities").values(values).execute();
    });
  }
}
