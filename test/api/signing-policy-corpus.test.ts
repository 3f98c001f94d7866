import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { Keypair, PublicKey, SystemProgram, Transaction, TransactionInstruction } from "@solana/web3.js";
import { type Abi, encodeFunctionData, parseAbi, serializeTransaction } from "viem";
import type { Json } from "../support/client.ts";
import { onEachEngine, type TestServer } from "../support/server.ts";
import { createWorld } from "../support/world.ts";

/** Conditions on what is to be signed, each held against a real request: what every policy came to is in the denial. */

type Outcomes = Record<string, "ALLOW" | "DENY_IMPLICIT" | "ERROR">;

interface Case {
  name: string;
  addressFormat?: string;
  path?: string;
  curve?: string;
  /** Contracts whose interface is stored. */
  interfaces?: Record<string, Abi>;
  /** The request, given the address that signs. */
  request: (address: string) => [path: string, parameters: object];
  /** `{address}` and `{wallet}` stand for what signs. */
  outcomes: Outcomes;
}

const A1 = "0x1111111111111111111111111111111111111111";
const A2 = "0x2222222222222222222222222222222222222222";
const TOKEN = "0xaAaAaAaaAaAaAaaAaAAAAAAAAaaaAaAaAaaAaaAa";
const wei = 10n ** 17n;

const ethereum =
  (transaction: object) =>
  (signWith: string): [string, object] => [
    "sign_transaction",
    {
      signWith,
      type: "TRANSACTION_TYPE_ETHEREUM",
      unsignedTransaction: serializeTransaction({
        type: "eip1559",
        chainId: 8453,
        gas: 50_000n,
        ...transaction,
      } as never),
    },
  ];
const payload =
  (encoding: string, text: string) =>
  (signWith: string): [string, object] => [
    "sign_raw_payload",
    { signWith, payload: text, encoding: `PAYLOAD_ENCODING_${encoding}`, hashFunction: "HASH_FUNCTION_NO_OP" },
  ];
const vector = (folder: string, name: string): Json =>
  JSON.parse(readFileSync(new URL(`../vectors/${folder}/valid.json`, import.meta.url), "utf8")).cases.find(
    (each: Json) => each.name === name,
  );
const erc20 = parseAbi(["function transfer(address dst, uint256 wad)"]);
const batch = parseAbi([
  "struct Call { address to; uint256 value; bytes data; }",
  "function execute(Call[] calls, address[] recipients)",
]);
const payee = Keypair.generate().publicKey;
const mint = Keypair.generate().publicKey;
const TOKEN_PROGRAM = new PublicKey("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");

const solana =
  (instructionsOf: (payer: PublicKey) => TransactionInstruction[]) =>
  (signWith: string): [string, object] => {
    const payer = new PublicKey(signWith);
    const transaction = new Transaction({ feePayer: payer, recentBlockhash: payee.toBase58() });
    transaction.add(...instructionsOf(payer));
    const unsignedTransaction = transaction.serialize({ requireAllSignatures: false }).toString("hex");
    return ["sign_transaction", { signWith, type: "TRANSACTION_TYPE_SOLANA", unsignedTransaction }];
  };
const onSolana = { addressFormat: "ADDRESS_FORMAT_SOLANA", path: "m/44'/501'/0'/0'", curve: "CURVE_ED25519" };

/** TransferChecked of the SPL token program: the instruction's tag, the amount, the decimals. */
function checkedTransfer(owner: PublicKey): TransactionInstruction {
  const data = Buffer.alloc(10);
  data[0] = 12;
  data.writeBigUInt64LE(5n, 1);
  const key = (pubkey: PublicKey, isSigner = false, isWritable = false) => ({ pubkey, isSigner, isWritable });
  const keys = [key(PublicKey.default, false, true), key(mint), key(payee, false, true), key(owner, true)];
  return new TransactionInstruction({ programId: TOKEN_PROGRAM, keys, data });
}

