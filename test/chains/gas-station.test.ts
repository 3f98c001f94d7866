import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  createTestClient,
  decodeErrorResult,
  encodeErrorResult,
  encodeFunctionData,
  type Hex,
  hashTypedData,
  http,
  parseAbi,
  publicActions,
  walletActions,
} from "viem";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { anvil as local } from "viem/chains";
import GasStation from "../../src/chains/evm/artifacts/GasStation.json" with { type: "json" };
import { DEPLOYMENT_PROXY, deploymentData } from "../../src/chains/evm/create2.ts";
import {
  type BatchedCall,
  batchData,
  callReverted,
  delegateIn,
  type Execution,
  executionDigest,
  GAS_STATION,
  GAS_STATION_ADDRESS,
  NONCE_SLOT,
  sponsorData,
  TRIAL_CODE,
} from "../../src/chains/evm/gas-station.ts";
import { type Anvil, startAnvil } from "../support/anvil.ts";
import Reenterer from "../support/artifacts/Reenterer.json" with { type: "json" };
import TestToken from "../support/artifacts/TestToken.json" with { type: "json" };
import { balanceOf } from "../support/chain.ts";
import { receiptOf } from "../support/deployed-contracts.ts";
import { ETHER, giveEther, newAddress, revertingContract } from "../support/evm-sender.ts";

const station = GAS_STATION_ADDRESS as Hex;
const abi = GasStation.abi;
const FAR = 10n ** 10n;
const types = {
  Execution: [
    { name: "payer", type: "address" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
    { name: "calls", type: "Call[]" },
  ],
  Call: [
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "data", type: "bytes" },
  ],
};

