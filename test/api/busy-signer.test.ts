import assert from "node:assert/strict";
import { it } from "node:test";
import { occupySigner } from "../support/busy-signer.ts";
import type { Client, TestAnswer } from "../support/client.ts";
import { onEachEngine } from "../support/server.ts";
import { until } from "../support/until.ts";
import { createWorld } from "../support/world.ts";

/** What requests see of a signer that has as much work of their organization as may wait for it. */

async function newKey(client: Client): Promise<string> {
  const key = { privateKeyName: "key", curve: "CURVE_P256", privateKeyTags: [], addressFormats: [] };
  const { privateKeys } = await client.result("create_private_keys", { privateKeys: [key] });
  return privateKeys[0].privateKeyId;
}

const signParameters = (signWith: string) => ({
  signWith,
  payload: "payload",
  encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
  hashFunction: "HASH_FUNCTION_SHA256",
});
const sign = (client: Client, key: string) => client.submit("sign_raw_payload", signParameters(key));

function assertShed({ status, body }: TestAnswer): void {
  assert.equal(status, 429, JSON.stringify(body));
  assert.equal(body.code, 8);
  assert.equal(body.turnkeyErrorCode, "RATE_LIMIT_EXCEEDED");
  assert.match(body.message, /^too much of this organization's work is waiting for the signer; nothing was changed, /);
}

onEachEngine("an organization that has too much waiting for the signer", (server) => {
  it("is told to come again, and nothing of the request stays; others are served", async () => {
    const { signer } = server().opened;
    const [busy, bystander] = [await createWorld(server()), await createWorld(server())];
    const [key, otherKey] = [await newKey(busy.root.client), await newKey(bystander.root.client)];
    const release = await occupySigner(signer, busy.organizationId);

    assertShed(await sign(busy.root.client, key));
    const byType = { filterByType: ["ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2"] };
    assert.deepEqual((await busy.root.client.read("list_activities", byType)).activities, []);
    await busy.root.client.result("update_user_name", { userId: busy.root.userId, userName: "no key needed" });
    assert.equal((await sign(bystander.root.client, otherKey)).status, 200);

    release();
    await until(() => signer.figures.waiting === 0, "the queue to be empty");
    assert.equal((await sign(busy.root.client, key)).status, 200);
  });

  it("loses no activity that others have voted on: the deciding vote can be cast again", async () => {
    const { signer } = server().opened;
    const world = await createWorld(server());
    const key = await newKey(world.root.client);
    const second = await world.quorumOfTwo();
    const { body } = await sign(world.root.client, key);
    const { id: activityId, fingerprint } = body.activity;
    const approve = () => second.client.submit("approve_activity", { fingerprint });
    const statusNow = async () => (await world.root.client.read("get_activity", { activityId })).activity.status;

    const release = await occupySigner(signer, world.organizationId);
    assertShed(await approve());
    assert.equal(await statusNow(), "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    release();
    await until(() => signer.figures.waiting === 0, "the queue to be empty");
    assert.equal((await approve()).status, 200);
    assert.equal(await statusNow(), "ACTIVITY_STATUS_COMPLETED");
  });

  it("has nothing signed that its client no longer waits for", async () => {
    const { signer } = server().opened;
    const { root, organizationId } = await createWorld(server());
    const key = await newKey(root.client);
    const ahead = 3;
    const release = await occupySigner(signer, organizationId, ahead);
    const aborting = new AbortController();
    const body = root.client.submitBody("sign_raw_payload", signParameters(key));
    const request = fetch(`${server().baseUrl}/public/v1/submit/sign_raw_payload`, {
      method: "POST",
      headers: { "x-stamp": root.client.stamp(body) },
      body,
      signal: aborting.signal,
    });
    await Promise.race([until(() => signer.figures.waiting > ahead, "the request to wait"), request]);
    aborting.abort();
    await assert.rejects(request, { name: "AbortError" });

    const wasGivenUp = () => /"operation":"sign_raw_payload","status":499/.test(server().log());
    await until(wasGivenUp, "the request to be given up", 120_000);
    release();
    await until(() => signer.figures.waiting === 0, "the queue to be empty");
    const byType = { filterByType: ["ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2"] };
    assert.deepEqual((await root.client.read("list_activities", byType)).activities, []);
  });
});
