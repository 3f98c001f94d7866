import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { type Hex, keccak256, parseTransaction, serializeTransaction } from "viem";
import { privateKeyToAccount, privateKeyToAddress } from "viem/accounts";
import { byteMutations } from "../../../test/support/byte-mutations.ts";
import { bytesFromHex, toHex } from "../../kernel/bytes.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { parseSignedTransaction, senderOf, transactionHash } from "./signed-transaction.ts";
import { parseUnsignedTransaction, serializeSigned } from "./transaction.ts";

const FIELD = "parameters.signedTransaction";
const key = `0x${"46".repeat(32)}` as const;
const sender = privateKeyToAddress(key);
const bytesOf = (hex: string): Buffer => bytesFromHex(hex.replace(/^0x/, "")) ?? assert.fail(hex);
const parse = (hex: string) => parseSignedTransaction(bytesOf(hex), FIELD);
const transfer = { to: `0x${"35".repeat(20)}`, value: 1n, gas: 21_000n, nonce: 0 } as const;
const fees = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n };
const sign = (transaction: object): Promise<Hex> =>
  privateKeyToAccount(key).signTransaction({ ...transfer, ...transaction } as never);

interface Vector {
  name: string;
  unsigned: string;
  signed: string;
}
const file = new URL("../../../test/vectors/evm-transactions/valid.json", import.meta.url);
const vectors = (JSON.parse(readFileSync(file, "utf8")) as { cases: Vector[] }).cases;
/** A blob transaction is sent together with its blobs, and one without a chain id is valid on every chain; neither is accepted. */
const isSendable = ({ signed, name }: Vector) => !signed.startsWith("03") && !/before EIP-155|nothing but/.test(name);
const sendable = vectors.filter(isSendable);

describe("a signed transaction", () => {
  it("of the vectors is the unsigned one with its sender and hash", () => {
    assert.ok(sendable.length >= 15, `only ${sendable.length} vectors`);
    for (const { name, unsigned, signed } of sendable) {
      const parsed = parse(signed);
      assert.deepEqual(parsed.transaction, parseUnsignedTransaction(bytesOf(unsigned), FIELD), name);
      assert.equal(senderOf(parsed, FIELD), sender, name);
      assert.equal(transactionHash(parsed), keccak256(`0x${signed}`), name);
    }
  });

  it("with one byte changed, removed or added is refused, or is its own encoding and another's", () => {
    let others = 0;
    for (const { name, signed } of sendable.filter(({ signed }) => signed.length < 500)) {
      for (const bytes of byteMutations(bytesOf(signed))) {
        const parsed = readOrRefused(bytes, name);
        if (!parsed || toHex(bytes) === signed) continue;
        others++;
        assert.deepEqual(serializeSigned(parsed.transaction, parsed.signature), Buffer.from(bytes), name);
        assert.notEqual(signerOrNobody(parsed), sender, name);
      }
    }
    assert.ok(others > 1000, `only ${others} could be read`);
  });

  it("is read as other libraries write it", async () => {
    const signed = await sign({ type: "eip1559", chainId: 8453, ...fees, data: "0x1234" });
    const { transaction } = parse(signed);
    const { chainId, nonce, to, value, data } = parseTransaction(signed);
    assert.deepEqual(
      [transaction.chainId, transaction.nonce, transaction.to, transaction.value, transaction.data],
      [BigInt(chainId ?? 0), BigInt(nonce ?? 0), to, value, data],
    );
  });
});

describe("refused is", () => {
  const unsigned = serializeTransaction({ type: "eip1559", chainId: 1, ...fees, ...transfer });
  const typed = { type: "eip1559", chainId: 1, ...fees } as const;
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

  const cases: [name: string, code: string, reason: RegExp, make: () => Promise<string> | string][] = [
    ["nothing", "TRANSACTION_INVALID", /it is empty$/, () => ""],
    ["one that is not signed", "TRANSACTION_INVALID", /it is not signed$/, () => unsigned],
    ["a legacy one that is not signed", "TRANSACTION_INVALID", /it is not signed$/, legacyUnsigned],
    ["a legacy one of every chain", "TRANSACTION_INVALID", /names no chain/, () => sign({ gasPrice: 1n })],
    ["one that the signing form of EIP-155 is", "TRANSACTION_INVALID", /v must name the chain/, eip155Unsigned],
    ["one with blobs", "TRANSACTION_UNSUPPORTED", /type 0x03; legacy, 0x01, 0x02 and 0x04 can be sent$/, () => "03c0"],
    ["one of Tempo", "TRANSACTION_UNSUPPORTED", /type 0x76/, () => "76c0"],
    ["one of a type from the future", "TRANSACTION_UNSUPPORTED", /type 0x05/, () => "05c0"],
    [
      "one longer than 128 KiB",
      "TRANSACTION_INVALID",
      /longer than 131072 bytes/,
      () => sign({ ...typed, data: `0x${"5b".repeat(131_072)}` }),
    ],
    ["bytes after it", "TRANSACTION_INVALID", /RLP/, async () => `${await sign(typed)}00`],
    ["a recovery bit of 2", "TRANSACTION_INVALID", /yParity must be 0 or 1/, () => forged({ yParity: 2n })],
    ["an s in the upper half", "TRANSACTION_INVALID", /upper half/, () => forged({ s: order - 5n })],
    ["an s of zero", "TRANSACTION_INVALID", /none that a key could have made/, () => forged({ s: 0n })],
    ["an r that is no point", "TRANSACTION_INVALID", /none that a key could have made/, () => forged({ r: order })],
  ];
  for (const [name, code, message, make] of cases) {
    it(name, async () => {
      const hex = await make();
      assert.throws(() => senderOf(parse(hex), FIELD), { code, message });
    });
  }

  function legacyUnsigned(): string {
    return serializeTransaction({ type: "legacy", gasPrice: 1n, ...transfer });
  }

  function eip155Unsigned(): string {
    return serializeTransaction({ type: "legacy", chainId: 1, gasPrice: 1n, ...transfer });
  }

  /** A signature assembled by hand. */
  function forged({ r = 5n, s = 5n, yParity = 0n }): string {
    const transaction = parseUnsignedTransaction(bytesOf(unsigned), FIELD);
    const hex = (value: bigint) => value.toString(16).padStart(64, "0");
    return serializeSigned(transaction, { r: hex(r), s: hex(s), yParity: Number(yParity) as 0 }).toString("hex");
  }
});

function readOrRefused(bytes: Uint8Array, name: string) {
  try {
    return parseSignedTransaction(bytes, FIELD);
  } catch (error) {
    assert.ok(error instanceof KeysteadError && error.code.startsWith("TRANSACTION_"), `${name}: ${error}`);
    return undefined;
  }
}

function signerOrNobody(parsed: ReturnType<typeof parse>): string | undefined {
  try {
    return senderOf(parsed, FIELD);
  } catch (error) {
    assert.ok(error instanceof KeysteadError && error.code === "TRANSACTION_INVALID", String(error));
    return undefined;
  }
}
