import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { openDatabase } from "../../src/storage/database.ts";
import type { Json } from "../support/client.ts";
import { reservePort } from "../support/ports.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import {
  runKeystead,
  type ServerProcess,
  settingsOf,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { readyz, whenReady } from "./load.ts";

/** Which servers run on a database, and what operators tell them beside it: that nothing is to be changed, and that one is to drain. */

for (const engine of engines) {
  describe(`servers of a database (${engine})`, () => {
    const dataDir = temporaryFolder();
    const servers: ServerProcess[] = [];
    let databaseUrl: string;
    let settings: Record<string, string>;
    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, dataDir, MIGRATED_DATABASE);
      settings = { KEYSTEAD_ADMIN_PORT: String(await reservePort()) };
      servers.push(await startServerProcess({ dataDir, databaseUrl, settings }));
      if (engine === "sqlite") return;
      const other = { KEYSTEAD_ROOT_KEY_FILE: join(dataDir, "root.key"), KEYSTEAD_ADMIN_PORT: "0" };
      const of = { dataDir: temporaryFolder(), credentialsFrom: dataDir };
      servers.push(await startServerProcess({ ...of, databaseUrl, settings: other }));
    });
    after(() => Promise.all(servers.map((server) => server.end("SIGKILL"))));

    const first = () => servers[0] as ServerProcess;
    const run = (...args: string[]) => runKeystead(args, settingsOf({ dataDir, databaseUrl, settings }));
    const answerOf = async (...args: string[]): Promise<Json> => {
      const { code, stdout, stderr } = await run(...args);
      assert.equal(code, 0, stdout + stderr);
      return JSON.parse(stdout);
    };
    const tag = ({ root }: ServerProcess) => root.submit("create_user_tag", { userTagName: newId(), userIds: [] });

    it("are listed with their versions and their last sign of life, until they end", async () => {
      let listed: Json[] = [];
      await until(async () => {
        listed = await answerOf("instances");
        return listed.length === servers.length;
      }, "all to be listed");
      for (const { host, version, url, state, lastSeenAt, isAlive } of listed) {
        assert.deepEqual([host, state, isAlive], [hostname(), "serving", true]);
        assert.match(version, /^\d+\.\d+\.\d+/);
        assert.ok(servers.some(({ baseUrl }) => baseUrl === url));
        assert.ok(Math.abs(Date.parse(lastSeenAt) - Date.now()) < 60_000, lastSeenAt);
      }
    });

    it("change nothing during a maintenance, and say so, while reads go on", async () => {
      const told = await answerOf("maintenance", "on", "--reason", "the disk is exchanged");
      assert.deepEqual(
        [told.isKnownToAll, told.maintenance.reason, told.instances.length],
        [true, "the disk is exchanged", servers.length],
      );
      const { since } = told.maintenance;
      assert.equal(new Date(since).toISOString(), since);
      assert.equal(told.replaced, null);
      for (const server of servers) {
        const refused = await tag(server);
        assert.deepEqual(
          [refused.status, refused.body.message],
          [
            503,
            "the service is under maintenance (the disk is exchanged): reads work, but changes are refused; send the request again later",
          ],
        );
        assert.equal((await server.root.query("whoami")).status, 200);
        const { maintenance } = (await whenReady(server)) as { maintenance?: string };
        assert.match(maintenance ?? "", /^since .+Z \(the disk is exchanged\); reads work, but changes get 503$/);
      }
      const status = await run("status");
      assert.match(status.stdout, /^maintenance: since .+\(the disk is exchanged\)/m);
      const again = await answerOf("maintenance", "on");
      assert.deepEqual([again.maintenance, again.replaced], [told.maintenance, null], "no reason takes none away");
      const other = await answerOf("maintenance", "on", "--reason", "and the power");
      assert.deepEqual(
        [other.maintenance.since, other.maintenance.reason, other.replaced],
        [since, "and the power", told.maintenance],
      );
      // One that starts meanwhile goes by it from its first request on.
      await first().end("SIGTERM");
      servers[0] = await startServerProcess({ dataDir, databaseUrl, settings });
      assert.equal((await tag(first())).status, 503);

      assert.equal((await answerOf("maintenance", "off")).maintenance, null);
      for (const server of servers) assert.equal((await tag(server)).status, 200);
      assert.equal("maintenance" in (await readyz(first())).body, false);
    });

    it("drain when they are told, each for itself", async () => {
      const { stdout, stderr, code } = await run("drain", newId());
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, /no running server has the ID .+; `keystead instances` lists those that run/);
      const listed: Json[] = await answerOf("instances");
      if (servers.length > 1) {
        const unclear = await run("drain");
        assert.equal(unclear.code, 1);
        assert.match(unclear.stderr, /several servers run on this machine; name one of /);
      }
      if (servers.length === 1) {
        // One that was killed, whose last sign of life is not old yet.
        const store = openDatabase({ url: databaseUrl });
        await store.transact(undefined, async (tx) => {
          const row = await tx.selectFrom("servers").selectAll().executeTakeFirstOrThrow();
          await tx
            .insertInto("servers")
            .values({ ...row, id: newId(), pid: 2 ** 30, state: "draining" })
            .execute();
        });
        await store.close();
      }
      const { id } = listed.find(({ url }) => url === first().baseUrl);
      const drained = await (servers.length > 1 ? answerOf("drain", id) : answerOf("drain"));
      assert.deepEqual([drained.id, drained.state], [id, "draining"]);
      const { status, body } = await readyz(first());
      assert.deepEqual(
        [status, (body.reasons as Json).server],
        [503, "it was told to drain, but still answers requests"],
      );
      const answer = await fetch(`${first().baseUrl}/healthz`);
      assert.deepEqual([answer.status, answer.headers.get("connection")], [200, "close"]);
      assert.equal((await tag(first())).status, 200);
      for (const other of servers.slice(1)) await whenReady(other);

      await first().end("SIGTERM");
      const ids = ((await answerOf("instances")) as Json[]).map((each) => each.id);
      assert.ok(!ids.includes(id), "who ends in good order is not there any more");
    });

    it("the guide tells each of these commands", () => {
      const guide = readFileSync(new URL("../../docs/guide/operating.md", import.meta.url), "utf8");
      for (const command of ["instances", "maintenance on", "maintenance off", "drain"]) {
        assert.ok(guide.includes(`npx keystead ${command}`), command);
      }
    });
  });
}
