import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { after, afterEach, before, describe, it } from "node:test";
import { verifyTurnkeyWebhookSignature } from "@turnkey/crypto";
import { webhookKey } from "../../src/capabilities/webhooks/signing-keys.ts";
import { rotateServiceKey } from "../../src/engine/keys/service-keys.ts";
import { newId } from "../../src/kernel/ids.ts";
import { addUser, type Client, type Json } from "../support/client.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const ALL = [{ eventType: "ACTIVITY_UPDATES" }];
const settings = {
  KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
  KEYSTEAD_WEBHOOK_RETRY_SECONDS: "0,0.05,0.1",
  // Longer than a receiver here takes on any machine: what was sent twice would be counted.
  KEYSTEAD_WEBHOOK_TIMEOUT_SECONDS: "50",
};

for (const engine of engines) {
  describe(`webhooks (${engine})`, () => {
    let server: TestServer;
    let root: Client;
    let receiver: Receiver;
    /** Milliseconds at which the server's clock stands still; it runs where there are none. */
    let stillAt: number | undefined;
    before(async () => {
      server = await startTestServer(engine, { settings, clock: () => stillAt ?? Date.now() });
      root = server.root;
      receiver = await startReceiver();
    });
    after(async () => {
      await server.close();
      await receiver.close();
    });
    afterEach(async () => {
      stillAt = undefined;
      const { webhookEndpoints } = await root.read("list_webhook_endpoints");
      for (const { endpointId } of webhookEndpoints) await root.result("delete_webhook_endpoint", { endpointId });
      receiver.received.length = 0;
      receiver.answer(200);
    });

    const createEndpoint = async (subscriptions: object[] = ALL, url = receiver.url): Promise<string> =>
      (await root.result("create_webhook_endpoint", { url, name: "hook", subscriptions })).endpointId;
    /** Waits until everything about making the endpoint itself has arrived. */
    const quietEndpoint = async (subscriptions: object[] = ALL): Promise<string> => {
      const endpointId = await createEndpoint(subscriptions);
      await until(async () => (await deliveriesOf(endpointId)).every(({ status }) => status !== "PENDING"));
      receiver.received.length = 0;
      return endpointId;
    };
    const deliveriesOf = async (endpointId: string): Promise<Json[]> =>
      (await root.read("list_webhook_deliveries", { endpointId, paginationOptions: { limit: "100" } })).deliveries;
    const rename = (organizationName: string) => root.result("update_organization_name", { organizationName });
    const keySet = async () =>
      (await fetch(`${server.baseUrl}/public/v1/discovery/webhooks/jwks`)).json() as Promise<Json>;

    it("are created, listed, changed and deleted", async () => {
      const subscriptions = [{ eventType: "ACTIVITY_UPDATES", filtersJson: '{"type":["A"]}', isActive: false }];
      const parameters = { url: receiver.url, name: "first", subscriptions };
      const { endpointId, webhookEndpoint } = await root.result("create_webhook_endpoint", parameters);
      const { organizationId } = root;
      assert.deepEqual(webhookEndpoint, { endpointId, organizationId, ...parameters, isActive: true });
      const updated = await root.result("update_webhook_endpoint", { endpointId, name: "second", isActive: false });
      assert.deepEqual(updated.webhookEndpoint, { ...webhookEndpoint, name: "second", isActive: false });
      const { webhookEndpoints } = await root.read("list_webhook_endpoints");
      assert.deepEqual(webhookEndpoints, [updated.webhookEndpoint]);
      assert.deepEqual(await root.result("delete_webhook_endpoint", { endpointId }), { endpointId });
      assert.equal((await root.submit("update_webhook_endpoint", { endpointId, name: "x" })).status, 404);
      assert.equal((await root.submit("delete_webhook_endpoint", { endpointId: newId() })).status, 404);
    });

    it("deliver the bare activity, signed so that the published verifier accepts it", async () => {
      await quietEndpoint();
      const answer = await root.submit("update_organization_name", { organizationName: "Heard" });
      const [request] = (await receiver.waitFor(1)) as [Json];
      assert.deepEqual(JSON.parse(request.body), { ...answer.body.activity });
      assert.equal(request.headers["content-type"], "application/json");
      assert.equal(request.headers["x-turnkey-organization-id"], root.organizationId);
      assert.equal(request.headers["x-turnkey-event-type"], "ACTIVITY_UPDATES");
      const wellKnown = (await (await fetch(`${server.baseUrl}/.well-known/keystead.json`)).json()) as Json;
      const verificationKeys = wellKnown.serviceKeys.webhook;
      const check = (body: string) =>
        verifyTurnkeyWebhookSignature({
          headers: request.headers,
          body,
          verificationKeys,
          maxTimestampAgeMs: 60_000,
        } as never);
      assert.deepEqual({ ...check(request.body) }, { ...check(request.body), ok: true });
      assert.equal(check(`${request.body} `).ok, false);
    });

    it("carry the headers of Standard Webhooks beside", async () => {
      await quietEndpoint();
      await rename("Standard");
      const [{ headers, body }] = (await receiver.waitFor(1)) as [Json];
      assert.equal(headers["webhook-id"], headers["x-turnkey-event-id"]);
      const signed = Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`);
      const [scheme, signature] = headers["webhook-signature"].split(",");
      assert.equal(scheme, "v1a");
      const { keys } = await keySet();
      const { kty, crv, x } = keys.find(({ kid }: Json) => kid === headers["x-turnkey-signature-key-id"]);
      const key = createPublicKey({ format: "jwk", key: { kty, crv, x } });
      assert.ok(verify(null, signed, key, Buffer.from(signature, "base64")));
    });

    it("publish their keys without a stamp, the old one too after a rotation", async () => {
      const response = await fetch(`${server.baseUrl}/public/v1/discovery/webhooks/jwks`);
      assert.equal(response.status, 200);
      assert.equal(
        response.headers.get("cache-control"),
        "public, max-age=86400, s-maxage=86400, stale-if-error=604800",
      );
      const { keys: before } = (await response.json()) as Json;
      const kid = await rotateServiceKey(server.opened, webhookKey, Date.now());
      const { keys: afterwards } = await keySet();
      assert.deepEqual(
        afterwards.map(({ kid }: Json) => kid),
        [kid, ...before.map(({ kid }: Json) => kid)],
      );
      await quietEndpoint();
      await rename("Rotated");
      const [{ headers }] = (await receiver.waitFor(1)) as [Json];
      assert.equal(headers["x-turnkey-signature-key-id"], kid);
    });

    it("retry a failing endpoint with the same event id and a fresh signature, then give up", async () => {
      const endpointId = await quietEndpoint();
      receiver.answer(503);
      await rename("Unlucky");
      const requests = await receiver.waitFor(3);
      const ids = new Set(requests.map(({ headers }) => headers["x-turnkey-event-id"]));
      const signatures = new Set(requests.map(({ headers }) => headers["x-turnkey-signature"]));
      assert.equal(ids.size, 1);
      assert.equal(signatures.size, 3);
      await until(async () => (await deliveriesOf(endpointId))[0].status === "FAILED");
      const [delivery] = await deliveriesOf(endpointId);
      assert.deepEqual(
        delivery.attempts.map(({ statusCode }: Json) => statusCode),
        [503, 503, 503],
      );
      assert.equal(delivery.nextAttemptAt, undefined);
      receiver.answer(200);
      const { deliveryId } = delivery;
      assert.deepEqual(await root.result("redeliver_webhook", { deliveryId }), { deliveryId });
      await until(async () =>
        (await deliveriesOf(endpointId)).some((one) => one.deliveryId === deliveryId && one.status === "DELIVERED"),
      );
      const again = receiver.received.filter(({ headers }) => ids.has(headers["x-turnkey-event-id"]));
      assert.equal(again.length, 4);
    });

    it("send a test event to one endpoint, whatever it is subscribed to, signed and logged as any other", async () => {
      const endpointId = await createEndpoint([]);
      await createEndpoint([], `${receiver.url}/other`);
      const { deliveryId } = await root.result("test_webhook_endpoint", { endpointId });
      // What was on its way to an endpoint that is gone may still come.
      const ofTest = () =>
        receiver.received.filter(({ headers }) => headers["x-turnkey-event-type"] === "WEBHOOK_ENDPOINT_TEST");
      await until(() => ofTest().length > 0, "the test event");
      const { headers, body, path } = ofTest()[0] as Json;
      assert.equal(path, "/");
      const { type, organizationId, msg } = JSON.parse(body);
      assert.deepEqual([type, organizationId], ["webhooks:endpoint_test", root.organizationId]);
      assert.deepEqual([msg.endpointId, msg.url, msg.name], [endpointId, receiver.url, "hook"]);
      const wellKnown = (await (await fetch(`${server.baseUrl}/.well-known/keystead.json`)).json()) as Json;
      const verificationKeys = wellKnown.serviceKeys.webhook;
      const checked = { headers, body, verificationKeys, maxTimestampAgeMs: 60_000 };
      assert.equal(verifyTurnkeyWebhookSignature(checked as never).ok, true);
      await until(async () => (await deliveriesOf(endpointId))[0].status === "DELIVERED");
      const deliveries = await deliveriesOf(endpointId);
      assert.deepEqual(
        deliveries.map((one) => [one.deliveryId, one.eventType, one.attempts.length]),
        [[deliveryId, "WEBHOOK_ENDPOINT_TEST", 1]],
      );
      assert.equal(ofTest().length, 1);
    });

    it("send no test event soon after another one, nor to an endpoint that is off or not there", async () => {
      const endpointId = await createEndpoint([]);
      stillAt = Date.now();
      const atOnce = await Promise.all([1, 2].map(() => root.submit("test_webhook_endpoint", { endpointId })));
      assert.deepEqual(atOnce.map(({ status }) => status).sort(), [200, 429]);
      const refused = await root.submit("test_webhook_endpoint", { endpointId });
      assert.equal(refused.status, 429);
      assert.match(refused.body.message, /less than 5 seconds ago/);
      assert.equal((await deliveriesOf(endpointId)).length, 1);
      stillAt += 5000;
      await root.result("test_webhook_endpoint", { endpointId });
      assert.equal((await deliveriesOf(endpointId)).length, 2);
      const { client } = await addUser(root, "stranger");
      const other = await createEndpoint([]);
      assert.equal((await client.submit("test_webhook_endpoint", { endpointId: other })).status, 403);
      await root.result("update_webhook_endpoint", { endpointId: other, isActive: false });
      const off = await root.submit("test_webhook_endpoint", { endpointId: other });
      assert.equal(off.status, 400);
      assert.match(off.body.message, /parameters\.endpointId` .*disabled/);
      assert.equal((await root.submit("test_webhook_endpoint", { endpointId: newId() })).status, 404);
      assert.deepEqual(await deliveriesOf(other), []);
    });

    it("take 3xx and 4xx as final and follow no redirect", async () => {
      const endpointId = await quietEndpoint();
      for (const status of [302, 400, 429]) {
        receiver.received.length = 0;
        receiver.answer((_request, response) =>
          response.writeHead(status, { location: `${receiver.url}/inside` }).end(),
        );
        await rename(`Final ${status}`);
        await until(async () => (await deliveriesOf(endpointId))[0].status === "FAILED");
        const [delivery] = await deliveriesOf(endpointId);
        assert.equal(delivery.attempts.length, 1);
        assert.equal(delivery.attempts[0].statusCode, status);
        assert.ok(receiver.received.every(({ path }) => path === "/"));
      }
    });

    it("keep the order of events for each endpoint", async () => {
      await quietEndpoint();
      const names = Array.from({ length: 12 }, (_, index) => `Order ${index}`);
      for (const name of names) await rename(name);
      const requests = await receiver.waitFor(names.length);
      const arrived = requests.map(({ body }) => JSON.parse(body).result.updateOrganizationNameResult.organizationName);
      assert.deepEqual(arrived, names);
    });

    it("do not wait for another endpoint that never answers", async () => {
      const dead = await startReceiver();
      dead.answer(() => {});
      await createEndpoint(ALL, dead.url);
      await quietEndpoint();
      await rename("Not delayed");
      await receiver.waitFor(1);
      await dead.close();
    });

    it("stop when the endpoint is switched off, the queued ones too", async () => {
      const endpointId = await quietEndpoint();
      receiver.answer(503);
      await rename("Queued");
      await receiver.waitFor(1);
      await root.result("update_webhook_endpoint", { endpointId, isActive: false });
      await until(async () => (await deliveriesOf(endpointId))[0].status !== "PENDING");
      assert.ok(["CANCELLED", "FAILED"].includes((await deliveriesOf(endpointId))[0].status));
      const count = (await deliveriesOf(endpointId)).length;
      await rename("Unheard");
      assert.equal((await deliveriesOf(endpointId)).length, count);
    });

    it("are filtered by all keys together, each a text or a list", async () => {
      const matching = JSON.stringify({
        organizationId: root.organizationId,
        type: ["ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME", "X"],
        status: "ACTIVITY_STATUS_COMPLETED",
      });
      const [all, both, other, chain] = [
        await createEndpoint([{ eventType: "ACTIVITY_UPDATES", filtersJson: "" }]),
        await createEndpoint([{ eventType: "ACTIVITY_UPDATES", filtersJson: matching }]),
        await createEndpoint([{ eventType: "ACTIVITY_UPDATES", filtersJson: '{"status":"ACTIVITY_STATUS_FAILED"}' }]),
        await createEndpoint([{ eventType: "ACTIVITY_UPDATES", filtersJson: '{"caip2":"eip155:1"}' }]),
      ];
      await root.result("create_user_tag", { userTagName: "not heard", userIds: [] });
      await rename("Filtered");
      await until(async () => (await deliveriesOf(both)).length === 1);
      const { webhookEndpoints } = await root.read("list_webhook_endpoints");
      const { subscriptions } = webhookEndpoints.find(({ endpointId }: Json) => endpointId === all);
      assert.deepEqual(subscriptions, [{ eventType: "ACTIVITY_UPDATES", isActive: true }], "none, as if absent");
      assert.ok((await deliveriesOf(all)).length > 2, "nothing is filtered");
      assert.equal((await deliveriesOf(both)).length, 1);
      assert.equal((await deliveriesOf(other)).length, 0);
      assert.equal((await deliveriesOf(chain)).length, 0);
    });

    it("tell of denials and of what waits for consensus", async () => {
      await quietEndpoint();
      const { client } = await addUser(root, `Denied ${engine}`);
      await receiver.waitFor(1);
      await client.submit("update_organization_name", { organizationName: "x" });
      const requests = await receiver.waitFor(2);
      assert.equal(JSON.parse(requests[1]?.body as string).status, "ACTIVITY_STATUS_REJECTED");
    });

    it("refuse URLs, event types and filters that cannot be right", async () => {
      const good = { url: receiver.url, name: "n" };
      const cases: [object, RegExp][] = [
        [{ ...good, url: "ftp://example.com" }, /parameters\.url/],
        [{ ...good, url: "https://user:pass@example.com" }, /parameters\.url/],
        [{ ...good, url: "nonsense" }, /parameters\.url/],
        [{ ...good, subscriptions: [{ eventType: "SOMETHING_ELSE" }] }, /eventType` must be one of/],
        [
          { ...good, subscriptions: [{ eventType: "ACTIVITY_UPDATES", filtersJson: '{"color":"red"}' }] },
          /unknown key/,
        ],
        [{ ...good, subscriptions: [{ eventType: "ACTIVITY_UPDATES", filtersJson: '{"type":5}' }] }, /filtersJson/],
        [{ ...good, subscriptions: [{ eventType: "ACTIVITY_UPDATES", filtersJson: "[]" }] }, /filtersJson/],
        [{ ...good, subscriptions: [{ eventType: "ACTIVITY_UPDATES", filtersJson: "{" }] }, /filtersJson/],
      ];
      for (const [parameters, message] of cases) {
        const answer = await root.submit("create_webhook_endpoint", parameters);
        assert.equal(answer.status, 400, JSON.stringify(parameters));
        assert.match(answer.body.message, message);
      }
      assert.deepEqual((await root.read("list_webhook_endpoints")).webhookEndpoints, []);
    });

    it("are limited to twenty endpoints", async () => {
      for (let count = 0; count < 20; count++) await createEndpoint([]);
      const answer = await root.submit("create_webhook_endpoint", { url: receiver.url, name: "one too many" });
      assert.equal(answer.status, 429);
    });

    it("belong to their organization: others and plain users cannot touch them", async () => {
      const endpointId = await createEndpoint([]);
      const { client } = await addUser(root, `Plain ${engine}`);
      assert.equal((await client.submit("update_webhook_endpoint", { endpointId, name: "x" })).status, 403);
      assert.equal((await root.query("list_webhook_deliveries", { endpointId: newId() })).status, 404);
      assert.equal((await root.submit("redeliver_webhook", { deliveryId: newId() })).status, 404);
    });
  });

  describe(`webhooks without leave for private networks (${engine})`, () => {
    it("refuse every address that is not public", async () => {
      const server = await startTestServer(engine, { settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "false" } });
      try {
        for (const url of [
          "http://example.com/",
          "https://localhost/",
          "https://127.0.0.1/",
          "https://2130706433/",
          "https://10.1.2.3/",
          "https://169.254.169.254/latest/meta-data",
          "https://[::1]/",
          "https://[::ffff:10.0.0.1]/",
          "https://[64:ff9b::7f00:1]/",
        ]) {
          const answer = await server.root.submit("create_webhook_endpoint", { url, name: "inside" });
          assert.equal(answer.status, 400, url);
          assert.match(answer.body.message, /parameters\.url/);
        }
        const { endpointId } = await server.root.result("create_webhook_endpoint", {
          url: "https://hooks.example.com/in",
          name: "outside",
        });
        const update = { endpointId, url: "https://192.168.0.1/" };
        assert.equal((await server.root.submit("update_webhook_endpoint", update)).status, 400);
      } finally {
        await server.close();
      }
    });
  });
}
