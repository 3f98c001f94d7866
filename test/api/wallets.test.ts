import assert from "node:assert/strict";
import { it } from "node:test";
import { serializeTransaction } from "viem";
import { ADDRESS_FORMATS, addressFormatProblem, deriveAddress } from "../../src/crypto/addresses.ts";
import { newId } from "../../src/kernel/ids.ts";
import { clientBundle } from "../support/bundles.ts";
import { addUser, apiKeyParams, type Client, generateApiKey, type Json } from "../support/client.ts";
import { onEachEngine } from "../support/server.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const ethereum = (index = 0, more: object = {}): Json => ({
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: `m/44'/60'/0'/0/${index}`,
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
  ...more,
});
const solana = (index = 0): Json => ({
  curve: "CURVE_ED25519",
  pathFormat: "PATH_FORMAT_BIP32",
  path: `m/44'/501'/${index}'/0'`,
  addressFormat: "ADDRESS_FORMAT_SOLANA",
});
const p256: Json = {
  curve: "CURVE_P256",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/5527107'/0'/0'/0",
  addressFormat: "ADDRESS_FORMAT_COMPRESSED",
};
const rootUser = {
  userName: "Root",
  apiKeys: [apiKeyParams(generateApiKey())],
  authenticators: [],
  oauthProviders: [],
};
const PHRASE = "test test test test test test test test test test test junk";
const raw = { payload: "ab".repeat(32), encoding: "PAYLOAD_ENCODING_HEXADECIMAL", hashFunction: "HASH_FUNCTION_NO_OP" };

