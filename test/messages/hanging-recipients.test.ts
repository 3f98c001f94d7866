import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { startMailServer } from "../support/mail-server.ts";
import { askForMail, askForSms } from "../support/messages.ts";
import { startReceiver } from "../support/receiver.ts";
import { engines, startTestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { createWorld } from "../support/world.ts";

/** Messages for recipients at whom the mail server, or the gateway for text messages, hangs. */

const LANES_OF_ONE_PARENT = 4;

for (const engine of engines) {
  describe(`recipients at whom the mail server hangs (${engine})`, () => {
    it("hold up the mail of those alone who write to them", async (t) => {
      const held = new Map<string, { to: string; refuse: () => void }>();
      let most = 0;
      const mails = await startMailServer({
        onRcptTo({ address }, { id }, done) {
          if (!address.startsWith("hanging")) return done();
          const refuse = () => done(Object.assign(new Error("4.4.1 no answer"), { responseCode: 451 }));
          held.set(id, { to: address, refuse });
          most = Math.max(most, held.size);
        },
        onClose: ({ id }) => void held.delete(id),
      });
      t.after(() => mails.close());
      let ahead = 0;
      const server = await startTestServer(engine, {
        clock: () => Date.now() + ahead,
        settings: {
          KEYSTEAD_SMTP_URL: mails.url,
          KEYSTEAD_MAIL_FROM: "Keys <keys@service.example>",
          KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
        },
      });
      t.after(() => server.close());
      const organizationIds: string[] = [];
      for (let count = 0; count < 4; count++) {
        const { root } = await createWorld(server);
        organizationIds.push(root.client.organizationId);
      }
      const [first, second, third, other] = organizationIds as [string, string, string, string];
      const writers = [first, second, third];
      /** A mail in each lane of an organization. */
      const fillLanes = async (organizationId: string, to: string) => {
        for (let line = 0; line < LANES_OF_ONE_PARENT; line++) {
          await askForMail(server, { organizationId, to, now: Date.now() + ahead }, newId().slice(0, -1) + line);
        }
      };
      const arrivesFor = async (organizationId: string, to: string) => {
        await fillLanes(organizationId, to);
        const arrived = () => mails.caught.filter(({ envelope }) => envelope.to.includes(to)).length;
        await until(() => arrived() === LANES_OF_ONE_PARENT, `mails to ${to}`);
      };

      for (const [index, writer] of writers.entries()) await fillLanes(writer, `hanging-${index}@example.com`);
      await until(() => held.size === writers.length * LANES_OF_ONE_PARENT, "mails of three parents to hang");
      await arrivesFor(other, "ada@example.com");
      assert.equal(held.size, writers.length * LANES_OF_ONE_PARENT, "and they still hang");

      // Each of them took long.
      ahead += 30_000;
      for (const { refuse } of held.values()) refuse();
      await until(() => held.size === 0, "their first attempts to end");
      most = 0;
      ahead += 30_000;
      await until(() => held.size === 6, "their second attempts");
      await arrivesFor(other, "grace@example.com");
      assert.equal(most, 6, "two of each parent at a time");
    });
  });

  describe(`numbers at which the gateway for text messages hangs (${engine})`, () => {
    it("hold up the text messages of those alone who write to them, once they were slow", async (t) => {
      const held = new Set<ServerResponse>();
      let most = 0;
      const gateway = await startReceiver();
      t.after(() => gateway.close());
      const to = (index: number) => `+1415555010${index}`;
      const free = to(9);
      const sent = () => gateway.received.filter(({ body }) => JSON.parse(body).to === free).length;
      gateway.answer((_, response) => {
        if (JSON.parse(gateway.received.at(-1)?.body as string).to === free) return response.end();
        held.add(response);
        most = Math.max(most, held.size);
        response.on("close", () => held.delete(response));
      });
      let ahead = 0;
      const server = await startTestServer(engine, {
        clock: () => Date.now() + ahead,
        settings: { KEYSTEAD_SMS_URL: gateway.url, KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
      });
      t.after(() => server.close());
      const fillLanes = async (organizationId: string, to: string) => {
        for (let line = 0; line < LANES_OF_ONE_PARENT; line++) {
          await askForSms(server, { organizationId, to, now: Date.now() + ahead }, newId().slice(0, -1) + line);
        }
      };
      const organizationIds: string[] = [];
      for (let count = 0; count < 3; count++) {
        const { root } = await createWorld(server);
        organizationIds.push(root.client.organizationId);
      }
      const other = organizationIds.pop() as string;
      for (const [index, writer] of organizationIds.entries()) await fillLanes(writer, to(index));
      await until(() => held.size === 2 * LANES_OF_ONE_PARENT, "text messages of two parents to hang");
      // Each of them took long.
      ahead += 30_000;
      for (const response of held) response.writeHead(500).end();
      await until(() => held.size === 0, "their first attempts to end");
      most = 0;
      ahead += 30_000;
      await until(() => held.size === 2, "their second attempts");
      await fillLanes(other, free);
      await until(() => sent() === LANES_OF_ONE_PARENT, "text messages of another parent");
      assert.equal(most, 2, "one of each parent at a time");
    });
  });
}
