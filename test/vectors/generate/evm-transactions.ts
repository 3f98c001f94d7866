/** Writes the vectors of Ethereum and Tempo transactions anew. Keys are fixed, so the files come out the same. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { Transaction } from "ethers";
import { fromRlp, type Hex, keccak256, serializeTransaction, type TransactionSerializable, toRlp } from "viem";
import { privateKeyToAccount, sign } from "viem/accounts";
import { Account as TempoAccount, Transaction as TempoTransaction } from "viem/tempo";

type Signature = { r: Hex; s: Hex; v: bigint; yParity: 0 | 1 };
type Nested = Hex | Nested[];

const privateKey: Hex = `0x${"46".repeat(32)}`;
const account = privateKeyToAccount(privateKey);
const to: Hex = `0x${"3535".repeat(10)}`;
const other: Hex = `0x${"9a".repeat(20)}`;
const key = (byte: string): Hex => `0x${byte.repeat(32)}`;
const text = (hex: Hex): string => hex.slice(2);

async function signatureOf(hash: Hex): Promise<Signature> {
  const { r, s, yParity } = await sign({ hash, privateKey });
  const [full, parity] = [(part: Hex): Hex => `0x${text(part).padStart(64, "0")}`, yParity === 1 ? 1 : 0] as const;
  return { r: full(r), s: full(s), v: 27n + BigInt(parity), yParity: parity };
}

async function validCase(name: string, transaction: TransactionSerializable) {
  const unsigned = serializeTransaction(transaction);
  const hash = keccak256(unsigned);
  const signature = await signatureOf(hash);
  const signed = serializeTransaction(transaction, signature);
  const again = Transaction.from(unsigned);
  assert.equal(again.unsignedSerialized, unsigned, name);
  assert.equal(again.unsignedHash, hash, name);
  again.signature = signature;
  assert.equal(again.serialized, signed, name);
  assert.equal(again.from, account.address, name);
  return validEntry(name, unsigned, hash, signature, signed);
}

function validEntry(name: string, unsigned: Hex, hash: Hex, { r, s, yParity }: Signature, signed: Hex) {
  const hex = { unsigned: text(unsigned), hash: text(hash), r: text(r), s: text(s) };
  return { name, ...hex, yParity, signed: text(signed) };
}

const fees = { maxFeePerGas: 30_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
const transfer: Hex = `0xa9059cbb${text(other).padStart(64, "0")}${"de0b6b3a7640000".padStart(64, "0")}`;
const accessList = [
  { address: other, storageKeys: [key("01"), key("00")] },
  { address: to, storageKeys: [] },
];
const authorizations = await Promise.all(
  [0, 8453].map((chainId, nonce) => account.signAuthorization({ address: other, chainId, nonce })),
);
const blobs = {
  blobVersionedHashes: [`0x01${"ab".repeat(31)}`, `0x01${"00".repeat(31)}`] as Hex[],
  maxFeePerBlobGas: 7n,
};
const max64 = 2n ** 64n - 1n;
const max256 = 2n ** 256n - 1n;
const eip155 = {
  type: "legacy",
  chainId: 1,
  nonce: 9,
  gasPrice: 20_000_000_000n,
  gas: 21_000n,
  to,
  value: 10n ** 18n,
} as const;
const dynamic = { type: "eip1559", chainId: 8453, nonce: 1, ...fees, gas: 60_000n, to, data: transfer } as const;

const valid = [
  await validCase("the example of EIP-155", eip155),
  await validCase("legacy before EIP-155", { type: "legacy", nonce: 0, gasPrice: 1n, gas: 21_000n, to, value: 1n }),
  await validCase("legacy, nothing but zeros", { type: "legacy", nonce: 0, gasPrice: 0n, gas: 0n, to, value: 0n }),
  await validCase("legacy creation", { ...eip155, to: null, value: 0n, data: "0x6001600101" }),
  await validCase("legacy on a chain of three bytes", { ...eip155, chainId: 11_155_111 }),
  await validCase("legacy on chain 27, like a signature's v", { ...eip155, chainId: 27 }),
  await validCase("legacy with data of one byte below 0x80", { ...eip155, data: "0x7f" }),
  await validCase("legacy with data of one zero byte", { ...eip155, data: "0x00" }),
  await validCase("legacy with data of 55 bytes", { ...eip155, data: `0x${"11".repeat(55)}` }),
  await validCase("legacy with data of 56 bytes", { ...eip155, data: `0x${"11".repeat(56)}` }),
  await validCase("legacy with data of 300 bytes", { ...eip155, data: `0x${"5b".repeat(300)}` }),
  await validCase("EIP-2930", { type: "eip2930", chainId: 1, nonce: 3, gasPrice: 5n, gas: 30_000n, to, accessList }),
  await validCase("EIP-2930 creation, empty access list", {
    type: "eip2930",
    chainId: 10,
    gasPrice: 5n,
    gas: 9n,
    data: "0xfe",
  }),
  await validCase("EIP-1559 token transfer", dynamic),
  await validCase("EIP-1559 with an access list", { ...dynamic, accessList }),
  await validCase("EIP-1559 creation", { ...dynamic, to: null, data: "0x600160015500" }),
  await validCase("EIP-1559 without fees", { type: "eip1559", chainId: 1, gas: 21_000n, to }),
  await validCase("EIP-1559, priority fee equal to the fee", { ...dynamic, maxPriorityFeePerGas: fees.maxFeePerGas }),
  await validCase("EIP-1559, widest integers", {
    ...dynamic,
    chainId: Number.MAX_SAFE_INTEGER,
    nonce: Number.MAX_SAFE_INTEGER,
    maxFeePerGas: max256,
    maxPriorityFeePerGas: max256,
    gas: max64,
    value: max256,
  }),
  await validCase("EIP-4844", { ...dynamic, ...blobs, type: "eip4844" }),
  await validCase("EIP-4844 with an access list", { ...dynamic, ...blobs, type: "eip4844", accessList }),
  await validCase("EIP-7702", { ...dynamic, type: "eip7702", authorizationList: authorizations }),
  await validCase("EIP-7702 with an access list", {
    ...dynamic,
    type: "eip7702",
    authorizationList: authorizations.slice(1),
    accessList,
  }),
];

type Code = "TRANSACTION_INVALID" | "TRANSACTION_UNSUPPORTED";
const entry = (name: string, code: Code, reason: string, unsigned: string) => ({ name, code, reason, unsigned });
const invalid = (name: string, reason: string, unsigned: Hex) =>
  entry(name, "TRANSACTION_INVALID", `cannot be signed: ${reason}`, text(unsigned));
const unsupported = (name: string, reason: string, unsigned: string) =>
  entry(name, "TRANSACTION_UNSUPPORTED", reason, unsigned);

/** The members of a transaction, with some of them changed, in RLP again. */
function altered(unsigned: Hex, change: (items: Nested[]) => void): Hex {
  const isTyped = !/^0x[cdef]/.test(unsigned);
  const items = fromRlp(isTyped ? `0x${unsigned.slice(4)}` : unsigned, "hex") as Nested[];
  change(items);
  return `${isTyped ? unsigned.slice(0, 4) : "0x"}${text(toRlp(items as never))}` as Hex;
}