const cases: Case[] = [
  {
    name: "a payment",
    request: ethereum({ to: A1, value: wei + 1n, nonce: 3, maxFeePerGas: 9n }),
    outcomes: {
      "activity.action == 'SIGN' && wallet.id == '{wallet}' && eth.tx.value > 100000000000000000": "ALLOW",
      "activity.action == 'SIGN' && wallet.id == '{wallet}' && eth.tx.value > 100000000000000001": "DENY_IMPLICIT",
      "activity.resource == 'PRIVATE_KEY' && activity.kind == 'SIGN_TRANSACTION'": "ALLOW",
      "activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2' && activity.params.type == 'TRANSACTION_TYPE_ETHEREUM'":
        "ALLOW",
      "eth.tx.chain_id == 11155111": "DENY_IMPLICIT",
      "eth.tx.chain_id == '8453'": "ALLOW",
      [`!(eth.tx.to in ['${A1}', '${A2}'])`]: "DENY_IMPLICIT",
      [`!(eth.tx.to in ['${A2}', '${TOKEN}'])`]: "ALLOW",
      "eth.tx.nonce == 3 && eth.tx.gas == 50000 && eth.tx.gas_price == 9 && eth.tx.type == 'TYPE_2'": "ALLOW",
      "eth.tx.data == '0x'": "ALLOW",
      "eth.tx.data[0..10] == '0xa9059cbb'": "ERROR",
      "eth.tx.function_name == 'transfer'": "ERROR",
      "wallet.id == '{wallet}' || private_key.id == 'P'": "ERROR",
      "wallet_account.address == '{address}'": "ALLOW",
      "wallet_account.path_indexes[0] == 44 && wallet_account.path_hardened.all(h, h == true)": "DENY_IMPLICIT",
      "wallet_account.path_indexes.count() == 5 && wallet_account.path_hardened[2]": "ALLOW",
      "solana.tx.transfers.count() > 0": "ERROR",
      "wallet.label == 'Corpus' && wallet.exported == false && wallet.imported == false": "ALLOW",
      true: "ALLOW",
    },
  },
  {
    name: "a contract creation",
    request: ethereum({ data: "0x6000" }),
    outcomes: {
      "wallet.id == '{wallet}' && eth.tx.to == '' && eth.tx.chain_id == '8453'": "ALLOW",
      [`eth.tx.to == '${A1}'`]: "DENY_IMPLICIT",
    },
  },
  {
    name: "a token transfer",
    interfaces: { [TOKEN]: erc20 },
    request: ethereum({
      to: TOKEN,
      data: encodeFunctionData({ abi: erc20, functionName: "transfer", args: [A1, 10n ** 18n - 1n] }),
    }),
    outcomes: {
      [`eth.tx.to == '${A2}' || (eth.tx.data[0..10] == '0xa9059cbb' && eth.tx.data[34..74] == '${A1.slice(2)}')`]:
        "ALLOW",
      "eth.tx.function_name == 'transfer' && eth.tx.function_signature == '0xa9059cbb'": "ALLOW",
      [`eth.tx.contract_call_args['wad'] < 1000000000000000000 && eth.tx.contract_call_args['dst'] == '${A1}'`]:
        "ALLOW",
      "eth.tx.contract_call_args['wad'] < 999999999999999999": "DENY_IMPLICIT",
      "eth.tx.contract_call_args['amount'] > 0": "ERROR",
      [`eth.tx.to == '${TOKEN.toLowerCase()}'`]: "ALLOW",
    },
  },
  {
    name: "a batch of calls",
    interfaces: { [TOKEN]: batch },
    request: ethereum({
      to: TOKEN,
      data: encodeFunctionData({
        abi: batch,
        functionName: "execute",
        args: [
          [
            { to: A1, value: 0n, data: "0x" },
            { to: A1, value: 0n, data: "0x01" },
          ],
          [A1, A2],
        ],
      }),
    }),
    outcomes: {
      [`eth.tx.contract_call_args['calls'].count() <= 2 && eth.tx.contract_call_args['calls'].all(call, call[0] == '${A1}' && call[1] == 0)`]:
        "ALLOW",
      [`eth.tx.contract_call_args['calls'].all(call, call[0] == '${A2}')`]: "DENY_IMPLICIT",
      "eth.tx.contract_call_args['calls'].all(call, call['to'] == 'x')": "ERROR",
      [`eth.tx.contract_call_args['recipients'].all(addr, addr in ['${A1}', '${A2}'])`]: "ALLOW",
      [`eth.tx.contract_call_args['recipients'].all(addr, addr in ['${A1}'])`]: "DENY_IMPLICIT",
    },
  },
  {
    name: "typed data",
    request: payload(
      "EIP712",
      JSON.stringify({
        types: {
          Permit: [{ name: "permitted", type: "Allowance[]" }],
          Allowance: [
            { name: "token", type: "address" },
            { name: "amount", type: "uint256" },
          ],
        },
        primaryType: "Permit",
        domain: { name: "Permits", chainId: 1, verifyingContract: A2 },
        message: { permitted: [{ token: TOKEN, amount: "99999999" }] },
      }),
    ),
    outcomes: {
      [`eth.eip_712.message['permitted'][0]['token'] == '${TOKEN.toLowerCase()}'`]: "ALLOW",
      [`eth.eip_712.message['permitted'].any(p, p['token'] == '${TOKEN}' && p['amount'] < 100000000)`]: "ALLOW",
      "eth.eip_712.message['permitted'].any(p, p['amount'] < 99999999)": "DENY_IMPLICIT",
      "eth.eip_712.message['permitted'][1]['amount'] == 1": "ERROR",
      [`eth.eip_712.domain.name == 'Permits' && eth.eip_712.domain.chain_id == 1 && eth.eip_712.domain.verifying_contract == '${A2}'`]:
        "ALLOW",
      "eth.eip_712.domain.version == '1'": "ERROR",
      "activity.type == 'ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2' && activity.params.hash_function == 'HASH_FUNCTION_NO_OP' && activity.params.encoding != 'PAYLOAD_ENCODING_EIP712'":
        "DENY_IMPLICIT",
      "eth.tx.value == 0": "ERROR",
    },
  },
  {
    name: "an authorization",
    request: payload("EIP7702_AUTHORIZATION", JSON.stringify({ chainId: 1, address: A1, nonce: 7 })),
    outcomes: {
      [`eth.eip_7702_authorization.address == '${A1}' && eth.eip_7702_authorization.nonce == '7'`]: "ALLOW",
      "eth.eip_7702_authorization.chain_id == 10": "DENY_IMPLICIT",
    },
  },
  {
    name: "a payment on Solana",
    ...onSolana,
    request: solana((payer) => [SystemProgram.transfer({ fromPubkey: payer, toPubkey: payee, lamports: 995n })]),
    outcomes: {
      [`solana.tx.transfers.all(transfer, transfer.to == '${payee.toBase58()}')`]: "ALLOW",
      [`solana.tx.transfers.count == 1 && solana.tx.transfers[0].to == '${payee.toBase58()}'`]: "ALLOW",
      [`solana.tx.transfers.all(transfer, transfer.to == '${payee.toBase58().toLowerCase()}')`]: "DENY_IMPLICIT",
      "solana.tx.instructions[0].accounts[0].account_key == '{address}'": "ALLOW",
      "solana.tx.instructions[1].program_key == 'x'": "ERROR",
      "solana.tx.address_table_lookups.count() > 0": "DENY_IMPLICIT",
      "solana.tx.transfers[0].from == '{address}' && solana.tx.transfers[0].amount < 996": "ALLOW",
      "solana.tx.instructions.any(i, i.parsed_instruction_data.instruction_name == 'route')": "ERROR",
      "eth.tx.chain_id == 1": "ERROR",
    },
  },
  {
    name: "a token transfer on Solana",
    ...onSolana,
    request: solana((payer) => [checkedTransfer(payer)]),
    outcomes: {
      [`solana.tx.instructions.count() == solana.tx.spl_transfers.count() && solana.tx.spl_transfers.all(transfer, transfer.token_mint == '${mint.toBase58()}')`]:
        "ALLOW",
      // Signers stand beside an owner who is a multisignature account; a single owner is none of them.
      "solana.tx.spl_transfers.all(transfer, transfer.signers.any(s, s == '{address}'))": "DENY_IMPLICIT",
      "solana.tx.spl_transfers.all(transfer, transfer.owner == '{address}' && transfer.amount > 5)": "DENY_IMPLICIT",
      "solana.tx.transfers.count() == 0": "ALLOW",
    },
  },
  {
    name: "a contract call on Tron",
    addressFormat: "ADDRESS_FORMAT_TRON",
    path: "m/44'/195'/0'/0/0",
    request: (signWith) => {
      const { rawData } = vector("tron-transactions", "TriggerSmartContract: transfer");
      return ["sign_transaction", { signWith, type: "TRANSACTION_TYPE_TRON", unsignedTransaction: rawData }];
    },
    outcomes: {
      "tron.tx.contract[0].data[0..8] == 'a9059cbb'": "ALLOW",
      "tron.tx.contract[0].contract_address == 'T'": "DENY_IMPLICIT",
      "tron.tx.contract[0].type == 'TransferContract'": "DENY_IMPLICIT",
      "tron.tx.contract[1].type == 'TransferContract'": "ERROR",
    },
  },
  {
    name: "a transfer on Tempo",
    request: (signWith) => {
      const { unsigned } = vector("tempo-transactions", "a token transfer");
      return ["sign_transaction", { signWith, type: "TRANSACTION_TYPE_TEMPO", unsignedTransaction: unsigned }];
    },
    outcomes: {
      [`wallet_account.address == '{address}' && tempo.tx.calls[0].input[34..74] == '${"9A".repeat(20)}'`]: "ALLOW",
      "tempo.tx.calls.all(c, c.function_signature == '0xa9059cbb')": "ALLOW",
      "tempo.tx.calls[0].to == ''": "DENY_IMPLICIT",
      "tempo.tx.valid_before == 0 && tempo.tx.valid_after == 0": "ALLOW",
    },
  },
];

