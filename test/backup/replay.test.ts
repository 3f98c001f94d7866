import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { keccak256, parseTransaction } from "viem";
import { MINUTE_MS } from "../../src/kernel/durations.ts";
import { restore } from "../../src/main/backup/restore.ts";
import { loadConfig } from "../../src/main/config.ts";
import { writeBackup } from "../../src/storage/backup/write-file.ts";
import { type EvmNode, startAnvil, TEST_CHAIN_ID } from "../support/anvil.ts";
import { callAuthProxy, createApp } from "../support/auth-proxy.ts";
import { balanceOf, TEST_CHAIN } from "../support/chain.ts";
import { addUser, apiKeyParams, type Client, generateApiKey } from "../support/client.ts";
import { includedHash, newAddress, newEvmWallet, sendStatus } from "../support/evm-sender.ts";
import { loginSignature, verificationTokenFor } from "../support/one-time-codes.ts";
import { newPlace, type Place } from "../support/place.ts";
import { carryFiles } from "../support/populated.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { engines, startTestServer, type TestEngine } from "../support/server.ts";
import { temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { addSubOrganization } from "../support/world.ts";

/** What was sent before a restore is sent again to the restored installation, which has forgotten it. */

const TAGS = "/public/v1/submit/create_user_tag";
const APPROVE = "/public/v1/submit/approve_activity";
const FROM_BEFORE = /`timestampMs` is from before .*, when this service was restored from a backup/;

async function backUp({ databaseUrl }: Place): Promise<string> {
  const file = join(temporaryFolder(), "keystead.backup");
  await writeBackup({ url: databaseUrl, file, version: "0.1.0", onProgress: () => {} });
  return file;
}

/** Restores a backup in a new place, with the files of the old one. */
async function restoreInto(engine: TestEngine, { dataDir }: Place, file: string): Promise<Place> {
  const place = await newPlace(engine);
  carryFiles(dataDir, place.dataDir);
  const config = loadConfig({ KEYSTEAD_DATA_DIR: place.dataDir, DATABASE_URL: place.databaseUrl });
  await restore(config, { file, identity: undefined, sha256: undefined, onProgress: () => {} });
  return place;
}

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
      const file = await backUp(source);

      const create = root.submitBody("create_user_tag", { userTagName: "afterwards", userIds: [] });
      assert.equal((await root.post(TAGS, create)).status, 200);
      const approve = root.submitBody("approve_activity", { fingerprint });
      assert.equal((await root.post(APPROVE, approve)).body.activity.status, "ACTIVITY_STATUS_COMPLETED");
      assert.equal((await logIn(root)).status, 200);
      await server.close();

      const place = await restoreInto(other, source, file);
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

const away = { error: { code: -32_000, message: "away" } };

describe("what was on its way at the time of the backup", () => {
  let node: EvmNode & { stop: () => Promise<void> };
  let front: RpcNode;
  before(async () => {
    node = await startAnvil({ chainId: TEST_CHAIN_ID });
    front = await startRpcNode(node);
  });
  after(async () => {
    await front.close();
    await node.stop();
  });

  it("pays nobody twice, neither what was signed only then nor what was signed again with a higher fee", async () => {
    const source = await newPlace("sqlite");
    const chains = { [TEST_CHAIN]: { rpcUrls: [front.url] } };
    const server = await startTestServer("sqlite", { ...source, chains });
    const { root } = server;
    const { addresses } = await newEvmWallet(root, node, 4);
    const [waiting, stuck, pruned, taken] = addresses.map((address) => address.toLowerCase()) as [
      string,
      string,
      string,
      `0x${string}`,
    ];
    const targets = [newAddress(), newAddress(), newAddress()] as const;
    const neverPaid = newAddress();
    const pay = async (from: string, to: string, client = root): Promise<string> => {
      const payment = { from, caip2: TEST_CHAIN, calls: [{ to, value: "1" }] };
      return (await client.result("eth_send_transaction", payment)).sendTransactionStatusId;
    };
    front.when("eth_getTransactionCount", ({ params: [account] }) => (account === waiting ? away : "pass on"));
    const unsigned = await pay(waiting, targets[0]);
    // The chain gets only what is signed after the backup.
    const lost = new Set<unknown>();
    let isBackedUp = false;
    front.when("eth_sendRawTransaction", ({ params: [bytes] }) => {
      const isLost = !isBackedUp || parseTransaction(bytes as `0x${string}`).to === neverPaid.toLowerCase();
      if (isLost) lost.add(bytes);
      return lost.has(bytes) ? { result: keccak256(bytes as `0x${string}`) } : "pass on";
    });
    const raised = [await pay(stuck, targets[1]), await pay(pruned, targets[2])] as const;
    const replaced = await pay(taken, neverPaid);
    for (const id of [...raised, replaced]) await sendStatus(root, id, ["BROADCASTING"]);
    const file = await backUp(source);
    isBackedUp = true;

    front.when("eth_getTransactionCount", "pass on");
    await includedHash(root, unsigned);
    const paid = () => Promise.all(targets.map((target) => balanceOf(node, target)));
    await until(async () => {
      await node.call("anvil_mine", "0x1");
      return (await paid()).every((wei) => wei === 1n);
    }, "the fees to be raised");
    const hash = await includedHash(root, raised[0]);
    // Somebody uses the nonce for something else.
    await node.call("anvil_impersonateAccount", taken);
    const takerHash = await node.call("eth_sendTransaction", {
      from: taken,
      to: newAddress(),
      value: "0x1",
      nonce: "0x0",
    });
    await node.call("anvil_mine", "0x1");
    await server.close();

    // Most nodes do not have the states of accounts at old blocks.
    const oldest = Number(await node.call("eth_blockNumber"));
    front.when("eth_getTransactionCount", ({ params: [account, block] }) =>
      account === pruned && Number(block) < oldest ? away : "pass on",
    );
    await node.call("anvil_mine", "0xc");
    let passedMs = 0;
    const clock = () => Date.now() + passedMs;
    const place = await restoreInto("postgres", source, file);
    const restored = await startTestServer("postgres", { ...place, chains, clock });
    const failedWith = async (id: string): Promise<string> => {
      const { txStatus, error } = await sendStatus(restored.root, id);
      assert.equal(txStatus, "FAILED");
      assert.match(
        error.message,
        /before the service was restored from a backup, and may have been sent before the restore/,
      );
      return error.message;
    };
    await failedWith(unsigned);
    assert.match(await failedWith(replaced), new RegExp(`nonce 0 of ${taken} was used by transaction ${takerHash}`));
    assert.equal(await includedHash(restored.root, raised[0]), hash);
    // Nodes that are away for a moment do not end a payment.
    await sendStatus(restored.root, raised[1], ["BROADCASTING"]);
    passedMs = 11 * MINUTE_MS;
    assert.match(await failedWith(raised[1]), /was used by a transaction that no node shows/);
    assert.deepEqual([...(await paid()), await balanceOf(node, neverPaid)], [1n, 1n, 1n, 0n]);
    for (const from of [waiting, stuck, pruned])
      await includedHash(restored.root, await pay(from, newAddress(), restored.root));
    await restored.close();
  });
});

it("lets people sign up at once on a restored installation, once each", async () => {
  const source = await newPlace("sqlite");
  const server = await startTestServer("sqlite", source);
  const { configId } = await createApp(server);
  const file = await backUp(source);
  await server.close();
  const restored = await startTestServer("sqlite", await restoreInto("sqlite", source, file));
  const person = { apiKeys: [apiKeyParams(generateApiKey())], authenticators: [], oauthProviders: [] };
  const signUp = () =>
    callAuthProxy(restored.authProxyUrl, "signup_v2", person, { "x-auth-proxy-config-id": configId });
  const { status, body } = await signUp();
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual((await signUp()).body, body);
  await restored.close();
});
