import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  checksumAddress,
  concat,
  hexToBytes,
  keccak256,
  numberToHex,
  parseTransaction as parseWithViem,
  serializeTransaction,
  toRlp,
} from "viem";
import { authorizationIn, readAuthorization } from "../../console/src/chains/authorization.ts";
import { checksummed, readEvmTransaction } from "../../console/src/chains/evm-transaction.ts";
import {
  isSolanaAddress,
  readSolanaTransaction,
  SYSTEM_PROGRAM,
  solTransfer,
  transferOf,
} from "../../console/src/chains/solana-transaction.ts";
import { readTempoTransaction } from "../../console/src/chains/tempo-transaction.ts";
import { parseAuthorization } from "../../src/chains/evm/authorization.ts";
import { parseTransaction } from "../../src/chains/solana/transaction.ts";
import { parseUnsignedTempoTransaction } from "../../src/chains/tempo/transaction.ts";
import { readWithOtherBytes } from "../support/changed-bytes.ts";

interface Vectors {
  cases: { name: string; unsigned: string; transaction: string }[];
}
const vectors = (chain: string): Vectors["cases"] =>
  JSON.parse(readFileSync(new URL(`../vectors/${chain}-transactions/valid.json`, import.meta.url), "utf8")).cases;

const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString("hex"));
const amount = fc.bigInt({ min: 0n, max: 2n ** 128n });

describe("EIP-7702 authorizations in the console", () => {
  const cases = (name: string): { name: string; data?: unknown; text?: string; hash: string }[] =>
    JSON.parse(readFileSync(new URL(`../vectors/eip7702/${name}.json`, import.meta.url), "utf8")).cases;

  it("are read as the server reads them, of every vector, and in the bytes that are hashed for them", () => {
    const valid = cases("valid");
    assert.ok(valid.length >= 5);
    for (const { name, data, hash } of valid) {
      const json = JSON.stringify(data);
      const read = readAuthorization(json);
      const { address: contract, chainId, nonce } = parseAuthorization(json, "payload");
      const expected = { address: checksumAddress(contract as never), chainId: String(chainId), nonce: String(nonce) };
      assert.deepEqual(read, expected, name);
      const fields = [numberToHex(chainId), contract, numberToHex(nonce)].map((each) => (each === "0x0" ? "0x" : each));
      const bytes = concat([
        "0x05",
        toRlp(fields.map((each) => (each.length % 2 ? `0x0${each.slice(2)}` : each)) as never),
      ]);
      assert.equal(keccak256(bytes), hash, name);
      assert.deepEqual(authorizationIn(hexToBytes(bytes)), expected, name);
      assert.equal(authorizationIn(hexToBytes(`${bytes}00`)), undefined);
    }
  });

  it("of any other text or bytes are not read, and nothing is thrown", () => {
    for (const { name, data, text = JSON.stringify(data) } of cases("invalid")) {
      const read = readAuthorization(text);
      // A key that stands twice is the server's to refuse, which never stores it.
      if (!/twice/.test(name)) assert.equal(read, undefined, name);
    }
    for (const text of ["null", "1", "[]", "{}", " ".repeat(2000)])
      assert.equal(readAuthorization(text), undefined, text);
    fc.assert(fc.property(fc.json(), (text) => void readAuthorization(text)));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => void authorizationIn(Uint8Array.of(5, ...bytes))),
    );
  });
});

describe("Tempo transactions in the console", () => {
  const cases = vectors("tempo") as (Vectors["cases"][number] & { signed: string })[];

  it("are read as the server reads them, of every vector", () => {
    assert.ok(cases.length >= 5);
    for (const { name, unsigned } of cases) {
      const read = readTempoTransaction(unsigned);
      const of = parseUnsignedTempoTransaction(Buffer.from(unsigned, "hex"), "unsignedTransaction");
      assert.deepEqual(
        read,
        {
          chainId: String(of.chainId),
          calls: of.calls.map(({ to, value, input }) => ({
            to: to === "" ? undefined : checksumAddress(to as never),
            value: String(value),
            data: input,
          })),
          gasPrice: String(of.maxFeePerGas),
          gasLimit: String(of.gas),
          nonceKey: String(of.nonceKey),
          nonce: String(of.nonce),
          validBefore: String(of.validBefore),
          validAfter: String(of.validAfter),
          feeToken: of.feeToken === "" ? undefined : checksumAddress(of.feeToken as never),
          hasFeePayer: of.feePayerSignature !== "0x",
          authorizations: of.authorizationList.length,
          permitsKey: of.keyAuthorization !== undefined,
        },
        name,
      );
      assert.equal(readEvmTransaction(unsigned), undefined, name);
    }
    assert.ok(cases.some(({ unsigned }) => readTempoTransaction(unsigned)?.permitsKey));
    assert.ok(cases.some(({ unsigned }) => readTempoTransaction(unsigned)?.hasFeePayer));
  });

  it("that are signed, cut or changed are not read as others, and nothing is thrown", () => {
    const [{ unsigned, signed } = { unsigned: "", signed: "" }] = cases;
    assert.equal(readTempoTransaction(signed), undefined);
    assert.equal(readTempoTransaction(`${unsigned}00`), undefined);
    assert.equal(readTempoTransaction(unsigned.slice(0, -2)), undefined);
    assert.equal(readTempoTransaction("76".repeat(128 * 1024 + 1)), undefined);
    readWithOtherBytes(readTempoTransaction, unsigned);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        readTempoTransaction(`76${Buffer.from(bytes).toString("hex")}`);
      }),
    );
  });
});

