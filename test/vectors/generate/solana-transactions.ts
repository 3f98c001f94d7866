import { writeFileSync } from "node:fs";
import {
  AccountRole,
  type Address,
  addEncoderSizePrefix,
  getAddressEncoder,
  getStructEncoder,
  getU32Encoder,
  getU64Encoder,
  getUtf8Encoder,
  type Instruction,
} from "@solana/kit";
import {
  addressOf,
  compiled,
  encodeWire,
  factsByLibrary,
  lookup,
  SYSTEM_PROGRAM,
  TABLES,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
  type WireParts,
} from "../../support/solana.ts";

/** Writes test/vectors/solana-transactions: `node test/vectors/generate/solana-transactions.ts`, then `npm run format`. */

const { READONLY, READONLY_SIGNER, WRITABLE, WRITABLE_SIGNER } = AccountRole;
const [PAYER, ALICE, BOB, MINT, SIGNER_1, SIGNER_2] = [1, 2, 3, 4, 5, 6].map(addressOf) as [
  Address,
  Address,
  Address,
  Address,
  Address,
  Address,
];
const PROGRAM = addressOf(0x77);
const BLOCKHASH = addressOf(0x99);

const account = (address: Address, role: AccountRole) => ({ address, role });
const amountAfter = (tag: readonly number[], amount: bigint, ...rest: number[]) =>
  Uint8Array.from([...tag, ...getU64Encoder().encode(amount), ...rest]);

const systemTransfer = (from: Address, to: Address, lamports: bigint, ...rest: number[]): Instruction => ({
  programAddress: SYSTEM_PROGRAM,
  accounts: [account(from, WRITABLE_SIGNER), account(to, WRITABLE)],
  data: amountAfter([2, 0, 0, 0], lamports, ...rest),
});

const seedTransferData = getStructEncoder([
  ["tag", getU32Encoder()],
  ["lamports", getU64Encoder()],
  ["seed", addEncoderSizePrefix(getUtf8Encoder(), getU64Encoder())],
  ["owner", getAddressEncoder()],
]).encode({ tag: 11, lamports: 77n, seed: "savings", owner: SYSTEM_PROGRAM });

const tokenTransfer = (program: Address, owner: Address, data: Uint8Array, more: Instruction["accounts"] = []) =>
  ({
    programAddress: program,
    accounts: [
      account(ALICE, WRITABLE),
      ...(data[0] === 3 ? [] : [account(MINT, READONLY)]),
      account(BOB, WRITABLE),
      account(owner, more.length > 0 ? READONLY : READONLY_SIGNER),
      ...more,
    ],
    data,
  }) satisfies Instruction;

type Transfers = { transfers?: object[]; spl_transfers?: object[] };
type Valid = Transfers & { name: string; version?: 0; instructions: Instruction[] };

const lamports = (from: string, to: string, amount: string) => ({ from, to, amount });
const tokens = (amount: string, owner: string, mint = "", signers: string[] = []) => ({
  from: ALICE,
  to: BOB,
  amount,
  owner,
  signers,
  token_mint: mint,
});

