import assert from "node:assert/strict";
import { after, afterEach, before, describe, it, mock } from "node:test";
import { encodeAbiParameters, encodeErrorResult, keccak256, parseAbi, parseTransaction } from "viem";
import { addSend, moveSend, noteGiven, replaceSigned, requireSend } from "../../src/capabilities/sending/store.ts";
import { KeysteadError } from "../../src/kernel/errors.ts";
import { newId } from "../../src/kernel/ids.ts";
import { type Anvil, startAnvil, TEST_CHAIN_ID } from "../support/anvil.ts";
import { balanceOf, TEST_CHAIN } from "../support/chain.ts";
import { addUser, type Client, type Json } from "../support/client.ts";
import {
  ETHER,
  includedHash,
  newAddress,
  newEvmWallet,
  notReplaced,
  outgrowFees,
  revertingContract,
  sendStatus,
  setBaseFee,
  strangersMinedTransfer,
  strangersTransfer,
  transactionOf,
} from "../support/evm-sender.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const PATH = "eth_send_transaction";
const GWEI = 10n ** 9n;

for (const engine of oneEngine("postgres")) {
  describe(`${PATH} (${engine})`, () => {
    let node: Anvil;
    let front: RpcNode;
    let server: TestServer;
    let root: Client;
    let from: string;

    before(async () => {
      node = await startAnvil({ chainId: TEST_CHAIN_ID });
      front = await startRpcNode(node);
      server = await startTestServer(engine, {
        chains: { [TEST_CHAIN]: { rpcUrls: [front.url] } },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
      });
      ({ root } = server);
      from = await newAccount();
    });
    // A test that fails in its middle is not to have those after it fail.
    afterEach(async () => {
      front.passOnAll();
      mock.restoreAll();
      await node.call("evm_setAutomine", true);
    });
    after(async () => {
      await server.close();
      await front.close();
      await node.stop();
    });

    const newAccount = async (): Promise<string> => (await newEvmWallet(root, node)).addresses[0] as string;
    const transferTo = (to: string, more: object = {}) => ({
      from,
      caip2: TEST_CHAIN,
      calls: [{ to, value: "1" }],
      ...more,
    });
    const send = async (parameters: object): Promise<string> =>
      (await root.result(PATH, parameters)).sendTransactionStatusId;

    it("fills in fees, gas and the nonce, and tells when a block has it", async () => {
      const to = newAddress();
      const id = await send(transferTo(to));
      const status = await sendStatus(root, id);
      assert.deepEqual(status, { txStatus: "INCLUDED", eth: { txHash: status.eth?.txHash } });
      assert.equal(await balanceOf(node, to), 1n);
      const mined = await transactionOf(node, status.eth.txHash);
      assert.equal(BigInt(mined.gas), 21_000n);
      assert.equal(BigInt(mined.nonce), 0n);
      const lookedFor = front.calls.filter(
        ({ method, params }) => method === "eth_getTransactionByHash" && params[0] === status.eth.txHash,
      );
      assert.deepEqual(lookedFor, [], "nobody is asked whether they know what was only just signed");
    });

    it("takes the first version, and what the caller names as it is", async () => {
      const to = newAddress();
      const parameters = { from, to, value: "2", caip2: TEST_CHAIN, gasLimit: "30000" };
      const fees = { maxFeePerGas: "5000000001", maxPriorityFeePerGas: "1000000007" };
      const nonce = String(BigInt((await node.call("eth_getTransactionCount", from, "latest")) as string));
      const { result } = await completed(
        { ...parameters, ...fees, nonce },
        { type: "ACTIVITY_TYPE_ETH_SEND_TRANSACTION" },
      );
      const id = result.ethSendTransactionResult.sendTransactionStatusId;
      const mined = await transactionOf(node, await includedHash(root, id));
      assert.deepEqual(
        [mined.to, BigInt(mined.value), BigInt(mined.gas), BigInt(mined.nonce)],
        [to, 2n, 30_000n, BigInt(nonce)],
      );
      assert.deepEqual(
        [BigInt(mined.maxFeePerGas), BigInt(mined.maxPriorityFeePerGas)],
        [5_000_000_001n, 1_000_000_007n],
      );
    });

    it("sends a hundred at once, with a stranger's between, each once and one after the other", async () => {
      const account = await newAccount();
      const targets = Array.from({ length: 100 }, newAddress);
      let strangers: Promise<string>[] = [];
      const ids = await Promise.all(
        targets.map(async (to, index) => {
          const parameters = { ...transferTo(to), from: account };
          const { sendTransactionStatusId: id } = await root.resultOfMany(PATH, parameters);
          if (index % 40 === 20) strangers = [...strangers, strangersTransfer(node, account)];
          return id;
        }),
      );
      const hashes: string[] = [];
      for (const id of ids) hashes.push(await includedHash(root, id, node));
      const taken = [
        ...(await Promise.all(hashes.map((hash) => transactionOf(node, hash)))),
        ...(await notReplaced(node, await Promise.all(strangers))),
      ];
      const nonces = taken.map(({ nonce }) => Number(nonce)).sort((one, other) => one - other);
      assert.deepEqual(nonces, [...nonces.keys()], "every nonce once, and none left out");
      for (const to of targets) assert.equal(await balanceOf(node, to), 1n);
    });

    it("sends a hundred of a few wallets at once, with strangers between, each once and without a gap", async () => {
      const accounts = (await newEvmWallet(root, node, 4)).addresses;
      const targets = Array.from({ length: 100 }, newAddress);
      const accountOf = (index: number) => accounts[index % accounts.length] as string;
      let strangers: Promise<string>[] = [];
      const before = front.calls.length;
      const ids = await Promise.all(
        targets.map(async (to, index) => {
          const parameters = { ...transferTo(to), from: accountOf(index) };
          const { sendTransactionStatusId: id } = await root.resultOfMany(PATH, parameters);
          // Whoever holds an exported key takes whatever nonce is free just then.
          if (index % 25 >= 21) strangers = [...strangers, strangersTransfer(node, accountOf(index))];
          return id as string;
        }),
      );
      const hashes: string[] = [];
      for (const id of ids) hashes.push(await includedHash(root, id, node));
      assert.equal(new Set(hashes).size, targets.length, "each has a transaction of its own");
      const sent = await Promise.all(hashes.map((hash) => transactionOf(node, hash)));
      assert.deepEqual(
        sent.map(({ to }) => to),
        targets,
        "and the one that was asked for",
      );
      const all = [...sent, ...(await notReplaced(node, await Promise.all(strangers)))];
      for (const account of accounts) {
        const count = Number(await node.call("eth_getTransactionCount", account, "latest"));
        assert.equal(Number(await node.call("eth_getTransactionCount", account, "pending")), count, "nothing waits");
        const nonces = all
          .filter(({ from: payer }) => payer === account.toLowerCase())
          .map(({ nonce }) => Number(nonce));
        assert.deepEqual(
          nonces.sort((one, other) => one - other),
          Array.from({ length: count }, (_, nonce) => nonce),
          "every nonce once, and nobody's but those",
        );
      }
      for (const to of targets) assert.equal(await balanceOf(node, to), 1n);
      // What the nodes were given: bytes that one send went with are no other's, and of those that went with several, one got in.
      const raw = front.calls
        .slice(before)
        .flatMap(({ method, params }) => (method === "eth_sendRawTransaction" ? [params[0] as string] : []));
      const payments = new Map(
        raw.map((bytes) => [keccak256(bytes as `0x${string}`), parseTransaction(bytes as never)]),
      );
      const included = new Set(hashes);
      for (const [hash, { to }] of payments) {
        assert.ok(targets.includes(to as string));
        if (!included.has(hash)) assert.equal(await node.call("eth_getTransactionReceipt", hash), null);
      }
    });

    it("gives a transaction the next nonce where a stranger took its own just before", async () => {
      const account = await newAccount();
      let stranger: Promise<string> | undefined;
      front.when("eth_sendRawTransaction", async () => {
        // One alone: others that are on their way are given to the node again meanwhile.
        stranger ??= strangersMinedTransfer(node, account);
        await stranger;
        return "pass on" as const;
      });
      const to = newAddress();
      const id = await send({ ...transferTo(to), from: account });
      const mined = await transactionOf(node, await includedHash(root, id, node));
      front.when("eth_sendRawTransaction", "pass on");
      assert.equal(Number((await transactionOf(node, (await stranger) as string)).nonce), 0);
      assert.equal(Number(mined.nonce), 1);
      assert.equal(await balanceOf(node, to), 1n);
    });

    const abi = parseAbi(["error Poor(address who, uint256 missing)"]);
    const word = (value: bigint) => encodeAbiParameters([{ type: "uint256" }], [value]).slice(2);
    const WHO = "0x00000000000000000000000000000000000000aa";
    const custom = encodeErrorResult({ abi, errorName: "Poor", args: [WHO, 7n] });
    const reverts = {
      error_string: {
        data: `0x08c379a0${encodeAbiParameters([{ type: "string" }], ["too little"]).slice(2)}`,
        entry: {
          errorType: "native",
          displayMessage: "too little",
          native: { nativeType: "error_string", message: "too little" },
        },
      },
      panic: {
        data: `0x4e487b71${word(17n)}`,
        entry: {
          errorType: "native",
          displayMessage: "panic 0x11: arithmetic overflow or underflow",
          native: { nativeType: "panic", message: "arithmetic overflow or underflow", panicCode: "17" },
        },
      },
      custom: {
        data: custom,
        entry: {
          errorType: "custom",
          displayMessage: `Poor("${WHO}", "7")`,
          custom: { errorName: "Poor", paramsJson: JSON.stringify({ who: WHO, missing: "7" }) },
        },
      },
      unknown: {
        data: "0xdeadbeef01",
        entry: {
          errorType: "unknown",
          displayMessage: "an error of the contract's own with the selector 0xdeadbeef",
          unknown: { selector: "0xdeadbeef", data: "0xdeadbeef01" },
        },
      },
    };
    for (const [name, { data, entry }] of Object.entries(reverts)) {
      it(`tells of a revert (${name}) before it is sent, and of one in a block`, async () => {
        const contract = await revertingContract(node);
        if (name === "custom") await storeInterface(contract);
        const revertChain = [{ address: contract, ...entry }];
        const account = await newAccount();
        const calls = [{ to: contract, data }];
        const failed = await sendStatus(root, await send({ from: account, caip2: TEST_CHAIN, calls }));
        assert.equal(failed.txStatus, "FAILED");
        assert.deepEqual(failed.eth, {}, "nothing was signed");
        assert.deepEqual(failed.error, {
          message: `the transaction was not sent because it would revert: ${entry.displayMessage}`,
          revertChain,
          eth: { revertChain },
        });
        const id = await send({ from: account, caip2: TEST_CHAIN, calls, gasLimit: "100000" });
        const included = await sendStatus(root, id);
        assert.equal(included.txStatus, "INCLUDED", JSON.stringify(included));
        assert.deepEqual(included.error.revertChain, revertChain);
        assert.equal(included.txError, `the transaction was included in a block, but failed: ${entry.displayMessage}`);
        const { nonce } = await transactionOf(node, included.eth.txHash);
        assert.equal(Number(nonce), 0, "what was not sent has left no gap");
      });
    }

    it("fails what the nodes refuse for good, and its nonce goes to the next", async () => {
      const account = await newAccount();
      const tooMuch = { from: account, caip2: TEST_CHAIN, calls: [{ to: newAddress(), value: String(5000n * ETHER) }] };
      const failed = await sendStatus(root, await send({ ...tooMuch, gasLimit: "21000" }));
      assert.equal(failed.txStatus, "FAILED", JSON.stringify(failed));
      assert.match(failed.txError, /^the nodes of eip155:11155111 rejected the transaction: .*[Ii]nsufficient funds/);
      const next = await includedHash(root, await send({ ...transferTo(newAddress()), from: account }));
      assert.equal(Number((await transactionOf(node, next)).nonce), 0);
    });

    it("signs anew what nodes refuse as the base fee has outgrown it, and says what to do beyond what was decided on", async () => {
      const account = await newAccount();
      const refused: unknown[] = [];
      front.when("eth_sendRawTransaction", async ({ params }) => {
        if (refused.length < 2) {
          refused.push(params[0]);
          await outgrowFees(node, params[0]);
        }
        return "pass on" as const;
      });
      const to = newAddress();
      const own = { maxFeePerGas: String(3n * GWEI), maxPriorityFeePerGas: "1" };
      const named = await sendStatus(root, await send({ ...transferTo(newAddress()), from: account, ...own }));
      assert.equal(named.txStatus, "FAILED", JSON.stringify(named));
      assert.match(
        named.txError,
        /costs \d+ wei now, but the transaction offers at most 3000000000; submit it again, with a/,
      );
      const id = await send({ ...transferTo(to), from: account });
      const mined = await transactionOf(node, await includedHash(root, id));
      assert.equal(refused.length, 2);
      assert.notEqual(mined.hash, keccak256(refused[1] as `0x${string}`));
      assert.equal(Number(mined.nonce), 0);
      assert.equal(await balanceOf(node, to), 1n);
      assert.equal(Number(await node.call("eth_getTransactionCount", account, "pending")), 1, "once");
      await setBaseFee(node, GWEI);
    });

    it("fails what ends in a fault of the machine, as it fails what reverts", async () => {
      const account = await newAccount();
      const faults = { "an invalid opcode": "0xfe", "a jump to nowhere": "0x60035600", "an empty stack": "0x50" };
      for (const [fault, code] of Object.entries(faults)) {
        const to = newAddress();
        await node.call("anvil_setCode", to, code);
        const status = await sendStatus(root, await send({ from: account, caip2: TEST_CHAIN, calls: [{ to }] }));
        assert.equal(status.txStatus, "FAILED", fault);
        assert.match(status.txError, /^the transaction was not sent because it would revert: /, fault);
      }
    });

    it("is INCLUDED after all where a block has what its nodes refused", async () => {
      const account = await newAccount();
      let refused: unknown;
      front.when("eth_sendRawTransaction", ({ params }) => {
        refused = params[0];
        return { error: { code: -32_000, message: "words of a node that keeps what it refuses" } };
      });
      const to = newAddress();
      const id = await send({ ...transferTo(to), from: account });
      const failed = await sendStatus(root, id);
      assert.equal(failed.txStatus, "FAILED", JSON.stringify(failed));
      await node.call("eth_sendRawTransaction", refused);
      const given = front.count("eth_sendRawTransaction");
      let status: Json = failed;
      await until(async () => {
        status = await sendStatus(root, id);
        return status.txStatus !== "FAILED";
      }, "the block to be found");
      assert.deepEqual(status, { txStatus: "INCLUDED", eth: { txHash: keccak256(refused as `0x${string}`) } });
      assert.equal(front.count("eth_sendRawTransaction"), given, "nobody has given it to a node again");
      front.when("eth_sendRawTransaction", "pass on");
      const next = await includedHash(root, await send({ ...transferTo(newAddress()), from: account }));
      assert.equal(Number((await transactionOf(node, next)).nonce), 1);
    });

    it("uses a caller's own nonce as it is; a gap before it is filled by the next, and a used one fails", async () => {
      const account = await newAccount();
      const later = await send({ ...transferTo(newAddress()), from: account, nonce: "1" });
      await sendStatus(root, later, ["BROADCASTING"]);
      const twice = await sendStatus(root, await send({ ...transferTo(newAddress()), from: account, nonce: "1" }));
      assert.deepEqual([twice.txStatus, twice.txError], ["FAILED", `the transaction ${later} has the nonce 1`]);
      const filling = await includedHash(root, await send({ ...transferTo(newAddress()), from: account }));
      assert.equal(Number((await transactionOf(node, filling)).nonce), 0);
      assert.equal(Number((await transactionOf(node, await includedHash(root, later))).nonce), 1);
      const used = await sendStatus(root, await send({ ...transferTo(newAddress()), from: account, nonce: "0" }));
      assert.deepEqual([used.txStatus, used.txError], ["FAILED", "the account has used the nonce 0; its next is 2"]);
    });

    it("replaces what is stuck with a higher fee, and never goes above a caller's own", async () => {
      const [open, bounded] = [await newAccount(), await newAccount()];
      await node.call("evm_setAutomine", false);
      try {
        const own = { maxFeePerGas: "3000000000", maxPriorityFeePerGas: "1000000000" };
        const to = newAddress();
        const id = await send({ ...transferTo(to), from: open });
        const boundedId = await send({ ...transferTo(newAddress()), from: bounded, ...own });
        const first = (await sendStatus(root, id, ["BROADCASTING"])).eth.txHash;
        const before = await whenThere(() => transactionOf(node, first));
        await until(async () => {
          const { txHash } = (await sendStatus(root, id, ["BROADCASTING"])).eth;
          return txHash !== first && (await transactionOf(node, txHash)) !== null;
        }, "it to be replaced");
        await node.call("evm_mine");
        // It may have been replaced once more meanwhile.
        const raised = await transactionOf(node, await includedHash(root, id));
        assert.notEqual(raised.hash, first);
        assert.equal(raised.nonce, before.nonce);
        for (const fee of ["maxFeePerGas", "maxPriorityFeePerGas"] as const) {
          assert.ok(BigInt(raised[fee]) * 10n >= BigInt(before[fee]) * 11n, `${fee} is a tenth more`);
        }
        assert.equal(await balanceOf(node, to), 1n);
        const kept = await transactionOf(node, await includedHash(root, boundedId));
        assert.deepEqual([kept.maxFeePerGas, kept.maxPriorityFeePerGas].map(BigInt), Object.values(own).map(BigInt));
      } finally {
        await node.call("evm_setAutomine", true);
      }
    });

    it("finds out what came of a broadcast whose answer is lost, and does not send it again", async () => {
      const account = await newAccount();
      const to = newAddress();
      let lost = 0;
      front.when("eth_sendRawTransaction", async ({ params }) => {
        await node.call("eth_sendRawTransaction", ...params);
        lost++;
        return { status: 502, body: "" };
      });
      const id = await send({ ...transferTo(to), from: account });
      const hash = await includedHash(root, id);
      front.when("eth_sendRawTransaction", "pass on");
      assert.equal(lost, 1);
      assert.equal(Number((await transactionOf(node, hash)).nonce), 0);
      assert.equal(await balanceOf(node, to), 1n);
    });

    it("waits while no node answers, and believes none that does not show a block", async () => {
      const account = await newAccount();
      const to = newAddress();
      const away = { status: 503, body: "" };
      front.when("eth_getTransactionCount", away);
      const id = await send({ ...transferTo(to), from: account });
      await until(() => front.calls.at(-1)?.method === "eth_getTransactionCount", "the look to begin");
      assert.deepEqual(await sendStatus(root, id, ["INITIALIZED"]), { txStatus: "INITIALIZED", eth: {} });
      // The node is back, and behind itself: the account's nonce is used, and it knows no receipt.
      front.when("eth_getTransactionReceipt", { result: null });
      const asked = front.count("eth_getTransactionReceipt");
      front.when("eth_getTransactionCount", "pass on");
      await front.waitFor("eth_getTransactionReceipt", asked + 3);
      front.when("eth_getTransactionReceipt", "pass on");
      assert.equal(Number((await transactionOf(node, await includedHash(root, id))).nonce), 0);
      assert.equal(Number(await node.call("eth_getTransactionCount", account, "pending")), 1, "nothing else was sent");
      assert.equal(await balanceOf(node, to), 1n);
    });

    /** Takes each transaction and forgets it. */
    const swallow = ({ params }: { params: unknown[] }) => ({ result: keccak256(params[0] as `0x${string}`) });
    const nonceOf = (signed: unknown): number => parseTransaction(signed as `0x02${string}`).nonce ?? 0;
    const rowOf = (id: string) =>
      server.opened.database.read
        .selectFrom("send_transactions")
        .selectAll()
        .where("id", "=", id)
        .executeTakeFirstOrThrow();

    it("bears contracts that revert, or say in a block, more than a node's answer may hold", async () => {
      const account = await newAccount();
      const contractWith = async (ending: string): Promise<string> => {
        const address = newAddress();
        // Memory's first 0xc0000 bytes, which are 1.5 MiB in hex.
        await node.call("anvil_setCode", address, `0x620c00006000${ending}`);
        return address;
      };
      const callTo = async (to: string) => sendStatus(root, await send({ ...transferTo(to), from: account }));
      const reverted = await callTo(await contractWith("fd"));
      assert.equal(reverted.txStatus, "FAILED");
      assert.match(reverted.txError, /^the transaction was not sent because it would revert: execution reverted$/);
      const logged = await callTo(await contractWith("a000"));
      assert.equal(logged.txStatus, "INCLUDED", JSON.stringify(logged));
      assert.equal(logged.error, undefined);
      const { chains } = (await (await fetch(`${server.baseUrl}/readyz`)).json()) as Json;
      assert.equal(chains[TEST_CHAIN].status, "ready");
      assert.doesNotMatch(server.log(), /a node is unavailable.*more than/);
    });

    it("signs none beyond a refused one, however many are out before it", async () => {
      const account = await newAccount();
      await node.call("evm_setAutomine", false);
      const taken: number[] = [];
      let hasRefused = false;
      front.when("eth_sendRawTransaction", ({ params }) => {
        const nonce = nonceOf(params[0]);
        if (nonce === 17 && !hasRefused) {
          hasRefused = true;
          return { error: { code: -32_000, message: "words of a node that is short of memory" } };
        }
        if (!taken.includes(nonce)) taken.push(nonce);
        return "pass on";
      });
      try {
        const ids: string[] = [];
        for (let count = 0; count < 20; count++) ids.push(await send({ ...transferTo(newAddress()), from: account }));
        await until(() => taken.length === 20, "all to be out");
        const waiting = async () => Number(await node.call("eth_getTransactionCount", account, "pending"));
        await until(async () => (await waiting()) === 20, "the node to have all of them");
        assert.ok(hasRefused);
        assert.deepEqual(taken, [...taken.keys()], "none before the one that was refused");
        await node.call("evm_mine");
        for (const id of ids) await includedHash(root, id);
      } finally {
        front.when("eth_sendRawTransaction", "pass on");
        await node.call("evm_setAutomine", true);
      }
    });

    it("waits for a signer that is busy", async () => {
      const { signer } = server.opened;
      const ask = signer.ask.bind(signer);
      let refused = 0;
      const busy = mock.method(signer, "ask", (...[request, ...rest]: Parameters<typeof ask>) => {
        if (request.verb !== "sign" || ++refused > 2) return ask(request, ...rest);
        throw new KeysteadError("SIGNER_BUSY", { retryAfterSeconds: 1 }, []);
      });
      const to = newAddress();
      await includedHash(root, await send({ ...transferTo(to), from: await newAccount() }));
      busy.mock.restore();
      assert.ok(refused > 2);
      assert.equal(await balanceOf(node, to), 1n);
    });

    const missing = { error: { code: -32_000, message: "missing trie node: state is not available" } };
    const isOfBlock = (place: unknown): boolean => typeof place === "string" && place.startsWith("0x");

    it("gives a refused transaction another nonce though no node knows the account as it was", async () => {
      const account = await newAccount();
      let stranger: Promise<string> | undefined;
      front.when("eth_getTransactionCount", ({ params }) => (isOfBlock(params[1]) ? missing : "pass on"));
      front.when("eth_sendRawTransaction", async () => {
        stranger ??= strangersMinedTransfer(node, account);
        await stranger;
        return "pass on" as const;
      });
      const id = await send({ ...transferTo(newAddress()), from: account });
      const mined = await transactionOf(node, await includedHash(root, id, node));
      for (const method of ["eth_getTransactionCount", "eth_sendRawTransaction"]) front.when(method, "pass on");
      assert.ok(stranger);
      assert.equal(Number(mined.nonce), 1);
    });

    it("finds a stranger who took the nonce of one that was long on its way, without the account's oldest states", async () => {
      const account = await newAccount();
      front.when("eth_sendRawTransaction", swallow);
      const id = await send({ ...transferTo(newAddress()), from: account });
      await sendStatus(root, id, ["BROADCASTING"]);
      const takenAt = async () => JSON.parse((await rowOf(id)).progress ?? "{}").signed.takenAtBlock as number;
      const before = await takenAt();
      // It is looked at while they are made, too, and from then on only when some more are there.
      await node.call("anvil_mine", "0x190");
      await until(async () => (await takenAt()) >= before + 200, "the nonce to be seen free at a later block");
      front.when("eth_getTransactionCount", ({ params: [, place] }) =>
        isOfBlock(place) && Number(place) < before + 100 ? missing : "pass on",
      );
      await strangersTransfer(node, account);
      await node.call("anvil_mine", "0xc");
      await until(async () => nonceOfRow(await rowOf(id)) === 1, "it to get another nonce");
      for (const method of ["eth_getTransactionCount", "eth_sendRawTransaction"]) front.when(method, "pass on");
      assert.equal(Number((await transactionOf(node, await includedHash(root, id))).nonce), 1);
    });

    const nonceOfRow = ({ progress }: { progress: string | null }) => JSON.parse(progress ?? "{}").signed?.nonce;

    it("says by which hash and with what end a block has it after a reorganization, however long it was on its way", async () => {
      const account = await newAccount();
      const contract = newAddress();
      let first: string | undefined;
      // The node forgets the first one, so that it is replaced.
      front.when("eth_sendRawTransaction", ({ params }) => {
        const signed = params[0] as `0x02${string}`;
        if (parseTransaction(signed).to?.toLowerCase() === contract) first ??= signed;
        return signed === first ? swallow({ params }) : "pass on";
      });
      const good = Number(await node.call("eth_blockNumber")) + 8;
      // if (number > good) revert(0, 0)
      await node.call("anvil_setCode", contract, `0x4363${good.toString(16).padStart(8, "0")}10600b57005b60006000fd`);
      const id = await send({ ...transferTo(contract), from: account, gasLimit: "100000" });
      const { eth } = await sendStatus(root, id, ["BROADCASTING"]);
      await until(() => first !== undefined, "it to be sent");
      await until(async () => JSON.parse((await rowOf(id)).progress ?? "{}").signed.turn, "its turn to begin");
      await node.call("anvil_mine", "0x3");
      const replaced = await includedHash(root, id);
      await server.opened.database.transact(undefined, (tx) =>
        tx.updateTable("send_transactions").set({ created_at: 0 }).where("id", "=", id).execute(),
      );
      assert.notEqual(replaced, eth.txHash);
      // The first one comes into the block after the good ones.
      const included = Number((await transactionOf(node, replaced)).blockNumber);
      const later = good + 1 - included;
      await node.call("anvil_mine", `0x${later.toString(16)}`);
      await node.call("anvil_reorg", later + 1, [[first, later]]);
      await until(async () => (await rowOf(id)).transaction_hash === eth.txHash, "the hash to be put right");
      const status = await sendStatus(root, id);
      assert.deepEqual([status.txStatus, status.eth.txHash], ["INCLUDED", eth.txHash]);
      assert.match(status.txError, /^the transaction was included in a block, but failed: /);
      front.when("eth_sendRawTransaction", "pass on");
      const nonces = await server.opened.database.read
        .selectFrom("send_nonces")
        .select("nonce")
        .where("send_id", "=", id)
        .execute();
      assert.deepEqual(
        nonces.map(({ nonce }) => nonce),
        [0],
        "it is looked after for as long as any",
      );
    });

    it("lets nobody change what somebody else has changed meanwhile", async () => {
      const { database } = server.opened;
      const { organizationId } = root;
      const organization = { id: organizationId, parentId: null };
      const id = newId();
      const signedAs = { signedTransaction: Buffer.from([1]), transactionHash: "0x01" };
      const now = Date.now();
      const row = { organizationId, id, activityId: newId(), caip2: "eip155:1", now };
      await database.transact(organizationId, (tx) => addSend(tx, { ...row, ...signedAs }));
      const fresh = await requireSend(database.read, organizationId, id);
      const inTransaction = <T>(act: (tx: Parameters<Parameters<typeof database.transact>[1]>[0]) => Promise<T>) =>
        database.transact(undefined, act);
      const move = { to: "BROADCASTING", progress: {} } as const;
      assert.ok(await inTransaction((tx) => moveSend(tx, organization, fresh, move, now)));
      const seen = await requireSend(database.read, organizationId, id);
      assert.ok(await inTransaction((tx) => noteGiven(tx, seen, { by: "another process" }, now)));
      const failed = { to: "FAILED", error: { message: "it was refused" } } as const;
      assert.equal(await inTransaction((tx) => noteGiven(tx, seen, {}, now)), undefined);
      assert.equal(await inTransaction((tx) => replaceSigned(tx, seen, { ...signedAs, progress: {} }, now)), false);
      assert.equal(await inTransaction((tx) => moveSend(tx, organization, seen, failed, now)), false);
      const current = await requireSend(database.read, organizationId, id);
      assert.deepEqual([current.status, current.progress], ["BROADCASTING", { by: "another process" }]);
      assert.ok(await inTransaction((tx) => moveSend(tx, organization, current, failed, now)));
    });

    it("gives a transaction back to the chain that a reorganization has lost", async () => {
      const account = await newAccount();
      await node.call("anvil_mine", "0x6");
      const to = newAddress();
      const hash = await includedHash(root, await send({ ...transferTo(to), from: account }));
      await node.call("anvil_reorg", 5, []);
      await until(async () => (await balanceOf(node, to)) === 1n, "it to be in a block again");
      assert.equal(Number((await transactionOf(node, hash)).nonce), 0);
      const next = await includedHash(root, await send({ ...transferTo(newAddress()), from: account }));
      assert.equal(Number((await transactionOf(node, next)).nonce), 1);
    });

    it("lets policies decide on what will be sent, and on no nonce that it does not have yet", async () => {
      const allowed = newAddress();
      const { userId, client } = await addUser(root);
      const consensus = `approvers.any(user, user.id == '${userId}')`;
      const policy = (condition: string) =>
        root.result("create_policy", { policyName: newId(), effect: "EFFECT_ALLOW", consensus, condition, notes: "" });
      await policy(`eth.tx.to == '${allowed}' && eth.tx.value == 1 && eth.tx.max_fee_per_gas < 1000000000000`);
      const other = await client.submit(PATH, transferTo(newAddress()));
      assert.equal(other.status, 403, JSON.stringify(other.body));
      const { sendTransactionStatusId } = await client.result(PATH, transferTo(allowed));
      await includedHash(client, sendTransactionStatusId);
      await policy(`eth.tx.to == '${WHO}' && eth.tx.nonce >= 0`);
      assert.equal((await client.submit(PATH, transferTo(WHO))).status, 403, "it has none");
      assert.equal((await client.submit(PATH, transferTo(WHO, { nonce: "9000" }))).status, 200);
    });

    it("refuses what it cannot do, and says what to do instead", async () => {
      const call = { to: newAddress(), value: "1" };
      const wrong: [object, RegExp, number?][] = [
        [
          transferTo(newAddress(), { sponsor: true, nonce: "1" }),
          /`parameters.nonce` is only for transactions that `from` pays/,
        ],
        [
          { from, caip2: TEST_CHAIN, calls: [call, { ...call, data: `0x${"00".repeat(131_000)}` }] },
          /`parameters.calls` make a transaction of more than 131072 bytes/,
        ],
        [
          { from, caip2: TEST_CHAIN, calls: [call, { ...call, value: String(2n ** 256n) }] },
          /`parameters.calls.1.value` must fit into 256 bits/,
        ],
        [transferTo(newAddress(), { deadline: "1" }), /`parameters.deadline` is only for sponsored/],
        [transferTo(newAddress(), { nonce: "9007199254740991" }), /`parameters.nonce` must be at most/],
        [transferTo(newAddress(), { gasLimit: "18446744073709551616" }), /`parameters.gasLimit` must fit into 64 bits/],
        [
          transferTo(newAddress(), { maxFeePerGas: "1", maxPriorityFeePerGas: "2" }),
          /must not be higher than `maxFeePerGas`/,
        ],
        [transferTo("0x12"), /`parameters.calls.0.to` must be an address/],
        [transferTo(newAddress(), { from: newAddress() }), /could not find/i, 404],
        [transferTo(newAddress(), { caip2: "eip155:8453" }), /this server has no nodes for eip155:8453/],
      ];
      for (const [parameters, message, status = 400] of wrong) {
        const answer = await root.submit(PATH, parameters);
        assert.equal(answer.status, status, JSON.stringify(answer.body));
        assert.match(answer.body.message, message);
      }
    });

    const completed = async (parameters: object, options: object): Promise<Json> => {
      const { body } = await root.submit(PATH, parameters, options);
      assert.equal(body.activity?.status, "ACTIVITY_STATUS_COMPLETED", JSON.stringify(body));
      return body.activity;
    };
    const storeInterface = (contract: string) =>
      root.result("create_smart_contract_interface", {
        smartContractAddress: contract,
        smartContractInterface: JSON.stringify(abi),
        type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
        label: contract,
      });
    const whenThere = async <T>(ask: () => Promise<T | null>): Promise<T> => {
      let answer: T | null = null;
      await until(async () => {
        answer = await ask();
        return answer !== null;
      }, "the node to have it");
      return answer as T;
    };
  });
}

