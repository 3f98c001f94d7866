import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { restore } from "../../src/main/backup/restore.ts";
import { loadConfig } from "../../src/main/config.ts";
import { writeBackup } from "../../src/storage/backup/write-file.ts";
import { addUser, type Client, generateApiKey } from "../support/client.ts";
import { loginSignature, verificationTokenFor } from "../support/one-time-codes.ts";
import { newPlace } from "../support/place.ts";
import { carryFiles } from "../support/populated.ts";
import { engines, startTestServer } from "../support/server.ts";
import { temporaryFolder } from "../support/server-process.ts";
import { addSubOrganization } from "../support/world.ts";

/** What was sent before a restore is sent again to the restored installation, which has forgotten it. */

const TAGS = "/public/v1/submit/create_user_tag";
const APPROVE = "/public/v1/submit/approve_activity";
const FROM_BEFORE = /`timestampMs` is from before .*, when this service was restored from a backup/;

for (const engine of engines) {
  const other = engine === "sqlite" ? "postgres" : "sqlite";
  describe(`${engine}, restored into ${other}`, () => {
    it("carries out nothing that was stamped or proven before, however often it is started", async () => {
      const source = await newPlace(engine);
      const server = await startTestServer(engine, source);
      const { root } = server;
      const member = await addUser(root);
      const sub = await addSubOrganization(root);
      await sub.client.result("update_user", { userId: sub.userId, userEmail: "restored@example.com" });
      const key = generateApiKey();
      const verificationToken = await verificationTokenFor(server, root, "restored@example.com", { key });
      const logIn = (client: Client) => {
        const { publicKey } = generateApiKey();
        const signed = { publicKey, clientSignature: loginSignature(key, verificationToken, publicKey) };
        const inSub = client.with({ organizationId: sub.client.organizationId });
        return inSub.submit("otp_login", { verificationToken, ...signed });
      };
      await root.result("create_policy", {
        policyName: "two",
        effect: "EFFECT_ALLOW",
        consensus: "approvers.count() >= 2",
        condition: "true",
        notes: "",
      });
      const waiting = await member.client.submit("create_user_tag", { userTagName: "waits", userIds: [] });
      const { id: activityId, fingerprint } = waiting.body.activity;
      const file = join(temporaryFolder(), "keystead.backup");
      await writeBackup({ url: source.databaseUrl, file, version: "0.1.0", onProgress: () => {} });

      const create = root.submitBody("create_user_tag", { userTagName: "afterwards", userIds: [] });
      assert.equal((await root.post(TAGS, create)).status, 200);
      const approve = root.submitBody("approve_activity", { fingerprint });
      assert.equal((await root.post(APPROVE, approve)).body.activity.status, "ACTIVITY_STATUS_COMPLETED");
      assert.equal((await logIn(root)).status, 200);
      await server.close();

      const place = await newPlace(other);
      carryFiles(source.dataDir, place.dataDir);
      const config = loadConfig({ KEYSTEAD_DATA_DIR: place.dataDir, DATABASE_URL: place.databaseUrl });
      await restore(config, { file, identity: undefined, sha256: undefined, onProgress: () => {} });
      const audit = join(temporaryFolder(), "audit.ndjson");
      let since: string | undefined;
      for (const start of ["first", "second"]) {
        const restored = await startTestServer(other, {
          ...place,
          audit: { file: { path: audit }, whenFull: "block" },
        });
        const anew = restored.root;
        for (const [path, body] of [
          [TAGS, create],
          [APPROVE, approve],
        ] as const) {
          const answer = await anew.post(path, body);
          assert.equal(answer.status, 400, start);
          assert.match(answer.body.message, FROM_BEFORE);
          const [time] = /\d{4}-[-0-9T:.]+Z/.exec(answer.body.message) ?? [];
          since ??= time;
          assert.equal(time, since, start);
        }
        const login = await logIn(anew);
        assert.equal(login.status, 400, start);
        assert.match(login.body.message, /from before this service was restored from a backup/);
        const { activity } = await anew.read("get_activity", { activityId });
        assert.equal(activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED", start);
        // What is stamped from then on is carried out.
        await anew.result("create_user_tag", { userTagName: `afterwards, ${start}`, userIds: [] });
        await restored.close();
      }
      const lines = readFileSync(audit, "utf8").trim().split("\n");
      const restores = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "restored");
      assert.deepEqual(
        restores.map(({ time }) => time),
        [since],
      );
    });
  });
}