const valid: Valid[] = [
  {
    name: "transfer",
    instructions: [systemTransfer(PAYER, ALICE, 111n)],
    transfers: [lamports(PAYER, ALICE, "111")],
  },
  {
    name: "transfer, version 0",
    version: 0,
    instructions: [systemTransfer(PAYER, ALICE, 2n ** 64n - 1n)],
    transfers: [lamports(PAYER, ALICE, String(2n ** 64n - 1n))],
  },
  { name: "no instructions", instructions: [] },
  { name: "no instructions, version 0", version: 0, instructions: [] },
  {
    name: "transfer with bytes after the amount, which the program ignores",
    instructions: [systemTransfer(PAYER, ALICE, 5n, 0xff, 0xff)],
    transfers: [lamports(PAYER, ALICE, "5")],
  },
  {
    name: "transfer with an account more, which the program ignores",
    instructions: [
      {
        ...systemTransfer(PAYER, ALICE, 5n),
        accounts: [account(PAYER, WRITABLE_SIGNER), account(ALICE, WRITABLE), account(BOB, WRITABLE)],
      },
    ],
    transfers: [lamports(PAYER, ALICE, "5")],
  },
  {
    name: "as long as the network takes",
    instructions: [systemTransfer(PAYER, ALICE, 5n, ...new Uint8Array(1016))],
    transfers: [lamports(PAYER, ALICE, "5")],
  },
  {
    name: "transfers from two signers",
    instructions: [systemTransfer(PAYER, ALICE, 1n), systemTransfer(BOB, ALICE, 2n)],
    transfers: [lamports(PAYER, ALICE, "1"), lamports(BOB, ALICE, "2")],
  },
  {
    name: "transfer to a looked-up account",
    version: 0,
    instructions: [
      {
        ...systemTransfer(PAYER, ALICE, 9n),
        accounts: [account(PAYER, WRITABLE_SIGNER), lookup(0, 7, WRITABLE)],
      },
    ],
    transfers: [lamports(PAYER, "ADDRESS_TABLE_LOOKUP", "9")],
  },
  {
    name: "transfer with seed",
    instructions: [
      {
        programAddress: SYSTEM_PROGRAM,
        accounts: [account(ALICE, WRITABLE), account(PAYER, READONLY_SIGNER), account(BOB, WRITABLE)],
        data: seedTransferData,
      },
    ],
    transfers: [lamports(ALICE, BOB, "77")],
  },
  {
    name: "System instructions that are no transfers, or fail",
    instructions: [
      { programAddress: SYSTEM_PROGRAM, accounts: [account(PAYER, WRITABLE_SIGNER), account(ALICE, WRITABLE)] },
      { ...systemTransfer(PAYER, ALICE, 1n), data: amountAfter([2, 0, 0, 0], 1n).subarray(0, 11) },
      { ...systemTransfer(PAYER, ALICE, 1n), data: amountAfter([2, 0, 0, 1], 1n) },
      { ...systemTransfer(PAYER, ALICE, 1n), accounts: [account(PAYER, WRITABLE_SIGNER)] },
      { ...systemTransfer(PAYER, ALICE, 1n), data: amountAfter([3, 0, 0, 0], 1n) },
    ],
  },
  {
    name: "the data of a transfer for another program",
    instructions: [{ ...systemTransfer(PAYER, ALICE, 1n), programAddress: PROGRAM }],
  },
  {
    name: "token transfer",
    instructions: [tokenTransfer(TOKEN_PROGRAM, PAYER, amountAfter([3], 10n))],
    spl_transfers: [tokens("10", PAYER)],
  },
  {
    name: "checked token transfer",
    instructions: [tokenTransfer(TOKEN_PROGRAM, SIGNER_1, amountAfter([12], 11n, 6))],
    spl_transfers: [tokens("11", SIGNER_1, MINT)],
  },
  {
    name: "checked Token-2022 transfer with bytes after it",
    instructions: [tokenTransfer(TOKEN_2022_PROGRAM, SIGNER_1, amountAfter([12], 11n, 6, 1, 2, 3))],
    spl_transfers: [tokens("11", SIGNER_1, MINT)],
  },
  {
    name: "Token-2022 transfer with fee",
    instructions: [
      tokenTransfer(TOKEN_2022_PROGRAM, SIGNER_1, amountAfter([26, 1], 12n, 6, ...getU64Encoder().encode(3n))),
    ],
    spl_transfers: [tokens("12", SIGNER_1, MINT)],
  },
  {
    name: "token transfer by a multisignature owner, with an account that does not sign",
    instructions: [
      tokenTransfer(TOKEN_PROGRAM, MINT, amountAfter([3], 10n), [
        account(SIGNER_1, READONLY_SIGNER),
        account(PROGRAM, READONLY),
        account(SIGNER_2, READONLY_SIGNER),
      ]),
    ],
    spl_transfers: [tokens("10", MINT, "", [SIGNER_1, SIGNER_2])],
  },
  {
    name: "token instructions that are no transfers, or fail",
    instructions: [
      tokenTransfer(TOKEN_PROGRAM, PAYER, amountAfter([3], 10n).subarray(0, 8)),
      tokenTransfer(TOKEN_PROGRAM, PAYER, amountAfter([12], 10n)),
      tokenTransfer(TOKEN_PROGRAM, PAYER, amountAfter([26, 1], 12n, 6, ...getU64Encoder().encode(3n))),
      tokenTransfer(TOKEN_2022_PROGRAM, PAYER, amountAfter([26, 2], 12n, 6, ...getU64Encoder().encode(3n))),
      tokenTransfer(TOKEN_2022_PROGRAM, PAYER, amountAfter([7], 12n)),
      { ...tokenTransfer(TOKEN_PROGRAM, PAYER, amountAfter([3], 1n)), accounts: [account(ALICE, WRITABLE)] },
      { programAddress: TOKEN_PROGRAM, accounts: [], data: new Uint8Array() },
    ],
  },
  {
    name: "two tables, writable and readonly, in several instructions",
    version: 0,
    instructions: [
      {
        programAddress: PROGRAM,
        accounts: [lookup(0, 3, READONLY), lookup(1, 255, WRITABLE), account(PAYER, WRITABLE_SIGNER)],
        data: Uint8Array.of(1),
      },
      {
        programAddress: PROGRAM,
        accounts: [lookup(1, 0, READONLY), lookup(0, 9, WRITABLE), account(ALICE, READONLY), lookup(1, 255, WRITABLE)],
        data: Uint8Array.of(2),
      },
    ],
  },
  {
    name: "data and accounts long enough for two bytes of length",
    instructions: [
      {
        programAddress: PROGRAM,
        accounts: Array.from({ length: 130 }, () => account(ALICE, READONLY)),
        data: new Uint8Array(300).fill(7),
      },
    ],
  },
];