describe("two nodes of a chain", () => {
  it("send no transaction twice where one loses its answer and the other refuses", async () => {
    const node = await startAnvil({ chainId: TEST_CHAIN_ID });
    const [lossy, other] = [await startRpcNode(node), await startRpcNode(node)];
    const chains = { [TEST_CHAIN]: { rpcUrls: [lossy.url, other.url] } };
    const server = await startTestServer("sqlite", { chains });
    try {
      const [from] = (await newEvmWallet(server.root, node)).addresses;
      const to = newAddress();
      let held: unknown;
      lossy.when("eth_sendRawTransaction", ({ params }) => {
        held ??= params[0];
        return { status: 502, body: "" };
      });
      let refusals = 0;
      other.when("eth_sendRawTransaction", () => {
        if (refusals++ > 0) return "pass on";
        // It has another one of the account, or says so.
        other.when("eth_getTransactionCount", ({ params }) =>
          params[1] === "pending" ? { result: "0x1" } : "pass on",
        );
        return { error: { code: -32_000, message: "replacement transaction underpriced" } };
      });
      const calls = [{ to, value: "1" }];
      const { sendTransactionStatusId: id } = await server.root.result(PATH, { from, caip2: TEST_CHAIN, calls });
      const hash = await includedHash(server.root, id);
      // What the first one had comes out late.
      await node.call("eth_sendRawTransaction", held).catch(() => undefined);
      assert.equal(hash, keccak256(held as `0x${string}`), "nothing else was signed");
      assert.equal(await balanceOf(node, to), 1n);
    } finally {
      await server.close();
      await Promise.all([lossy.close(), other.close()]);
      await node.stop();
    }
  });
});
