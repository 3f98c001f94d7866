import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { after, before, describe, it, type TestContext } from "node:test";
import { type Costly, costlyRequests } from "../support/costly-requests.ts";
import { bodyOf, exampleRequests, kindFor } from "../support/examples.ts";
import { inflated } from "../support/inflated.ts";
import { areLong } from "../support/long-tests.ts";
import type { FieldSchema } from "../support/mutations.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { countWork, mostUnitsAtOnce } from "../support/work-units.ts";
import { createWorld } from "../support/world.ts";

/**
 * What one request has done without letting others go: counted, so that a busy machine says the same. The server's thread is this one,
 * with as little of the client's work as can be.
 */

/** What may be done at once: 30 ms of a processor, as no machine may take more than 50 for it. */
const MOST_UNITS = 6_000_000;

countWork();

async function send({ client, path, body }: Costly): Promise<number> {
  const url = new URL(path, client.baseUrl);
  const headers = { "x-stamp": client.stamp(body) };
  const sent = request(url, { method: "POST", agent: false, headers });
  sent.end(body);
  const [answer] = await once(sent, "response");
  answer.resume();
  await once(answer, "end");
  return answer.statusCode;
}

async function assertInTime(t: TestContext, one: Costly): Promise<number> {
  let status = 0;
  const { units, where } = await mostUnitsAtOnce(async () => {
    status = await send(one);
  });
  t.diagnostic(`UNITS ${units} at once, of ${one.body.length} bytes, ${status}: ${where.join("; ")}`);
  assert.ok(units < MOST_UNITS, `${units} at once: ${where.join("; ")}`);
  return status;
}

/** SQLite, whose statements run in the server's own thread as well. */
const startServer = (settings: Record<string, string> = {}) =>
  startTestServer("sqlite", { checksAnswers: false, settings });

describe("one request", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.close());

  for (const [name, prepare] of Object.entries(costlyRequests)) {
    it(`for ${name} lets others go in time`, async (t) => {
      const one = await prepare(await createWorld(server));
      assert.equal(await assertInTime(t, one), one.status ?? 200);
    });
  }
});

describe("a request of any operation as large as its schema lets it be", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ KEYSTEAD_FAILED_AUTHENTICATIONS_PER_SECOND: "0" });
  });
  after(() => server.close());

  /** How many have anything that can grow. */
  let large = 0;
  for (const [index, one] of exampleRequests.entries()) {
    // Copies that are all the same are refused early, or found at once: a sample will do.
    const kinds = areLong || index % 4 === 0 ? (["same", "others"] as const) : (["others"] as const);
    it(`lets others go in time: ${one.name}`, async (t) => {
      const world = await createWorld(server, kindFor(one.operation));
      const fields = await one.example(world);
      const { client } = world.root;
      const body = { ...bodyOf(one, client, fields), generateAppProofs: false };
      for (const copies of kinds) {
        const grown = JSON.stringify(inflated(one.schema as FieldSchema, body, copies));
        if (grown.length < 2 * JSON.stringify(body).length) continue;
        large++;
        await assertInTime(t, { client, path: one.url, body: grown });
      }
    });
  }
  it("was asked of many", () => assert.ok(large > (areLong ? 150 : 120), String(large)));
});
