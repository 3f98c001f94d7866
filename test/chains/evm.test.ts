import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import secp256k1 from "secp256k1";
import { serializeTransaction, type TransactionSerializable } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { hashAuthorization } from "../../src/chains/evm/authorization.ts";
import {
  hashToSign,
  parseUnsignedTransaction,
  type RecoverableSignature,
  serializeSigned,
} from "../../src/chains/evm/transaction.ts";
import { bytesFromHex, toHex } from "../../src/kernel/bytes.ts";
import { type Anvil, type Receipt, startAnvil } from "../support/anvil.ts";

const key = Buffer.alloc(32, 0x46);
const from = privateKeyToAddress(`0x${toHex(key)}`).toLowerCase();
const to = `0x${"35".repeat(20)}` as const;
const chainId = 31_337;

function signed(digest: Uint8Array): RecoverableSignature {
  const { signature, recid } = secp256k1.ecdsaSign(digest, key);
  const hex = toHex(signature);
  return { r: hex.slice(0, 64), s: hex.slice(64), yParity: recid === 1 ? 1 : 0 };
}

/** Parses, hashes, signs and puts together, as the service does; 0x hex. */
function signTransaction(unsigned: string): string {
  const bytes = bytesFromHex(unsigned.slice(2)) ?? assert.fail(unsigned);
  const transaction = parseUnsignedTransaction(bytes, "parameters.unsignedTransaction");
  return `0x${toHex(serializeSigned(transaction, signed(hashToSign(transaction))))}`;
}

describe("a node takes what is signed here", () => {
  let node: Anvil;
  let nonce = 0;
  before(async () => {
    node = await startAnvil();
    await node.call("anvil_setBalance", from, `0x${(10n ** 20n).toString(16)}`);
  });
  after(() => node.stop());

  async function send(transaction: object): Promise<Receipt> {
    const unsigned = serializeTransaction({ nonce, gas: 200_000n, ...transaction } as TransactionSerializable);
    const hash = await node.call("eth_sendRawTransaction", signTransaction(unsigned));
    nonce++;
    return node.receipt(hash);
  }

  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n };
  const accessList = [{ address: to, storageKeys: [`0x${"01".repeat(32)}`] }];
  const price = { gasPrice: 10n ** 10n };
  const cases: [string, string, object][] = [
    ["legacy", "0x0", { type: "legacy", chainId, ...price, to, value: 1n }],
    ["legacy from before EIP-155", "0x0", { type: "legacy", ...price, to, value: 1n }],
    ["EIP-2930", "0x1", { type: "eip2930", chainId, ...price, to, value: 1n, accessList }],
    ["EIP-1559", "0x2", { type: "eip1559", chainId, ...fees, to, value: 1n, accessList, data: "0x1234" }],
  ];
  for (const [name, type, transaction] of cases) {
    it(name, async () => {
      const before = BigInt((await node.call("eth_getBalance", to, "latest")) as string);
      const receipt = await send(transaction);
      assert.deepEqual([receipt.status, receipt.from, receipt.to, receipt.type], ["0x1", from, to, type]);
      assert.equal(BigInt((await node.call("eth_getBalance", to, "latest")) as string), before + 1n);
    });
  }

  it("a creation", async () => {
    // Returns one byte 00 as the code of the contract.
    const { status, contractAddress } = await send({ type: "eip1559", chainId, ...fees, data: "0x60016000f3" });
    assert.equal(status, "0x1");
    assert.equal(await node.call("eth_getCode", contractAddress, "latest"), "0x00");
  });

  it("EIP-7702, with an authorization signed here too", async () => {
    // The authority sends the transaction itself, so its nonce is one further by then.
    const authorization = { address: to, chainId, nonce: nonce + 1 };
    const digest = hashAuthorization({ address: to, chainId: BigInt(chainId), nonce: BigInt(nonce + 1) });
    const { r, s, yParity } = signed(digest);
    const authorizationList = [{ ...authorization, r: `0x${r}`, s: `0x${s}`, yParity }];
    const receipt = await send({ type: "eip7702", chainId, ...fees, to: from, authorizationList });
    assert.deepEqual([receipt.status, receipt.from, receipt.type], ["0x1", from, "0x4"]);
    assert.equal(await node.call("eth_getCode", from, "latest"), `0xef0100${to.slice(2)}`);
  });

  it("and it refuses one whose signature is another's", async () => {
    const unsigned = serializeTransaction({ type: "eip1559", chainId, nonce, gas: 21_000n, ...fees, to, value: 1n });
    const altered = Buffer.from(signTransaction(unsigned).slice(2), "hex");
    altered[altered.length - 1] = (altered.at(-1) ?? 0) ^ 1;
    // Its sender is then an address that has nothing.
    await assert.rejects(node.call("eth_sendRawTransaction", `0x${toHex(altered)}`), /funds/i);
  });
});
