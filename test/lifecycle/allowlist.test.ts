import assert from "node:assert/strict";
import { hostname } from "node:os";
import { it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { runKeystead, settingsOf, startServerProcess, temporaryFolder } from "../support/server-process.ts";

it("an operator lets an organization in again that locked itself out, while the server runs", async () => {
  const dataDir = temporaryFolder();
  const server = await startServerProcess({ dataDir });
  const { root } = server;
  const { organizationId } = root;
  const { publicKey } = root.key;
  await root.result("set_ip_allowlist", { publicKey, rules: [{ cidr: "198.51.100.7", label: "Far away" }] });
  await root.result("set_ip_allowlist", { enabled: true });
  assert.equal((await root.query("whoami")).status, 403);
  assert.equal((await root.submit("remove_ip_allowlist", {})).status, 403);

  const settings = settingsOf({ dataDir });
  const unknown = newId();
  const refused = await runKeystead(["allowlist", "remove", unknown], settings);
  assert.deepEqual([refused.code, refused.stderr], [1, `keystead: there is no organization ${unknown}\n`]);
  assert.equal((await root.query("whoami")).status, 403);

  const remove = ["allowlist", "remove", organizationId, "--reason", "nobody gets in"];
  const { code, stdout, stderr } = await runKeystead(remove, settings);
  assert.equal(code, 0, stderr);
  const { removed, activityId } = JSON.parse(stdout);
  assert.deepEqual(
    removed.map(({ rules, ...rest }: { rules: { cidr: string }[] }) => [rest, rules.map(({ cidr }) => cidr)]).sort(),
    [
      [{ organizationId, enabled: true, onEvaluationError: "DENY" }, []],
      [{ organizationId, publicKey, onEvaluationError: "DENY" }, ["198.51.100.7/32"]],
    ].sort(),
  );
  assert.equal((await root.query("whoami")).status, 200);
  assert.deepEqual((await root.read("get_ip_allowlist", { publicKey })).allowlist.rules, []);
  const { activity } = await root.read("get_activity", { activityId });
  assert.equal(activity.type, "ACTIVITY_TYPE_REMOVE_IP_ALLOWLISTS");
  const { reason, operator } = activity.intent.removeIpAllowlistsIntent;
  assert.deepEqual([reason, operator.host], ["nobody gets in", hostname()]);
  assert.deepEqual(activity.result, { removeIpAllowlistsResult: { removed } });
  const verified = await runKeystead(["verify-authority"], settings);
  assert.equal(verified.code, 0, verified.stdout);
  const again = await runKeystead(["allowlist", "remove", organizationId], settings);
  assert.deepEqual(JSON.parse(again.stdout), { removed: [] });
  await server.end("SIGTERM");
});
