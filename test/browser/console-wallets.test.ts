import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { sha256 } from "@noble/hashes/sha2.js";
import { createBase58check } from "@scure/base";
import * as btc from "@scure/btc-signer";
import {
  encodeFunctionData,
  erc20Abi,
  getAddress,
  recoverMessageAddress,
  serializeTransaction,
  toPrefixedMessage,
} from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { testNode, testSolana } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { HOSTILE, HOSTILE_SHOWN, storiesOn } from "../support/console.ts";
import { assertAccessible, goTo, openedPage, requiredField } from "../support/console-page.ts";
import { lamportsOf, newSolanaWallet, newStranger, SOL } from "../support/solana-sender.ts";

const ETHEREUM = {
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/60'/0'/0/0",
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
};

const base58check = createBase58check(sha256);
const vectorsOf = <Case>(chain: string): Case[] =>
  JSON.parse(readFileSync(new URL(`../vectors/${chain}-transactions/valid.json`, import.meta.url), "utf8")).cases;
const tronVectors = vectorsOf<{ name: string; rawData: string }>("tron");
const tempoVectors = vectorsOf<{ name: string; unsigned: string }>("tempo");

/** Wallets and what they are for, in a real browser. */
storiesOn("postgres", "wallets in the console", (stage) => {
  it("makes a wallet and signs a message as its address, and takes no name for markup", () =>
    stage.tell(async ({ page, root }) => {
      await page.getByText("Nothing is waiting for you.").waitFor();
      await page.getByRole("region", { name: "First steps" }).getByRole("link", { name: "Create a wallet" }).click();
      await openedPage(page, "Wallets");
      await page.getByText("There are no wallets yet.").waitFor();
      await page.getByRole("button", { name: "New wallet" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill(HOSTILE);
      await page.getByRole("button", { name: "Create wallet" }).click();
      await page.getByText("The wallet was created.").waitFor();
      await page.keyboard.press("Escape");
      await goTo(page, "Overview");
      const firstSteps = page.getByRole("region", { name: "First steps" });
      await firstSteps.getByText("A wallet was created.").waitFor();
      await assertAccessible(page, "Overview with first steps");
      await firstSteps.getByRole("link", { name: "Open it" }).click();
      await openedPage(page, HOSTILE_SHOWN);
      const { accounts } = await root.read("list_wallet_accounts");
      const { address } = accounts.find((account: Json) => account.addressFormat === "ADDRESS_FORMAT_ETHEREUM");
      await page.getByRole("button", { name: `Sign a message with ${address}` }).click();
      await page.getByRole("textbox", { name: "Message" }).fill("hello, world ✓");
      await page.getByRole("button", { name: "Sign", exact: true }).click();
      await page.getByText("Signed:").waitFor();
      const signature = await page.getByTitle(/^0x[0-9a-f]{130}$/).innerText();
      const signer = await recoverMessageAddress({
        message: "hello, world ✓",
        signature: signature as `0x${string}`,
      });
      assert.equal(signer, address);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Add an account" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill(HOSTILE);
      await page.getByRole("button", { name: "Add account" }).click();
      await page.getByRole("cell", { name: HOSTILE_SHOWN, exact: true }).waitFor();
      await goTo(page, "Overview");
      await page.getByRole("main").getByText("Ethereum Sepolia", { exact: true }).waitFor();
      await page.getByRole("cell", { name: "Sign raw payload" }).waitFor();
      await firstSteps.waitFor({ state: "detached" });
      await goTo(page, "Wallets");
      await page.getByRole("link", { name: HOSTILE_SHOWN }).waitFor();
      assert.equal(await page.locator("img, a[href*=evil]").count(), 0);
      assert.equal(await page.title(), "Wallets · Keystead");
    }));

  it("finds an account by its address or path, however many there are", () =>
    stage.tell(async ({ page, root }) => {
      const account = (index: number) => ({ ...ETHEREUM, path: `m/44'/60'/0'/0/${index}` });
      const { walletId } = await root.result("create_wallet", { walletName: "Many", accounts: [] });
      const addresses: string[] = [];
      for (const first of [0, 100]) {
        const accounts = Array.from({ length: 100 }, (_, index) => ({
          ...account(first + index),
          name: `${HOSTILE} ${first + index}`,
        }));
        addresses.push(...(await root.result("create_wallet_accounts", { walletId, accounts })).addresses);
      }
      const last = addresses[199] as string;
      await page.goto(`${stage.url}/#/wallets/${walletId}`);
      const rows = page.getByRole("region", { name: "Accounts, table" }).locator("tbody [role=row]");
      const search = page.getByRole("textbox", { name: "Search accounts" });
      await search.fill(account(7).path);
      await rows.filter({ has: page.getByTitle(addresses[7] as string) }).waitFor();
      await search.fill(account(198).path);
      await rows.filter({ has: page.getByTitle(addresses[198] as string) }).waitFor();
      await search.fill(last.toLowerCase());
      await rows.filter({ has: page.getByTitle(last) }).waitFor();
      assert.equal(await rows.count(), 1);
      await assertAccessible(page, "A wallet's accounts searched");
      await search.fill("0x00000000000000000000000000000000000000aa");
      await page.getByText("No account matches.").waitFor();
      const dialog = page.getByRole("dialog", { name: "Search" });
      const [{ walletAccountId }] = (await root.read("list_wallet_accounts", { filterByAddress: last })).accounts;
      for (const text of [
        last.slice(0, 10),
        last.slice(0, 10).toLowerCase(),
        last,
        `${HOSTILE} 199`.toUpperCase(),
        walletAccountId.toUpperCase(),
      ]) {
        await goTo(page, "Overview");
        await page.keyboard.press("Control+k");
        await dialog.getByRole("textbox").fill(text);
        await dialog.getByRole("link", { name: `${HOSTILE_SHOWN} 199, ${last}` }).click();
        await openedPage(page, "Many");
      }
    }));

  it("shows a secret phrase for a minute, and imports it again", () =>
    stage.tell(async ({ page, root }) => {
      await page.clock.install();
      const made = await root.result("create_wallet", { walletName: "Savings", accounts: [ETHEREUM] });
      await page.goto(`${stage.url}/#/wallets/${made.walletId}`);
      await page.getByRole("button", { name: "Export" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("textbox").fill("Savings");
      await dialog.getByRole("button", { name: "Export the secret phrase" }).click();
      const secret = dialog.getByLabel("Secret phrase");
      const phrase = await secret.innerText();
      assert.equal(phrase.split(" ").length, 12);
      await page.clock.runFor(61_000);
      await secret.waitFor({ state: "hidden" });
      // Whoever wants it once more says so once more.
      assert.equal(await dialog.getByRole("textbox").inputValue(), "");
      assert.ok(await dialog.getByRole("button", { name: "Export the secret phrase" }).isDisabled());
      await page.keyboard.press("Escape");
      await goTo(page, "Wallets");
      await page.getByRole("button", { name: "Import a wallet" }).click();
      await dialog.getByRole("textbox", { name: "Name" }).fill("Savings again");
      await requiredField(dialog, "Secret phrase").fill(`  ${phrase}\n`);
      await dialog.getByRole("button", { name: "Import wallet" }).click();
      await page.getByText("The wallet is imported.").waitFor();
      await page.getByTitle(made.addresses[0]).waitFor();
      assert.ok(!(await page.content()).includes(phrase));
    }));

  it("shows a private key for a minute, and imports it again as the same address", () =>
    stage.tell(async ({ page, root }) => {
      await page.clock.install();
      const key = { curve: "CURVE_SECP256K1", addressFormats: ["ADDRESS_FORMAT_ETHEREUM"], privateKeyTags: [] };
      const { privateKeys } = await root.result("create_private_keys", {
        privateKeys: [{ ...key, privateKeyName: HOSTILE }],
      });
      const [{ address }] = privateKeys[0].addresses;
      await goTo(page, "Private keys");
      await page.getByRole("button", { name: `Export ${HOSTILE_SHOWN}` }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("textbox").fill(HOSTILE);
      await dialog.getByRole("button", { name: "Export the private key" }).click();
      const secret = dialog.getByLabel("Private key");
      const exported = await secret.innerText();
      assert.match(exported, /^[0-9a-f]{64}$/);
      assert.equal(privateKeyToAddress(`0x${exported}`), address);
      await page.clock.runFor(61_000);
      await secret.waitFor({ state: "hidden" });
      await page.keyboard.press("Escape");
      await root.result("delete_private_keys", {
        privateKeyIds: [privateKeys[0].privateKeyId],
        deleteWithoutExport: true,
      });
      await page.getByRole("button", { name: "Import a private key" }).click();
      await dialog.getByRole("textbox", { name: "Name" }).fill("Savings again");
      const typed = requiredField(dialog, "Private key");
      await typed.fill("no key");
      await dialog.getByText("This is not a private key of the curve.").waitFor();
      await typed.fill(` 0x${exported} `);
      await dialog.getByRole("combobox", { name: "Addresses" }).fill("Ethereum");
      await page.getByRole("option", { name: "Ethereum" }).click();
      await page.keyboard.press("Escape");
      await dialog.getByRole("button", { name: "Import private key" }).click();
      await page.getByText("The private key was imported.").waitFor();
      await dialog.getByTitle(address).waitFor();
      assert.ok(!(await page.content()).includes(exported));
    }));

  it("sends from an address, says in words what it asked for, and shows what became of it", () =>
    stage.tell(async ({ page, root }) => {
      const { addresses, walletId } = await root.result("create_wallet", {
        walletName: "Spending",
        accounts: [ETHEREUM],
      });
      await testNode().call("anvil_setBalance", addresses[0], "0xde0b6b3a7640000");
      await goTo(page, "Wallets");
      await page.goto(`${stage.url}/#/wallets/${walletId}`);
      await page.getByRole("link", { name: `Open ${addresses[0]}` }).click();
      await openedPage(page, "Address");
      await page.getByRole("img", { name: `QR code of ${addresses[0]}` }).waitFor();
      await page.getByRole("combobox", { name: "Chain" }).fill("Sepolia");
      await page.getByRole("option", { name: "Ethereum Sepolia" }).click();
      await page.getByRole("region", { name: "Balances" }).getByRole("row", { name: /ETH/ }).waitFor();
      await assertAccessible(page, "Address");
      await page.getByRole("button", { name: "Send" }).click();
      const dialog = page.getByRole("dialog");
      const to = "0x00000000000000000000000000000000000000aA";
      await dialog.getByRole("textbox", { name: "To" }).fill(to);
      await dialog.getByRole("textbox", { name: "Amount" }).fill("0.25");
      await dialog.getByText("Sends 0.25 ETH").waitFor();
      await dialog.getByRole("button", { name: "Send" }).click();
      await dialog.getByText(/^Status: (included|confirmed|finalized)/).waitFor();
      await page.keyboard.press("Escape");
      // What was sent is gone from there, and nobody has to load the page anew to see it.
      await page.getByRole("region", { name: "Balances" }).getByRole("cell", { name: /^0\.7/ }).waitFor();
      await goTo(page, "Activities");
      await page.getByRole("link", { name: "Ethereum send transaction" }).click();
      await page.getByRole("list", { name: "In words" }).getByText("Sends 0.25 ETH to").waitFor();
      await page.getByRole("list", { name: "In words" }).getByText("on Ethereum Sepolia").waitFor();
    }));

  it("sends SOL, says in words what it asked for, and shows what became of it", () =>
    stage.tell(async ({ page, root }) => {
      const { walletId, addresses } = await newSolanaWallet(root, testSolana());
      const [from = ""] = addresses;
      await page.goto(`${stage.url}/#/wallets/${walletId}`);
      await page.getByRole("link", { name: `Open ${from}` }).click();
      await openedPage(page, "Address");
      await page.getByRole("combobox", { name: "Chain" }).fill("Devnet");
      await page.getByRole("option", { name: "Solana Devnet" }).click();
      await page.getByRole("button", { name: "Send" }).click();
      const dialog = page.getByRole("dialog");
      const to = newStranger().address;
      await dialog.getByRole("textbox", { name: "To" }).fill("0x00000000000000000000000000000000000000aA");
      await dialog.getByText("An address is 32 bytes in base58.").waitFor();
      await dialog.getByRole("textbox", { name: "To" }).fill(to);
      await dialog.getByRole("textbox", { name: "Amount in SOL" }).fill("0.25");
      await dialog.getByText("Sends 0.25 SOL").waitFor();
      await assertAccessible(page, "Sending SOL");
      await dialog.getByRole("button", { name: "Send" }).click();
      await dialog.getByText(/^Status: (included|confirmed|finalized)/).waitFor();
      assert.equal(await lamportsOf(testSolana(), to), SOL / 4n);
      await page.keyboard.press("Escape");
      await goTo(page, "Activities");
      await page.getByRole("link", { name: "Solana send transaction" }).click();
      const words = page.getByRole("list", { name: "In words" });
      await words.getByText("Sends 0.25 SOL to").waitFor();
      await words.getByTitle(to).waitFor();
      await words.getByText("on Solana Devnet").waitFor();
    }));

  it("says in words what a transaction would do that is to be signed", () =>
    stage.tell(async ({ page, root }) => {
      const { addresses } = await root.result("create_wallet", { walletName: "Signing", accounts: [ETHEREUM] });
      const to = getAddress("0x00000000000000000000000000000000000000aa");
      const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, 1234n] });
      const common = { chainId: 8453, nonce: 7, gas: 60_000n, to };
      const sign = async (transaction: object): Promise<string> => {
        const wire = serializeTransaction({ type: "eip1559", ...common, maxFeePerGas: 10n ** 9n, ...transaction });
        const { body } = await root.submit("sign_transaction", {
          signWith: addresses[0],
          unsignedTransaction: wire.slice(2),
          type: "TRANSACTION_TYPE_ETHEREUM",
        });
        return body.activity.id;
      };
      const words = page.getByRole("list", { name: "In words" });
      await page.goto(`${stage.url}/#/activities/${await sign({ value: 5n * 10n ** 17n })}`);
      await words.getByText("Sends 0.5 ETH to").waitFor();
      await words.getByText("on Base.").waitFor();
      await words.getByText("Pays a fee of 0.00006 ETH at most. Its nonce is 7.").waitFor();
      await words.getByTitle(to).waitFor();
      await page.goto(`${stage.url}/#/activities/${await sign({ data })}`);
      await words.getByText("Transfers a token to").waitFor();
      await words.getByText("(1234 of the token’s smallest unit)").waitFor();
      await assertAccessible(page, "An activity in words");
    }));

  it("says in words whom a Bitcoin transaction pays that is to be signed, and its fee", () =>
    stage.tell(async ({ page, root }) => {
      const format = { ...ETHEREUM, path: "m/84'/1'/0'/0/0", addressFormat: "ADDRESS_FORMAT_BITCOIN_TESTNET_P2WPKH" };
      const { addresses } = await root.result("create_wallet", { walletName: "Bitcoin", accounts: [format] });
      const [from = ""] = addresses;
      const { accounts } = await root.read("list_wallet_accounts");
      const { script = new Uint8Array() } = btc.p2wpkh(Buffer.from(accounts[0].publicKey, "hex"), btc.TEST_NETWORK);
      const to = "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx";
      const show = async (
        paid: readonly { address?: string; script?: Uint8Array; amount: bigint }[],
      ): Promise<void> => {
        const transaction = new btc.Transaction({ allowUnknownOutputs: true });
        transaction.addInput({ txid: "11".repeat(32), index: 0, witnessUtxo: { script, amount: 100_000_000n } });
        for (const { address, script, amount } of paid)
          if (address === undefined) transaction.addOutput({ script: script as Uint8Array, amount });
          else transaction.addOutputAddress(address, amount, btc.TEST_NETWORK);
        const { status, body } = await root.submit("sign_transaction", {
          signWith: from,
          unsignedTransaction: Buffer.from(transaction.toPSBT(0)).toString("hex"),
          type: "TRANSACTION_TYPE_BITCOIN",
        });
        assert.equal(status, 200, JSON.stringify(body));
        await page.goto(`${stage.url}/#/activities/${body.activity.id}`);
      };
      const words = page.getByRole("list", { name: "In words" });
      await show([
        { address: to, amount: 60_000_000n },
        { script: Buffer.from("6a0568656c6c6f", "hex"), amount: 0n },
        { address: from, amount: 39_990_000n },
      ]);
      await words.getByText("Sends 0.6 tBTC to").waitFor();
      await words.getByTitle(to).waitFor();
      await words.getByText("Sends 0 tBTC to a script without an address: 6a0568656c6c6f.").waitFor();
      await words.getByTitle(from).waitFor();
      await words
        .getByText("Spends 1 input. Pays a fee of 0.0001 tBTC, if the inputs have the amounts that it states.")
        .waitFor();
      await assertAccessible(page, "A Bitcoin transaction in words");
      await show(Array.from({ length: 53 }, () => ({ address: to, amount: 100_000n })));
      await words.getByText("Sends 0.003 tBTC to 3 more outputs that are not shown here.").waitFor();
    }));

  it("says in words what a Tron transaction would do that is to be signed", () =>
    stage.tell(async ({ page, root }) => {
      const format = { ...ETHEREUM, path: "m/44'/195'/0'/0/0", addressFormat: "ADDRESS_FORMAT_TRON" };
      const { addresses } = await root.result("create_wallet", { walletName: "Tron", accounts: [format] });
      const [owner = ""] = addresses;
      const show = async (name: string): Promise<void> => {
        const { rawData } = tronVectors.find((each) => each.name === name) ?? assert.fail(name);
        // The owner of a contract is the 21 bytes behind 0a15.
        const ours = Buffer.from(base58check.decode(owner)).toString("hex");
        const { status, body } = await root.submit("sign_transaction", {
          signWith: owner,
          unsignedTransaction: rawData.replace(/0a1541[0-9a-f]{40}/, `0a15${ours}`),
          type: "TRANSACTION_TYPE_TRON",
        });
        assert.equal(status, 200, JSON.stringify(body));
        await page.goto(`${stage.url}/#/activities/${body.activity.id}`);
      };
      const words = page.getByRole("list", { name: "In words" });
      await show("TransferContract: 1000000 sun");
      await words.getByText("Sends 1 TRX to").waitFor();
      await words.getByTitle(owner).waitFor();
      await words.getByTitle("TEGohFQcLwnFSUr4oHeF6PBYV3w8YaeAwY").waitFor();
      await show("TriggerSmartContract: transfer");
      await words.getByText("Transfers a token to").waitFor();
      await words.getByText("(255 of the token’s smallest unit)").waitFor();
      await words.getByText("burns 100 TRX at most for calling contracts").waitFor();
      await words.getByTitle("TEGohFQcLwnFSUr4oHeF6PBYV3w8YaeAwY").waitFor();
      await assertAccessible(page, "A Tron transaction in words");
      await show("WithdrawBalanceContract");
      await words.getByText("Does something that cannot be put into words here: WithdrawBalanceContract.").waitFor();
    }));

  it("says in words what a payload is that is to be signed", () =>
    stage.tell(async ({ page, root }) => {
      const { addresses } = await root.result("create_wallet", { walletName: "Signing", accounts: [ETHEREUM] });
      const show = async (payload: string, encoding: string, hashFunction = "NO_OP"): Promise<void> => {
        const { body } = await root.submit("sign_raw_payload", {
          signWith: addresses[0],
          payload,
          encoding: `PAYLOAD_ENCODING_${encoding}`,
          hashFunction: `HASH_FUNCTION_${hashFunction}`,
        });
        await page.goto(`${stage.url}/#/activities/${body.activity.id}`);
      };
      const words = page.getByRole("list", { name: "In words" });
      const message = `Sign in as ${HOSTILE}\nand more`;
      await show(toPrefixedMessage(message), "HEXADECIMAL", "KECCAK256");
      await words.getByText("Signs as a personal message of an Ethereum wallet the text:").waitFor();
      assert.equal(await words.getByLabel("Text to be signed").innerText(), message.replace(HOSTILE, HOSTILE_SHOWN));
      await assertAccessible(page, "A message in words");
      await show("x".repeat(3000), "TEXT_UTF8", "SHA256");
      await words.getByText("… and 1000 more characters").waitFor();
      const verifyingContract = getAddress("0x00000000000000000000000000000000000000aa");
      const typedData = {
        types: { Order: [{ name: "amounts", type: "uint256[]" }] },
        primaryType: "Order",
        domain: { name: HOSTILE, chainId: 8453, verifyingContract },
        message: { amounts: ["0x10", "2"], note: "that nobody signs" },
      };
      await show(JSON.stringify(typedData), "EIP712");
      await words.getByText("Signs typed data (EIP-712): Order").waitFor();
      await words.getByText("Domain, chainId: 8453 (Base)").waitFor();
      await words.getByText(`Domain, verifyingContract: ${verifyingContract}`).waitFor();
      await words.getByText("amounts[0]: 16").waitFor();
      assert.ok(!(await words.innerText()).includes("that nobody signs"));
      await assertAccessible(page, "Typed data in words");
      await show("ab".repeat(32), "HEXADECIMAL");
      await words.getByText("Signs a hash.").waitFor();
      const to = getAddress("0x00000000000000000000000000000000000000bb");
      const wire = serializeTransaction({
        type: "eip1559",
        chainId: 1,
        nonce: 1,
        gas: 21_000n,
        to,
        value: 10n ** 18n,
      });
      await show(wire, "HEXADECIMAL", "KECCAK256");
      await words.getByText("Sends 1 ETH to").waitFor();
      await show(JSON.stringify({ address: to, chainId: 8453, nonce: 7 }), "EIP7702_AUTHORIZATION");
      await words.getByText("Gives the account the code of the contract").waitFor();
      await words.getByText("on Base (EIP-7702)").waitFor();
      await words.getByText("Counts where the account’s nonce is 7.").waitFor();
      await assertAccessible(page, "An authorization in words");
      await show(JSON.stringify({ address: `0x${"00".repeat(20)}`, chainId: 0, nonce: 1 }), "EIP7702_AUTHORIZATION");
      await words.getByText("Takes back the code that the account was given on every chain (EIP-7702).").waitFor();
      const { body } = await root.submit("sign_transaction", {
        signWith: addresses[0],
        unsignedTransaction: tempoVectors[0]?.unsigned,
        type: "TRANSACTION_TYPE_TEMPO",
      });
      await page.goto(`${stage.url}/#/activities/${body.activity.id}`);
      await words.getByText("Transfers a token to").waitFor();
      await words.getByText("Takes 60000 units of gas at most").waitFor();
      await words.getByText("paid in the token").waitFor();
      await assertAccessible(page, "A Tempo transaction in words");
    }));
});
