import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import { laneOf } from "../../src/capabilities/webhooks/queue-delivery.ts";
import { MAX_WEBHOOK_LANES_BELOW_ONE_PARENT } from "../../src/kernel/limits.ts";
import type { Json } from "../support/client.ts";
import { startReceiver } from "../support/receiver.ts";
import { startTestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { webhooksOf } from "../support/webhooks.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

/** A parent and its sub-organizations with endpoints that take connections and never answer, each at an address of its own. */

const ENDPOINTS_OF_EACH = 15;
const SUB_ORGANIZATIONS = 4;

describe("receivers that do not answer", () => {
  it("hold up those of their own siblings alone", async (t) => {
    const open = new Set<Socket>();
    let most = 0;
    const hang = (socket: Socket) => {
      open.add(socket);
      most = Math.max(most, open.size);
      socket.on("error", () => {});
      socket.on("close", () => open.delete(socket));
      socket.resume();
    };
    let host = 0;
    /** At an address of its own, which counts as a host. */
    const startSilent = async (): Promise<string> => {
      const silent = createServer(hang);
      t.after(() => silent.close());
      const address = `127.0.1.${++host}`;
      await new Promise<void>((resolve) => silent.listen(0, address, resolve));
      return `http://${address}:${(silent.address() as AddressInfo).port}/`;
    };
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    const server = await startTestServer("sqlite");
    t.after(() => server.close());

    const { root: parent } = await createWorld(server);
    const owners = [];
    while (owners.length < SUB_ORGANIZATIONS) owners.push((await addSubOrganization(parent.client)).client);
    for (const owner of owners) {
      const hooks = webhooksOf(owner);
      for (let count = 0; count < ENDPOINTS_OF_EACH; count++) await hooks.create(await startSilent());
    }
    for (const owner of owners) await webhooksOf(owner).rename("Renamed");
    await until(() => open.size >= MAX_WEBHOOK_LANES_BELOW_ONE_PARENT, "their deliveries to hang");

    const { root: other } = await createWorld(server);
    for (const [index, { client }] of [other, parent].entries()) {
      const hooks = webhooksOf(client);
      await hooks.create(receiver.url);
      await hooks.rename("Told");
      await receiver.waitFor(index + 1);
    }
    assert.equal(most, MAX_WEBHOOK_LANES_BELOW_ONE_PARENT, `of ${host} endpoints`);
  });

  it("have a part of the room of sub-organizations alone, until they answer", async (t) => {
    const server = await startTestServer("sqlite");
    t.after(() => server.close());
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    const { root: parent } = await createWorld(server);
    const { client } = await addSubOrganization(parent.client);
    const [hooks, parentsHooks] = [webhooksOf(client), webhooksOf(parent.client)];
    const ids = [await hooks.create(receiver.url), await parentsHooks.create(receiver.url)];
    const failing = `webhooks-failing-below:${parent.client.organizationId}`;
    const areBehind = async () => {
      const lanes = await server.opened.database.read.selectFrom("job_lanes").select(["lane", "gate"]).execute();
      return ids.map((id) =>
        lanes
          .find(({ lane }) => lane === laneOf(id))
          ?.gate.split(" ")
          .includes(failing),
      );
    };
    /** Once both have tried what they were told. */
    const tried = async (name: string, isTried: (delivery: Json) => boolean) => {
      for (const [index, one] of [hooks, parentsHooks].entries()) {
        await one.rename(name);
        await one.newest(ids[index] as string, isTried);
      }
    };
    receiver.answer(500);
    await tried("Fails", ({ attempts }) => attempts.length === 1);
    assert.deepEqual(await areBehind(), [true, false]);
    receiver.answer(200);
    await tried("Told", ({ status }) => status === "DELIVERED");
    assert.deepEqual(await areBehind(), [false, false]);
  });
});
