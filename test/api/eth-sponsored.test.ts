import assert from "node:assert/strict";
import { after, before, describe, it, mock } from "node:test";
import { encodeFunctionData } from "viem";
import { delegateIn, GAS_STATION_ADDRESS } from "../../src/chains/evm/gas-station.ts";
import { newId } from "../../src/kernel/ids.ts";
import { type Anvil, startAnvil, TEST_CHAIN_ID } from "../support/anvil.ts";
import TestToken from "../support/artifacts/TestToken.json" with { type: "json" };
import { balanceOf, TEST_CHAIN } from "../support/chain.ts";
import { addUser, type Client, type Json } from "../support/client.ts";
import {
  giveEther,
  includedHash,
  newAddress,
  newEvmWallet,
  revertingContract,
  sendStatus,
  transactionOf,
} from "../support/evm-sender.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { richSponsor } from "../support/sponsor.ts";
import { until } from "../support/until.ts";

const PATH = "eth_send_transaction";

/** Calls that the sponsor pays for, and batches, through the gas station. */
for (const engine of oneEngine("postgres")) {
  describe(`${PATH} through the gas station (${engine})`, () => {
    let node: Anvil;
    let front: RpcNode;
    let server: TestServer;
    let root: Client;
    let sponsor: string;

    before(async () => {
      node = await startAnvil({ chainId: TEST_CHAIN_ID });
      front = await startRpcNode(node);
      server = await startTestServer(engine, {
        chains: { [TEST_CHAIN]: { rpcUrls: [front.url] } },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
      });
      ({ root } = server);
      sponsor = await richSponsor(server.baseUrl, node);
    });
    after(async () => {
      await server.close();
      await front.close();
      await node.stop();
    });

    /** An account with so many wei, and nothing to pay gas with beside. */
    async function newAccount(wei = 1000n): Promise<string> {
      const { addresses } = await newEvmWallet(root, node);
      await giveEther(node, addresses[0] as string, wei);
      return addresses[0] as string;
    }
    const send = async (parameters: object): Promise<string> =>
      (await root.result(PATH, { caip2: TEST_CHAIN, ...parameters })).sendTransactionStatusId;
    const sponsored = (from: string, calls: object[], more: object = {}) =>
      send({ from, sponsor: true, calls, ...more });
    const noncesOf = async (address: string): Promise<Json> =>
      (await root.query("get_nonces", { address, caip2: TEST_CHAIN, nonce: true, gasStationNonce: true })).body;
    const delegateOf = async (address: string) =>
      delegateIn((await node.call("eth_getCode", address, "latest")) as string);

    it("is paid for by the sponsor, and deploys the station at first need", async () => {
      assert.equal(await node.call("eth_getCode", GAS_STATION_ADDRESS, "latest"), "0x");
      const from = await newAccount(5n);
      const to = newAddress();
      // One that pays for a batch itself needs the station as well, and is not sent without.
      const payer = await newAccount(10n ** 18n);
      const targets = [newAddress(), newAddress()];
      const [id, batchId] = await Promise.all([
        sponsored(from, [{ to, value: "5" }]),
        send({ from: payer, calls: targets.map((target) => ({ to: target, value: "1" })) }),
      ]);
      await includedHash(root, batchId);
      for (const target of targets) assert.equal(await balanceOf(node, target), 1n);
      assert.equal(await delegateOf(payer), GAS_STATION_ADDRESS);
      const mined = await transactionOf(node, await includedHash(root, id));
      assert.deepEqual([(mined as Json).from, mined.to], [sponsor, GAS_STATION_ADDRESS]);
      assert.equal(await balanceOf(node, to), 5n);
      assert.equal(await balanceOf(node, from), 0n, "it pays no gas");
      assert.equal(await delegateOf(from), GAS_STATION_ADDRESS);
      assert.deepEqual(await noncesOf(from), { nonce: "1", gasStationNonce: "1" });
      const before = BigInt((await node.call("eth_getTransactionCount", sponsor, "latest")) as string);
      await giveEther(node, from, 1n);
      const again = await transactionOf(node, await includedHash(root, await sponsored(from, [{ to, value: "1" }])));
      assert.equal((again as Json).type, "0x2", "nothing is authorized twice");
      assert.equal(BigInt((await node.call("eth_getTransactionCount", sponsor, "latest")) as string), before + 1n);
    });

    it("sends many at once, of one account in their order and of several beside each other, each once", async () => {
      const accounts = [await newAccount(), await newAccount(), await newAccount()];
      const targets = Array.from({ length: 18 }, newAddress);
      const ids = await Promise.all(
        targets.map((to, index) => sponsored(accounts[index % 3] as string, [{ to, value: "1" }])),
      );
      for (const id of ids) await includedHash(root, id);
      for (const to of targets) assert.equal(await balanceOf(node, to), 1n);
      for (const account of accounts) assert.equal((await noncesOf(account)).gasStationNonce, "6");
    });

    it("executes a batch whose calls need each other, sponsored or paid for by the account", async () => {
      for (const isSponsored of [true, false]) {
        const from = await newAccount(isSponsored ? 0n : 10n ** 18n);
        const to = newAddress();
        const token = await deployed(TestToken.creationCode);
        const encode = (functionName: string, args: unknown[]) =>
          encodeFunctionData({ abi: TestToken.abi, functionName, args });
        const calls = [
          { to: token, data: encode("mint", [from, 9n]) },
          { to: token, data: encode("transfer", [to, 4n]) },
        ];
        const id = isSponsored ? await sponsored(from, calls) : await send({ from, calls });
        const mined = await transactionOf(node, await includedHash(root, id));
        const payer = isSponsored ? sponsor : from.toLowerCase();
        assert.deepEqual([(mined as Json).from, (mined as Json).type], [payer, "0x4"]);
        const owned = encode("balanceOf", [to]);
        assert.equal(BigInt((await node.call("eth_call", { to: token, data: owned }, "latest")) as string), 4n);
      }
    });

    it("takes an account's own transactions and what it authorizes one after the other", async () => {
      const from = await newAccount(10n ** 18n);
      const targets = Array.from({ length: 9 }, newAddress);
      const ids = await Promise.all(
        targets.map((to, index) => {
          const call = { to, value: "1" };
          if (index % 3 === 0) return send({ from, calls: [call] });
          return index % 3 === 1 ? send({ from, calls: [call, call] }) : sponsored(from, [call]);
        }),
      );
      for (const id of ids) await includedHash(root, id);
      for (const [index, to] of targets.entries()) assert.equal(await balanceOf(node, to), index % 3 === 1 ? 2n : 1n);
      assert.equal((await noncesOf(from)).gasStationNonce, "3");
    });

    it("tells of a revert before it is sent and of one in a block, and which call it was", async () => {
      const contract = await revertingContract(node);
      for (const isSponsored of [true, false]) {
        const from = await newAccount(10n ** 18n);
        const calls: object[] = [
          { to: newAddress(), value: "1" },
          { to: contract, data: "0xdeadbeef" },
        ];
        const submit = (more = {}) => (isSponsored ? sponsored(from, calls, more) : send({ from, calls, ...more }));
        const named = isSponsored ? { gasLimit: "300000" } : {};
        const unsent = await sendStatus(root, await submit(named));
        assert.equal(unsent.txStatus, "FAILED", JSON.stringify(unsent));
        const reason = "an error of the contract's own with the selector 0xdeadbeef";
        assert.equal(unsent.txError, `the transaction was not sent because it would revert in calls.1: ${reason}`);
        const turning = await turningContract();
        calls[1] = { to: turning.address, data: "0xdeadbeef" };
        const included = await turning.turnedWhenSigned(submit);
        assert.equal(included.txStatus, "INCLUDED", JSON.stringify(included));
        assert.equal(included.txError, `the transaction was included in a block, but failed in calls.1: ${reason}`);
        const [outer, inner] = included.error.revertChain;
        assert.equal(outer.custom.errorName, "CallReverted");
        assert.deepEqual([inner.address, inner.unknown.selector], [turning.address, "0xdeadbeef"]);
        // What comes after it is sent all the same.
        const to = newAddress();
        const next = isSponsored ? sponsored(from, [{ to, value: "1" }]) : send({ from, calls: [{ to, value: "1" }] });
        await includedHash(root, await next);
        assert.equal(await balanceOf(node, to), 1n);
      }
    });

    /** A contract that takes all calls until it is turned, and reverts with what it is called with from then on. */
    async function turningContract() {
      const address = newAddress();
      // if (storage[0] == 0) stop; calldatacopy(0, 0, calldatasize()); revert(0, calldatasize())
      await node.call("anvil_setCode", address, "0x600054600757005b366000600037366000fd");
      /** What becomes of calls that are planned before it is turned, and signed after. */
      async function turnedWhenSigned(submit: () => Promise<string>): Promise<Json> {
        const { signer } = server.opened;
        const ask = signer.ask.bind(signer);
        const turned = mock.method(signer, "ask", async (...[request, ...rest]: Parameters<typeof ask>) => {
          if (request.verb === "sign")
            await node.call("anvil_setStorageAt", address, "0x0", `0x${"1".padStart(64, "0")}`);
          return ask(request, ...rest);
        });
        try {
          return await sendStatus(root, await submit());
        } finally {
          turned.mock.restore();
        }
      }
      return { address, turnedWhenSigned };
    }

    it("pays for no more gas than its bound, for enough, and for nothing that reverts", async () => {
      const from = await newAccount();
      const request = (more: object) =>
        root.submit(PATH, {
          from,
          caip2: TEST_CHAIN,
          sponsor: true,
          calls: [{ to: newAddress(), value: "1" }],
          ...more,
        });
      const refused = async (more: object, reason: RegExp) => {
        const { status, body } = await request(more);
        assert.equal(status, 400, JSON.stringify(body));
        assert.match(body.message, reason);
      };
      await refused({ gasLimit: "16777217" }, /`parameters.gasLimit` must be at most 16777216 if the service pays/);
      await refused({ gasLimit: "100000" }, /`parameters.gasLimit` is less than the \d+ units that the calls take/);
      // For ever: JUMPDEST, and back to it.
      const endless = newAddress();
      await node.call("anvil_setCode", endless, "0x5b600056");
      const failed = await sponsored(from, [{ to: endless }], { gasLimit: "16777216" });
      assert.equal((await sendStatus(root, failed)).txStatus, "FAILED");
      front.when("eth_estimateGas", { result: "0x1312d00" });
      await refused({}, /`parameters.calls` take \d+ units of gas, but the service pays for at most 16777216/);
      front.when("eth_estimateGas", { error: { code: -32_602, message: "too many arguments, want at most 2" } });
      assert.equal((await request({})).status, 503);
      const { body } = await request({ gasLimit: "300000" });
      front.when("eth_estimateGas", "pass on");
      const { sendTransactionStatusId } = body.activity.result.ethSendTransactionResultV2;
      const mined = await transactionOf(node, await includedHash(root, sendTransactionStatusId));
      assert.equal(BigInt(mined.gas), 300_000n, "as no node can be told to try it");
    });

    it("takes the caller's nonce of the gas station and deadline, and fails what can never be", async () => {
      const from = await newAccount();
      const call = [{ to: newAddress(), value: "1" }];
      const failing: [object, RegExp][] = [
        [{ gasStationNonce: "7" }, /the gas station nonce is 7, and the account's next is 0/],
        [{ deadline: "1" }, /the deadline has passed/],
      ];
      for (const [more, reason] of failing) {
        const { txStatus, txError } = await sendStatus(root, await sponsored(from, call, more));
        assert.equal(txStatus, "FAILED");
        assert.match(txError, reason);
      }
      const deadline = String(Math.floor(Date.now() / 1000) + 3600);
      await includedHash(root, await sponsored(from, call, { gasStationNonce: "0", deadline }));
    });

    it("takes the code away again, paid for by the account, and authorizes it anew when it is needed", async () => {
      const from = await newAccount(10n ** 18n);
      const to = newAddress();
      const undelegate = { from, caip2: TEST_CHAIN };
      const refused = await root.submit("eth_undelegate_7702", undelegate);
      assert.equal(refused.status, 400);
      assert.match(refused.body.message, /`parameters.from` has not authorized any code/);
      await includedHash(root, await sponsored(from, [{ to, value: "1" }]));
      assert.equal(await delegateOf(from), GAS_STATION_ADDRESS);
      const { sendTransactionStatusId } = await root.result("eth_undelegate_7702", undelegate);
      const next = await sponsored(from, [{ to, value: "1" }]);
      const mined = await transactionOf(node, await includedHash(root, sendTransactionStatusId));
      assert.equal((mined as Json).from, from.toLowerCase());
      const again = await transactionOf(node, await includedHash(root, next));
      assert.ok(BigInt(again.blockNumber as string) > 0n);
      assert.deepEqual((await noncesOf(from)).gasStationNonce, "2");
      assert.equal(await balanceOf(node, to), 2n);
    });

    it("signs calls anew that were signed while the account's code was taken away", async () => {
      const from = await newAccount(10n ** 18n);
      const to = newAddress();
      await includedHash(root, await sponsored(from, [{ to, value: "1" }]));
      const { signer } = server.opened;
      const ask = signer.ask.bind(signer);
      const held: (() => void)[] = [];
      const slow = mock.method(signer, "ask", async (...[request, ...rest]: Parameters<typeof ask>) => {
        if (request.verb === "sign" && held.length < 2) {
          await new Promise<void>((resolve) => {
            held.push(resolve);
          });
        }
        return ask(request, ...rest);
      });
      try {
        const { sendTransactionStatusId } = await root.result("eth_undelegate_7702", { from, caip2: TEST_CHAIN });
        await until(() => held.length === 1, "the transaction to be signed that takes the code away");
        const calls = await sponsored(from, [{ to, value: "1" }]);
        await until(() => held.length === 2, "the calls to be signed");
        held[0]?.();
        await includedHash(root, sendTransactionStatusId);
        held[1]?.();
        const mined = await transactionOf(node, await includedHash(root, calls));
        assert.equal((mined as Json).type, "0x4", "it authorizes the station again");
        assert.equal(await balanceOf(node, to), 2n);
      } finally {
        slow.mock.restore();
        for (const release of held) release();
      }
    });

    it("shows policies what the calls have in common, and nobody allows a batch for its first call", async () => {
      const from = await newAccount();
      const [allowed, other] = [newAddress(), newAddress()];
      const { userId, client } = await addUser(root);
      await root.result("create_policy", {
        policyName: newId(),
        effect: "EFFECT_ALLOW",
        consensus: `approvers.any(user, user.id == '${userId}')`,
        condition: `eth.tx.to == '${allowed}' && eth.tx.value <= 3`,
        notes: "",
      });
      const ask = async (calls: object[]) =>
        (await client.submit(PATH, { from, caip2: TEST_CHAIN, sponsor: true, calls })).status;
      assert.equal(await ask([{ to: allowed, value: "3" }]), 200);
      assert.equal(
        await ask([
          { to: allowed, value: "1" },
          { to: allowed, value: "2" },
        ]),
        200,
      );
      assert.equal(
        await ask([
          { to: allowed, value: "2" },
          { to: allowed, value: "2" },
        ]),
        403,
        "that is 4",
      );
      assert.equal(
        await ask([
          { to: allowed, value: "1" },
          { to: other, value: "1" },
        ]),
        403,
      );
    });

    it("shows policies no data and no arguments of several calls, which move as much as often as they are repeated", async () => {
      const from = await newAccount();
      const token = newAddress();
      const inputs = [
        { name: "to", type: "address" },
        { name: "amount", type: "uint256" },
      ];
      await root.result("create_smart_contract_interface", {
        smartContractAddress: token,
        smartContractInterface: JSON.stringify([{ type: "function", name: "transfer", inputs }]),
        type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
        label: newId(),
        notes: "",
      });
      const { userId, client } = await addUser(root);
      const transfer = (amount: number) => {
        const words = [newAddress().slice(2), amount.toString(16)].map((word) => word.padStart(64, "0"));
        return { to: token, data: `0xa9059cbb${words.join("")}` };
      };
      const ask = async (calls: object[]) =>
        (await client.submit(PATH, { from, caip2: TEST_CHAIN, sponsor: true, calls })).status;
      const three = transfer(3);
      const conditions = [
        "eth.tx.contract_call_args['amount'] <= 3",
        `eth.tx.data[74..138] == '${three.data.slice(74)}'`,
        "eth.tx.function_name == 'transfer'",
      ];
      const outcomes: number[][] = [];
      for (const condition of conditions) {
        const { policyId } = await root.result("create_policy", {
          policyName: newId(),
          effect: "EFFECT_ALLOW",
          consensus: `approvers.any(user, user.id == '${userId}')`,
          condition: `eth.tx.to == '${token}' && ${condition}`,
          notes: "",
        });
        outcomes.push([await ask([three]), await ask([three, three])]);
        await root.result("delete_policy", { policyId });
      }
      assert.deepEqual(outcomes, [
        [200, 403],
        [200, 403],
        [200, 200],
      ]);
    });

    async function deployed(code: string): Promise<string> {
      const stranger = newAddress();
      await giveEther(node, stranger);
      await node.call("anvil_impersonateAccount", stranger);
      const hash = await node.call("eth_sendTransaction", { from: stranger, data: code, gas: "0x2dc6c0" });
      return (await node.receipt(hash)).contractAddress as string;
    }
  });
}
