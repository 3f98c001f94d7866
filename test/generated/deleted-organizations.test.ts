import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { bodyOf, exampleRequests } from "../support/examples.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { createWorld, type World } from "../support/world.ts";

/**
 * What a parent's user reads of a sub-organization that was deleted, over every query: an answer or a clear 404, and nothing of what
 * was erased.
 */

/** What was erased is not found. */
const GONE = { status: 404, code: 5 };

for (const engine of engines) {
  describe(`a deleted sub-organization (${engine})`, () => {
    let server: TestServer;
    let world: World;
    before(async () => {
      server = await startTestServer(engine);
      world = await createWorld(server, "subOrganizations");
    });
    after(() => server.close());

    it("answers every query of its parent", async () => {
      const queries = exampleRequests.filter(
        ({ operation }) => operation.kind === "query" && operation.only !== "parents",
      );
      assert.ok(queries.length > 30, `${queries.length} queries`);
      const asked = [];
      for (const request of queries) asked.push({ request, fields: await request.example(world) });
      await world.root.client.result("delete_sub_organization", { deleteWithoutExport: true });
      const gone: string[] = [];
      for (const { request, fields } of asked) {
        const { status, body } = await world.reader.post(
          request.url,
          JSON.stringify(bodyOf(request, world.reader, fields)),
        );
        if (status === 200) continue;
        gone.push(request.name);
        assert.deepEqual({ status, code: body.code }, GONE, `${request.name}: ${status} ${JSON.stringify(body)}`);
        assert.ok(body.message.length > 10, body.message);
      }
      for (const name of [
        "whoami",
        "get_organization",
        "list_activities",
        "get_activity",
        "list_users",
        "list_wallets",
      ]) {
        assert.ok(!gone.includes(name), `${name} is answered`);
      }
    });
  });
}
