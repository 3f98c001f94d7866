import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { after, before, describe, it } from "node:test";
import type { Client } from "../support/client.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { createWorld, type World } from "../support/world.ts";

/** One organization that sends all it can, and another that sends one request. */

const MANY = 1000;
/** What is under way and what goes into the next commits; in the order of arrival it would be nearly all. */
const MOST_AHEAD = MANY / 2;

/** Requests that a busy organization has on their way all the time, beside so many of another, one after the other. */
const ON_THEIR_WAY = 64;
const ONE_AFTER_THE_OTHER = 21;
/** Of the busy one's while one is answered, as a rule: in turns by the request alone it would be nearly all that are on their way. */
const MOST_MEANWHILE = ON_THEIR_WAY / 2;

for (const engine of engines) {
  describe(`beside a busy organization (${engine})`, () => {
    let server: TestServer;
    const agent = new Agent({ keepAlive: true, maxFreeSockets: MANY + 1 });
    before(async () => {
      const settings = { KEYSTEAD_MAX_CONNECTIONS_PER_ADDRESS: String(2 * MANY) };
      server = await startTestServer(engine, { settings });
    });
    after(async () => {
      agent.destroy();
      await server.close();
    });

    /** Stamped beforehand, so that nothing but sending is left to do. */
    const prepared = (client: Client, path: string, body: string): (() => Promise<number>) => {
      const url = new URL(path, client.baseUrl);
      const options = { method: "POST", agent, headers: { "x-stamp": client.stamp(body) } };
      const send = (): Promise<number> =>
        new Promise((resolve, reject) => {
          const sent = request(url, options, (answer) => {
            answer.resume().once("end", () => resolve(answer.statusCode ?? 0));
          });
          // On a busy machine the server may just have closed what was silent for long.
          const again = (error: Error) => (sent.reusedSocket ? send().then(resolve, reject) : reject(error));
          sent.once("error", again).end(body);
        });
      return send;
    };

    const rename = (client: Client, userId: string, userName: string): string =>
      client.submitBody("update_user_name", { userId, userName });

    const whoami = ({ root: { client } }: World): [Client, string, string] => [
      client,
      "/public/v1/query/whoami",
      JSON.stringify({ organizationId: client.organizationId }),
    ];

    for (const what of ["write", "read"] as const) {
      it(`a ${what} does not wait for all that was sent before it`, async (t) => {
        const [busy, bystander] = await Promise.all([createWorld(server), createWorld(server)]);
        const requestOf = ({ root: { client }, user }: World, userName: string): [Client, string, string] =>
          what === "write"
            ? [client, "/public/v1/submit/update_user_name", rename(client, user.userId, userName)]
            : [client, "/public/v1/query/list_users", JSON.stringify({ organizationId: client.organizationId })];
        const warm = Array.from({ length: MANY + 1 }, () => prepared(...whoami(bystander)));
        const requests = Array.from({ length: MANY }, (_, index) => prepared(...requestOf(busy, `name ${index}`)));
        const own = prepared(...requestOf(bystander, "name"));
        // Every request has an open connection, so that they arrive in the order in which they are sent.
        await Promise.all(warm.map((each) => each()));
        let ahead = 0;
        let isAnswered = false;
        const all = requests.map((each) =>
          each().then(() => {
            if (!isAnswered) ahead++;
          }),
        );
        assert.equal(await own(), 200);
        isAnswered = true;
        await Promise.all(all);
        t.diagnostic(`${ahead} of ${MANY} were answered first`);
        assert.ok(ahead < MOST_AHEAD, `${ahead} of ${MANY} were answered first`);
      });
    }

    it("each of a series of writes finds little before it", async (t) => {
      const [busy, bystander] = await Promise.all([createWorld(server), createWorld(server)]);
      const renaming = ({ root: { client }, user }: World, userName: string) =>
        prepared(client, "/public/v1/submit/update_user_name", rename(client, user.userId, userName));
      const own = Array.from({ length: ONE_AFTER_THE_OTHER }, (_, index) => renaming(bystander, `quiet ${index}`));
      let answered = 0;
      let isOver = false;
      const floods = Array.from({ length: ON_THEIR_WAY }, async (_, flood) => {
        for (let index = 0; !isOver; index++) {
          assert.equal(await renaming(busy, `busy ${flood} ${index}`)(), 200);
          answered++;
        }
      });
      const meanwhile: number[] = [];
      for (const send of own) {
        const before = answered;
        assert.equal(await send(), 200);
        meanwhile.push(answered - before);
      }
      isOver = true;
      await Promise.all(floods);
      meanwhile.sort((a, b) => a - b);
      const usual = meanwhile[Math.floor(meanwhile.length / 2)] as number;
      t.diagnostic(`of ${ON_THEIR_WAY}, ${usual} were answered meanwhile (${meanwhile.join(", ")})`);
      assert.ok(usual < MOST_MEANWHILE, `${usual} were answered meanwhile`);
    });
  });
}
