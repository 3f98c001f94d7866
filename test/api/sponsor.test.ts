import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { getContractAddress, keccak256 } from "viem";
import { planDeployment, sponsoredOutcome } from "../../src/capabilities/sponsoring/store.ts";
import { DEPLOYMENT_PROXY } from "../../src/chains/evm/create2.ts";
import type { EvmNodes } from "../../src/nodes/pool.ts";
import { type Anvil, startAnvil, TEST_CHAIN_ID } from "../support/anvil.ts";
import TestToken from "../support/artifacts/TestToken.json" with { type: "json" };
import { balanceOf, TEST_CHAIN } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import {
  giveEther,
  includedHash,
  newAddress,
  notReplaced,
  outgrowFees,
  revertingContract,
  sendStatus,
  setBaseFee,
  strangersTransfer,
  transactionOf,
} from "../support/evm-sender.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { engines, startTestServer, type TestServer, type TestServerOptions } from "../support/server.ts";
import { nodesFor, richSponsor, sponsored, sponsorsOf } from "../support/sponsor.ts";
import { until } from "../support/until.ts";

for (const engine of engines) {
  describe(`the sponsor (${engine})`, () => {
    let node: Anvil;
    let front: RpcNode;
    let options: TestServerOptions;
    let server: TestServer;
    let evm: EvmNodes;
    let nodes: ReturnType<typeof nodesFor>;
    let sponsor: string;

    before(async () => {
      node = await startAnvil({ chainId: TEST_CHAIN_ID });
      front = await startRpcNode(node);
      options = {
        chains: { [TEST_CHAIN]: { rpcUrls: [front.url] } },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
      };
      server = await startTestServer(engine, options);
      nodes = nodesFor(node.url);
      ({ evm } = nodes);
      sponsor = await richSponsor(server.baseUrl, node);
    });
    after(async () => {
      await nodes.close();
      await server.close();
      await front.close();
      await node.stop();
    });

    const send = (call: Parameters<typeof sponsored>[2]) =>
      sponsored({ database: server.opened.database, evm }, server.root, call);
    const outcome = (id: string) => sponsoredOutcome(server.opened.database.read, server.root.organizationId, id);

    it("is published, and /readyz warns while it is poor", async () => {
      const { eip155, solana } = await sponsorsOf(server.baseUrl);
      assert.match(eip155, /^0x[0-9a-fA-F]{40}$/);
      assert.match(solana, /^[1-9A-HJ-NP-Za-km-z]{32,44}$/);
      const poor = await startTestServer(engine, options);
      try {
        const { eip155: another } = await sponsorsOf(poor.baseUrl);
        assert.notEqual(another, eip155, "each installation has its own");
        let body: Json = {};
        await until(async () => {
          const answer = await fetch(`${poor.baseUrl}/readyz`);
          assert.equal(answer.status, 200);
          body = (await answer.json()) as Json;
          return body.warnings !== undefined;
        }, "the warning");
        assert.deepEqual(body.warnings, {
          [TEST_CHAIN]: `the sponsor ${another} has 0 wei: send it more, or sponsored transactions fail`,
        });
      } finally {
        await poor.close();
      }
    });

    it("pays for a transaction of an activity, whose outcome is told", async () => {
      const to = newAddress();
      const id = await send({ to, value: 5n });
      const hash = await includedHash(server.root, id);
      const mined = await transactionOf(node, hash);
      assert.deepEqual([(mined as Json).from, mined.to, BigInt(mined.value)], [sponsor, to, 5n]);
      assert.equal(await balanceOf(node, to), 5n);
      assert.deepEqual(await outcome(id), { status: "INCLUDED", hash });
    });

    it("sends fifty at once with a stranger's between, each once and with a nonce of its own", async () => {
      const first = Number(await node.call("eth_getTransactionCount", sponsor, "latest"));
      const targets = Array.from({ length: 50 }, newAddress);
      const ids = await Promise.all(targets.map((to) => send({ to, value: 1n })));
      const stranger = await strangersTransfer(node, sponsor);
      const hashes = [stranger];
      for (const id of ids) hashes.push(await includedHash(server.root, id, node));
      const taken = await notReplaced(node, hashes);
      const nonces = taken.map(({ nonce }) => Number(nonce) - first).sort((one, other) => one - other);
      assert.deepEqual(nonces, [...nonces.keys()], "every nonce once, and none left out");
      for (const to of targets) assert.equal(await balanceOf(node, to), 1n);
    });

    it("fails what would revert without sending it, and tells of what reverts in a block", async () => {
      const to = await revertingContract(node);
      const failed = await send({ to, data: "0xdeadbeef" });
      assert.equal((await sendStatus(server.root, failed)).txStatus, "FAILED");
      const unsent = await outcome(failed);
      assert.equal(unsent.status, "FAILED");
      assert.match(unsent.error?.message ?? "", /^the transaction was not sent because it would revert: .*0xdeadbeef/);
      const id = await send({ to, data: "0xdeadbeef", gasLimit: 100_000n });
      assert.equal((await sendStatus(server.root, id)).txStatus, "INCLUDED");
      const included = await outcome(id);
      assert.equal(included.status, "INCLUDED");
      assert.match(included.status === "INCLUDED" ? (included.error?.message ?? "") : "", /but failed: .*0xdeadbeef/);
    });

    it("fails what its nodes refuse for good, and goes on when it has money again", async () => {
      await giveEther(node, sponsor, 0n);
      const id = await send({ to: newAddress(), value: 1n, gasLimit: 21_000n });
      const { txStatus, txError } = await sendStatus(server.root, id);
      assert.equal(txStatus, "FAILED");
      assert.match(txError, /[Ii]nsufficient funds/);
      await giveEther(node, sponsor);
      await includedHash(server.root, await send({ to: newAddress(), value: 1n }));
    });

    it("signs anew, with the same nonce, what nodes refuse as the base fee has more than doubled since", async () => {
      const nonce = Number(await node.call("eth_getTransactionCount", sponsor, "latest"));
      let first: string | undefined;
      front.when("eth_sendRawTransaction", async ({ params }) => {
        if (first === undefined) {
          first = params[0] as string;
          await outgrowFees(node, first);
        }
        return "pass on" as const;
      });
      const to = newAddress();
      const mined = await transactionOf(node, await includedHash(server.root, await send({ to, value: 1n })));
      front.when("eth_sendRawTransaction", "pass on");
      assert.equal(Number(mined.nonce), nonce);
      assert.notEqual(mined.hash, keccak256(first as `0x${string}`));
      assert.equal(await balanceOf(node, to), 1n);
      assert.equal(Number(await node.call("eth_getTransactionCount", sponsor, "pending")), nonce + 1, "once");
      await setBaseFee(node, 10n ** 9n);
    });

    it("pays for no more gas than one transaction may take", async () => {
      const to = newAddress();
      // mstore(3_145_728, 0): so much memory takes 19 million.
      await node.call("anvil_setCode", to, "0x6000623000005200");
      const before = await node.call("eth_getTransactionCount", sponsor, "latest");
      const id = await send({ to });
      const { txStatus, txError } = await sendStatus(server.root, id);
      assert.equal(txStatus, "FAILED");
      assert.match(txError, /^the transaction was not sent: it takes \d{8} units of gas, .* at most 16777216$/);
      assert.equal(await node.call("eth_getTransactionCount", sponsor, "pending"), before);
    });

    it("deploys through the proxy to the address that was known before", async () => {
      const salt = `0x${"07".repeat(32)}` as const;
      const contract = { salt, initCode: TestToken.creationCode };
      const planned = await planDeployment(evm, TEST_CHAIN, contract);
      const expected = getContractAddress({
        opcode: "CREATE2",
        from: DEPLOYMENT_PROXY,
        salt,
        bytecode: TestToken.creationCode as `0x${string}`,
      });
      assert.equal(planned.address, expected.toLowerCase());
      assert.ok(planned.call);
      await includedHash(server.root, await send(planned.call));
      assert.equal(await node.call("eth_getCode", planned.address, "latest"), TestToken.runtimeCode);
      assert.deepEqual(await planDeployment(evm, TEST_CHAIN, contract), { ...planned, call: undefined });
      const other = { ...contract, salt: `0x${"08".repeat(32)}` };
      const code = await node.call("eth_getCode", DEPLOYMENT_PROXY, "latest");
      await node.call("anvil_setCode", DEPLOYMENT_PROXY, "0x");
      await assert.rejects(planDeployment(evm, TEST_CHAIN, other), /lacks the deterministic deployment proxy/);
      await node.call("anvil_setCode", DEPLOYMENT_PROXY, code);
    });
  });
}
