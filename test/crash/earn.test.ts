import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe } from "node:test";
import { EARN_CHAIN, earnOfTests, testEarnNode } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { earnEnded, earnTerms, giveAsset } from "../support/earn.ts";
import { newEvmWallet } from "../support/evm-sender.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { engines, freshDatabaseUrl, itInTurns } from "../support/server.ts";
import { startOnNodes } from "../support/server-on-nodes.ts";
import { type ServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** A deposit whose server is killed before its approval is signed, between its two transactions, and when a block has both: one deposit, booked once. */

const [SIGN, SEND, LOOK] = ["eth_blockNumber", "eth_sendRawTransaction", "eth_getTransactionReceipt"] as const;
const PASS = "pass on";
const TIMEOUT_MS = 600_000;
const ASSETS = String(10n ** 9n);

for (const engine of engines) {
  describe(`a deposit whose server is killed (${engine})`, () => {
    const itInTurn = itInTurns(engine);
    const folder = temporaryFolder();
    let databaseUrl: string;
    let front: RpcNode;
    let server: ServerProcess;
    let wrapperAddress: string;
    let depositor: string;

    const start = () =>
      startOnNodes({
        folder,
        databaseUrl,
        chains: { [EARN_CHAIN]: { rpcUrls: [front.url] } },
        parts: { earn: earnOfTests() },
      });

    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, folder, MIGRATED_DATABASE);
      front = await startRpcNode(testEarnNode());
      server = await start();
      const { root, baseUrl } = server;
      const { deployRequestId, ...wrapper } = await root.result("earn_deploy_wrapper", await earnTerms(baseUrl, root));
      ({ wrapperAddress } = wrapper);
      const deployed = await earnEnded(root, "get_earn_deploy_status", { deployRequestId });
      assert.equal(deployed.status, "COMPLETED", JSON.stringify(deployed));
    });
    after(async () => {
      await server.end("SIGKILL");
      await front.close();
    });
    beforeEach(async () => {
      const node = testEarnNode();
      [depositor] = (await newEvmWallet(server.root, node)).addresses as [string];
      await giveAsset(node, depositor, BigInt(ASSETS));
    });
    afterEach(() => passAll());

    const passAll = () => {
      for (const method of [SIGN, SEND, LOOK]) front.when(method, PASS);
    };
    const deposit = (): Promise<Json> =>
      server.root.result("earn_deposit", {
        wrapperAddress,
        signWith: depositor,
        assets: ASSETS,
        chainCaip2: EARN_CHAIN,
      });
    const included = async () => Number(await testEarnNode().call("eth_getTransactionCount", depositor, "latest"));

    /** Kills the server and starts it again; then the approval and the deposit are in blocks, once each, and so is it in the totals. */
    async function killAndAssertDeposited(ids: Json): Promise<void> {
      await server.end("SIGKILL");
      passAll();
      server = await start();
      const status = await earnEnded(server.root, "get_earn_deposit_status", ids);
      assert.equal(status.status, "COMPLETED", JSON.stringify(status));
      assert.equal(await included(), 2);
      const { positions } = await server.root.read("list_earn_positions", { walletAddress: depositor });
      assert.deepEqual(
        positions.map(({ totalDeposited }: Json) => totalDeposited),
        [ASSETS],
      );
    }

    itInTurn("before anything was signed", { timeout: TIMEOUT_MS }, async () => {
      front.when(SIGN, "hang");
      const ids = await deposit();
      await until(() => front.open() > 0, "the look to begin");
      await killAndAssertDeposited(ids);
    });

    itInTurn("after the approval is in a block and before the deposit is", { timeout: TIMEOUT_MS }, async () => {
      let sent = 0;
      front.when(SEND, () => (++sent === 1 ? PASS : "hang"));
      const ids = await deposit();
      await until(async () => sent >= 2 && (await included()) === 1, "the deposit to be sent");
      await killAndAssertDeposited(ids);
    });

    itInTurn("when a block has the deposit and nobody has looked", { timeout: TIMEOUT_MS }, async () => {
      front.when(LOOK, "hang");
      const ids = await deposit();
      await until(async () => (await included()) === 2 && front.open() > 0, "the look to begin");
      await killAndAssertDeposited(ids);
    });
  });
}