function setting(unsigned: Hex, index: number, value: Nested): Hex {
  return altered(unsigned, (items) => {
    items[index] = value;
  });
}

const named = (name: string): Hex => `0x${valid.find((each) => each.name === name)?.unsigned ?? assert.fail(name)}`;
const signedForm = (name: string): Hex => `0x${valid.find((each) => each.name === name)?.signed ?? assert.fail(name)}`;
const legacy = named("the example of EIP-155");
const type1 = named("EIP-2930");
const type2 = named("EIP-1559 token transfer");
const type3 = named("EIP-4844");
const type4 = named("EIP-7702");
const SIGNED = "it is signed already; send it without its signature";
const authorization = (fromRlp(`0x${type4.slice(4)}`, "hex") as Nested[])[9] as Nested[][];
const oddAuthorization = (index: number, value: Nested): Hex =>
  setting(type4, 9, [(authorization[0] ?? []).map((item, at) => (at === index ? value : item))]);

const refused = [
  invalid("no bytes", "it is empty", "0x"),
  unsupported("type 0", "has the type 0x00; supported are legacy and 0x01 to 0x04", "00c0"),
  unsupported("type 5", "has the type 0x05; supported are legacy and 0x01 to 0x04", `05${type2.slice(4)}`),
  unsupported("Tempo", "has the type 0x76; send it as TRANSACTION_TYPE_TEMPO", "76c0"),
  unsupported("type 0x7f", "has the type 0x7f; supported are legacy and 0x01 to 0x04", "7fc0"),
  invalid("a byte string", "it begins with neither a transaction type nor a list", "0x83010203"),
  invalid("a typed transaction as a byte string", "it begins with neither a transaction type nor a list", toRlp(type2)),
  invalid("type alone", "its RLP ends too early", "0x02"),
  invalid("cut short", "its RLP ends too early", legacy.slice(0, -2) as Hex),
  invalid("a byte too many", "its RLP has bytes after its end", `${legacy}00`),
  invalid("two transactions", "its RLP has bytes after its end", `${type2}${type2.slice(4)}` as Hex),
  invalid("a long length for a short list", "its RLP has a length in a longer spelling than needed", "0xf801c0"),
  invalid(
    "a length with a leading zero",
    "its RLP has a length in a longer spelling than needed",
    `0xf90000${"c0".repeat(9)}`,
  ),
  invalid("a length of eight bytes", "its RLP ends too early", `0xff${"ff".repeat(8)}`),
  invalid("a byte with a length before it", "its RLP has a byte below 0x80 with a length before it", "0xc28101"),
  invalid("lists too deep", "its RLP is nested deeper than 16 lists", `0xd1d0cfcecdcccbcac9c8c7c6c5c4c3c2c1c0`),
  invalid(
    "too many items",
    "its RLP has more than 16384 items",
    toRlp(Array.from({ length: 20_000 }, () => "0x" as Hex)),
  ),
  invalid("an empty list", "it has 0 members; a legacy transaction has 6, or 9 with chainId, 0, 0 at its end", "0xc0"),
  invalid(
    "chainId alone at the end",
    "it has 7 members; a legacy transaction has 6, or 9 with chainId, 0, 0 at its end",
    altered(legacy, (items) => void items.splice(7)),
  ),
  invalid("signed legacy", SIGNED, signedForm("the example of EIP-155")),
  invalid("signed legacy before EIP-155", SIGNED, signedForm("legacy before EIP-155")),
  invalid("signed EIP-2930", SIGNED, signedForm("EIP-2930")),
  invalid("signed EIP-1559", SIGNED, signedForm("EIP-1559 token transfer")),
  invalid("signed EIP-4844", SIGNED, signedForm("EIP-4844")),
  invalid("signed EIP-7702", SIGNED, signedForm("EIP-7702")),
  invalid("legacy with r alone", SIGNED, setting(legacy, 7, "0x01")),
  invalid("legacy with s alone", SIGNED, setting(legacy, 8, "0x01")),
  invalid("legacy with lists at its end", "it is not in its one canonical encoding", setting(legacy, 8, [])),
  invalid(
    "legacy with chain 0",
    "chainId must not be 0; leave it and the two zeros out to sign without one",
    setting(legacy, 6, "0x"),
  ),
  invalid("chain 0", "chainId must not be 0", setting(type2, 0, "0x")),
  invalid("chain 0 as a zero byte", "chainId is an integer with a leading zero byte", setting(type2, 0, "0x00")),
  invalid("chain of 65 bits", "chainId is an integer of more than 64 bits", setting(type2, 0, `0x01${"00".repeat(8)}`)),
  invalid(
    "legacy chain of 65 bits",
    "chainId is an integer of more than 64 bits",
    setting(legacy, 6, `0x01${"00".repeat(8)}`),
  ),
  invalid("nonce with a leading zero", "nonce is an integer with a leading zero byte", setting(legacy, 0, "0x0009")),
  invalid("nonce of 65 bits", "nonce is an integer of more than 64 bits", setting(type2, 1, `0x01${"00".repeat(8)}`)),
  invalid("nonce as a list", "nonce must be bytes and not a list", setting(legacy, 0, [])),
  invalid("gas of 65 bits", "gas is an integer of more than 64 bits", setting(type2, 4, `0x01${"00".repeat(8)}`)),
  invalid(
    "gas price of 257 bits",
    "gasPrice is an integer of more than 256 bits",
    setting(legacy, 1, `0x01${"00".repeat(32)}`),
  ),
  invalid(
    "fee of 257 bits",
    "maxFeePerGas is an integer of more than 256 bits",
    setting(type2, 3, `0x01${"00".repeat(32)}`),
  ),
  invalid(
    "value of 257 bits",
    "value is an integer of more than 256 bits",
    setting(type2, 6, `0x01${"00".repeat(32)}`),
  ),
  invalid(
    "priority fee above the fee",
    "maxPriorityFeePerGas must not be higher than `maxFeePerGas`",
    setting(type2, 2, "0x06fc23ac01"),
  ),
  invalid("to of 19 bytes", "to must have 20 bytes", setting(type2, 5, `0x${"11".repeat(19)}`)),
  invalid("to of 21 bytes", "to must have 20 bytes", setting(legacy, 3, `0x${"11".repeat(21)}`)),
  invalid("to of 32 bytes", "to must have 20 bytes", setting(type1, 4, key("11"))),
  invalid("to as an empty list", "to must be bytes and not a list", setting(type2, 5, [])),
  invalid("blobs to nobody", "to must have 20 bytes", setting(type3, 5, "0x")),
  invalid("set code to nobody", "to must have 20 bytes", setting(type4, 5, "0x")),
  invalid("data as a list", "data must be bytes and not a list", setting(type2, 7, ["0x01"])),
  invalid("access list as bytes", "accessList must be a list", setting(type2, 8, "0x")),
  invalid(
    "access list entry as bytes",
    "accessList[0] must be a list of address, storageKeys",
    setting(type2, 8, [to]),
  ),
  invalid(
    "access list entry with three members",
    "accessList[0] has 3 members and not the 2 members address, storageKeys",
    setting(type2, 8, [[to, [], []]]),
  ),
  invalid("access list address", "accessList[0].address must have 20 bytes", setting(type2, 8, [["0x", []]])),
  invalid(
    "storage keys as bytes",
    "accessList[1].storageKeys must be a list",
    setting(type1, 7, [
      [to, []],
      [to, "0x"],
    ]),
  ),
  invalid(
    "storage key of 31 bytes",
    "accessList[0].storageKeys[1] must have 32 bytes",
    setting(type2, 8, [[to, [key("01"), `0x${"01".repeat(31)}`]]]),
  ),
  invalid(
    "a member missing",
    "it has 8 members and not the 9 members chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas, to, value, data, accessList",
    altered(type2, (items) => void items.pop()),
  ),
  invalid(
    "a member too many",
    "it has 10 members and not the 9 members chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas, to, value, data, accessList",
    altered(type2, (items) => void items.push("0x")),
  ),
  invalid("no blob", "blobVersionedHashes must not be empty", setting(type3, 10, [])),
  invalid(
    "blob hash of another version",
    "blobVersionedHashes[0] must begin with 0x01",
    setting(type3, 10, [key("02")]),
  ),
  invalid(
    "blob hash of 31 bytes",
    "blobVersionedHashes[0] must have 32 bytes",
    setting(type3, 10, [`0x${"01".repeat(31)}`]),
  ),
  invalid(
    "blobs around the body",
    "it has blobs around it; send the transaction's body alone and put them back after signing",
    `0x03${text(toRlp([fromRlp(`0x${type3.slice(4)}`, "hex"), ["0x01"], ["0x02"], ["0x03"]] as never))}`,
  ),
  invalid("no authorization", "authorizationList must not be empty", setting(type4, 9, [])),
  invalid(
    "authorization without signature",
    "authorizationList[0] has 3 members and not the 6 members chainId, address, nonce, yParity, r, s",
    setting(type4, 9, [(authorization[0] ?? []).slice(0, 3)]),
  ),
  invalid(
    "authorization with r 0",
    "authorizationList[0] must be signed before the transaction is",
    oddAuthorization(4, "0x"),
  ),
  invalid(
    "authorization with s 0",
    "authorizationList[0] must be signed before the transaction is",
    oddAuthorization(5, "0x"),
  ),
  invalid("authorization with parity 27", "authorizationList[0].yParity must be 0 or 1", oddAuthorization(3, "0x1b")),
  invalid(
    "authorization of nobody's code",
    "authorizationList[0].address must have 20 bytes",
    oddAuthorization(1, "0x"),
  ),
  invalid(
    "authorization with a nonce of 65 bits",
    "authorizationList[0].nonce is an integer of more than 64 bits",
    oddAuthorization(2, `0x01${"00".repeat(8)}`),
  ),
];

