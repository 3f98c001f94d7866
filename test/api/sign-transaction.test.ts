import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, it } from "node:test";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import * as btc from "@scure/btc-signer";
import { getTransactionDecoder, lamports } from "@solana/kit";
import {
  Keypair,
  PublicKey,
  SystemProgram,
  Transaction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import { ApiKeyStamper } from "@turnkey/api-key-stamper";
import { TurnkeySigner as EthersSigner } from "@turnkey/ethers";
import { TurnkeyClient } from "@turnkey/http";
import { TurnkeySigner as SolanaSigner } from "@turnkey/solana";
import { createAccount } from "@turnkey/viem";
import { JsonRpcProvider } from "ethers";
import { FailedTransactionMetadata, LiteSVM } from "litesvm";
import { createWalletClient, defineChain, encodeFunctionData, http, parseAbi, serializeTransaction } from "viem";
import { parsePsbt } from "../../src/chains/bitcoin/psbt.ts";
import { inputsToSign } from "../../src/chains/bitcoin/signing.ts";
import { deriveAddress } from "../../src/crypto/addresses.ts";
import { taprootOutputKey } from "../../src/crypto/taproot.ts";
import { newId } from "../../src/kernel/ids.ts";
import { type Anvil, startAnvil } from "../support/anvil.ts";
import type { Client, Json } from "../support/client.ts";
import { onEachEngine } from "../support/server.ts";
import { createWorld, type World } from "../support/world.ts";

const CHAIN_ID = 31_337;
const TO = "0x3535353535353535353535353535353535353535";

const account = (addressFormat: string, path: string, curve = "CURVE_SECP256K1") => ({
  curve,
  pathFormat: "PATH_FORMAT_BIP32",
  path,
  addressFormat,
});

interface Account {
  address: string;
  publicKey: string;
}

async function newAccount(root: Client, addressFormat: string, path: string, curve?: string): Promise<Account> {
  const accounts = [account(addressFormat, path, curve)];
  const { walletId } = await root.result("create_wallet", { walletName: "Signing", accounts });
  return (await root.read("list_wallet_accounts", { walletId })).accounts[0];
}

const sign = (client: Client, signWith: string, type: string, unsignedTransaction: string) =>
  client.submit("sign_transaction", { signWith, type: `TRANSACTION_TYPE_${type}`, unsignedTransaction });

async function signed(client: Client, signWith: string, type: string, unsigned: string): Promise<string> {
  const { status, body } = await sign(client, signWith, type, unsigned);
  assert.equal(status, 200, JSON.stringify(body));
  return body.activity.result.signTransactionResult.signedTransaction;
}

/** The packages each bring their own copy of the client's type. */
const publishedClient = (root: Client): never =>
  new TurnkeyClient(
    { baseUrl: root.baseUrl },
    new ApiKeyStamper({ apiPublicKey: root.key.publicKey, apiPrivateKey: root.key.privateKey }),
  ) as never;

/** Lets the plain user sign where the condition holds; resolves to a client of theirs. */
async function allowing({ root, user }: World, condition: string): Promise<Client> {
  await root.client.result("create_policy", {
    policyName: `Policy ${newId()}`,
    effect: "EFFECT_ALLOW",
    condition,
    consensus: `approvers.any(u, u.id == '${user.userId}')`,
    notes: "",
  });
  return user.client;
}

const vectors = (path: string): Json =>
  JSON.parse(readFileSync(new URL(`../vectors/${path}`, import.meta.url), "utf8"));

onEachEngine("sign_transaction on Ethereum", (server) => {
  let node: Anvil;
  let world: World;
  let root: Client;
  let signer: Account;
  before(async () => {
    node = await startAnvil();
    world = await createWorld(server());
    root = world.root.client;
    signer = await newAccount(root, "ADDRESS_FORMAT_ETHEREUM", "m/44'/60'/0'/0/0");
    await node.call("anvil_setBalance", signer.address, "0x8ac7230489e80000");
  });
  after(() => node.stop());
  const balance = async () => BigInt((await node.call("eth_getBalance", TO, "latest")) as string);
  const chain = () =>
    defineChain({
      id: CHAIN_ID,
      name: "local",
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
      rpcUrls: { default: { http: [node.url] } },
    });

  it("serves viem's account: transactions that a node takes, and EIP-7702 authorizations", async () => {
    const client = publishedClient(root);
    const viemAccount = await createAccount({ client, organizationId: root.organizationId, signWith: signer.address });
    const wallet = createWalletClient({ account: viemAccount, chain: chain(), transport: http(node.url) });
    const before = await balance();
    const requests = [
      { type: "eip1559" as const },
      { type: "eip2930" as const, gasPrice: 10n ** 10n, accessList: [] },
      { type: "legacy" as const, gasPrice: 10n ** 10n },
    ];
    for (const request of requests) {
      const hash = await wallet.sendTransaction({ to: TO, value: 7n, ...request } as never);
      const receipt = await node.receipt(hash);
      assert.equal(receipt.status, "0x1", request.type);
    }
    assert.equal(await balance(), before + 21n);
    const authorization = await wallet.signAuthorization({ contractAddress: TO, executor: "self" });
    const hash = await wallet.sendTransaction({
      to: signer.address as `0x${string}`,
      authorizationList: [authorization],
    });
    const receipt = await node.receipt(hash);
    assert.deepEqual([receipt.status, receipt.type], ["0x1", "0x4"]);
    assert.equal(await node.call("eth_getCode", signer.address, "latest"), `0xef0100${TO.slice(2)}`);
  });

  it("serves ethers' signer", async () => {
    const provider = new JsonRpcProvider(node.url, CHAIN_ID, { staticNetwork: true });
    const config = { client: publishedClient(root), organizationId: root.organizationId, signWith: signer.address };
    const ethersSigner = new EthersSigner(config).connect(provider as never);
    const before = await balance();
    const response = await ethersSigner.sendTransaction({ to: TO, value: 3n });
    assert.equal((await response.wait())?.status, 1);
    assert.equal(await balance(), before + 3n);
    provider.destroy();
  });

  it("shows policies the very transaction, and its call where an interface is stored", async () => {
    const abi = parseAbi(["function transfer(address to, uint256 amount)"]);
    const smartContractInterface = JSON.stringify(abi);
    const type = "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM";
    const contract = { smartContractAddress: TO, smartContractInterface, type, label: "Token", notes: "" };
    await root.result("create_smart_contract_interface", contract);
    const user = await allowing(
      world,
      `eth.tx.chain_id == 1 && eth.tx.function_name == 'transfer' && eth.tx.contract_call_args['amount'] <= 100 && eth.tx.from == '${signer.address}'`,
    );
    const call = (amount: bigint, chainId = 1) =>
      serializeTransaction({
        type: "eip1559",
        chainId,
        nonce: 0,
        gas: 60_000n,
        maxFeePerGas: 2n,
        maxPriorityFeePerGas: 1n,
        to: TO,
        data: encodeFunctionData({ abi, functionName: "transfer", args: [`0x${"12".repeat(20)}`, amount] }),
      });
    assert.equal((await sign(user, signer.address, "ETHEREUM", call(100n))).status, 200);
    for (const unsigned of [call(101n), call(1n, 10)]) {
      const { status, body } = await sign(user, signer.address, "ETHEREUM", unsigned);
      assert.equal(status, 403);
      assert.equal(body.details[0].policyEvaluations.length, 1);
    }
    const other = serializeTransaction({ type: "legacy", chainId: 1, to: TO, value: 1n, gas: 21_000n });
    assert.equal((await sign(user, signer.address, "ETHEREUM", other)).status, 403, "no call, no argument");
    const payload = { payload: "ab".repeat(32), encoding: "PAYLOAD_ENCODING_HEXADECIMAL" };
    const raw = { signWith: signer.address, ...payload, hashFunction: "HASH_FUNCTION_NO_OP" };
    assert.equal((await user.submit("sign_raw_payload", raw)).status, 403, "nor by its digest");
  });

  it("refuses what cannot be signed, with the reason", async () => {
    const { address: solana } = await newAccount(root, "ADDRESS_FORMAT_SOLANA", "m/44'/501'/0'/0'", "CURVE_ED25519");
    const good = "0x02df018001028252089435353535353535353535353535353535353535350180c0";
    const refusals: [string, string, string, number, RegExp][] = [
      [signer.address, "ETHEREUM", "xyz", 400, /must be an even number of hex digits/],
      [signer.address, "ETHEREUM", `${good}00`, 400, /invalid transaction/],
      [signer.address, "ETHEREUM", "0x05c0", 400, /unsupported transaction type/],
      [signer.address, "SOLANA", good, 400, /transaction/],
      [solana, "ETHEREUM", good, 400, /`parameters.signWith` names a key on CURVE_ED25519/],
      [`0x${"11".repeat(20)}`, "ETHEREUM", good, 404, /Could not find any resource to sign with/],
    ];
    for (const [signWith, type, unsigned, status, message] of refusals) {
      const answer = await sign(root, signWith, type, unsigned);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.match(answer.body.message, message);
    }
    assert.match((await sign(root, signer.address, "ETHEREUM", "0x05c0")).body.turnkeyErrorCode, /UNSUPPORTED/);
  });

  it("signs Tempo's transactions", async () => {
    const [{ unsigned, hash }] = vectors("tempo-transactions/valid.json").cases;
    const signedTransaction = await signed(root, signer.address, "TEMPO", unsigned);
    assert.ok(signedTransaction.startsWith("76"));
    const signature = Buffer.from(signedTransaction.slice(-130), "hex");
    const recovery = (signature[64] as number) % 27;
    const point = secp256k1.recoverPublicKey(
      Buffer.concat([Buffer.of(recovery), signature.subarray(0, 64)]),
      Buffer.from(hash, "hex"),
      { prehash: false },
    );
    assert.equal(Buffer.from(point).toString("hex"), signer.publicKey);
  });
});

onEachEngine("sign_transaction on Solana", (server) => {
  it("serves the published signer: transactions that the runtime takes, legacy and version 0", async () => {
    const world = await createWorld(server());
    const root = world.root.client;
    const { address } = await newAccount(root, "ADDRESS_FORMAT_SOLANA", "m/44'/501'/0'/0'", "CURVE_ED25519");
    const svm = new LiteSVM();
    svm.airdrop(address as never, lamports(10_000_000_000n));
    const signer = new SolanaSigner({ organizationId: root.organizationId, client: publishedClient(root) });
    const payer = new PublicKey(address);
    const to = Keypair.generate().publicKey;
    const transfer = SystemProgram.transfer({ fromPubkey: payer, toPubkey: to, lamports: 1_000_000n });
    const send = (wire: Uint8Array) => {
      const result = svm.sendTransaction(getTransactionDecoder().decode(wire));
      assert.ok(!(result instanceof FailedTransactionMetadata), String(result));
    };

    const legacy = new Transaction({ feePayer: payer, recentBlockhash: svm.latestBlockhash() }).add(transfer);
    await signer.addSignature(legacy, address);
    send(legacy.serialize());

    const message = new TransactionMessage({
      payerKey: payer,
      recentBlockhash: svm.latestBlockhash(),
      instructions: [transfer, SystemProgram.transfer({ fromPubkey: payer, toPubkey: to, lamports: 2_000_000n })],
    });
    const versioned = (await signer.signTransaction(
      new VersionedTransaction(message.compileToV0Message()),
      address,
    )) as VersionedTransaction;
    send(versioned.serialize());
    assert.equal(svm.getBalance(to.toBase58() as never), 4_000_000n);

    const user = await allowing(
      world,
      `solana.tx.transfers.count == 1 && solana.tx.transfers[0].to == '${to.toBase58()}'`,
    );
    const unsigned = (destination: PublicKey) => {
      const instruction = SystemProgram.transfer({ fromPubkey: payer, toPubkey: destination, lamports: 1n });
      const transaction = new Transaction({ feePayer: payer, recentBlockhash: svm.latestBlockhash() }).add(instruction);
      return transaction.serialize({ requireAllSignatures: false }).toString("hex");
    };
    assert.equal((await sign(user, address, "SOLANA", unsigned(to))).status, 200);
    assert.equal((await sign(user, address, "SOLANA", unsigned(Keypair.generate().publicKey))).status, 403);

    const { address: other } = await newAccount(root, "ADDRESS_FORMAT_SOLANA", "m/44'/501'/1'/0'", "CURVE_ED25519");
    const { status, body } = await sign(root, other, "SOLANA", unsigned(to));
    assert.equal(status, 400);
    assert.match(body.message, /is not to be signed by/);
  });
});

onEachEngine("sign_transaction on Tron", (server) => {
  it("signs the account's own transactions, and shows them to policies", async () => {
    const world = await createWorld(server());
    const root = world.root.client;
    const { address, publicKey } = await newAccount(root, "ADDRESS_FORMAT_TRON", "m/44'/195'/0'/0/0");
    const [vector] = vectors("tron-transactions/valid.json").cases;
    const foreign = vector.rawData as string;
    const { status, body } = await sign(root, address, "TRON", foreign);
    assert.equal(status, 400);
    assert.match(body.message, /is of the account T/);
    // The owner of the vector's TransferContract is the 21 bytes behind 0a15.
    const ours = Buffer.from(deriveTronBytes(publicKey)).toString("hex");
    const unsigned = foreign.replace(/0a1541[0-9a-f]{40}/, `0a15${ours}`);
    assert.notEqual(unsigned, foreign);
    const signedTransaction = await signed(root, address, "TRON", unsigned);
    assert.ok(signedTransaction.includes(unsigned));
    const signature = Buffer.from(signedTransaction.slice(-130), "hex");
    const digest = createHash("sha256").update(Buffer.from(unsigned, "hex")).digest();
    const recovered = secp256k1.recoverPublicKey(
      Buffer.concat([Buffer.of((signature[64] as number) % 27), signature.subarray(0, 64)]),
      digest,
      { prehash: false },
    );
    assert.equal(Buffer.from(recovered).toString("hex"), publicKey);
    const user = await allowing(
      world,
      `tron.tx.contract[0].owner_address == '${address}' && tron.tx.contract[0].amount > 5`,
    );
    assert.equal((await sign(user, address, "TRON", unsigned)).status, 403, "0 sun are not more than 5");
  });
});

function deriveTronBytes(publicKey: string): Buffer {
  const ethereum = deriveAddress("ADDRESS_FORMAT_ETHEREUM", "CURVE_SECP256K1", Buffer.from(publicKey, "hex"));
  return Buffer.concat([Buffer.of(0x41), Buffer.from(ethereum.slice(2), "hex")]);
}

onEachEngine("sign_transaction on Bitcoin", (server) => {
  const network = btc.TEST_NETWORK;

  /** A PSBT that spends one output of each kind that the key can have, to one P2WPKH output. */
  function newPsbt(publicKey: Uint8Array): string {
    const transaction = new btc.Transaction();
    const taproot = Buffer.concat([Buffer.of(0x51, 0x20), taprootOutputKey(publicKey.subarray(1))]);
    const { script, address } = btc.p2wpkh(publicKey, network);
    const previous = new btc.Transaction();
    previous.addInput({ txid: "11".repeat(32), index: 0 });
    for (const each of [script, taproot]) previous.addOutput({ script: each, amount: 60_000n });
    const spent = { txid: previous.id, nonWitnessUtxo: previous.toBytes() };
    for (const [index, each] of [script, taproot].entries()) {
      transaction.addInput({ ...spent, index, witnessUtxo: { script: each, amount: 60_000n } });
    }
    transaction.addOutputAddress(address as string, 110_000n, network);
    return Buffer.from(transaction.toPSBT(0)).toString("hex");
  }

  for (const format of ["ADDRESS_FORMAT_BITCOIN_TESTNET_P2WPKH", "ADDRESS_FORMAT_BITCOIN_TESTNET_P2TR"]) {
    it(`signs with ${format} every input that its key can, and finalizes elsewhere`, async () => {
      const world = await createWorld(server());
      const root = world.root.client;
      const { address, publicKey } = await newAccount(root, format, "m/84'/1'/0'/0/0");
      const key = Buffer.from(publicKey, "hex");
      const unsigned = newPsbt(key);
      const signedPsbt = Buffer.from(await signed(root, address, "BITCOIN", unsigned), "hex");
      const sighashes = inputsToSign(parsePsbt(Buffer.from(unsigned, "hex"), "psbt"), key);
      const transaction = btc.Transaction.fromPSBT(signedPsbt);
      const [[, der]] = transaction.getInput(0).partialSig as [[Uint8Array, Uint8Array]];
      assert.equal(der.at(-1), 1, "SIGHASH_ALL");
      const ecdsa = secp256k1.Signature.fromBytes(der.slice(0, -1), "der").toBytes("compact");
      assert.ok(secp256k1.verify(ecdsa, sighashes[0]?.sighash as Buffer, key, { prehash: false }));
      assert.equal(transaction.getInput(1).tapKeySig?.length, 64);
      transaction.finalize();
      assert.ok(transaction.extract().length > 200);

      const user = await allowing(
        world,
        `bitcoin.tx.fee <= 10000 && bitcoin.tx.outputs.all(o, o.address == '${btc.p2wpkh(key, network).address}')`,
      );
      assert.equal((await sign(user, address, "BITCOIN", unsigned)).status, 200);
      const strict = await createWorld(server());
      const other = await newAccount(strict.root.client, format, "m/84'/1'/0'/0/0");
      const refusal = await sign(strict.root.client, other.address, "BITCOIN", unsigned);
      assert.equal(refusal.status, 400);
      assert.match(refusal.body.message, /no input that this key signs/);
    });
  }

  it("signs raw payloads by the scheme of the address: ECDSA, tweaked and untweaked Schnorr", async () => {
    const root = (await createWorld(server())).root.client;
    const path = "m/86'/0'/0'/0/0";
    const formats = [
      "ADDRESS_FORMAT_COMPRESSED",
      "ADDRESS_FORMAT_BITCOIN_MAINNET_P2TR",
      "ADDRESS_FORMAT_SPARK_MAINNET",
    ];
    const accounts = formats.map((format) => account(format, path));
    const { addresses } = await root.result("create_wallet", { walletName: "Schemes", accounts });
    const { accounts: shown } = await root.read("list_wallet_accounts");
    const key = Buffer.from(shown[0].publicKey, "hex");
    const payload = "c0".repeat(32);
    const digest = Buffer.from(payload, "hex");
    const signatures = [];
    for (const signWith of addresses) {
      const request = {
        signWith,
        payload,
        encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
        hashFunction: "HASH_FUNCTION_NO_OP",
      };
      const { r, s, v } = await root.result("sign_raw_payload", request);
      signatures.push({ bytes: Buffer.from(r + s, "hex"), v });
    }
    const { schnorr } = await import("@noble/curves/secp256k1.js");
    const [ecdsa, tweaked, plain] = signatures.map(({ bytes }) => bytes) as [Buffer, Buffer, Buffer];
    assert.ok(secp256k1.verify(ecdsa, digest, key, { prehash: false }));
    assert.ok(schnorr.verify(tweaked, digest, taprootOutputKey(key.subarray(1))));
    assert.ok(schnorr.verify(plain, digest, key.subarray(1)));
    assert.deepEqual(
      signatures.slice(1).map(({ v }) => v),
      ["00", "00"],
    );
  });
});
