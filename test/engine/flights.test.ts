import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { endlessPieces } from "../../src/kernel/turns.ts";
import { type FlightCounter, startFlightCounter } from "../support/flights.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { freshDatabaseUrl, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { createWorld, type World } from "../support/world.ts";

/** How often a transaction waits for PostgreSQL, which may be far away. */

const MANY = 30;

describe("a transaction on PostgreSQL", () => {
  let counter: FlightCounter;
  let server: TestServer;
  let world: World;
  let restore: () => void;
  before(async () => {
    // Where the event loop is held, less is asked ahead, and it waits once more.
    restore = endlessPieces();
    const url = new URL(await freshDatabaseUrl("postgres", "", MIGRATED_DATABASE));
    counter = await startFlightCounter(Number(url.port));
    url.port = String(counter.port);
    server = await startTestServer("postgres", { databaseUrl: url.href, chains: {} });
    world = await createWorld(server);
  });
  after(async () => {
    restore();
    await server.close();
    await counter.close();
  });

  /** The transactions of what `work` asks for. What the server does by itself meanwhile is told by its not being there each time. */
  async function flightsOf(work: () => Promise<unknown>): Promise<number[]> {
    const seen: number[][] = [];
    for (let time = 0; time < 5; time++) {
      counter.take();
      await work();
      seen.push(counter.take());
    }
    return seen.reduce((least, each) => (each.length < least.length ? each : least));
  }

  const numbered = (work: (number: number) => Promise<unknown>) => {
    let number = 0;
    return () => work(number++);
  };

  it("of a change waits for its beginning and for its commit", async () => {
    const { user, root } = world;
    const rename = numbered((number) =>
      root.client.result("update_user_name", { userId: user.userId, userName: `name ${number}` }),
    );
    const addPolicy = numbered((number) =>
      root.client.result("create_policy", {
        policyName: `policy ${number}`,
        effect: "EFFECT_ALLOW",
        consensus: "false",
        condition: "false",
        notes: "",
      }),
    );
    assert.deepEqual(await flightsOf(rename), [2]);
    assert.deepEqual(await flightsOf(addPolicy), [2]);
  });

  it("is one for all that wait together, and waits as often", async () => {
    const add = numbered((number) =>
      world.root.client.result("create_user_tag", { userTagName: `tag ${number}`, userIds: [] }),
    );
    const { database } = server.opened;
    let asked: Promise<unknown> | undefined;
    // Nothing of the organization begins until all of them wait.
    await database.transact(world.organizationId, async () => {
      counter.take();
      asked = Promise.all(Array.from({ length: MANY }, add));
      await until(() => database.figures().commitsWaiting >= MANY, "all of them to wait");
    });
    await asked;
    // Two where something of the server's own waited beside them, in place of the last.
    const flights = counter.take("ACTIVITY_TYPE_CREATE_USER_TAG");
    assert.ok(flights.length <= 2, `there were ${flights.length} transactions`);
    assert.deepEqual(new Set(flights), new Set([2]));
  });

  it("of a signature waits for its beginning, for the key and for its commit", async () => {
    const { client } = world.root;
    const { privateKeys } = await client.result("create_private_keys", {
      privateKeys: [{ privateKeyName: "key", curve: "CURVE_SECP256K1", addressFormats: [], privateKeyTags: [] }],
    });
    const sign = numbered((number) =>
      client.result("sign_raw_payload", {
        signWith: privateKeys[0].privateKeyId,
        payload: number.toString(16).padStart(64, "0"),
        encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
        hashFunction: "HASH_FUNCTION_NO_OP",
      }),
    );
    assert.deepEqual(await flightsOf(sign), [3]);
  });
});
