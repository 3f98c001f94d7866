import assert from "node:assert/strict";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { it } from "node:test";
import { startPostgres } from "../support/postgres.ts";
import { startTestServer } from "../support/server.ts";
import { temporaryFolder } from "../support/server-process.ts";
import { noSmallDisks } from "../support/small-disk.ts";
import { until } from "../support/until.ts";

/** More than these find no room that PostgreSQL took in advance. */
const MOST_WRITES = 3000;
const UNHEARD = 20;

it("on a full disk of PostgreSQL changes are refused and reads go on; with room again nothing is lost or done twice", {
  skip: noSmallDisks(temporaryFolder()),
}, async (test) => {
  const postgres = await startPostgres({ diskKibibytes: 160 * 1024 });
  const server = await startTestServer("postgres", { databaseUrl: postgres.url });
  test.after(async () => {
    await server.close();
    await postgres.stop();
  });
  const { root } = server;
  const send = async (body: string) => (await root.post("/public/v1/submit/update_organization_name", body)).body;
  const readiness = async () => (await fetch(`${server.baseUrl}/readyz`)).json() as Promise<{ database: string }>;

  const filler = `${postgres.folder}/filler`;
  fill(filler);
  const acknowledged: string[] = [];
  const unheard: string[] = [];
  for (let write = 0; unheard.length < UNHEARD; write++) {
    assert.ok(write < MOST_WRITES, "the disk is never full");
    const body = root.submitBody("update_organization_name", { organizationName: `Name ${write}` });
    const { activity, code } = await send(body);
    if (activity) acknowledged.push(activity.id);
    else {
      assert.equal(code, 14, "it is told as what may be tried again");
      unheard.push(body);
    }
  }
  await until(async () => {
    await send(unheard[0] as string);
    return (await readiness()).database === "unwritable";
  }, "/readyz to tell of it");
  assert.equal((await root.query("whoami")).status, 200);

  rmSync(filler);
  await until(async () => (await readiness()).database === "ready", "the server to be ready");
  for (const activityId of acknowledged) await root.read("get_activity", { activityId });
  for (const body of unheard) {
    const [first, again] = [await send(body), await send(body)];
    assert.equal(first.activity.status, "ACTIVITY_STATUS_COMPLETED");
    assert.equal(first.activity.id, again.activity.id);
  }
});

/** Takes all the room that there is. */
function fill(file: string): void {
  const descriptor = openSync(file, "w");
  const some = Buffer.alloc(64 * 1024);
  try {
    for (;;) writeSync(descriptor, some);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
  } finally {
    closeSync(descriptor);
  }
}