describe("Ethereum transactions in the console", () => {
  it("are read as viem reads them, of every vector", () => {
    const cases = vectors("evm");
    assert.ok(cases.length >= 10);
    for (const { name, unsigned } of cases) {
      const read = readEvmTransaction(unsigned);
      const { to, value = 0n, data = "0x", nonce = 0, chainId, gas = 0n } = parseWithViem(`0x${unsigned}`);
      assert.ok(read, name);
      assert.equal(read.to, to ? checksumAddress(to) : undefined, name);
      assert.deepEqual([read.value, read.data, read.nonce], [String(value), data, String(nonce)], name);
      assert.deepEqual([read.chainId, read.gasLimit], [chainId?.toString(), String(gas)], name);
      const { authorizationList = [] } = parseWithViem(`0x${unsigned}`) as { authorizationList?: readonly unknown[] };
      assert.equal(read.authorizations, authorizationList.length, name);
    }
  });

  it("are read again as they were written", () => {
    fc.assert(
      fc.property(address, amount, fc.uint8Array({ maxLength: 300 }), fc.nat(), (to, value, data, nonce) => {
        const hex = Buffer.from(data).toString("hex");
        const wire = serializeTransaction({
          type: "eip1559",
          chainId: 1,
          nonce,
          to: `0x${to}`,
          value,
          data: `0x${hex}`,
          gas: 21_000n,
          maxFeePerGas: 7n,
        });
        const read = readEvmTransaction(wire);
        assert.deepEqual(
          [read?.type, read?.chainId, read?.to, read?.value, read?.data, read?.gasPrice],
          [2, "1", checksumAddress(`0x${to}`), String(value), `0x${hex}`, "7"],
        );
        assert.equal(readEvmTransaction(`${wire}00`), undefined);
        assert.equal(readEvmTransaction(wire.slice(0, -2)), undefined);
      }),
    );
  });

  it("of any bytes are read or not, and nothing is thrown", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom("", "01", "02", "03", "04"), (bytes, type) => {
        readEvmTransaction(type + Buffer.from(bytes).toString("hex"));
      }),
    );
    const [{ unsigned } = { unsigned: "" }] = vectors("evm");
    readWithOtherBytes(readEvmTransaction, unsigned);
  });

  it("that are too large or nested too deeply are not read", () => {
    assert.equal(readEvmTransaction("00".repeat(128 * 1024 + 1)), undefined);
    assert.equal(readEvmTransaction("c1".repeat(2000)), undefined);
    const item = Buffer.concat([Buffer.from("fa01fffc", "hex"), Buffer.alloc(0x1fffc, 0x01)]);
    assert.equal(readEvmTransaction(item.toString("hex")), undefined);
    for (const text of ["", "0x", "zz", "c0", "80", "0xf8"]) assert.equal(readEvmTransaction(text), undefined, text);
  });

  it("have their addresses spelled with the checksum of EIP-55", () => {
    fc.assert(fc.property(address, (digits) => assert.equal(checksummed(digits), checksumAddress(`0x${digits}`))));
  });
});

describe("Solana transactions in the console", () => {
  it("are read as the server reads them, of every vector", () => {
    const cases = vectors("solana");
    assert.ok(cases.length >= 5);
    for (const { name, transaction } of cases) {
      const read = readSolanaTransaction(transaction);
      const expected = parseTransaction(Buffer.from(transaction, "hex"), "transaction");
      assert.ok(read, name);
      assert.equal(read.recentBlockhash, expected.recentBlockhash, name);
      assert.equal(read.feePayer, expected.accounts[0]?.key, name);
      assert.deepEqual(
        read.instructions.map(({ program, accounts, data }) => [program, accounts, Buffer.from(data)]),
        expected.instructions.map(({ program, accounts, data }) => [
          program.key,
          accounts.map(({ key, lookup }) => (lookup ? undefined : key)),
          Buffer.from(data),
        ]),
        name,
      );
    }
  });

  const from = "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi";
  const to = "8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR";

  it("are made to move SOL, and are read so by the server and here", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.boolean(), (lamports, isSelf) => {
        const payee = isSelf ? from : to;
        const wire = solTransfer({ from, to: payee, lamports });
        const [instruction] = parseTransaction(Buffer.from(wire, "hex"), "transaction").instructions;
        assert.deepEqual(
          instruction?.accounts.map(({ key, signer, writable }) => [key, signer, writable]),
          [
            [from, true, true],
            [payee, isSelf, true],
          ],
        );
        assert.equal(instruction?.program.key, SYSTEM_PROGRAM);
        const read = readSolanaTransaction(wire);
        assert.deepEqual(read?.instructions.map(transferOf), [{ amount: String(lamports), to: payee }]);
        assert.equal(read?.feePayer, from);
      }),
    );
    assert.throws(() => solTransfer({ from, to: "no address", lamports: 1n }));
  });

  it("of any bytes are read or not, and nothing is thrown", () => {
    const wire = Buffer.from(solTransfer({ from, to, lamports: 5n }), "hex");
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        (bytes) => void readSolanaTransaction(Buffer.from(bytes).toString("hex")),
      ),
    );
    fc.assert(
      fc.property(fc.nat(wire.length - 1), fc.nat(255), (at, byte) => {
        const changed = Buffer.from(wire);
        changed[at] = byte;
        for (const instruction of readSolanaTransaction(changed.toString("hex"))?.instructions ?? [])
          transferOf(instruction);
      }),
    );
    assert.equal(readSolanaTransaction(`${wire.toString("hex")}00`), undefined);
    assert.equal(readSolanaTransaction("00".repeat(1233)), undefined);
  });

  it("know addresses, and what is none", () => {
    for (const text of [from, to, SYSTEM_PROGRAM]) assert.ok(isSolanaAddress(text), text);
    for (const text of ["", "0x00", `1${from}`, from.slice(10), "O".repeat(32), "1".repeat(5000)])
      assert.ok(!isSolanaAddress(text));
  });
});
