import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, it } from "node:test";
import { PublicKey, SystemProgram, Transaction } from "@solana/web3.js";
import { encodeFunctionData, maxUint256, parseAbi, parseEther, serializeTransaction } from "viem";
import { createAuthenticator } from "../support/authenticator.ts";
import { authenticatorParams, type Client, generateApiKey, type Json } from "../support/client.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { addSubOrganization } from "../support/world.ts";

/** Every recipe of the guide, stored as it stands there, and asked about by `simulate_policy`. */

const guide = readFileSync(new URL("../../docs/guide/policy-cookbook.md", import.meta.url), "utf8");

interface Recipe {
  title: string;
  policies: string;
  rows: { what: string; by: string[]; outcome: string }[];
}

const recipes: Recipe[] = guide
  .split(/^## (?=\d+\. )/m)
  .slice(1)
  .map((text) => ({
    title: text.slice(0, text.indexOf("\n")),
    policies: /```json\n([\s\S]*?)```/.exec(text)?.[1] ?? "",
    rows: [...text.matchAll(/^\| (.+) \| (.+) \| `(\w+)` \|$/gm)].map(([, what = "", by = "", outcome = ""]) => ({
      ...{ what, outcome },
      by: by.split(", "),
    })),
  }));

const VENDOR = "0x00000000000000000000000000000000000000a1";
const EXCHANGE = "0x00000000000000000000000000000000000000a2";
const STRANGER = "0x00000000000000000000000000000000000000a3";
const TOKEN = "0x00000000000000000000000000000000000000a4";
const [SOLANA_VENDOR, SOLANA_STRANGER] = [1, 2].map((byte) => new PublicKey(new Uint8Array(32).fill(byte)).toBase58());
const ETHEREUM = ["CURVE_SECP256K1", "m/44'/60'/0'/0/0", "ADDRESS_FORMAT_ETHEREUM"] as const;
const SOLANA = ["CURVE_ED25519", "m/44'/501'/0'/0'", "ADDRESS_FORMAT_SOLANA"] as const;
const ABI = parseAbi([
  "function transfer(address to, uint256 amount) returns (bool)",
  "function approve(address spender, uint256 amount) returns (bool)",
]);

let clock: () => number = Date.now;
let server: TestServer;
let root: Client;
/** What stands for the names in angle brackets. */
let places: Record<string, string>;
let activities: Record<string, [type: string, parameters: object]>;

before(async () => {
  server = await startTestServer("sqlite", { clock: () => clock() });
  root = (await addSubOrganization(server.root)).client;
  const { userTagId: finance } = await root.result("create_user_tag", { userTagName: "Finance", userIds: [] });
  const { userTagId: security } = await root.result("create_user_tag", { userTagName: "Security", userIds: [] });
  const apiKeys = () => {
    const { publicKey } = generateApiKey();
    return [{ apiKeyName: "Key", publicKey, curveType: "API_KEY_CURVE_P256" }];
  };
  const passkey = authenticatorParams({
    authenticator: createAuthenticator(),
    origin: "https://wallet.example.com",
    rpId: "wallet.example.com",
  });
  const person = { authenticators: [], oauthProviders: [], userTags: [finance] };
  const { userIds } = await root.result("create_users", {
    users: [
      { ...person, userName: "Ada", apiKeys: apiKeys() },
      { ...person, userName: "Grace", apiKeys: apiKeys() },
      { ...person, userName: "Linus", apiKeys: [], authenticators: [passkey], userTags: [security] },
    ],
  });
  const newWallet = async (walletName: string) => {
    const accounts = [ETHEREUM, SOLANA].map(([curve, path, addressFormat]) => ({
      ...{ curve, path, addressFormat, pathFormat: "PATH_FORMAT_BIP32" },
    }));
    const { walletId, addresses } = await root.result("create_wallet", { walletName, accounts });
    return { walletId, address: addresses[0], solanaAddress: addresses[1] } as Record<string, string>;
  };
  const hot = await newWallet("Hot wallet");
  const vault = await newWallet("Vault");
  await root.result("create_smart_contract_interface", {
    smartContractAddress: TOKEN,
    smartContractInterface: JSON.stringify(ABI),
    type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
    label: "Token",
  });
  places = {
    ...{ Ada: userIds[0], Grace: userIds[1], Linus: userIds[2], finance, security },
    ...{ "hot wallet": hot.walletId as string, vault: vault.walletId as string },
    ...{ vendor: VENDOR, exchange: EXCHANGE, token: TOKEN, "Solana vendor": SOLANA_VENDOR as string },
  };
  activities = requestsOf(hot, vault);
});
after(() => server.close());

/** What the recipes are asked about, by the words of the guide. */
function requestsOf(hot: Record<string, string>, vault: Record<string, string>): typeof activities {
  const transaction = (more: object, signWith = hot.address): [string, object] => [
    "ACTIVITY_TYPE_SIGN_TRANSACTION_V2",
    {
      ...{ signWith, type: "TRANSACTION_TYPE_ETHEREUM" },
      unsignedTransaction: serializeTransaction({
        ...{ type: "eip1559", chainId: 1, nonce: 0, gas: 100_000n, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n },
        ...more,
      }),
    },
  ];
  const pay = (ether: string, to: string, more: object = {}) => transaction({ to, value: parseEther(ether), ...more });
  const call = (functionName: "transfer" | "approve", to: `0x${string}`, amount: bigint) =>
    transaction({ to: TOKEN, data: encodeFunctionData({ abi: ABI, functionName, args: [to, amount] }) });
  const solana = (sol: number, to = ""): [string, object] => {
    const fromPubkey = new PublicKey(hot.solanaAddress as string);
    const message = new Transaction({ feePayer: fromPubkey, recentBlockhash: SOLANA_STRANGER as string }).add(
      SystemProgram.transfer({ fromPubkey, toPubkey: new PublicKey(to), lamports: sol * 1e9 }),
    );
    const unsignedTransaction = message.serialize({ requireAllSignatures: false }).toString("hex");
    return [
      "ACTIVITY_TYPE_SIGN_TRANSACTION_V2",
      { signWith: hot.solanaAddress, type: "TRANSACTION_TYPE_SOLANA", unsignedTransaction },
    ];
  };
  const payload = (text: string, encoding: string, hashFunction: string): [string, object] => [
    "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2",
    { signWith: hot.address, payload: text, encoding, hashFunction },
  ];
  const typed = (primaryType: string, verifyingContract: string) => {
    const EIP712Domain = [
      { name: "chainId", type: "uint256" },
      { name: "verifyingContract", type: "address" },
    ];
    const types = { EIP712Domain, [primaryType]: [{ name: "amount", type: "uint256" }] };
    const data = { types, primaryType, domain: { chainId: 1, verifyingContract }, message: { amount: "1" } };
    return payload(JSON.stringify(data), "PAYLOAD_ENCODING_EIP712", "HASH_FUNCTION_NO_OP");
  };
  const { walletId } = hot;
  const newUser = { userName: "New", userTags: [], apiKeys: [], authenticators: [], oauthProviders: [] };
  return {
    "0.05 ether to the vendor": pay("0.05", VENDOR),
    "0.05 ether to the vendor from the vault": transaction({ to: VENDOR, value: parseEther("0.05") }, vault.address),
    "0.05 ether to the vendor on Base": pay("0.05", VENDOR, { chainId: 8453 }),
    "0.05 ether to a stranger": pay("0.05", STRANGER),
    "5 ether to the vendor": pay("5", VENDOR),
    "a transfer of 100 tokens to the vendor": call("transfer", VENDOR, 100_000_000n),
    "a transfer of 100 tokens to a stranger": call("transfer", STRANGER, 100_000_000n),
    "an approval of all tokens for a stranger": call("approve", STRANGER, maxUint256),
    "a new contract": transaction({ data: "0x6000" }),
    "an order at the exchange": typed("Order", EXCHANGE),
    "a permit for the token": typed("Permit", TOKEN),
    "the signature of a payload": payload("00".repeat(32), "PAYLOAD_ENCODING_HEXADECIMAL", "HASH_FUNCTION_NO_OP"),
    "the signature of a text": payload("hello", "PAYLOAD_ENCODING_TEXT_UTF8", "HASH_FUNCTION_KECCAK256"),
    "a new wallet": ["ACTIVITY_TYPE_CREATE_WALLET", { walletName: "New", accounts: [] }],
    "export of the hot wallet": [
      "ACTIVITY_TYPE_EXPORT_WALLET",
      { walletId, targetPublicKey: generateApiKey().publicKey },
    ],
    "deletion of the hot wallet": ["ACTIVITY_TYPE_DELETE_WALLETS", { walletIds: [walletId] }],
    "a new user": ["ACTIVITY_TYPE_CREATE_USERS_V4", { users: [newUser] }],
    "removal of Grace": ["ACTIVITY_TYPE_DELETE_USERS", { userIds: [places.Grace] }],
    "half a SOL to the Solana vendor": solana(0.5, SOLANA_VENDOR),
    "half a SOL to a stranger": solana(0.5, SOLANA_STRANGER),
    "5 SOL to the Solana vendor": solana(5, SOLANA_VENDOR),
  };
}

/** What a row says of the time, behind a comma. */
const times: Record<string, string> = {
  "on a Tuesday at noon": "2026-03-03T11:00:00Z",
  "on a Sunday at noon": "2026-03-01T11:00:00Z",
  "in March 2026": "2026-03-31T23:59:59Z",
  "in April 2026": "2026-04-01T00:00:00Z",
};

async function outcomeOf({ what, by }: Recipe["rows"][number]): Promise<string> {
  const [request = "", time] = what.split(", ");
  const [type, parameters] = activities[request] ?? assert.fail(`nothing here is ${request}`);
  if (time !== undefined) {
    const at = Date.parse(times[time] ?? assert.fail(`no time is ${time}`));
    clock = () => at;
  }
  const userIds = by.map((name) => places[name]);
  try {
    return (await root.read("simulate_policy", { activity: { type, parameters }, userIds })).outcome;
  } finally {
    clock = Date.now;
  }
}

it("has twenty recipes", () => {
  assert.equal(recipes.length, 20);
  for (const { title, rows } of recipes) {
    assert.ok(rows.some(({ outcome }) => outcome === "ALLOW") && rows.length > 1, title);
  }
});

for (const { title, policies, rows } of recipes) {
  it(`says what comes of ${title}`, async () => {
    const filled = policies.replace(/<([^<>]+)>/g, (_, name) => places[name] ?? assert.fail(`nothing is ${name}`));
    const parsed = (JSON.parse(filled) as Json[]).map((policy) => ({ notes: "", ...policy }));
    const { policyIds } = await root.result("create_policies", { policies: parsed });
    const outcomes: string[] = [];
    for (const row of rows) outcomes.push(await outcomeOf(row));
    assert.deepEqual(
      rows.map(({ what, by }, index) => [what, by, outcomes[index]]),
      rows.map(({ what, by, outcome }) => [what, by, outcome]),
    );
    await root.result("delete_policies", { policyIds });
  });
}
