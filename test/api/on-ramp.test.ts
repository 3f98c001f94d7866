import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import type { RequestListener } from "node:http";
import { it } from "node:test";
import { encryptOnRampSecret } from "@turnkey/crypto";
import { onRampKey } from "../../src/capabilities/on-ramp/on-ramp-key.ts";
import { generateReceiver } from "../../src/crypto/hpke.ts";
import { currentServiceKey, rotateServiceKey } from "../../src/engine/keys/service-keys.ts";
import { DAY_MS } from "../../src/kernel/durations.ts";
import { newId } from "../../src/kernel/ids.ts";
import { ON_RAMP_REFRESHES } from "../../src/kernel/limits.ts";
import { addUser, type Client, type Json } from "../support/client.ts";
import {
  COINBASE_SECRET,
  coinbaseParams,
  MOONPAY_SECRET,
  moonPayParams,
  moonPaySignature,
  onRampProviderOfTests,
  onRampPublicKey,
  openMoonPayUrl,
  purchaseParams,
} from "../support/on-ramp-provider.ts";
import { onOneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const LARGE_BYTES = 10 * 1024 * 1024;
const answering =
  (status: number, body: string, headers: Record<string, string> = {}): RequestListener =>
  (request, response) => {
    request.resume();
    response.writeHead(status, headers).end(body);
  };

/** An organization of its own, and its root user's client. */
const newOrganization = async (server: TestServer): Promise<Client> => (await createWorld(server)).root.client;

const credentialsOf = async (client: Client): Promise<Json[]> =>
  (await client.read("list_fiat_on_ramp_credentials")).fiatOnRampCredentials;

async function withAccounts(server: TestServer, sandboxMode = false) {
  const client = await newOrganization(server);
  const moonPay = await moonPayParams(server.baseUrl, { sandboxMode });
  const coinbase = await coinbaseParams(server.baseUrl, { sandboxMode });
  for (const params of [moonPay, coinbase]) await client.result("create_fiat_on_ramp_credential", params);
  return { client, moonPay, coinbase };
}

async function statusOf(client: Client, transactionId: string, refresh = true): Promise<string> {
  const { transactionStatus } = await client.read("get_onramp_transaction_status", { transactionId, refresh });
  return transactionStatus;
}

onOneEngine("sqlite", "fiat on-ramp credentials", (server) => {
  it("are made, shown, changed and deleted", async () => {
    const client = await newOrganization(server());
    const params = await coinbaseParams(server().baseUrl, { sandboxMode: true });
    const { fiatOnRampCredentialId: id, ...nothing } = await client.result("create_fiat_on_ramp_credential", params);
    assert.deepEqual(nothing, {});
    const [shown] = await credentialsOf(client);
    const { createdAt, updatedAt, ...rest } = shown;
    const { organizationId } = client;
    assert.deepEqual(rest, { fiatOnrampCredentialId: id, organizationId, ...params });
    assert.deepEqual(createdAt, updatedAt);

    const { sandboxMode: _, ...next } = await moonPayParams(server().baseUrl);
    const changed = await client.result("update_fiat_on_ramp_credential", { fiatOnrampCredentialId: id, ...next });
    assert.deepEqual(changed, { fiatOnRampCredentialId: id });
    const [after] = await credentialsOf(client);
    assert.equal(after.sandboxMode, true);
    assert.equal(after.onrampProvider, "FIAT_ON_RAMP_PROVIDER_MOONPAY");
    assert.equal(after.encryptedSecretApiKey, next.encryptedSecretApiKey);
    assert.equal("projectId" in after || "encryptedPrivateApiKey" in after, false);

    const deleted = await client.result("delete_fiat_on_ramp_credential", { fiatOnrampCredentialId: id });
    assert.deepEqual(deleted, { fiatOnRampCredentialId: id });
    assert.deepEqual(await credentialsOf(client), []);
    for (const [path, params] of [
      ["delete_fiat_on_ramp_credential", { fiatOnrampCredentialId: id }],
      ["update_fiat_on_ramp_credential", { fiatOnrampCredentialId: id, ...next }],
    ] as const) {
      const answer = await client.submit(path, params);
      assert.equal(answer.status, 404);
      assert.match(answer.body.message, /unable to find fiat on-ramp credential/);
    }
  });

  it("are published a key for, compressed, that the published client takes", async () => {
    assert.match(await onRampPublicKey(server().baseUrl), /^0[23][0-9a-f]{64}$/);
  });

  it("are at most 25 of an organization", async () => {
    const client = await newOrganization(server());
    const params = await moonPayParams(server().baseUrl);
    for (let count = 0; count < 25; count++) await client.result("create_fiat_on_ramp_credential", params);
    const answer = await client.submit("create_fiat_on_ramp_credential", params);
    assert.equal(answer.status, 429);
    assert.match(answer.body.message, /at most 25 fiat on-ramp credentials/);
  });

  it("need keys that this server opens and the provider would take, and nothing is stored otherwise", async () => {
    const client = await newOrganization(server());
    const { baseUrl } = server();
    const key = await onRampPublicKey(baseUrl);
    const another = generateReceiver().publicKey;
    const compressed = `0${2 + ((another.at(-1) ?? 0) & 1)}${another.subarray(1, 33).toString("hex")}`;
    const moonPay = await moonPayParams(baseUrl);
    const coinbase = await coinbaseParams(baseUrl);
    const good = moonPay.encryptedSecretApiKey;
    const flipped = `${good.slice(0, 60)}${good[60] === "2" ? "3" : "2"}${good.slice(61)}`;
    const notOurs = [
      encryptOnRampSecret("secret", compressed),
      flipped,
      good.slice(1),
      good.slice(0, -1),
      `${good}1`,
      `1${good}`,
      "2",
      "1".repeat(80),
    ];
    const { privateKey: secp256k1 } = generateKeyPairSync("ec", { namedCurve: "secp256k1" });
    const { privateKey: rsa } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const { privateKey: ed25519 } = generateKeyPairSync("ed25519");
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const { d = "" } = ed25519.export({ format: "jwk" });
    const noKeys = [
      "",
      "not a key",
      secp256k1.export({ type: "sec1", format: "pem" }) as string,
      (rsa.export({ type: "pkcs1", format: "pem" }) as string).slice(0, 1000),
      publicKey.export({ type: "spki", format: "pem" }) as string,
      "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n",
      Buffer.alloc(31, 1).toString("base64"),
      Buffer.concat([Buffer.from(d, "base64url"), Buffer.alloc(32)]).toString("base64"),
    ].map((secret) => encryptOnRampSecret(secret, key));
    const large = encryptOnRampSecret("s".repeat(1025), key);
    const secrets = ["", "with space", "line end\n", "é"].map((secret) => encryptOnRampSecret(secret, key));

    const bad: [object, string, RegExp][] = [
      ...notOurs.map((text): [object, string, RegExp] => [
        { ...moonPay, encryptedSecretApiKey: text },
        "encryptedSecretApiKey",
        /was not encrypted to a key of this server: use `serviceKeys\.onRamp`/,
      ]),
      ...notOurs.map((text): [object, string, RegExp] => [
        { ...coinbase, encryptedPrivateApiKey: text },
        "encryptedPrivateApiKey",
        /was not encrypted to a key of this server/,
      ]),
      ...noKeys.map((text): [object, string, RegExp] => [
        { ...coinbase, encryptedPrivateApiKey: text },
        "encryptedPrivateApiKey",
        /does not contain a key that can sign for Coinbase/,
      ]),
      ...secrets.map((text): [object, string, RegExp] => [
        { ...moonPay, encryptedSecretApiKey: text },
        "encryptedSecretApiKey",
        /empty or has spaces or line ends/,
      ]),
      [{ ...coinbase, encryptedSecretApiKey: secrets[0] }, "encryptedSecretApiKey", /empty/],
      [{ ...moonPay, encryptedSecretApiKey: large }, "encryptedSecretApiKey", /1024 bytes|1470|1472|at most|must/],
      [{ ...moonPay, encryptedSecretApiKey: "0OIl" }, "encryptedSecretApiKey", /base58/],
      [{ ...moonPay, encryptedSecretApiKey: "" }, "encryptedSecretApiKey", /./],
      [{ ...moonPay, encryptedPrivateApiKey: notOurs[0] }, "encryptedPrivateApiKey", /was not encrypted/],
      [{ ...moonPay, publishableApiKey: "" }, "publishableApiKey", /./],
      [{ ...moonPay, publishableApiKey: "pk test" }, "publishableApiKey", /without spaces/],
      [{ ...moonPay, onrampProvider: "FIAT_ON_RAMP_PROVIDER_STRIPE" }, "onrampProvider", /./],
      [{ ...coinbase, projectId: undefined }, "projectId", /missing field/],
      [{ ...coinbase, projectId: "" }, "projectId", /missing field/],
      [{ ...coinbase, encryptedPrivateApiKey: undefined }, "encryptedPrivateApiKey", /missing field/],
      [{ ...coinbase, encryptedPrivateApiKey: "" }, "encryptedPrivateApiKey", /missing field/],
      [{ ...moonPay, sandboxMode: "true" }, "sandboxMode", /./],
    ];
    for (const [params, field, reason] of bad) {
      const answer = await client.submit("create_fiat_on_ramp_credential", params);
      assert.equal(answer.status, 400, JSON.stringify([params, answer.body]));
      assert.match(answer.body.message, new RegExp(`\`parameters\\.${field}\``));
      assert.match(answer.body.message, reason);
    }
    assert.deepEqual(await credentialsOf(client), []);

    const { fiatOnRampCredentialId } = await client.result("create_fiat_on_ramp_credential", moonPay);
    const { sandboxMode: _, ...rest } = coinbase;
    const [stored] = await credentialsOf(client);
    for (const encryptedPrivateApiKey of [...notOurs, ...noKeys, ""]) {
      const update = { fiatOnrampCredentialId: fiatOnRampCredentialId, ...rest, encryptedPrivateApiKey };
      const answer = await client.submit("update_fiat_on_ramp_credential", update);
      assert.equal(answer.status, 400, JSON.stringify(answer.body));
      assert.match(answer.body.message, /encryptedPrivateApiKey/);
    }
    assert.deepEqual(await credentialsOf(client), [stored]);
  });

  it("are nobody else's", async () => {
    const { client } = await withAccounts(server());
    const stranger = await newOrganization(server());
    const plain = (await addUser(client)).client;
    const [own] = await credentialsOf(client);
    const { fiatOnrampCredentialId } = own;
    const { sandboxMode: _, ...next } = await moonPayParams(server().baseUrl);
    for (const [path, params] of [
      ["delete_fiat_on_ramp_credential", { fiatOnrampCredentialId }],
      ["update_fiat_on_ramp_credential", { fiatOnrampCredentialId, ...next }],
    ] as const) {
      assert.equal((await stranger.submit(path, params)).status, 404);
      assert.equal((await plain.submit(path, params)).status, 403);
    }
    assert.equal((await plain.submit("create_fiat_on_ramp_credential", next)).status, 403);
    assert.equal((await plain.submit("init_fiat_on_ramp", purchaseParams("MOONPAY"))).status, 403);
    assert.deepEqual(await credentialsOf(stranger), []);
    assert.deepEqual((await credentialsOf(client))[0], own);
    const { onRampTransactionId } = await client.result("init_fiat_on_ramp", purchaseParams("MOONPAY"));
    for (const transactionId of [onRampTransactionId, newId()]) {
      const answer = await stranger.query("get_onramp_transaction_status", { transactionId, refresh: true });
      assert.equal(answer.status, 404);
      assert.match(answer.body.message, /unable to find on-ramp transaction/);
    }
  });

  it("are decided on by policies, as the resource that they are", async () => {
    const { client } = await withAccounts(server());
    const { userId, client: plain } = await addUser(client);
    await client.result("create_policy", {
      policyName: "buyers",
      effect: "EFFECT_ALLOW",
      consensus: `approvers.any(user, user.id == '${userId}')`,
      condition: "activity.resource == 'FIAT_TRANSACTION' && activity.action == 'CREATE'",
      notes: "",
    });
    await plain.result("init_fiat_on_ramp", purchaseParams("MOONPAY"));
    const another = await moonPayParams(server().baseUrl);
    assert.equal((await plain.submit("create_fiat_on_ramp_credential", another)).status, 403);
    await client.result("create_policy", {
      policyName: "keepers",
      effect: "EFFECT_ALLOW",
      consensus: `approvers.any(user, user.id == '${userId}')`,
      condition: "activity.resource == 'ON_RAMP_CREDENTIALS' && activity.action == 'CREATE'",
      notes: "",
    });
    const { fiatOnRampCredentialId } = await plain.result("create_fiat_on_ramp_credential", another);
    const params = { fiatOnrampCredentialId: fiatOnRampCredentialId };
    assert.equal((await plain.submit("delete_fiat_on_ramp_credential", params)).status, 403);
  });

  it("keep their secrets to themselves", async () => {
    const { opened, log } = server();
    const client = await newOrganization(server());
    const { privateKey } = (await onRampProviderOfTests()).coinbaseAccount();
    await client.result("create_fiat_on_ramp_credential", await moonPayParams(server().baseUrl));
    await client.result("create_fiat_on_ramp_credential", await coinbaseParams(server().baseUrl, { privateKey }));
    await client.result("init_fiat_on_ramp", purchaseParams("MOONPAY"));
    // Coinbase does not know this key: even so none of it is told.
    assert.equal((await client.submit("init_fiat_on_ramp", purchaseParams("COINBASE"))).status, 400);
    const rows = await opened.database.read
      .selectFrom("on_ramp_credentials")
      .selectAll()
      .where("organization_id", "=", client.organizationId)
      .execute();
    const [, body = ""] = privateKey.split("\n");
    for (const secret of [MOONPAY_SECRET, COINBASE_SECRET, body]) {
      assert.ok(rows.every((row) => !Buffer.from(row.sealed_keys).includes(secret)));
      assert.ok(!log().includes(secret));
    }
  });
});

onOneEngine("postgres", "a purchase", (server) => {
  it("at MoonPay has a signed URL with all that was asked", async () => {
    const { client, moonPay } = await withAccounts(server());
    const codes: Record<string, string> = {
      "BITCOIN BTC": "btc",
      "ETHEREUM ETH": "eth",
      "ETHEREUM USDC": "usdc",
      "SOLANA SOL": "sol",
      "SOLANA USDC": "usdc_sol",
      "BASE ETH": "eth_base",
      "BASE USDC": "usdc_base",
    };
    for (const [pair, currencyCode] of Object.entries(codes)) {
      const [network = "", currency] = pair.split(" ");
      const walletAddress = ADDRESSES[network] as string;
      const { onRampUrl, onRampTransactionId, ...more } = await client.result(
        "init_fiat_on_ramp",
        purchaseParams("MOONPAY", {
          walletAddress,
          network: `FIAT_ON_RAMP_BLOCKCHAIN_NETWORK_${network}`,
          cryptoCurrencyCode: `FIAT_ON_RAMP_CRYPTO_CURRENCY_${currency}`,
        }),
      );
      assert.equal(new URL(onRampUrl).origin, "https://buy.moonpay.com");
      assert.deepEqual(openMoonPayUrl(onRampUrl), {
        apiKey: moonPay.publishableApiKey,
        currencyCode,
        walletAddress,
        externalTransactionId: onRampTransactionId,
      });
      assert.deepEqual(more, {});
      assert.equal(await statusOf(client, onRampTransactionId, false), "PENDING");
    }
    const { onRampUrl } = await client.result(
      "init_fiat_on_ramp",
      purchaseParams("MOONPAY", {
        fiatCurrencyCode: "FIAT_ON_RAMP_CURRENCY_EUR",
        fiatCurrencyAmount: "20.01",
        paymentMethod: "FIAT_ON_RAMP_PAYMENT_METHOD_SEPA_BANK_TRANSFER",
      }),
    );
    const { baseCurrencyCode, baseCurrencyAmount, paymentMethod } = openMoonPayUrl(onRampUrl);
    assert.deepEqual([baseCurrencyCode, baseCurrencyAmount, paymentMethod], ["eur", "20.01", "sepa_bank_transfer"]);
    assert.match(onRampUrl, /&signature=[A-Za-z0-9%]+$/);
  });

  it("at MoonPay signs the URL of its SDKs, on its host alone", async () => {
    const { client } = await withAccounts(server(), true);
    const { walletAddress } = purchaseParams("MOONPAY");
    const signed = `https://buy-sandbox.moonpay.com?apiKey=pk_test_key&currencyCode=eth&walletAddress=${walletAddress}&email=a%40b.c`;
    const init = (urlForSignature: string, more: object = {}) =>
      client.submit("init_fiat_on_ramp", purchaseParams("MOONPAY", { sandboxMode: true, urlForSignature, ...more }));
    const { status, body } = await init(signed);
    assert.equal(status, 200, JSON.stringify(body));
    const { onRampUrl, onRampUrlSignature } = body.activity.result.initFiatOnRampResult;
    assert.equal(onRampUrlSignature, moonPaySignature(new URL(signed).search));
    assert.equal(new URL(onRampUrl).origin, "https://buy-sandbox.moonpay.com");
    openMoonPayUrl(onRampUrl);
    const long = `${signed}&x=`.padEnd(2048, "a");
    assert.equal((await init(long)).status, 200);
    const page = (search: string) => `https://buy-sandbox.moonpay.com?apiKey=pk${search}`;
    for (const bad of [
      page(`&walletAddress=${walletAddress}`),
      page("&currencyCode=eth"),
      page(`&currencyCode=btc&walletAddress=${walletAddress}`),
      page(`&currencyCode=eth_base&walletAddress=${walletAddress}`),
      page(`&currencyCode=eth&walletAddress=0xde0b`),
      `${signed}&currencyCode=btc`,
      `${signed}&walletAddress=${walletAddress}`,
      `${signed}&walletAddresses=%7B%7D`,
      "https://buy.moonpay.com?apiKey=pk",
      "https://evil.example?apiKey=pk",
      "https://buy-sandbox.moonpay.com.evil.example?apiKey=pk",
      "https://evil.example/buy-sandbox.moonpay.com?apiKey=pk",
      "https://buy-sandbox.moonpay.com@evil.example?apiKey=pk",
      "https://user:password@buy-sandbox.moonpay.com?apiKey=pk",
      "https://buy-sandbox.moonpay.com:8443?apiKey=pk",
      "http://buy-sandbox.moonpay.com?apiKey=pk",
      "https://buy-sandbox.moonpay.com",
      "https://buy-sandbox.moonpay.com?",
      "https://buy-sandbox.moonpay.com?apiKey=pk#fragment",
      "https://buy-sandbox.moonpay.com\\?apiKey=pk",
      "https://buy-sandbox.moonpay.com?apiKey=pk&signature=abc",
      `${signed}&walletAddress=0xde0b`,
      "https://127.0.0.1?apiKey=pk",
      "//buy-sandbox.moonpay.com?apiKey=pk",
      "buy-sandbox.moonpay.com?apiKey=pk",
      " https://buy-sandbox.moonpay.com?apiKey=pk",
      "javascript:alert(1)",
      "?apiKey=pk",
      `${long}a`,
    ]) {
      const answer = await init(bad);
      assert.equal(answer.status, 400, bad);
      assert.match(answer.body.message, /`parameters\.urlForSignature`/);
    }
    const atCoinbase = await init(signed, { onrampProvider: "FIAT_ON_RAMP_PROVIDER_COINBASE" });
    assert.match(atCoinbase.body.message, /`parameters\.urlForSignature` is only for FIAT_ON_RAMP_PROVIDER_MOONPAY/);
  });

  it("at Coinbase has a session token, asked for with a key of either kind", async () => {
    const provider = await onRampProviderOfTests();
    for (const kind of ["ES256", "EdDSA"] as const) {
      const client = await newOrganization(server());
      const params = await coinbaseParams(server().baseUrl, { kind });
      await client.result("create_fiat_on_ramp_credential", params);
      const { onRampUrl, onRampTransactionId } = await client.result(
        "init_fiat_on_ramp",
        purchaseParams("COINBASE", {
          network: "FIAT_ON_RAMP_BLOCKCHAIN_NETWORK_BASE",
          cryptoCurrencyCode: "FIAT_ON_RAMP_CRYPTO_CURRENCY_USDC",
          fiatCurrencyCode: "FIAT_ON_RAMP_CURRENCY_USD",
          fiatCurrencyAmount: "50",
          paymentMethod: "FIAT_ON_RAMP_PAYMENT_METHOD_CREDIT_DEBIT_CARD",
          countryCode: "US",
          countrySubdivisionCode: "NY",
        }),
      );
      const session = provider.sessions.at(-1);
      assert.equal(session?.keyId, params.publishableApiKey);
      assert.deepEqual(session?.body, {
        addresses: [{ address: purchaseParams("COINBASE").walletAddress, blockchains: ["base"] }],
        assets: ["USDC"],
      });
      const url = new URL(onRampUrl);
      assert.equal(url.origin + url.pathname, "https://pay.coinbase.com/buy/select-asset");
      assert.deepEqual(Object.fromEntries(url.searchParams), {
        sessionToken: session?.token,
        defaultNetwork: "base",
        defaultAsset: "USDC",
        presetFiatAmount: "50",
        fiatCurrency: "USD",
        defaultPaymentMethod: "CARD",
        partnerUserRef: onRampTransactionId,
      });
    }
  });

  it("at Coinbase takes a PEM as it stands in a JSON file, and a seed without its public key", async () => {
    const provider = await onRampProviderOfTests();
    const { baseUrl } = server();
    const publicKey = await onRampPublicKey(baseUrl);
    const elliptic = provider.coinbaseAccount("ES256");
    const edwards = provider.coinbaseAccount("EdDSA");
    const seed = Buffer.from(edwards.privateKey, "base64").subarray(0, 32).toString("base64");
    for (const [keyId, privateKey] of [
      [elliptic.keyId, elliptic.privateKey.replaceAll("\n", "\\n")],
      [edwards.keyId, seed],
    ] as const) {
      const client = await newOrganization(server());
      const encryptedPrivateApiKey = encryptOnRampSecret(privateKey, publicKey);
      const params = { ...(await coinbaseParams(baseUrl)), publishableApiKey: keyId, encryptedPrivateApiKey };
      await client.result("create_fiat_on_ramp_credential", params);
      await client.result("init_fiat_on_ramp", purchaseParams("COINBASE"));
      assert.equal(provider.sessions.at(-1)?.keyId, keyId);
    }
  });

  it("in the sandbox is made with the credential of the sandbox", async () => {
    const client = await newOrganization(server());
    const missing = await client.submit("init_fiat_on_ramp", purchaseParams("COINBASE"));
    assert.equal(missing.status, 400);
    assert.match(missing.body.message, /has no credential for FIAT_ON_RAMP_PROVIDER_COINBASE with `sandboxMode` false/);
    const sandbox = await coinbaseParams(server().baseUrl, { sandboxMode: true });
    await client.result("create_fiat_on_ramp_credential", sandbox);
    assert.equal((await client.submit("init_fiat_on_ramp", purchaseParams("COINBASE"))).status, 400);
    const { onRampUrl } = await client.result("init_fiat_on_ramp", purchaseParams("COINBASE", { sandboxMode: true }));
    assert.equal(new URL(onRampUrl).origin, "https://pay-sandbox.coinbase.com");
    const later = await coinbaseParams(server().baseUrl, { sandboxMode: true });
    await client.result("create_fiat_on_ramp_credential", later);
    await client.result("init_fiat_on_ramp", purchaseParams("COINBASE", { sandboxMode: true }));
    assert.equal((await onRampProviderOfTests()).sessions.at(-1)?.keyId, later.publishableApiKey);
  });

  it("of a sub-organization is made with its own credential, or its parent's", async () => {
    const { client, moonPay } = await withAccounts(server());
    const sub = (await addSubOrganization(client)).client;
    const apiKeyOf = async (which: Client) => {
      const { onRampUrl, onRampTransactionId } = await which.result("init_fiat_on_ramp", purchaseParams("MOONPAY"));
      return { apiKey: openMoonPayUrl(onRampUrl).apiKey, onRampTransactionId };
    };
    const { apiKey, onRampTransactionId } = await apiKeyOf(sub);
    assert.equal(apiKey, moonPay.publishableApiKey);
    assert.deepEqual(await credentialsOf(sub), []);
    const { onRampTransactionId: atCoinbase } = await sub.result("init_fiat_on_ramp", purchaseParams("COINBASE"));
    const provider = await onRampProviderOfTests();
    provider.tell(atCoinbase, [{ status: "ONRAMP_TRANSACTION_STATUS_SUCCESS", partnerUserRef: atCoinbase }]);
    assert.equal(await statusOf(sub, atCoinbase), "COMPLETED");
    // The parent reads in its sub-organization, and the purchase is not its own.
    assert.equal(await statusOf(client.with({ organizationId: sub.organizationId }), atCoinbase, false), "COMPLETED");
    const notOwn = await client.query("get_onramp_transaction_status", { transactionId: onRampTransactionId });
    assert.equal(notOwn.status, 404);
    const own = await moonPayParams(server().baseUrl);
    await sub.result("create_fiat_on_ramp_credential", own);
    assert.equal((await apiKeyOf(sub)).apiKey, own.publishableApiKey);
    assert.equal((await apiKeyOf(client)).apiKey, moonPay.publishableApiKey);
  });

  it("is asked once: the same body answers the same activity", async () => {
    const { client } = await withAccounts(server());
    const provider = await onRampProviderOfTests();
    const body = client.submitBody("init_fiat_on_ramp", purchaseParams("COINBASE"));
    const post = () => client.post("/public/v1/submit/init_fiat_on_ramp", body);
    const first = await post();
    const before = provider.sessions.length;
    const again = await post();
    assert.deepEqual(again.body.activity.result, first.body.activity.result);
    assert.equal(provider.sessions.length, before);
  });

  it("is refused where no provider would take it", async () => {
    const { client } = await withAccounts(server());
    const before = (await onRampProviderOfTests()).requests.length;
    const [network, crypto] = ["FIAT_ON_RAMP_BLOCKCHAIN_NETWORK_", "FIAT_ON_RAMP_CRYPTO_CURRENCY_"];
    const method = (name: string) => ({ paymentMethod: `FIAT_ON_RAMP_PAYMENT_METHOD_${name}` });
    const bad: ["COINBASE" | "MOONPAY", object, string][] = [
      ["MOONPAY", { cryptoCurrencyCode: `${crypto}BTC` }, "cryptoCurrencyCode"],
      ["MOONPAY", { cryptoCurrencyCode: `${crypto}SOL` }, "cryptoCurrencyCode"],
      ["COINBASE", { network: `${network}BASE`, cryptoCurrencyCode: `${crypto}SOL` }, "cryptoCurrencyCode"],
      ["COINBASE", { network: `${network}BITCOIN` }, "cryptoCurrencyCode"],
      ["COINBASE", { network: `${network}POLYGON` }, "network"],
      ["COINBASE", { cryptoCurrencyCode: `${crypto}DOGE` }, "cryptoCurrencyCode"],
      ["COINBASE", { walletAddress: ADDRESSES.SOLANA }, "walletAddress"],
      ["COINBASE", { walletAddress: "0x12" }, "walletAddress"],
      // Of mixed case, and not that of its checksum.
      ["COINBASE", { walletAddress: "0xDe0B295669a9FD93d5F28D9Ec85E40f4cb697BAe" }, "walletAddress"],
      ["COINBASE", { walletAddress: "" }, "walletAddress"],
      ["COINBASE", { walletAddress: "0xde0b295669a9fd93d5f28d9ec85e40f4cb697bae&x=1" }, "walletAddress"],
      [
        "MOONPAY",
        { network: `${network}BITCOIN`, cryptoCurrencyCode: `${crypto}BTC`, walletAddress: `${ADDRESSES.BITCOIN}q` },
        "walletAddress",
      ],
      ...[
        "GBP_BANK_TRANSFER",
        "GBP_OPEN_BANKING_PAYMENT",
        "GOOGLE_PAY",
        "SEPA_BANK_TRANSFER",
        "PIX_INSTANT_PAYMENT",
      ].map((name): ["COINBASE", object, string] => ["COINBASE", method(name), "paymentMethod"]),
      ...["PAYPAL", "VENMO", "MOONPAY_BALANCE"].map((name): ["COINBASE", object, string] => [
        "COINBASE",
        method(name),
        "paymentMethod",
      ]),
      ...["CRYPTO_ACCOUNT", "FIAT_WALLET", "ACH_BANK_ACCOUNT"].map((name): ["MOONPAY", object, string] => [
        "MOONPAY",
        method(name),
        "paymentMethod",
      ]),
      ...["20", "20.00", "19.99", "0", "-1", "1e3", "0x10", "100.001", "1,000", " 50", "050", "1000000000", "NaN"].map(
        (fiatCurrencyAmount): ["COINBASE", object, string] => [
          "COINBASE",
          { fiatCurrencyAmount },
          "fiatCurrencyAmount",
        ],
      ),
      ["COINBASE", { countryCode: "US" }, "countrySubdivisionCode"],
      ["MOONPAY", { countryCode: "US", countrySubdivisionCode: "" }, "countrySubdivisionCode"],
      ["COINBASE", { countrySubdivisionCode: "NY" }, "countryCode"],
      ["COINBASE", { countryCode: "usa" }, "countryCode"],
      ["COINBASE", { countryCode: "US", countrySubdivisionCode: "US-NY" }, "countrySubdivisionCode"],
      ["COINBASE", { fiatCurrencyCode: "USD" }, "fiatCurrencyCode"],
      ["COINBASE", { sandboxMode: "yes" }, "sandboxMode"],
    ];
    for (const [provider, params, field] of bad) {
      const answer = await client.submit("init_fiat_on_ramp", purchaseParams(provider, params));
      assert.equal(answer.status, 400, JSON.stringify([params, answer.body]));
      assert.match(answer.body.message, new RegExp(`\`parameters\\.${field}\``), JSON.stringify(params));
    }
    assert.equal((await onRampProviderOfTests()).requests.length, before);
  });
});

const ADDRESSES: Record<string, string> = {
  BITCOIN: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
  ETHEREUM: "0xde0b295669a9fd93d5f28d9ec85e40f4cb697bae",
  SOLANA: "So11111111111111111111111111111111111111112",
  BASE: "0xde0B295669a9FD93d5F28D9Ec85E40f4cb697BAe",
};

// No time passes by which it may be asked more often.
onOneEngine(
  "sqlite",
  "what became of a purchase",
  (server) => {
    it("is PENDING until the provider says otherwise, and stays what it came to", async () => {
      const { client } = await withAccounts(server());
      const provider = await onRampProviderOfTests();
      const begin = async (at: "COINBASE" | "MOONPAY"): Promise<string> =>
        (await client.result("init_fiat_on_ramp", purchaseParams(at))).onRampTransactionId;
      const outcomes: ["COINBASE" | "MOONPAY", Json[], string][] = [
        ["MOONPAY", [], "PENDING"],
        ["MOONPAY", [{ status: "waitingPayment" }], "PENDING"],
        ["MOONPAY", [{ status: "waitingAuthorization" }], "PENDING"],
        ["MOONPAY", [{ status: "pending" }], "PENDING"],
        ["MOONPAY", [{ status: "something new" }], "PENDING"],
        ["MOONPAY", [{ status: "completed" }], "COMPLETED"],
        ["MOONPAY", [{ status: "failed", failureReason: "rejected_card" }], "FAILED"],
        ["MOONPAY", [{ status: "failed", failureReason: "cancelled" }], "CANCELLED"],
        ["MOONPAY", [{ status: "failed" }, { status: "pending" }], "PENDING"],
        ["MOONPAY", [{ status: "failed" }, { status: "completed" }], "COMPLETED"],
        ["COINBASE", [], "PENDING"],
        ["COINBASE", [{ status: "ONRAMP_TRANSACTION_STATUS_CREATED" }], "PENDING"],
        ["COINBASE", [{ status: "ONRAMP_TRANSACTION_STATUS_IN_PROGRESS" }], "PENDING"],
        ["COINBASE", [{ status: "ONRAMP_TRANSACTION_STATUS_SUCCESS" }], "COMPLETED"],
        ["COINBASE", [{ status: "ONRAMP_TRANSACTION_STATUS_FAILED" }], "FAILED"],
        ["COINBASE", [{ status: "ONRAMP_TRANSACTION_STATUS_CANCELLED" }], "CANCELLED"],
        ["COINBASE", [{ status: "ONRAMP_TRANSACTION_STATUS_SUCCESS", partnerUserRef: newId() }], "PENDING"],
        ["MOONPAY", [{ status: "completed", externalTransactionId: newId() }], "PENDING"],
      ];
      for (const [at, transactions, expected] of outcomes) {
        const id = await begin(at);
        provider.tell(id, transactions);
        assert.equal(await statusOf(client, id, false), "PENDING");
        assert.equal(await statusOf(client, id), expected, JSON.stringify(transactions));
        assert.equal(await statusOf(client, id, false), expected);
      }
      const id = await begin("MOONPAY");
      assert.equal(await statusOf(client, id), "PENDING");
      provider.tell(id, [{ status: "failed" }]);
      assert.equal(await statusOf(client, id), "FAILED");
      provider.tell(id, [{ status: "pending" }]);
      assert.equal(await statusOf(client, id), "FAILED");
      provider.tell(id, [{ status: "completed" }]);
      assert.equal(await statusOf(client, id), "COMPLETED");
      provider.tell(id, [{ status: "failed" }]);
      assert.equal(await statusOf(client, id), "COMPLETED");
    });

    it("is not told by what a sibling buys under its name with the same account", async () => {
      const { client } = await withAccounts(server());
      const [buyer, other] = [(await addSubOrganization(client)).client, (await addSubOrganization(client)).client];
      const provider = await onRampProviderOfTests();
      const { walletAddress: wallet } = purchaseParams("MOONPAY");
      const elsewhere = "0x52908400098527886E0F7030069857D2E4169EE7";
      const { onRampTransactionId: id } = await buyer.result("init_fiat_on_ramp", purchaseParams("MOONPAY"));
      const urlForSignature = `https://buy.moonpay.com?apiKey=pk&currencyCode=eth&walletAddress=${elsewhere}&externalTransactionId=${id}`;
      await other.result("init_fiat_on_ramp", purchaseParams("MOONPAY", { walletAddress: elsewhere, urlForSignature }));
      const paid = { status: "completed", externalTransactionId: id };
      provider.tell(id, [{ ...paid, walletAddress: elsewhere }]);
      assert.equal(await statusOf(buyer, id), "PENDING");
      provider.tell(id, [
        { ...paid, walletAddress: elsewhere },
        { ...paid, walletAddress: wallet.toUpperCase().replace("0X", "0x") },
      ]);
      assert.equal(await statusOf(buyer, id), "COMPLETED");
      const { onRampTransactionId: at } = await buyer.result("init_fiat_on_ramp", purchaseParams("COINBASE"));
      const success = { status: "ONRAMP_TRANSACTION_STATUS_SUCCESS", partner_user_ref: at };
      provider.tell(at, [{ ...success, wallet_address: elsewhere }]);
      assert.equal(await statusOf(buyer, at), "PENDING");
      provider.tell(at, [{ ...success, wallet_address: purchaseParams("COINBASE").walletAddress }]);
      assert.equal(await statusOf(buyer, at), "COMPLETED");
    });

    it("is asked with the credential that the purchase was begun with, or with one like it", async () => {
      const { client, moonPay } = await withAccounts(server());
      const provider = await onRampProviderOfTests();
      const { onRampTransactionId: id } = await client.result("init_fiat_on_ramp", purchaseParams("MOONPAY"));
      const later = await moonPayParams(server().baseUrl);
      await client.result("create_fiat_on_ramp_credential", later);
      await statusOf(client, id);
      assert.match(provider.requests.at(-1) ?? "", new RegExp(`/ext/${id}\\?apiKey=${moonPay.publishableApiKey}$`));
      for (const credential of await credentialsOf(client)) {
        if (credential.publishableApiKey !== moonPay.publishableApiKey) continue;
        const { fiatOnrampCredentialId } = credential;
        await client.result("delete_fiat_on_ramp_credential", { fiatOnrampCredentialId });
      }
      await statusOf(client, id);
      assert.match(provider.requests.at(-1) ?? "", new RegExp(`apiKey=${later.publishableApiKey}$`));
    });

    it("is asked so often, and no more", async () => {
      const { client } = await withAccounts(server());
      const { onRampTransactionId } = await client.result("init_fiat_on_ramp", purchaseParams("MOONPAY"));
      const ask = () =>
        client.query("get_onramp_transaction_status", { transactionId: onRampTransactionId, refresh: true });
      const answers = await Promise.all(Array.from({ length: 300 }, ask));
      const refused = answers.filter(({ status }) => status === 429);
      assert.equal(refused.length, 300 - ON_RAMP_REFRESHES.burst);
      assert.match(refused[0]?.body.message, /leave `refresh` out/);
      assert.ok(refused[0]?.headers.get("retry-after"));
      assert.equal(await statusOf(client, onRampTransactionId, false), "PENDING");
    });
  },
  () => ({ elapsed: () => 0 }),
);

onOneEngine("postgres", "a provider that is not itself", (server) => {
  it("changes nothing, and is asked again with the same body", async () => {
    const { client } = await withAccounts(server());
    const provider = await onRampProviderOfTests();
    const body = client.submitBody("init_fiat_on_ramp", purchaseParams("COINBASE"));
    const begin = () => client.post("/public/v1/submit/init_fiat_on_ramp", body);
    const lies: [RequestListener, number, RegExp][] = [
      [answering(500, '{"message":"secret of theirs"}'), 503, /is not available: it answered with the status 500/],
      [answering(429, "{}"), 503, /status 429/],
      [answering(302, "", { location: `${provider.url}/onramp/v1/token` }), 503, /status 302/],
      [answering(200, "<html>"), 503, /not JSON/],
      [answering(200, "null"), 503, /no session token/],
      [answering(200, "[]"), 503, /no session token/],
      [answering(200, '{"token":7}'), 503, /no session token/],
      [answering(200, '{"token":""}'), 503, /no session token/],
      [answering(200, '{"token":"a b"}'), 503, /no session token/],
      [answering(200, JSON.stringify({ token: "t".repeat(LARGE_BYTES) })), 503, /not JSON/],
      [(request) => void request.socket.destroy(), 503, /is not available/],
      [
        answering(401, '{"errorMessage":"secret of theirs"}'),
        400,
        /rejected the keys of on-ramp credential .*status 401/,
      ],
      [
        answering(400, '{"errorMessage":"secret of theirs"}'),
        400,
        /rejected the purchase: it answered with the status 400/,
      ],
    ];
    for (const [reply, status, message] of lies) {
      provider.answer("/onramp/v1/token", reply);
      const answer = await begin();
      provider.answer("/onramp/v1/token", undefined);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.match(answer.body.message, message);
      assert.ok(!JSON.stringify(answer.body).includes("secret of theirs"));
    }
    const { status, body: answered } = await begin();
    assert.equal(status, 200);
    assert.equal(answered.activity.status, "ACTIVITY_STATUS_COMPLETED");
    assert.ok(!server().log().includes("secret of theirs"));

    const asked = {
      COINBASE: (id: string) => `/onramp/v1/buy/user/${id}/transactions`,
      MOONPAY: (id: string) => `/v1/transactions/ext/${id}`,
    };
    for (const at of ["COINBASE", "MOONPAY"] as const) {
      const { onRampTransactionId: id } = await client.result("init_fiat_on_ramp", purchaseParams(at));
      for (const [reply, status] of [
        [answering(500, "{}"), 503],
        [answering(200, "<html>"), 503],
        [answering(200, '{"transactions":{"0":{}}}'), at === "COINBASE" ? 503 : 200],
        [answering(200, '["completed"]'), at === "MOONPAY" ? 503 : 200],
        [answering(200, JSON.stringify([{ status: "completed", more: "m".repeat(LARGE_BYTES) }])), 503],
        [answering(401, "{}"), 400],
      ] as [RequestListener, number][]) {
        provider.answer(asked[at](id), reply);
        const answer = await client.query("get_onramp_transaction_status", { transactionId: id, refresh: true });
        provider.answer(asked[at](id), undefined);
        assert.equal(answer.status, status, JSON.stringify([at, answer.body]));
        assert.equal(await statusOf(client, id, false), "PENDING");
      }
    }
  });
});

it("does not wait for a provider that hangs, nor keep another organization waiting for it", async () => {
  const server = await startTestServer("sqlite");
  const provider = await onRampProviderOfTests();
  try {
    const { client } = await withAccounts(server);
    const { client: other } = await withAccounts(server);
    const { onRampTransactionId } = await other.result("init_fiat_on_ramp", purchaseParams("MOONPAY"));
    let held = 0;
    provider.answer("/onramp/v1/token", (request) => {
      request.resume();
      held++;
    });
    const begun = Array.from({ length: 12 }, () => client.submit("init_fiat_on_ramp", purchaseParams("COINBASE")));
    const ended = Promise.race(begun);
    await until(async () => held > 0, "the provider to be asked");
    assert.equal(await statusOf(other, onRampTransactionId), "PENDING");
    // Of one organization four are under way at a time.
    assert.ok(held <= 4, String(held));
    const first = await ended;
    assert.equal(first.status, 503, JSON.stringify(first.body));
    assert.match(first.body.message, /FIAT_ON_RAMP_PROVIDER_COINBASE is not available/);
    provider.answer("/onramp/v1/token", undefined);
    for (const { status } of await Promise.all(begun)) assert.ok([200, 503].includes(status));
  } finally {
    provider.answer("/onramp/v1/token", undefined);
    await server.close();
  }
});

it("reaches no private address but that which the operator's file names", async () => {
  const provider = await onRampProviderOfTests();
  const settings = { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "false" };
  // What the file names may be on a network of one's own.
  const own = { moonpay: { apiUrl: provider.url }, coinbase: { apiUrl: `${provider.url}/` } };
  const server = await startTestServer("sqlite", { settings, onRamp: own });
  try {
    const { client } = await withAccounts(server);
    await client.result("init_fiat_on_ramp", purchaseParams("COINBASE"));
  } finally {
    await server.close();
  }
  const refused: [object, RegExp][] = [
    [{ moonpay: { apiUrl: "http://api.moonpay.com" } }, /`moonpay\.apiUrl` must use https, or name a private address/],
    [{ coinbase: { apiUrl: "https://api.developer.coinbase.com/onramp" } }, /must be an origin/],
    [{ coinbase: { apiUrl: "https://user:secret@example.com" } }, /must not contain a user name or password/],
    [{ coinbase: { apiUrl: "api.developer.coinbase.com" } }, /must be an absolute URL/],
    [{ coinbase: {} }, /onRamp/],
    [{ stripe: { apiUrl: "https://api.stripe.com" } }, /onRamp/],
  ];
  for (const [onRamp, message] of refused) {
    await assert.rejects(startTestServer("sqlite", { settings, onRamp }), (error: Error) => {
      assert.match(error.message, message);
      assert.match(error.message, /bad value for `onRamp`/);
      assert.ok(!error.message.includes("secret"));
      return true;
    });
  }
});

it("tells Coinbase the address of who asks, as a trusted proxy names it", async () => {
  const server = await startTestServer("sqlite", { settings: { KEYSTEAD_TRUSTED_PROXIES: "127.0.0.1" } });
  try {
    const { client } = await withAccounts(server);
    const body = client.submitBody("init_fiat_on_ramp", purchaseParams("COINBASE"));
    const answer = await client.post("/public/v1/submit/init_fiat_on_ramp", body, { "x-forwarded-for": "8.8.4.4" });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal((await onRampProviderOfTests()).sessions.at(-1)?.body.clientIp, "8.8.4.4");
  } finally {
    await server.close();
  }
});

it("takes what was encrypted to a key that was replaced of late, and uses what it has", async () => {
  const server = await startTestServer("sqlite");
  // The page that publishes it may be a moment old.
  const encryptedNow = async () => {
    const { publicKey } = await currentServiceKey(server.opened.database.read, onRampKey);
    return { encryptedSecretApiKey: encryptOnRampSecret(MOONPAY_SECRET, publicKey) };
  };
  try {
    const { client, moonPay } = await withAccounts(server);
    const first = await encryptedNow();
    await rotateServiceKey(server.opened, onRampKey, Date.now() - 6 * DAY_MS);
    await client.result("create_fiat_on_ramp_credential", { ...moonPay, ...first });
    await client.result("init_fiat_on_ramp", purchaseParams("COINBASE"));
    const second = await encryptedNow();
    await rotateServiceKey(server.opened, onRampKey, Date.now() - 8 * DAY_MS);
    const answer = await client.submit("create_fiat_on_ramp_credential", { ...moonPay, ...second });
    assert.equal(answer.status, 400);
    assert.match(answer.body.message, /was not encrypted to a key of this server/);
    await client.result("create_fiat_on_ramp_credential", { ...moonPay, ...(await encryptedNow()) });
    const { onRampUrl } = await client.result("init_fiat_on_ramp", purchaseParams("MOONPAY"));
    openMoonPayUrl(onRampUrl);
  } finally {
    await server.close();
  }
});