async function outcomesOf(server: TestServer, { addressFormat, path, curve, ...each }: Case): Promise<Outcomes> {
  const { root, user } = await createWorld(server);
  const account = {
    curve: curve ?? "CURVE_SECP256K1",
    pathFormat: "PATH_FORMAT_BIP32",
    path: path ?? "m/44'/60'/0'/0/0",
    addressFormat: addressFormat ?? "ADDRESS_FORMAT_ETHEREUM",
  };
  const made = await root.client.result("create_wallet", { walletName: "Corpus", accounts: [account] });
  const [address] = made.addresses;
  for (const [smartContractAddress, abi] of Object.entries(each.interfaces ?? {})) {
    const type = "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM";
    const contract = { smartContractAddress, smartContractInterface: JSON.stringify(abi), type, label: "C", notes: "" };
    await root.client.result("create_smart_contract_interface", contract);
  }
  const conditions = Object.keys(each.outcomes);
  const policies = conditions.map((condition, index) => ({
    policyName: `condition ${index}`,
    effect: "EFFECT_ALLOW",
    condition: condition.replaceAll("{address}", address).replaceAll("{wallet}", made.walletId),
    consensus: `approvers.any(u, u.id == '${user.userId}')`,
    notes: "",
  }));
  // With this one every request is denied, and the denial lists what the others came to.
  policies.push({ policyName: "deny", effect: "EFFECT_DENY", condition: "true", consensus: "true", notes: "" });
  const { policyIds } = await root.client.result("create_policies", { policies });
  const [operation, parameters] = each.request(address);
  const { status, body } = await user.client.submit(operation, parameters);
  assert.equal(status, 403, JSON.stringify(body));
  const [{ policyEvaluations }] = body.details;
  return Object.fromEntries(
    conditions.map((condition, index) => {
      const found = policyEvaluations.find(({ policyId }: Json) => policyId === policyIds[index]);
      return [condition, found.outcome.replace("OUTCOME_", "")];
    }),
  );
}

onEachEngine("conditions on what is signed", (server) => {
  for (const each of cases) {
    it(each.name, async () => assert.deepEqual(await outcomesOf(server(), each), each.outcomes));
  }
});
