import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type FlightCounter, startFlightCounter } from "../support/flights.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { freshDatabaseUrl, startTestServer, type TestServer } from "../support/server.ts";
import { createWorld, type World } from "../support/world.ts";

/** How often a transaction waits for PostgreSQL, which may be far away. */

describe("a transaction on PostgreSQL", () => {
  let counter: FlightCounter;
  let server: TestServer;
  let world: World;
  before(async () => {
    const url = new URL(await freshDatabaseUrl("postgres", "", MIGRATED_DATABASE));
    counter = await startFlightCounter(Number(url.port));
    url.port = String(counter.port);
    server = await startTestServer("postgres", { databaseUrl: url.href, chains: {} });
    world = await createWorld(server);
  });
  after(async () => {
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
    counter.take();
    await Promise.all(Array.from({ length: 30 }, add));
    const flights = counter.take();
    assert.ok(flights.length < 15, `there were ${flights.length} transactions`);
    // Once more where the event loop is held, and nothing is asked ahead for others to wait for.
    assert.ok(flights.every((count) => count <= 3) && flights.includes(2), `they waited ${flights.join(", ")} times`);
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
