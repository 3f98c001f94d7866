import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { AccountRole } from "@solana/kit";
import { addressOf, compiled, SYSTEM_PROGRAM } from "../../../test/support/solana.ts";
import { solanaFacts } from "./facts.ts";
import { parseProgramInterface } from "./program-interface.ts";
import { decodeWireTransaction, parseTransaction } from "./transaction.ts";

// The facts of single transactions are in the test vectors that transaction.test.ts reads.

type Published = {
  transaction: string;
  instruction_data: string[];
  instruction_lookups: { address_table_key: string; index: number; writable: boolean }[][];
  transfers: { from: string; to: string; amount: string }[];
};

const [published] = (
  JSON.parse(
    readFileSync(new URL("../../../test/vectors/solana-transactions/published.json", import.meta.url), "utf8"),
  ) as { cases: Published[] }
).cases;

const JUPITER = "JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4";

/** The part of the aggregator's interface that the transaction needs. */
const jupiter = {
  instructions: [
    {
      name: "route",
      accounts: [{ name: "tokenProgram" }, { name: "userTransferAuthority" }, { name: "userSourceTokenAccount" }],
      args: [
        { name: "routePlan", type: { vec: { defined: "RoutePlanStep" } } },
        { name: "inAmount", type: "u64" },
        { name: "quotedOutAmount", type: "u64" },
        { name: "slippageBps", type: "u16" },
        { name: "platformFeeBps", type: "u8" },
      ],
    },
  ],
  types: [
    {
      name: "RoutePlanStep",
      type: {
        kind: "struct",
        fields: [
          { name: "swap", type: { defined: "Swap" } },
          { name: "percent", type: "u8" },
          { name: "inputIndex", type: "u8" },
          { name: "outputIndex", type: "u8" },
        ],
      },
    },
    {
      name: "Swap",
      type: {
        kind: "enum",
        variants: Array.from({ length: 19 }, (_, index) => ({
          name: `Exchange${index}`,
          fields: [{ name: "aToB", type: "bool" }],
        })),
      },
    },
  ],
};

test("a published transaction is read as another parser shows it", () => {
  assert(published !== undefined);
  const { transaction, instruction_data, instruction_lookups, transfers, ...expected } = published;
  const interfaces = new Map([[JUPITER, parseProgramInterface(JSON.stringify(jupiter), "interface")]]);
  const facts = solanaFacts(decodeWireTransaction(transaction, "hex", "transaction"), interfaces);
  assert.deepEqual(
    facts.instructions.map((each) => each.instruction_data_hex),
    instruction_data,
  );
  assert.deepEqual(
    facts.instructions.map((each) => each.address_table_lookups),
    instruction_lookups,
  );
  assert.deepEqual(
    facts.transfers.map((each) => ({ ...each, amount: String(each.amount) })),
    transfers,
  );
  assert.deepEqual(
    { ...expected, ...facts },
    { ...facts, name: "swap through an aggregator, version 0 with a lookup table" },
  );
  assert.deepEqual(facts.instructions[6]?.parsed_instruction_data, {
    instruction_name: "route",
    discriminator: "e517cb977ae3ad2a",
    named_accounts: {
      tokenProgram: "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
      userTransferAuthority: "G6fEj2pt4YYAxLS8JAsY5BL6hea7Fpe8Xyqscg2e7pgp",
      userSourceTokenAccount: "FxDNKZ14p3W7o1tpinH935oiwUo3YiZowzP1hUcUzUFw",
    },
    program_call_args: {
      routePlan: [{ swap: { Exchange18: { aToB: false } }, percent: 100n, inputIndex: 0n, outputIndex: 1n }],
      inAmount: 50_000_000n,
      quotedOutAmount: 7_353_437n,
      slippageBps: 50n,
      platformFeeBps: 0n,
    },
  });
  const others = facts.instructions.filter((_, index) => index !== 6);
  assert(others.every((each) => !("parsed_instruction_data" in each)));
});

test("an interface decodes the instructions of its own program alone", () => {
  const instruction = {
    name: "go",
    discriminator: [2, 0, 0, 0],
    accounts: [],
    args: [{ name: "amount", type: "u64" }],
  };
  const parsed = parseProgramInterface(JSON.stringify({ instructions: [instruction], types: [] }), "interface");
  const payer = addressOf(1);
  const accounts = [{ address: payer, role: AccountRole.WRITABLE_SIGNER }];
  const data = Uint8Array.of(2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0);
  const programs = [addressOf(0x70), addressOf(0x71), SYSTEM_PROGRAM];
  const instructions = programs.map((programAddress) => ({ programAddress, accounts, data }));
  const wire = compiled({ version: "legacy", payer, blockhash: addressOf(9), instructions });
  const facts = solanaFacts(parseTransaction(wire, "transaction"), new Map([[addressOf(0x71) as string, parsed]]));
  assert.deepEqual(
    facts.instructions.map((each) => each.parsed_instruction_data?.program_call_args),
    [undefined, { amount: 9n }, undefined],
  );
});
