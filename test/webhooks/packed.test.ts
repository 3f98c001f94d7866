import assert from "node:assert/strict";
import { it } from "node:test";
import { packBody, unpackBody } from "../../src/capabilities/webhooks/packed-body.ts";
import { startReceiver } from "../support/receiver.ts";
import { engines, startTestServer } from "../support/server.ts";
import { webhooksOf } from "../support/webhooks.ts";

/** Events that a later version has stored compressed. */

for (const engine of engines) {
  it(`an event that is stored compressed is sent with the same bytes (${engine})`, async () => {
    const receiver = await startReceiver();
    const server = await startTestServer(engine);
    const hooks = webhooksOf(server.root);
    const endpointId = await hooks.create(receiver.url);
    await hooks.rename("Told");
    const { deliveryId } = await hooks.newest(endpointId, ({ status }) => status === "DELIVERED");
    const { database } = server.opened;
    const [event] = await database.read.selectFrom("webhook_events").select(["id", "body"]).execute();
    assert.ok(event);
    const packed = packBody(event.body);
    assert.ok(packed.length < event.body.length / 2, `${packed.length} of ${event.body.length}`);
    await database.transact(undefined, (tx) =>
      tx.updateTable("webhook_events").set({ body: packed }).where("id", "=", event.id).execute(),
    );
    await hooks.result("redeliver_webhook", { deliveryId });
    const all = await receiver.waitFor(2);
    const [first, second] = all.filter(({ headers }) => headers["x-turnkey-event-id"] === event.id);
    assert.ok(first && second);
    assert.equal(second.body, first.body);
    await server.close();
    await receiver.close();
  });
}

it("bodies come back as they were, and what is broken is no body", () => {
  for (const body of ["{}", '{"type":"x"}', `{"a":"${"é".repeat(5000)}"}`]) {
    assert.equal(unpackBody(packBody(body)), body);
    assert.equal(unpackBody(body), body);
  }
  assert.equal(packBody("{}"), "{}", "what would be longer");
  const packed = packBody(`{"a":"${"x".repeat(5000)}"}`);
  assert.match(packed, /^deflate1:/);
  assert.throws(() => unpackBody(packed.slice(0, -8)));
  assert.throws(() => unpackBody("deflate1:!!!!"));
});
