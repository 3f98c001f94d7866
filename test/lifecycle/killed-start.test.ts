import assert from "node:assert/strict";
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { freshDatabaseUrl, type TestEngine } from "../support/server.ts";
import { spawnServer, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** Starts that are killed while they make an installation. */

const KILLER = fileURLToPath(new URL("../support/kill-at-step.ts", import.meta.url));
const killedAt = (step: string) => ({ NODE_OPTIONS: `--import=${KILLER}`, KILL_AT_STEP: step });

/** Kills a first start after a step and starts again; resolves to whether the first organization had been stored. */
async function killAndStart(engine: TestEngine, step: string): Promise<boolean> {
  const dataDir = temporaryFolder();
  const databaseUrl = await freshDatabaseUrl(engine, dataDir);
  const killed = spawnServer({ dataDir, databaseUrl, settings: killedAt(step) });
  assert.equal((await killed.exited).signal, "SIGKILL", `step ${step}: ${killed.stdout()}${killed.stderr()}`);
  const server = await startServerProcess({ dataDir, databaseUrl });
  assert.equal((await server.root.read("whoami")).organizationId, server.credentials.organizationId);
  assert.ok(!existsSync(`${dataDir}/root.key.first-start`), "what excused the empty database is gone");
  await server.end("SIGKILL");
  return !server.stdout().includes("the first organization was created");
}

describe("a first start that is killed can be started again, and is then the same as one that was not", () => {
  it("after each of its steps (sqlite)", async () => {
    let step = 1;
    while (!(await killAndStart("sqlite", String(step)))) step++;
    assert.ok(step >= 6, "the lock, the marker, the tables, the root key's name, the credentials, the organization");
  });

  it("after the steps in which the database takes part (postgres)", async () => {
    // The tables, the name of the root key, and right before the organization.
    for (const step of ["2", "3", "credentials.json"]) assert.equal(await killAndStart("postgres", step), false);
  });
});

describe("a new installation that is begun on purpose beside another's files, and killed", () => {
  it("is the new one or nothing at all, and the old credentials stay", async () => {
    const first = temporaryFolder();
    await (await startServerProcess({ dataDir: first })).end("SIGTERM");
    const old = readFileSync(`${first}/credentials.json`, "utf8");
    for (const step of ["credentials-until", "credentials.json"]) {
      const dataDir = temporaryFolder();
      const databaseUrl = await freshDatabaseUrl("sqlite", dataDir);
      for (const name of ["root.key", "credentials.json"]) copyFileSync(`${first}/${name}`, `${dataDir}/${name}`);
      chmodSync(`${dataDir}/root.key`, 0o600);
      const killed = spawnServer({
        dataDir,
        databaseUrl,
        settings: killedAt(step),
        args: ["--new-installation"],
      });
      assert.equal((await killed.exited).signal, "SIGKILL", killed.stdout() + killed.stderr());
      const contents = readdirSync(dataDir).filter((name) => name.startsWith("credentials"));
      assert.ok(
        contents.some((name) => readFileSync(`${dataDir}/${name}`, "utf8") === old),
        `after step ${step} the old credentials are there`,
      );
      const again = spawnServer({ dataDir, databaseUrl });
      await until(
        () => /"msg":"serving"/.test(again.stdout()) || again.stderr() !== "",
        "the start to end one way or the other",
        60_000,
      );
      if (again.stderr() !== "") {
        assert.match(
          again.stderr(),
          /root\.key .*(is|are) there from an installation: .*start with --new-installation/,
        );
      } else {
        const { organizationId } = JSON.parse(readFileSync(`${dataDir}/credentials.json`, "utf8"));
        assert.notEqual(organizationId, JSON.parse(old).organizationId);
      }
      await again.end("SIGKILL");
    }
  });
});
