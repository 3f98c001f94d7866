import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openDatabase } from "../../src/storage/database.ts";
import { addUser, type Client, type Json } from "../support/client.ts";
import { areLong } from "../support/long-tests.ts";
import { reservePort } from "../support/ports.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import { type ServerProcess, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

const SENDERS = 4;
const EACH = areLong ? 500 : 60;
const KILLS = [0.2, 0.5, 0.8];
const TYPE = "ACTIVITY_TYPE_UPDATE_USER_NAME";

for (const engine of engines) {
  describe(`the audit stream of a server that is killed (${engine})`, () => {
    it("has every committed activity, in order, and at most the last lines again", async (t) => {
      const dataDir = temporaryFolder();
      const databaseUrl = await freshDatabaseUrl(engine, dataDir, MIGRATED_DATABASE);
      const path = join(dataDir, "audit.ndjson");
      const config = join(dataDir, "config.json");
      // Small files, so that the server is killed beside their changes.
      writeFileSync(
        config,
        JSON.stringify({ audit: { file: { path, maxBytes: 20_000, keep: 1000 }, whenFull: "block" } }),
      );
      const settings = { KEYSTEAD_CONFIG: config, KEYSTEAD_JOB_LEASE_SECONDS: "1", KEYSTEAD_LOG_LEVEL: "error" };
      // The server's own also while it is not there.
      const port = String(await reservePort());
      const start = () => startServerProcess({ dataDir, databaseUrl, settings: { ...settings, KEYSTEAD_PORT: port } });
      let server: ServerProcess = await start();
      const { root } = server;
      const users = await Promise.all(Array.from({ length: SENDERS }, (_, number) => addUser(root, `User ${number}`)));

      let answered = 0;
      /** One after the other, each again and again until it is answered: the same body is the same activity. */
      const sendAll = async (client: Client, userId: string): Promise<string[]> => {
        const ids: string[] = [];
        for (let number = 0; number < EACH; number++) {
          const body = client.submitBody("update_user_name", { userId, userName: `Name ${number}` });
          let answer: Json;
          await until(async () => {
            answer = await client.post("/public/v1/submit/update_user_name", body).catch(() => undefined);
            return answer?.status === 200;
          }, "an answer");
          ids.push(answer.body.activity.id);
          answered++;
        }
        return ids;
      };
      const sending = users.map(({ userId }) => sendAll(root, userId));
      for (const share of KILLS) {
        await until(() => answered >= share * SENDERS * EACH, `${share} of it to be answered`);
        await server.end("SIGKILL");
        server = await start();
      }
      const sent = await Promise.all(sending);

      const database = openDatabase({ url: databaseUrl });
      const waiting = () => database.read.selectFrom("audit_lines").select("seq").execute();
      await until(async () => (await waiting()).length === 0, "all lines to be delivered");
      const committed = await database.read.selectFrom("activities").select("id").where("type", "=", TYPE).execute();
      await database.close();
      await server.end("SIGTERM");

      const lines = allLinesOf(path).filter((line) => line.activity?.type === TYPE);
      const told = lines.map(({ activity }) => activity.id);
      const distinct = [...new Set(told)];
      assert.deepEqual([...distinct].sort(), committed.map(({ id }) => id).sort());
      for (const ids of sent) {
        const ofSender = distinct.filter((id) => ids.includes(id));
        assert.deepEqual(ofSender, ids, "what a sender sent one after the other");
      }
      const again = told.length - new Set(lines.map(({ id }) => id)).size;
      assert.equal(distinct.length + again, told.length, "a line that comes again is the same line");
      t.diagnostic(`${committed.length} committed, ${again} lines again, in ${filesOf(path).length} files`);
    });
  });
}

/** The oldest first. */
function filesOf(path: string): string[] {
  const rotated = readdirSync(join(path, ".."))
    .filter((name) => name.startsWith("audit.ndjson."))
    .map((name) => Number(name.slice("audit.ndjson.".length)))
    .sort((one, other) => other - one)
    .map((number) => `${path}.${number}`);
  return [...rotated, ...(existsSync(path) ? [path] : [])];
}

/** Every line of every file is whole: one that is not fails to parse. */
const allLinesOf = (path: string): Json[] =>
  filesOf(path).flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line)),
  );