onEachEngine("wallets", (server) => {
  const newRoot = async () => (await createWorld(server())).root.client;
  const newWallet = async (root: Client, accounts: Json[], more: object = {}) =>
    root.result("create_wallet", { walletName: "Wallet", accounts, ...more });

  const imported = async (root: Client, accounts: Json[]): Promise<Json> => {
    const { userId } = await root.read("whoami");
    const { importBundle } = await root.result("init_import_wallet", { userId });
    const encryptedBundle = clientBundle(importBundle, PHRASE);
    return root.result("import_wallet", { userId, walletName: "Imported", encryptedBundle, accounts });
  };

  it("are made with accounts of every curve, whose addresses follow from their public keys", async () => {
    const root = await newRoot();
    const accounts = [ethereum(0, { name: "spending" }), solana(), p256];
    const { walletId, addresses } = await newWallet(root, accounts, { mnemonicLength: 24 });
    const { wallet } = await root.read("get_wallet", { walletId });
    const { createdAt, updatedAt, ...shown } = wallet;
    assert.deepEqual(createdAt, updatedAt);
    assert.deepEqual(shown, { walletId, walletName: "Wallet", exported: false, imported: false });
    assert.deepEqual(await root.read("list_wallets"), { wallets: [wallet] });

    const listed = await root.read("list_wallet_accounts", { walletId });
    assert.deepEqual(
      listed.accounts.map(({ address }: Json) => address),
      addresses,
    );
    for (const [index, account] of listed.accounts.entries()) {
      const { curve, path, addressFormat, name } = accounts[index];
      assert.deepEqual(
        [account.curve, account.path, account.addressFormat, account.name],
        [curve, path, addressFormat, name],
      );
      assert.equal(account.walletId, walletId);
      assert.equal(account.address, deriveAddress(addressFormat, curve, Buffer.from(account.publicKey, "hex")));
    }
    assert.deepEqual(
      listed.accounts.map(({ caip2Prefix }: Json) => caip2Prefix),
      ["eip155", "solana", undefined],
    );
    assert.equal(listed.accounts[0].walletDetails, undefined);
    const detailed = await root.read("list_wallet_accounts", { includeWalletDetails: true });
    assert.deepEqual(detailed.accounts[0].walletDetails, wallet);
  });

  it("have accounts in every address format, found by address and by path", async () => {
    const root = await newRoot();
    const accounts = ADDRESS_FORMATS.map((addressFormat, index) => ({
      ...(addressFormatProblem(addressFormat, "CURVE_SECP256K1") === undefined ? ethereum(index) : solana(index)),
      addressFormat,
    }));
    const { walletId, addresses } = await newWallet(root, accounts);
    assert.equal(addresses.length, 38);
    for (const [index, address] of addresses.entries()) {
      const { account } = await root.read("get_wallet_account", { walletId, address });
      assert.equal(account.addressFormat, accounts[index]?.addressFormat);
      const byPath = await root.read("get_wallet_account", { walletId, path: account.path });
      assert.deepEqual(byPath.account, account);
    }
    const missing = await root.query("get_wallet_account", { walletId, address: `0x${"0".repeat(40)}` });
    assert.equal(missing.status, 404);
    assert.equal(missing.body.code, 5);
    assert.equal((await root.query("get_wallet_account", { walletId })).status, 400);
  });

  it("derive the same account again, without keeping it unless asked", async () => {
    const root = await newRoot();
    const { walletId, addresses } = await newWallet(root, [ethereum()]);
    const derive = async (more: object) =>
      (await root.result("create_wallet_accounts", { walletId, ...more })).addresses;
    assert.deepEqual(await derive({ accounts: [ethereum()], persist: false }), addresses);
    const count = async () =>
      (await root.read("list_wallet_accounts", { walletId, paginationOptions: { limit: "100" } })).accounts.length;
    assert.equal(await count(), 1);
    await derive({ accounts: [ethereum(1), ethereum(2)] });
    assert.equal(await count(), 3);
    const again = await root.submit("create_wallet_accounts", { walletId, accounts: [ethereum(3), ethereum(1)] });
    assert.equal(again.status, 409);
    assert.equal(again.body.code, 6);
    assert.match(again.body.message, /path already exists in wallet account .*: m\/44'\/60'\/0'\/0\/1/);
    assert.equal(await count(), 3, "none of a refused list is kept");
  });

  it("list accounts page by page, in the order in which they were made", async () => {
    const root = await newRoot();
    const { walletId } = await newWallet(root, []);
    for (const start of [0, 100, 200]) {
      const accounts = Array.from({ length: start === 200 ? 30 : 100 }, (_, index) => solana(start + index));
      await root.result("create_wallet_accounts", { walletId, accounts });
    }
    const seen: Json[] = [];
    for (;;) {
      const after = seen.at(-1)?.walletAccountId ?? "";
      const page = { walletId, paginationOptions: { limit: "100", after } };
      const { accounts } = await root.read("list_wallet_accounts", page);
      seen.push(...accounts);
      if (accounts.length < 100) break;
    }
    assert.deepEqual(
      seen.map(({ path }) => path),
      Array.from({ length: 230 }, (_, index) => `m/44'/501'/${index}'/0'`),
    );
    const before = { walletId, paginationOptions: { limit: "5", before: seen[10].walletAccountId } };
    assert.deepEqual((await root.read("list_wallet_accounts", before)).accounts, seen.slice(5, 10));
    assert.equal((await root.read("list_wallet_accounts", { walletId })).accounts.length, 10, "ten unless said");
  });

  it("list the accounts at an address, in all wallets or one, and at a path of one", async () => {
    const root = await newRoot();
    // The same phrase in two wallets: its addresses are those of both.
    const { walletId, addresses } = await imported(root, [ethereum(), ethereum(1), solana()]);
    const { walletId: again } = await imported(root, [ethereum(), solana()]);
    const other = await newWallet(root, [ethereum()]);
    const list = async (fields: Json): Promise<string[]> =>
      (await root.read("list_wallet_accounts", fields)).accounts.map(({ walletId: of, path }: Json) => `${of} ${path}`);
    const [first, , third] = addresses;
    const here = (id: string, account: Json) => `${id} ${account.path}`;
    const both = [here(walletId, ethereum()), here(again, ethereum())];
    assert.deepEqual(await list({ filterByAddress: first }), both);
    assert.deepEqual(await list({ filterByAddress: first.toLowerCase() }), both);
    assert.deepEqual(await list({ filterByAddress: `0x${first.slice(2).toUpperCase()}` }), both);
    assert.deepEqual(await list({ filterByAddress: third.toLowerCase() }), [], "base58 has one spelling");
    assert.deepEqual(await list({ filterByAddress: first.slice(0, 20) }), []);
    assert.deepEqual(await list({ walletId: again, filterByAddress: first }), [here(again, ethereum())]);
    assert.deepEqual(await list({ walletId: other.walletId, filterByAddress: first }), []);
    assert.deepEqual(await list({ walletId, filterByPath: ethereum(1).path }), [here(walletId, ethereum(1))]);
    assert.deepEqual(await list({ walletId, filterByPath: ethereum(1).path, filterByAddress: first }), []);

    const page = async (paginationOptions: Json) =>
      (await root.read("list_wallet_accounts", { filterByAddress: first, paginationOptions })).accounts;
    const [one] = await page({ limit: "1" });
    const [two] = await page({ limit: "1", after: one.walletAccountId });
    assert.deepEqual([one.walletId, two.walletId], [walletId, again]);
    assert.deepEqual(await page({ limit: "1", after: two.walletAccountId }), []);
    assert.deepEqual(await page({ limit: "1", before: two.walletAccountId }), [one]);

    const elsewhere = await newRoot();
    assert.deepEqual((await elsewhere.read("list_wallet_accounts", { filterByAddress: first })).accounts, []);
    for (const [fields, words] of [
      [{ filterByPath: ethereum().path }, /missing field `walletId`/],
      [{ filterByAddress: "" }, /filterByAddress/],
      [{ filterByAddress: 7 }, /filterByAddress/],
      [{ walletId, filterByPath: "" }, /filterByPath/],
    ] as const) {
      const { status, body } = await root.query("list_wallet_accounts", fields);
      assert.equal(status, 400, JSON.stringify(fields));
      assert.match(body.message, words);
    }
  });

  it("list the first accounts whose address begins so, in the order of addresses", async () => {
    const root = await newRoot();
    const { addresses, walletId } = await newWallet(root, [
      ...Array.from({ length: 40 }, (_, index) => ethereum(index)),
      solana(),
      { ...ethereum(), addressFormat: "ADDRESS_FORMAT_BITCOIN_MAINNET_P2WPKH" },
      { ...ethereum(), addressFormat: "ADDRESS_FORMAT_COMPRESSED" },
    ]);
    const elsewhere = await newRoot();
    await newWallet(elsewhere, [ethereum(), solana()]);
    const list = async (filterByAddressPrefix: string, limit = 100): Promise<string[]> => {
      const fields = { filterByAddressPrefix, paginationOptions: { limit: String(limit) } };
      const { accounts } = await root.read("list_wallet_accounts", fields);
      return accounts.map(({ address }: Json) => address);
    };
    const [, second, ...others] = addresses as string[];
    const [solanaAddress = "", bitcoin = "", publicKey = ""] = others.slice(-3);
    const byBytes = (addresses as string[])
      .filter((address) => address.startsWith("0x"))
      .sort((one, other) => (one.toLowerCase() < other.toLowerCase() ? -1 : 1));
    assert.deepEqual(await list("0x"), byBytes);
    assert.deepEqual(await list("0X"), [], "nobody writes that");
    assert.deepEqual(await list("0x", 3), byBytes.slice(0, 3));
    for (const address of [second as string, solanaAddress, bitcoin, publicKey]) {
      for (const length of [8, 20, address.length]) {
        assert.deepEqual(await list(address.slice(0, length)), [address], `the first ${length} of ${address}`);
      }
      assert.deepEqual(await list(`${address}1`), []);
    }
    assert.deepEqual(await list((second as string).slice(0, 12).toLowerCase()), [second]);
    assert.deepEqual(await list(`0x${(second as string).slice(2, 12).toUpperCase()}`), [second]);
    assert.deepEqual(await list(bitcoin.slice(0, 12).toUpperCase()), [bitcoin]);
    assert.deepEqual(await list(solanaAddress.toLowerCase().slice(0, 12)), [], "base58 has one spelling");

    const cursor = { paginationOptions: { after: walletId } };
    for (const [fields, words] of [
      [{ walletId }, /`walletId` cannot be combined with `filterByAddressPrefix`/],
      [{ filterByAddress: second }, /`filterByAddress` cannot be combined/],
      [cursor, /`paginationOptions\.after` cannot be combined/],
      [{ filterByAddressPrefix: "0x 1" }, /filterByAddressPrefix/],
      [{ filterByAddressPrefix: "" }, /filterByAddressPrefix/],
    ] as const) {
      const { status, body } = await root.query("list_wallet_accounts", { filterByAddressPrefix: "0x", ...fields });
      assert.equal(status, 400, JSON.stringify(fields));
      assert.match(body.message, words);
    }
  });

  it("list the first accounts whose name begins so, in the order of names, and the one with an id", async () => {
    const root = await newRoot();
    const names = ["Savings", "savings of ÄRZTE", "SAVED", "Sales 100%", "sales_1", "Été", "\u{1f4b0} Pot", undefined];
    const { walletId } = await newWallet(
      root,
      names.map((name, index) => ({ ...ethereum(index), ...(name === undefined ? {} : { name }) })),
    );
    const elsewhere = await newRoot();
    await newWallet(elsewhere, [{ ...ethereum(), name: "Savings elsewhere" }]);
    const list = async (filterByNamePrefix: string, limit = 100): Promise<string[]> => {
      const fields = { filterByNamePrefix, paginationOptions: { limit: String(limit) } };
      const { accounts } = await root.read("list_wallet_accounts", fields);
      return accounts.map(({ name }: Json) => name);
    };
    assert.deepEqual(await list("sa"), ["Sales 100%", "sales_1", "SAVED", "Savings", "savings of ÄRZTE"]);
    assert.deepEqual(await list("SAV"), ["SAVED", "Savings", "savings of ÄRZTE"]);
    assert.deepEqual(await list("sa", 2), ["Sales 100%", "sales_1"]);
    assert.deepEqual(await list("Savings of Ä"), ["savings of ÄRZTE"]);
    assert.deepEqual(await list("Savings of ä"), [], "letters beyond ASCII are as they are");
    assert.deepEqual(await list("sales 100%"), ["Sales 100%"]);
    assert.deepEqual(await list("sales%"), [], "no sign stands for others");
    assert.deepEqual(await list("sales_1"), ["sales_1"]);
    assert.deepEqual(await list("Ét"), ["Été"]);
    assert.deepEqual(await list("\u{1f4b0}"), ["\u{1f4b0} Pot"]);
    assert.deepEqual(await list("avings"), []);

    const { accounts } = await root.read("list_wallet_accounts");
    const [, { walletAccountId }] = accounts;
    const byId = async (fields: object): Promise<Json[]> =>
      (await root.read("list_wallet_accounts", { filterByWalletAccountId: walletAccountId, ...fields })).accounts;
    assert.deepEqual(await byId({}), [accounts[1]]);
    assert.deepEqual(await byId({ walletId }), [accounts[1]]);
    assert.deepEqual(await byId({ paginationOptions: { after: walletAccountId } }), []);
    const other = (await elsewhere.read("list_wallet_accounts")).accounts[0];
    const { status } = await root.query("list_wallet_accounts", { filterByWalletAccountId: other.walletAccountId });
    assert.equal(status, 404, "of another organization");

    for (const [fields, words] of [
      [{ walletId }, /`walletId` cannot be combined with `filterByNamePrefix`/],
      [{ filterByWalletAccountId: walletAccountId }, /`filterByWalletAccountId` cannot be combined/],
      [{ filterByAddressPrefix: "0x" }, /`filterByNamePrefix` cannot be combined with `filterByAddressPrefix`/],
      [{ paginationOptions: { before: walletAccountId } }, /`paginationOptions\.before` cannot be combined/],
      [{ filterByNamePrefix: " " }, /filterByNamePrefix/],
    ] as const) {
      const { status, body } = await root.query("list_wallet_accounts", { filterByNamePrefix: "s", ...fields });
      assert.equal(status, 400, JSON.stringify(fields));
      assert.match(body.message, words);
    }
  });

  it("sign with their accounts, and no longer when these are gone", async () => {
    const root = await newRoot();
    const { walletId, addresses } = await newWallet(root, [ethereum(), solana()]);
    const first = await root.result("sign_raw_payload", { signWith: addresses[0], ...raw });
    const lower = await root.result("sign_raw_payload", { signWith: addresses[0].toLowerCase(), ...raw });
    assert.deepEqual(first, lower);
    const message = { payload: "hello", encoding: "PAYLOAD_ENCODING_TEXT_UTF8" };
    const ed25519 = { signWith: addresses[1], ...message, hashFunction: "HASH_FUNCTION_NOT_APPLICABLE" };
    assert.match((await root.result("sign_raw_payload", ed25519)).s, /^[0-9a-f]{64}$/);
    const { accounts } = await root.read("list_wallet_accounts", { walletId });
    const walletAccountIds = [accounts[0].walletAccountId];
    const refused = await root.submit("delete_wallet_accounts", { walletAccountIds });
    assert.equal(refused.status, 400);
    assert.equal(refused.body.turnkeyErrorCode, "WALLET_ACCOUNT_NOT_EXPORTED");
    await root.result("delete_wallet_accounts", { walletAccountIds, deleteWithoutExport: true });
    assert.equal((await root.submit("sign_raw_payload", { signWith: addresses[0], ...raw })).status, 404);
    assert.equal((await root.submit("delete_wallet_accounts", { walletAccountIds })).status, 404);
    const again = await root.result("create_wallet_accounts", { walletId, accounts: [ethereum()] });
    assert.deepEqual(again.addresses, [addresses[0]], "the wallet derives it again");
  });

  it("take the members for external signers empty, wherever a key is made or signs", async () => {
    const root = await newRoot();
    const { walletId, addresses } = await newWallet(root, [ethereum()]);
    const key = { privateKeyName: "Key", curve: "CURVE_P256", privateKeyTags: [], addressFormats: [] };
    const sub = { subOrganizationName: "", rootUsers: [rootUser], rootQuorumThreshold: 1 };
    const unsignedTransaction = serializeTransaction({ type: "eip1559", chainId: 1, to: addresses[0] });
    const transaction = { unsignedTransaction, type: "TRANSACTION_TYPE_ETHEREUM" };
    const [signWith] = addresses;
    const { payload, ...hashed } = raw;
    const requests: [path: string, parametersWith: (more: object) => object, place?: string][] = [
      ["create_wallet", (more) => ({ walletName: "Other", accounts: [], ...more })],
      ["create_wallet_accounts", (more) => ({ walletId, accounts: [], ...more })],
      ["create_private_keys", (more) => ({ privateKeys: [key], ...more })],
      ["create_private_keys", (more) => ({ privateKeys: [{ ...key, ...more }] }), "privateKeys.0."],
      [
        "create_sub_organization",
        (more) => ({ ...sub, wallet: { walletName: "Theirs", accounts: [], ...more } }),
        "wallet.",
      ],
      ["sign_raw_payload", (more) => ({ signWith, payload, ...hashed, ...more })],
      ["sign_raw_payloads", (more) => ({ signWith, payloads: [payload], ...hashed, ...more })],
      ["sign_transaction", (more) => ({ signWith, ...transaction, ...more })],
    ];
    for (const [path, parametersWith, place = ""] of requests) {
      const empty = await root.submit(
        path,
        parametersWith({ externalSignerPubkey: "", externalSignerWrappingKeyId: "" }),
      );
      assert.equal(empty.status, 200, `${path} ${JSON.stringify(empty.body)}`);
      for (const name of ["externalSignerPubkey", "externalSignerWrappingKeyId"]) {
        const { status, body } = await root.submit(path, parametersWith({ [name]: "02ab" }));
        assert.equal(status, 400, path);
        const field = `parameters.${place}${name}`;
        assert.ok(
          body.message.includes(`\`${field}\` must be empty: signers outside of this service are not supported`),
        );
      }
    }
  });

  it("are renamed and deleted", async () => {
    const root = await newRoot();
    const { walletId } = await newWallet(root, [ethereum()]);
    assert.deepEqual(await root.result("update_wallet", { walletId, walletName: "Savings" }), { walletId });
    for (const nothing of [{ walletName: "" }, {}]) {
      assert.deepEqual(await root.result("update_wallet", { walletId, ...nothing }), { walletId });
      assert.equal((await root.read("get_wallet", { walletId })).wallet.walletName, "Savings");
    }
    const blank = await root.submit("update_wallet", { walletId, walletName: " " });
    assert.equal(blank.status, 400);
    assert.match(
      blank.body.message,
      /`parameters\.walletName` must be a name of up to 255 printable characters, or empty/,
    );
    const kept = await root.submit("delete_wallets", { walletIds: [walletId] });
    assert.equal(kept.status, 400);
    assert.match(kept.body.message, /wallet .* has not been exported/);
    const two = { walletIds: [walletId, newId()], deleteWithoutExport: true };
    assert.equal((await root.submit("delete_wallets", two)).status, 404, "all or none");
    await root.result("delete_wallets", { walletIds: [walletId], deleteWithoutExport: true });
    assert.deepEqual(await root.read("list_wallets"), { wallets: [] });
    assert.deepEqual((await root.read("list_wallet_accounts")).accounts, []);
    assert.equal((await root.query("get_wallet", { walletId })).status, 404);
  });

  it("refuse what cannot be, and say which field", async () => {
    const root = await newRoot();
    const refusals: [object, RegExp][] = [
      [
        { accounts: [ethereum(0, { path: "44'/60'" })] },
        /invalid path: `parameters.accounts.0.path` must begin with `m`/,
      ],
      [{ accounts: [ethereum(0, { path: "m/2147483648" })] }, /invalid path/],
      [{ accounts: [ethereum(), ethereum()] }, /`parameters.accounts.1` occurs twice/],
      [{ accounts: [{ ...solana(), addressFormat: "ADDRESS_FORMAT_ETHEREUM" }] }, /takes CURVE_SECP256K1/],
      [{ accounts: [], mnemonicLength: 13 }, /`parameters.mnemonicLength` must be one of 12, 15, 18, 21, 24/],
    ];
    for (const [params, message] of refusals) {
      const { status, body } = await root.submit("create_wallet", { walletName: "Wallet", ...params });
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(body.message, message);
    }
    assert.deepEqual(await root.read("list_wallets"), { wallets: [] });
    const stranger = await newRoot();
    const { walletId } = await newWallet(stranger, [ethereum()]);
    assert.equal((await root.submit("create_wallet_accounts", { walletId, accounts: [ethereum(1)] })).status, 404);
    assert.equal((await root.submit("update_wallet", { walletId, walletName: "Mine" })).status, 404);
  });

  it("are seen by policies: the wallet, the account and its path", async () => {
    const { root, user } = await createWorld(server());
    const { walletId, addresses } = await newWallet(root.client, [ethereum(0), ethereum(1)]);
    const allow = (condition: string) =>
      root.client.result("create_policy", {
        policyName: `Policy ${newId()}`,
        effect: "EFFECT_ALLOW",
        condition,
        consensus: `approvers.any(u, u.id == '${user.userId}')`,
        notes: "",
      });
    await allow(
      `activity.action == 'SIGN' && wallet.id == '${walletId}' && wallet_account.path_indexes[4] == 1 && wallet_account.path_hardened[0]`,
    );
    await allow(`activity.action == 'UPDATE' && wallet.label == 'Wallet'`);
    const sign = (signWith: string) => user.client.submit("sign_raw_payload", { signWith, ...raw });
    assert.equal((await sign(addresses[0])).status, 403);
    assert.equal((await sign(addresses[1])).status, 200);
    assert.equal((await user.client.submit("update_wallet", { walletId, walletName: "Other" })).status, 200);
    assert.equal((await user.client.submit("update_wallet", { walletId, walletName: "Again" })).status, 403);
  });

  it("come with a sub-organization, whose users alone sign with them", async () => {
    const root = await newRoot();
    const wallet = { walletName: "First", accounts: [ethereum(), solana()], mnemonicLength: 12 };
    const { client: sub } = await addSubOrganization(root, { wallet });
    const { accounts } = await sub.read("list_wallet_accounts");
    assert.equal(accounts.length, 2);
    const { address } = accounts[0];
    assert.match((await sub.result("sign_raw_payload", { signWith: address, ...raw })).r, /^[0-9a-f]{64}$/);
    assert.equal((await root.submit("sign_raw_payload", { signWith: address, ...raw })).status, 404);
    const filter = { filterType: "WALLET_ACCOUNT_ADDRESS", filterValue: address };
    assert.deepEqual((await root.read("list_suborgs", filter)).organizationIds, [sub.organizationId]);
    const plain = (await addUser(sub)).client;
    assert.equal((await plain.submit("sign_raw_payload", { signWith: address, ...raw })).status, 403);
    const lost = await sub.submit("delete_sub_organization", {});
    assert.match(lost.body.message, /wallet .* has not been exported/);
    await sub.result("delete_sub_organization", { deleteWithoutExport: true });
    assert.deepEqual((await root.with({ organizationId: sub.organizationId }).read("list_wallets")).wallets, []);
  });
});
