import { readFileSync } from "node:fs";
import { Turnkey } from "@turnkey/sdk-server";

/**
 * Creates a key and signs with it, through the published SDK. The one thing that differs from the hosted service is the
 * base URL. Run it against a running server:
 *
 *     node examples/first-key.ts [credentials file]
 */

const credentialsFile = process.argv[2] ?? "data/credentials.json";
const { baseUrl, organizationId, apiKey } = JSON.parse(readFileSync(credentialsFile, "utf8"));

const client = new Turnkey({
  apiBaseUrl: baseUrl,
  apiPublicKey: apiKey.publicKey,
  apiPrivateKey: apiKey.privateKey,
  defaultOrganizationId: organizationId,
}).apiClient();

const { username, organizationName } = await client.getWhoami();
print(`I am ${username} of ${organizationName}.`);

const { privateKeys } = await client.createPrivateKeys({
  privateKeys: [
    {
      privateKeyName: "First key",
      curve: "CURVE_SECP256K1",
      addressFormats: ["ADDRESS_FORMAT_ETHEREUM"],
      privateKeyTags: [],
    },
  ],
});
const address = privateKeys[0]?.addresses?.[0]?.address;
if (address === undefined) throw new Error("the new key has no address");
print(`Address:   ${address}`);

const { r, s, v } = await client.signRawPayload({
  signWith: address,
  payload: "hello",
  encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
  hashFunction: "HASH_FUNCTION_KECCAK256",
});
print(`Signature: ${r}${s}${v}`);

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
