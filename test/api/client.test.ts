import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { apiKeyStamper } from "../../src/client/api-key-stamper.ts";
import { type Client, createClient, type ParametersOf, RequestRefused } from "../../src/client/client.ts";
import { startTestServer, type TestServer } from "../support/server.ts";

/** Holds where both types are the same. */
type Same<A, B> = [A, B] extends [B, A] ? true : never;

describe("the typed client", () => {
  let server: TestServer;
  let client: Client;
  before(async () => {
    server = await startTestServer("sqlite");
    const { organizationId, key } = server.root;
    client = createClient({ baseUrl: server.baseUrl, organizationId, stamper: apiKeyStamper(key) });
  });
  after(() => server.close());

  it("submits activities and reads their results in the types that they are declared with", async () => {
    const { result, status } = await client.submit("ACTIVITY_TYPE_CREATE_WALLET", {
      walletName: "Savings",
      accounts: [
        {
          curve: "CURVE_SECP256K1",
          pathFormat: "PATH_FORMAT_BIP32",
          path: "m/44'/60'/0'/0/0",
          addressFormat: "ADDRESS_FORMAT_ETHEREUM",
        },
      ],
    });
    assert.equal(status, "ACTIVITY_STATUS_COMPLETED");
    const address: string | undefined = result?.addresses[0];
    assert.ok(address);
    const signed = await client.submit("ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", {
      signWith: address,
      payload: "00",
      encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
      hashFunction: "HASH_FUNCTION_SHA256",
    });
    assert.match(signed.result?.r ?? "", /^[0-9a-f]{64}$/);
    const { wallets } = await client.query("list_wallets", {});
    assert.deepEqual(
      wallets.map(({ walletName }) => walletName),
      ["Savings"],
    );
  });

  it("throws what the server refuses, with its text", async () => {
    const refused = client.query("get_wallet", { walletId: "00000000-0000-4000-8000-000000000000" });
    await assert.rejects(refused, (error) => error instanceof RequestRefused && error.status === 404);
  });

  it("lets the compiler refuse parameters of another activity", () => {
    const same: Same<ParametersOf<"ACTIVITY_TYPE_UPDATE_USER_NAME">, { userId: string; userName: string }> = true;
    assert.ok(same);
    // @ts-expect-error: there is no such activity
    const unknown: Parameters<Client["submit"]>[0] = "ACTIVITY_TYPE_MAKE_COFFEE";
    // @ts-expect-error: the user's name is missing
    const incomplete: ParametersOf<"ACTIVITY_TYPE_UPDATE_USER_NAME"> = { userId: "" };
    assert.ok(unknown && incomplete);
  });
});