const root = TempoAccount.fromSecp256k1(privateKey);
const accessKey = TempoAccount.fromSecp256k1(key("47"), { access: root });
const feeToken: Hex = "0x20c0000000000000000000000000000000000001";
const pay = { chainId: 42_431, nonce: 7, ...fees, gas: 60_000n, feeToken, calls: [{ to: feeToken, data: transfer }] };

async function tempoCase(name: string, transaction: object) {
  const serialize = TempoTransaction.serialize as (transaction: object, signature?: Signature) => Promise<Hex>;
  const full = { type: "tempo", ...transaction };
  const unsigned = await serialize(full);
  const hash = keccak256(unsigned);
  const signature = await signatureOf(hash);
  const signed = await serialize(full, signature);
  const read = TempoTransaction.deserialize(signed) as { from?: string };
  assert.equal(read.from, account.address.toLowerCase(), name);
  return validEntry(name, unsigned, hash, signature, signed);
}

const keyAuthorization = await root.signKeyAuthorization(accessKey, {
  chainId: 42_431n,
  expiry: 1_800_000_000,
  limits: [{ token: feeToken, limit: 1_000_000n }],
} as never);
const tempoAuthorization = { address: other, chainId: 42_431, nonce: 3n, signature: keyAuthorization.signature };

const tempoValid = [
  await tempoCase("a token transfer", pay),
  await tempoCase("no fee token", { ...pay, feeToken: undefined }),
  await tempoCase("a batch with a creation and an empty call", {
    ...pay,
    calls: [{ data: "0x600160015500" }, { to, data: transfer }, { to: other }, { to, data: "0xa9059c" }],
  }),
  await tempoCase("a window of time", { ...pay, validAfter: 1_700_000_000, validBefore: 1_800_000_000 }),
  await tempoCase("valid before alone", { ...pay, validBefore: 1 }),
  await tempoCase("a nonce key", { ...pay, nonceKey: 2n ** 192n - 1n }),
  await tempoCase("an expiring nonce", { ...pay, nonceKey: max256, nonce: 0, validBefore: 1_800_000_000 }),
  await tempoCase("an access list", { ...pay, accessList }),
  await tempoCase("a fee payer to come", { ...pay, feeToken: undefined, feePayerSignature: null }),
  await tempoCase("an authorization", { ...pay, authorizationList: [tempoAuthorization] }),
  await tempoCase("a key authorization", { ...pay, keyAuthorization }),
  await tempoCase("a key authorization and a fee payer to come", {
    ...pay,
    feeToken: undefined,
    feePayerSignature: null,
    keyAuthorization,
  }),
  await tempoCase("no fees", { chainId: 1, calls: [{ to }] }),
];

