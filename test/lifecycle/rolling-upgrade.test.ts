import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { checkOut, earlierVersions } from "../support/earlier-version.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { startReceiver } from "../support/receiver.ts";
import { testPostgresUrl } from "../support/server.ts";
import { startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { RENAMES } from "../support/webhooks.ts";
import { checkAnswers, count, createSubjects, startLoad } from "./load.ts";

const earlier = earlierVersions();
const skip = earlier.length === 0 && "the git history does not reach back to before the newest migration";

/** A version with older tables goes on working beside this one, which brings them up to date under it. */
it("the version before and this one serve one database side by side, and each does the other's work", {
  skip,
}, async (test) => {
  const receiver = await startReceiver();
  test.after(() => receiver.close());
  const databaseUrl = await createTestDatabase(testPostgresUrl(), `rolling_${newId().replaceAll("-", "")}`);
  const settings = {
    KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
    KEYSTEAD_WEBHOOK_RETRY_SECONDS: Array.from({ length: 50 }, () => "0.5").join(","),
    KEYSTEAD_JOB_LEASE_SECONDS: "2",
  };
  const before = await startServerProcess({
    dataDir: temporaryFolder(),
    databaseUrl,
    settings,
    program: checkOut(earlier),
  });
  const subjects = await createSubjects(before.root);
  await before.root.result("create_webhook_endpoint", { url: receiver.url, name: "hook", subscriptions: RENAMES });
  const store = openDatabase({ url: databaseUrl });
  test.after(() => store.close());
  assert.notDeepEqual((await store.schemaState()).pending, [], "it has older tables");

  const ofBefore = startLoad(before.root, subjects);
  await until(() => count(ofBefore, 200) > 20, "the load");
  const dataDir = temporaryFolder();
  copyFileSync(`${before.dataDir}/root.key`, `${dataDir}/root.key`);
  const now = await startServerProcess({ dataDir, databaseUrl, settings, credentialsFrom: before.dataDir });
  assert.deepEqual(await store.schemaState(), { isEmpty: false, unknown: [], pending: [] });
  const ofNow = startLoad(now.root, subjects);
  const atFirst = count(ofBefore, 200);
  await until(() => count(ofBefore, 200) > atFirst + 30 && count(ofNow, 200) > 30, "both to answer");

  // Both have work that does not get done until one of them is gone.
  receiver.answer(503);
  const renamed: string[] = [];
  for (const [index, { root }] of [before, now, before, now, before, now].entries()) {
    const { activity } = (await root.submit("update_organization_name", { organizationName: `Name ${index}` })).body;
    renamed.push(activity.id);
  }
  await Promise.all([ofBefore.stop(), ofNow.stop()]);
  await before.end("SIGTERM");
  const refused = receiver.received.length;
  receiver.answer(200);
  const arrived = () => receiver.received.slice(refused);
  await until(() => renamed.every((id) => arrived().some(({ body }) => body.includes(id))), "the events");

  for (const load of [ofBefore, ofNow]) {
    assert.equal(count(load, 200), load.answers.length, "nobody noticed");
    await checkAnswers(load, store);
  }
  // An event may come twice, and is the same one then.
  const events = new Set(arrived().map(({ headers }) => headers["webhook-id"]));
  assert.equal(events.size, renamed.length, "one event for each");
  for (const { stdout } of [before, now])
    assert.doesNotMatch(stdout(), /"level":"(error|fatal)"|"internal server error/);
  await now.end("SIGTERM");
});
