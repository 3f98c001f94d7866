import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import type { VerifiedAuthority } from "../../src/main/verify-authority.ts";
import { addUser, generateApiKey } from "../support/client.ts";
import {
  runKeystead,
  type ServerProcess,
  settingsOf,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";

/** `keystead verify-authority`, as a process beside a server. */

describe("keystead verify-authority", () => {
  const dataDir = temporaryFolder();
  let server: ServerProcess;
  let settings: Record<string, string>;
  before(async () => {
    server = await startServerProcess({ dataDir });
    // `recover` is switched off in containers, where this test may run.
    settings = { ...settingsOf({ dataDir }), KEYSTEAD_RECOVERY: "true" };
  });
  after(() => server.end("SIGTERM"));

  async function verify(...options: string[]): Promise<[number | null, VerifiedAuthority]> {
    const { code, stdout, stderr } = await runKeystead(["verify-authority", ...options], settings);
    assert.equal(stderr, "");
    return [code, JSON.parse(stdout)];
  }

  it("accounts for what starts, commands and requests have made", async () => {
    const { root } = server;
    await addUser(root);
    const publicKey = generateApiKey().publicKey;
    const made = ["init", "--user-email", "ada@example.com", "--api-public-key", publicKey];
    const key = ["--user-name", "Ada", "--api-public-key", generateApiKey().publicKey];
    for (const command of [made, ["recover", "--organization", root.organizationId, ...key]]) {
      const { code, stderr } = await runKeystead(command, settings);
      assert.equal(code, 0, stderr);
    }
    const [code, { rows, ...rest }] = await verify();
    assert.deepEqual([code, rest], [0, { accountedFor: rows, unaccounted: [], unknown: [], archivedBefore: null }]);
    assert.ok(rows >= 10, `${rows} rows`);
  });

  it("ends with 1 where somebody added a key, and says which", async () => {
    const { organizationId } = server.root;
    const file = new DatabaseSync(`${dataDir}/keystead.db`);
    const id = newId();
    file.exec(`insert into api_keys (id, organization_id, user_id, name, credential_type, public_key, created_at, updated_at)
      select '${id}', organization_id, id, 'Mallory', 'CREDENTIAL_TYPE_API_KEY_P256', '${generateApiKey().publicKey}', 1, 1
      from users where organization_id = '${organizationId}' limit 1`);
    const [code, { rows, accountedFor, unaccounted }] = await verify();
    const what = "API keys that no activity gave to their user, or not for as long";
    assert.deepEqual(unaccounted, [{ what, count: 1, examples: [`${id} of organization ${organizationId}`] }]);
    assert.deepEqual([code, accountedFor], [1, rows - 1]);
    assert.equal((await verify("--organization", organizationId))[0], 1);
    const others = file.prepare("select id from organizations where id <> ?").all(organizationId);
    assert.equal((await verify("--organization", (others[0] as { id: string }).id))[0], 0);
    file.exec(`delete from api_keys where id = '${id}'`);
    file.close();
    assert.equal((await verify())[0], 0);
  });

  it("refuses an organization that is not there", async () => {
    const id = newId();
    const { code, stderr } = await runKeystead(["verify-authority", "--organization", id], settings);
    assert.deepEqual([code, stderr], [1, `keystead: there is no organization ${id}\n`]);
  });
});