const validCases = valid.map(({ name, version, instructions, transfers = [], spl_transfers = [] }) => {
  const wire = compiled({ version: version ?? "legacy", payer: PAYER, blockhash: BLOCKHASH, instructions });
  const { signers, ...facts } = factsByLibrary(wire);
  return { name, transaction: wire.toString("hex"), signers, facts: { ...facts, transfers, spl_transfers } };
});

const EMPTY = new Uint8Array(64);
const plain: WireParts = {
  signatures: [EMPTY],
  header: [1, 0, 1],
  keys: [PAYER, ALICE, SYSTEM_PROGRAM],
  blockhash: BLOCKHASH,
  instructions: [{ program: 2, accounts: [0, 1], data: amountAfter([2, 0, 0, 0], 111n) }],
};
const withTable: WireParts = {
  ...plain,
  version: 0x80,
  lookups: [{ key: TABLES[0], writable: [1], readonly: [2] }],
};
const [instruction] = plain.instructions;
if (instruction === undefined) throw new Error("there is one");
const wireOf = (parts: Partial<WireParts>) => encodeWire({ ...plain, ...parts });
const wireOfTable = (parts: Partial<WireParts>) => encodeWire({ ...withTable, ...parts });
const plainWire = wireOf({});
const spliced = (at: number, removed: number, ...bytes: number[]) =>
  Buffer.concat([plainWire.subarray(0, at), Buffer.from(bytes), plainWire.subarray(at + removed)]);

const INVALID = "TRANSACTION_INVALID";
const UNSUPPORTED = "TRANSACTION_UNSUPPORTED";
const HEADER_AT = 65;
const KEYS_AT = HEADER_AT + 3;
const many = Array.from({ length: 254 }, (_, index) => index);

