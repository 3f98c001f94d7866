import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { OnlyFor } from "../../src/authority/callers.ts";
import { operations } from "../../src/capabilities/index.ts";
import { type Dump, dumpDatabase } from "../support/database-dump.ts";
import { bodyOf, type ExampleRequest, exampleRequests, kindFor } from "../support/examples.ts";
import { engines, itInTurns, startTestServer, type TestServer } from "../support/server.ts";
import { createWorld, type World } from "../support/world.ts";

/**
 * Nothing crosses organizations: every operation, asked in one organization by its root user for what another one has, with
 * parents, sub-organizations of different parents, and sub-organizations of the same parent. Of two requests one is asked on each
 * database, in a long run both.
 */

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const idsIn = (value: unknown): Set<string> => new Set(JSON.stringify(value).match(UUID) ?? []);

/** Rows that belong to an organization, whatever their table. */
function rowsOf(dump: Dump, organizationId: string): Record<string, unknown[]> {
  const own = (row: unknown) => JSON.stringify(row).includes(organizationId);
  return Object.fromEntries(Object.entries(dump).map(([table, rows]) => [table, (rows as unknown[]).filter(own)]));
}

for (const engine of engines) {
  describe(`isolation (${engine})`, () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer(engine);
    });
    after(() => server.close());

    const itInTurn = itInTurns(engine);
    for (const request of exampleRequests) {
      itInTurn(`of ${request.name}`, async () => {
        const kind: OnlyFor = kindFor(request.operation);
        await assertIsolated(server, request, await createWorld(server, kind), await createWorld(server, kind));
      });
    }

    it("covers every operation", () => {
      const names = new Set(exampleRequests.map(({ operation }) => operation.path));
      assert.equal(names.size, operations.length);
    });
  });
}

async function assertIsolated(server: TestServer, request: ExampleRequest, theirs: World, ours: World): Promise<void> {
  const fields = (await request.example(theirs)) as Record<string, unknown>;
  // A cursor only says where a page of the own organization begins.
  const { paginationOptions: _, ...asked } = fields;
  const { database } = server.opened;
  const concerned = [theirs.organizationId, ours.organizationId];
  const before = await dumpDatabase(database, concerned);
  const theirRows = rowsOf(before, theirs.organizationId);
  const theirIds = idsIn(theirRows);
  const { client } = ours.root;
  const answer = await client.post(request.url, JSON.stringify(bodyOf(request, client, asked)));

  const afterwards = rowsOf(await dumpDatabase(database, concerned), theirs.organizationId);
  for (const [table, rows] of Object.entries(theirRows)) assert.deepEqual(afterwards[table], rows, table);
  const sent = idsIn(asked);
  const leaked = [...idsIn(answer.body)].filter((id) => theirIds.has(id) && !sent.has(id));
  assert.deepEqual(leaked, [], "the answer holds something of theirs");
  const names = [...sent].filter((id) => theirIds.has(id));
  if (names.length > 0) {
    assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} ${JSON.stringify(answer.body)}`);
  }
}
