import assert from "node:assert/strict";
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import { spawnServer, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** Starts that are killed while they make an installation. */

const KILLER = fileURLToPath(new URL("../support/kill-at-step.ts", import.meta.url));
const killedAt = (step: string) => ({ NODE_OPTIONS: `--import=${KILLER}`, KILL_AT_STEP: step });

for (const engine of engines) {
  describe(`a first start that is killed (${engine})`, () => {
    it("after any of its steps can be started again, and is then the same as one that was not", async (test) => {
      let step = 0;
      for (let organizationIsThere = false; !organizationIsThere; ) {
        step++;
        const dataDir = temporaryFolder();
        const databaseUrl = await freshDatabaseUrl(engine, dataDir);
        const killed = spawnServer({ dataDir, databaseUrl, settings: killedAt(String(step)) });
        assert.equal((await killed.exited).signal, "SIGKILL", `step ${step}: ${killed.stdout()}${killed.stderr()}`);
        const server = await startServerProcess({ dataDir, databaseUrl });
        organizationIsThere = !server.stdout().includes("This first start made");
        assert.equal((await server.root.read("whoami")).organizationId, server.credentials.organizationId);
        assert.ok(!existsSync(`${dataDir}/first-start.json`), "what excused the empty database is gone");
        await server.end("SIGKILL");
      }
      test.diagnostic(`${step} steps to the first organization`);
      assert.ok(step >= 5, "the marker, the tables, the root key's name, the credentials, the organization");
    });
  });
}

describe("a new installation that is begun on purpose beside another's files, and killed", () => {
  it("is the new one or nothing at all, and the old credentials stay", async () => {
    const first = temporaryFolder();
    await (await startServerProcess({ dataDir: first })).end("SIGTERM");
    const old = readFileSync(`${first}/credentials.json`, "utf8");
    for (const step of ["credentials-until", "first-start.json", "credentials.json"]) {
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
        () => /serves/.test(again.stdout()) || again.stderr() !== "",
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