const invalid: [name: string, wire: Uint8Array, reason: string, code?: string][] = [
  ["nothing", Buffer.alloc(0), "it is empty"],
  [
    "a version 0 message alone",
    wireOfTable({}).subarray(65),
    "it begins with its message; signatures or placeholders must come first",
  ],
  [
    "version 1, message first",
    Buffer.concat([Buffer.of(0x81), plainWire]),
    "has version 1; legacy and version 0 are supported",
    UNSUPPORTED,
  ],
  [
    "version 1 after signatures",
    wireOf({ version: 0x81 }),
    "has version 1; legacy and version 0 are supported",
    UNSUPPORTED,
  ],
  ["version 127", wireOf({ version: 0xff }), "has version 127; legacy and version 0 are supported", UNSUPPORTED],
  [
    "too long",
    wireOf({ instructions: [{ ...instruction, data: new Uint8Array(1029) }] }),
    "it has 1233 bytes; the network takes at most 1232",
  ],
  ["a byte too many", Buffer.concat([plainWire, Buffer.of(0)]), "it has 1 bytes after its end"],
  ["a byte too few", plainWire.subarray(0, -1), "it ends too early"],
  ["signatures alone", plainWire.subarray(0, 65), "it ends too early"],
  ["version 0 without lookups", wireOf({ version: 0x80 }), "it ends too early"],
  ["legacy with lookups", wireOf({ lookups: [] }), "it has 1 bytes after its end"],
  [
    "no signatures",
    wireOf({ signatures: [] }),
    "signatures has 0 entries, and the header requires 1 with placeholders",
  ],
  [
    "a signature too many",
    wireOf({ signatures: [EMPTY, EMPTY] }),
    "signatures has 2 entries, and the header requires 1 with placeholders",
  ],
  [
    "a signature too few",
    wireOf({ header: [2, 0, 1] }),
    "signatures has 1 entries, and the header requires 2 with placeholders",
  ],
  [
    "no required signatures",
    wireOf({ header: [0, 0, 1], signatures: [] }),
    "message.header has no writable signer, who would pay the fee",
  ],
  [
    "all signers readonly",
    wireOf({ header: [1, 1, 1] }),
    "message.header has no writable signer, who would pay the fee",
  ],
  [
    "more accounts in the header than there are",
    wireOf({ header: [1, 0, 3] }),
    "message.header counts 4 accounts, and there are 3",
  ],
  ["no account keys", wireOf({ keys: [] }), "message.header counts 2 accounts, and there are 0"],
  ["an account key twice", wireOf({ keys: [PAYER, PAYER, SYSTEM_PROGRAM] }), `message.accountKeys has ${PAYER} twice`],
  [
    "a length of two bytes that fits one",
    spliced(KEYS_AT, 1, 0x83, 0x00),
    "message.accountKeys has a malformed length (compact-u16 in its shortest form is needed)",
  ],
  [
    "a length of three bytes that fits two",
    spliced(KEYS_AT, 1, 0x83, 0x80, 0x00),
    "message.accountKeys has a malformed length (compact-u16 in its shortest form is needed)",
  ],
  [
    "a length of four bytes",
    spliced(KEYS_AT, 1, 0x83, 0x80, 0x80, 0x01),
    "message.accountKeys has a malformed length (compact-u16 in its shortest form is needed)",
  ],
  ["a length beyond 16 bits", spliced(KEYS_AT, 1, 0x83, 0x80, 0x04), "message.accountKeys has a length beyond 16 bits"],
  ["a length beyond the end", spliced(KEYS_AT, 1, 0xff, 0xff, 0x03), "it ends too early"],
  [
    "the fee payer as the program",
    wireOf({ instructions: [{ ...instruction, program: 0 }] }),
    "message.instructions[0].program is the fee payer",
  ],
  [
    "a program that is not there",
    wireOf({ instructions: [instruction, { ...instruction, program: 3 }] }),
    "message.instructions[1].program is account 3, and there are 3",
  ],
  [
    "an account that is not there",
    wireOf({ instructions: [{ ...instruction, accounts: [0, 3] }] }),
    "message.instructions[0].accounts[1] is account 3, and there are 3",
  ],
  [
    "a program from a lookup table",
    wireOfTable({ instructions: [{ ...instruction, program: 3 }] }),
    "message.instructions[0].program comes from a lookup table",
  ],
  [
    "a program beyond the lookup tables",
    wireOfTable({ instructions: [{ ...instruction, program: 5 }] }),
    "message.instructions[0].program is account 5, and there are 3",
  ],
  [
    "an account beyond the lookup tables",
    wireOfTable({ instructions: [{ ...instruction, accounts: [4, 5] }] }),
    "message.instructions[0].accounts[1] is account 5, and there are 5",
  ],
  [
    "a table that nothing is looked up in",
    wireOfTable({ lookups: [{ key: TABLES[0], writable: [], readonly: [] }] }),
    "message.addressTableLookups[0] looks nothing up",
  ],
  [
    "more accounts than an index can name",
    wireOfTable({ lookups: [{ key: TABLES[0], writable: many, readonly: [] }] }),
    "message has 257 accounts; at most 256 fit",
  ],
];

const invalidCases = invalid.map(([name, wire, reason, code = INVALID]) => ({
  name,
  transaction: Buffer.from(wire).toString("hex"),
  code,
  reason: code === INVALID ? `is not a valid Solana transaction: ${reason}` : reason,
}));

const write = (name: string, source: string, cases: object[]) =>
  writeFileSync(
    new URL(`../solana-transactions/${name}.json`, import.meta.url),
    `${JSON.stringify({ source, cases }, undefined, 2)}\n`,
  );

write("valid", "compiled and read by @solana/kit 8.4.0; transfers written by hand", validCases);
write("invalid", "written by hand: faults that the runtime refuses in its checks of form", invalidCases);