describe("the gas station", () => {
  let node: Anvil;
  let client: ReturnType<typeof clientOf>;
  let payer: PrivateKeyAccount;
  let account: PrivateKeyAccount;

  const clientOf = (url: string) =>
    createTestClient({ mode: "anvil", chain: local, transport: http(url) })
      .extend(publicActions)
      .extend(walletActions);

  before(async () => {
    node = await startAnvil({ chainId: local.id });
    client = clientOf(node.url);
    payer = await newAccount();
    account = await newAccount();
    await deploy(DEPLOYMENT_PROXY, deploymentData(GAS_STATION));
    await delegate(account);
  });
  after(() => node.stop());

  async function newAccount(): Promise<PrivateKeyAccount> {
    const made = privateKeyToAccount(generatePrivateKey());
    await giveEther(node, made.address);
    return made;
  }
  async function send(transaction: { to?: Hex; data?: Hex; value?: bigint; from?: PrivateKeyAccount; gas?: bigint }) {
    const { from = payer, ...rest } = transaction;
    const hash = await client.sendTransaction({ account: from, gas: 3_000_000n, ...rest } as never);
    return receiptOf(client, hash);
  }
  const deploy = async (to: string, data: string) =>
    assert.equal((await send({ to: to as Hex, data: data as Hex })).status, "success");
  async function create(code: string): Promise<Hex> {
    const { contractAddress } = await send({ data: code as Hex });
    return contractAddress as Hex;
  }
  async function delegate(who: PrivateKeyAccount, chainId: number = local.id): Promise<void> {
    const nonce = await client.getTransactionCount({ address: who.address });
    const authorization = await who.signAuthorization({ address: station, chainId, nonce });
    const hash = await client.sendTransaction({
      account: payer,
      authorizationList: [authorization],
      to: payer.address,
      gas: 200_000n,
    } as never);
    await receiptOf(client, hash);
  }
  const nonceOf = async (who: PrivateKeyAccount) =>
    BigInt((await client.getStorageAt({ address: who.address, slot: NONCE_SLOT as Hex })) as Hex);

  const call = (to: string, value = 0n, data = "0x"): BatchedCall => ({ to, value, data });
  async function executionOf(calls: readonly BatchedCall[], more: Partial<Execution> = {}): Promise<Execution> {
    const nonce = await nonceOf(account);
    return { payer: payer.address, nonce, deadline: FAR, calls, ...more };
  }
  async function signed(
    execution: Execution,
    {
      chainId = local.id,
      by = account,
      of = account,
    }: { chainId?: number; by?: PrivateKeyAccount; of?: PrivateKeyAccount } = {},
  ): Promise<Hex> {
    const signature = await by.sign({
      hash: `0x${executionDigest(BigInt(chainId), of.address, execution).toString("hex")}`,
    });
    return sponsorData(of.address, execution, signature) as Hex;
  }
  /** The name of the error that a call of the station ends with, and what it says. */
  async function refusal(data: Hex, from = payer, to = station): Promise<{ errorName: string; args?: unknown }> {
    const error = await client.call({ account: from, to, data }).then(
      () => assert.fail("it was executed"),
      (reason) => reason,
    );
    const raw = error.walk(
      (each: { data?: unknown }) =>
        typeof each.data === "string" || typeof (each.data as { data?: unknown })?.data === "string",
    );
    const bytes = typeof raw.data === "string" ? raw.data : raw.data.data;
    const { errorName, args } = decodeErrorResult({ abi, data: bytes });
    return { errorName, ...(args ? { args } : {}) };
  }

  it("has the codes and digests that viem has", async () => {
    const calls = [call(newAddress(), 7n, "0x1234"), call(newAddress(), 0n, `0x${"ab".repeat(70)}`)];
    const execution = { payer: payer.address, nonce: 5n, deadline: 99n, calls };
    const domain = {
      name: "Keystead Gas Station",
      version: "1",
      chainId: local.id,
      verifyingContract: account.address,
    };
    const expected = hashTypedData({ domain, types, primaryType: "Execution", message: execution } as never);
    assert.equal(`0x${executionDigest(BigInt(local.id), account.address, execution).toString("hex")}`, expected);
    const signature = `0x${"cd".repeat(65)}`;
    const args = [account.address, 5n, 99n, calls, signature];
    assert.equal(
      sponsorData(account.address, execution, signature),
      encodeFunctionData({ abi, functionName: "sponsor", args }),
    );
    assert.equal(batchData(calls), encodeFunctionData({ abi, functionName: "executeBatch", args: [calls] }));
  });

  it("is at its address, and executes what an account signed, as the account", async () => {
    assert.equal(delegateIn((await client.getCode({ address: account.address })) as string), station);
    const token = await create(TestToken.creationCode);
    const to = newAddress();
    const mint = encodeFunctionData({ abi: TestToken.abi, functionName: "mint", args: [account.address, 5n] });
    const transfer = encodeFunctionData({ abi: TestToken.abi, functionName: "transfer", args: [to, 2n] });
    const before = await client.getBalance({ address: account.address });
    const execution = await executionOf([call(token, 0n, mint), call(token, 0n, transfer), call(to, 3n)]);
    assert.equal((await send({ to: station, data: await signed(execution) })).status, "success");
    const owned = { address: token, abi: TestToken.abi, functionName: "balanceOf", args: [to] } as const;
    assert.equal(await client.readContract(owned), 2n);
    assert.equal(await balanceOf(node, to), 3n);
    assert.equal(await client.getBalance({ address: account.address }), before - 3n, "it pays no gas");
    assert.equal(await nonceOf(account), execution.nonce + 1n);
  });

  it("takes fifty calls, and neither none nor one more", async () => {
    const to = newAddress();
    const fifty = Array.from({ length: 50 }, () => call(to, 1n));
    assert.equal((await send({ to: station, data: await signed(await executionOf(fifty)) })).status, "success");
    assert.equal(await balanceOf(node, to), 50n);
    for (const calls of [[], [...fifty, call(to, 1n)]]) {
      const { errorName } = await refusal(await signed(await executionOf(calls)));
      assert.equal(errorName, "WrongNumberOfCalls");
    }
  });

  it("executes nothing twice, late, out of turn, for another payer, account or chain, or changed", async () => {
    const to = newAddress();
    const execution = await executionOf([call(to, 1n)]);
    const data = await signed(execution);
    const other = await newAccount();
    assert.equal((await refusal(data, other)).errorName, "WrongSignature");
    assert.equal((await send({ to: station, data })).status, "success");
    assert.deepEqual(await refusal(data), { errorName: "WrongNonce", args: [execution.nonce + 1n] });
    const now = await executionOf([call(to, 1n)]);
    assert.equal((await refusal(await signed({ ...now, nonce: now.nonce + 1n }))).errorName, "WrongNonce");
    assert.equal((await refusal(await signed({ ...now, deadline: 1n }))).errorName, "Expired");
    assert.equal((await refusal(await signed(now, { chainId: 1 }))).errorName, "WrongSignature");
    assert.equal((await refusal(await signed(now, { by: other }))).errorName, "WrongSignature");
    const signature = `0x${(await signed(now)).slice(-192, -62)}` as const;
    const more = sponsorData(account.address, { ...now, calls: [call(to, 2n)] }, signature) as Hex;
    assert.equal((await refusal(more)).errorName, "WrongSignature");
    const high = highS(signature);
    assert.match((await refusal(sponsorData(account.address, now, high) as Hex)).errorName, /Signature/);
    await delegate(other);
    const theirs = sponsorData(other.address, now, signature) as Hex;
    assert.equal((await refusal(theirs)).errorName, "WrongNonce");
    const first = await executionOf([call(to, 1n)], { nonce: 0n });
    assert.equal((await refusal(sponsorData(other.address, first, signature) as Hex)).errorName, "WrongSignature");
    assert.equal(await balanceOf(node, to), 1n);
  });

  it("executes nothing at an account that has not delegated to it, where a call would do nothing and succeed", async () => {
    const stranger = await newAccount();
    const execution = { payer: payer.address, nonce: 0n, deadline: FAR, calls: [call(newAddress(), 1n)] };
    const data = await signed(execution, { by: stranger, of: stranger });
    assert.deepEqual(await refusal(data), { errorName: "NotDelegated", args: [stranger.address] });
    await delegate(stranger, 1);
    assert.equal((await refusal(data)).errorName, "NotDelegated", "the authorization was for another chain");
  });

  it("takes orders from the station alone, and batches from the account alone", async () => {
    const calls = [call(newAddress(), 1n)];
    const execution = await executionOf(calls);
    const args = [execution.payer, execution.nonce, execution.deadline, calls, "0x"];
    const execute = encodeFunctionData({ abi, functionName: "execute", args });
    assert.equal((await refusal(execute, payer, account.address)).errorName, "NotAllowed");
    assert.equal((await refusal(execute)).errorName, "NotAllowed");
    assert.equal((await refusal(batchData(calls) as Hex, payer, account.address)).errorName, "NotAllowed");
    assert.equal((await refusal(batchData(calls) as Hex)).errorName, "NotAllowed");
    assert.equal((await refusal(await signed(execution), payer, account.address)).errorName, "NotAllowed");
    const batch = { from: account, to: account.address, data: batchData(calls) as Hex };
    assert.equal((await send(batch)).status, "success");
    assert.equal(await balanceOf(node, calls[0]?.to as string), 1n);
  });

  it("is not entered again by what it calls, with whatever was signed before", async () => {
    const reenterer = await create(Reenterer.creationCode);
    const prepare = (target: Hex, data: Hex) =>
      send({
        to: reenterer,
        data: encodeFunctionData({ abi: Reenterer.abi, functionName: "prepare", args: [target, data] }),
      });
    const to = newAddress();
    const nonce = await nonceOf(account);
    // Named as the payer, so that its signature would do.
    const next = await executionOf([call(to, 1n)], { nonce: nonce + 1n, payer: reenterer });
    await prepare(station, await signed(next));
    const outer = await signed(await executionOf([call(reenterer, 1n)]));
    const { errorName, args } = await refusal(outer);
    assert.equal(errorName, "CallReverted");
    const [, reason] = args as [bigint, Hex];
    assert.equal(decodeErrorResult({ abi, data: reason }).errorName, "Reentered");
    const own = await executionOf([call(account.address, 0n, batchData([call(to, 1n)]))]);
    const inner = (await refusal(await signed(own))).args as [bigint, Hex];
    assert.equal(decodeErrorResult({ abi, data: inner[1] }).errorName, "Reentered");
    assert.equal(await balanceOf(node, to), 0n);
  });

  it("undoes all calls where one reverts, and says which and why", async () => {
    const [to, contract] = [newAddress(), await revertingContract(node)];
    const execution = await executionOf([call(to, 1n), call(contract, 0n, "0xdeadbeef")]);
    const data = await signed(execution);
    const { status } = await send({ to: station, data });
    assert.equal(status, "reverted");
    assert.equal(await balanceOf(node, to), 0n);
    assert.equal(await nonceOf(account), execution.nonce, "its nonce is the next one's");
    const { errorName, args } = await refusal(data);
    assert.deepEqual([errorName, args], ["CallReverted", [1n, "0xdeadbeef"]]);
    const encoded = encodeErrorResult({ abi, errorName: "CallReverted", args: [1n, "0xdeadbeef"] });
    assert.deepEqual(callReverted(encoded), { index: 1, reason: "0xdeadbeef" });
    assert.equal(callReverted("0xdeadbeef"), undefined);
  });

  it("lets accounts take ether and tokens, and sign for contracts", async () => {
    assert.equal((await send({ to: account.address, value: 5n })).status, "success");
    assert.equal((await send({ to: station, value: 5n })).status, "reverted", "the station itself keeps nothing");
    const message = `0x${"11".repeat(32)}` as const;
    const ask = async (by: PrivateKeyAccount) =>
      client.readContract({
        address: account.address,
        abi: parseAbi(["function isValidSignature(bytes32,bytes) view returns (bytes4)"]),
        functionName: "isValidSignature",
        args: [message, await by.sign({ hash: message })],
      });
    assert.equal(await ask(account), "0x1626ba7e");
    assert.equal(await ask(payer), "0xffffffff");
  });

  it("is tried out with its code at an account that has none yet", async () => {
    const stranger = await newAccount();
    const contract = await revertingContract(node);
    const estimate = (calls: BatchedCall[]) =>
      node.call("eth_estimateGas", { from: stranger.address, to: stranger.address, data: batchData(calls) }, "latest", {
        [stranger.address]: { code: TRIAL_CODE },
      });
    assert.ok(BigInt((await estimate([call(newAddress(), 1n), call(newAddress(), ETHER)])) as string) > 21_000n);
    await assert.rejects(estimate([call(contract, 0n, "0xdeadbeef")]), /revert/);
  });
});

/** The other signature that the same key could have made. */
function highS(signature: string): string {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, "0");
  return `${signature.slice(0, 66)}${s}${signature.slice(130) === "1b" ? "1c" : "1b"}`;
}