const tempoNamed = (name: string, form: "unsigned" | "signed" = "unsigned"): Hex =>
  `0x${tempoValid.find((each) => each.name === name)?.[form] ?? assert.fail(name)}`;
const tempo = tempoNamed("a token transfer");
const withKey = tempoNamed("a key authorization");
const UNSIGNED = "must be signed before the transaction is";
const NOT_TEMPO = "is not a Tempo transaction, which begins with 0x76";

const tempoRefused = [
  invalid("no bytes", "it is empty", "0x"),
  unsupported("EIP-1559", NOT_TEMPO, text(type2)),
  unsupported("a fee payer's format", NOT_TEMPO, `78${tempo.slice(4)}`),
  invalid("type alone", "its RLP ends too early", "0x76"),
  invalid("a byte string", `it must be a list of ${tempoMembers()}`, "0x7680"),
  invalid("a byte too many", "its RLP has bytes after its end", `${tempo}00`),
  invalid("signed", SIGNED, tempoNamed("a token transfer", "signed")),
  invalid("signed, with a key authorization", SIGNED, tempoNamed("a key authorization", "signed")),
  invalid(
    "a member missing",
    `it has 12 members and not the 13 members ${tempoMembers()}`,
    altered(tempo, (items) => void items.pop()),
  ),
  invalid("chain 0", "chainId must not be 0", setting(tempo, 0, "0x")),
  invalid("chain 0 as a zero byte", "chainId is an integer with a leading zero byte", setting(tempo, 0, "0x00")),
  invalid(
    "fee of 129 bits",
    "maxFeePerGas is an integer of more than 128 bits",
    setting(tempo, 2, `0x01${"00".repeat(16)}`),
  ),
  invalid(
    "priority fee above the fee",
    "maxPriorityFeePerGas must not be higher than `maxFeePerGas`",
    setting(tempo, 1, "0x06fc23ac01"),
  ),
  invalid("no call", "calls must not be empty", setting(tempo, 4, [])),
  invalid("a call as bytes", "calls[0] must be a list of to, value, input", setting(tempo, 4, ["0x01"])),
  invalid(
    "a call to 19 bytes",
    "calls[0].to must have 20 bytes",
    setting(tempo, 4, [[`0x${"11".repeat(19)}`, "0x", "0x"]]),
  ),
  invalid(
    "a call with a value",
    "calls[1].value must be 0: Tempo has no native token",
    setting(tempo, 4, [
      [to, "0x", "0x"],
      [to, "0x01", "0x"],
    ]),
  ),
  invalid(
    "nonce key of 257 bits",
    "nonceKey is an integer of more than 256 bits",
    setting(tempo, 6, `0x01${"00".repeat(32)}`),
  ),
  invalid(
    "a window that is empty",
    "validBefore must be after validAfter",
    setting(setting(tempo, 8, "0x05"), 9, "0x05"),
  ),
  invalid("fee token of 19 bytes", "feeToken must have 20 bytes", setting(tempo, 10, `0x${"20".repeat(19)}`)),
  invalid(
    "a fee payer's signature",
    "feePayerSignature is there already; send the byte 00 in its place, and add it after signing",
    setting(tempo, 11, ["0x01", key("11"), key("12")]),
  ),
  invalid("a fee payer's address", "feePayerSignature must be empty or the byte 00", setting(tempo, 11, to)),
  invalid(
    "a fee token beside a fee payer",
    "feeToken must be empty where a fee payer will sign",
    setting(tempo, 11, "0x00"),
  ),
  invalid(
    "an authorization without signature",
    `authorizationList[0] has 3 members and not the 4 members chainId, address, nonce, signature`,
    setting(tempo, 12, [["0x01", other, "0x"]]),
  ),
  invalid(
    "an authorization with an empty signature",
    `authorizationList[0] ${UNSIGNED}`,
    setting(tempo, 12, [["0x01", other, "0x", "0x"]]),
  ),
  invalid(
    "a key authorization without signature",
    "keyAuthorization has 1 members and not the 2 members authorization, signature",
    altered(withKey, (items) => void (items[13] as Nested[]).pop()),
  ),
  invalid(
    "a key authorization with an empty signature",
    `keyAuthorization ${UNSIGNED}`,
    setting(withKey, 13, [["0x01"], "0x"]),
  ),
];

function tempoMembers(): string {
  const fields = "chainId, maxPriorityFeePerGas, maxFeePerGas, gas, calls, accessList, nonceKey, nonce, validBefore";
  return `${fields}, validAfter, feeToken, feePayerSignature, authorizationList`;
}

const write = (path: string, source: string, cases: object[]) => {
  const url = new URL(`../${path}.json`, import.meta.url);
  writeFileSync(url, `${JSON.stringify({ source, cases }, null, 2)}\n`);
};
const source = "written by test/vectors/generate/evm-transactions.ts";
write("evm-transactions/valid", `${source}; viem 2.57.1 and ethers 6.17.0 agree on each`, valid);
write("evm-transactions/invalid", `${source}; the reasons are Keystead's`, refused);
write("tempo-transactions/valid", `${source} with viem 2.57.1`, tempoValid);
write("tempo-transactions/invalid", `${source}; the reasons are Keystead's`, tempoRefused);
