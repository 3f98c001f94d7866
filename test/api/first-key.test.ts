import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { it } from "node:test";
import { promisify } from "node:util";
import { keccak_256 } from "@noble/hashes/sha3.js";
import secp256k1 from "secp256k1";
import { deriveAddress } from "../../src/crypto/addresses.ts";
import { onEachEngine } from "../support/server.ts";

const EXAMPLE = join(import.meta.dirname, "..", "..", "examples", "first-key.ts");

onEachEngine("examples/first-key.ts", (server) => {
  it("creates a key and signs with it", async () => {
    const { dataDir, credentials, root } = server();
    const file = join(dataDir, "credentials.json");
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [EXAMPLE, file]);
    assert.equal(stderr, "");
    const [, address = "", signature = ""] =
      /^I am .+ of .+\.\nAddress: {3}(0x[0-9a-fA-F]{40})\nSignature: ([0-9a-f]{130})\n$/.exec(stdout) ?? [];
    assert.match(stdout, new RegExp(`^I am ${credentials.userName} of ${credentials.organizationName}\\.\n`));

    const { privateKeys } = await root.read("list_private_keys");
    assert.equal(privateKeys[0].addresses[0].address, address);
    assert.equal(signerOf("hello", signature), address);
  });
});

/** The Ethereum address whose key made `r ‖ s ‖ recovery bit` over the text's keccak256. */
function signerOf(text: string, signature: string): string {
  const bytes = Buffer.from(signature, "hex");
  const digest = keccak_256(Buffer.from(text));
  const publicKey = secp256k1.ecdsaRecover(bytes.subarray(0, 64), bytes[64] as number, digest);
  return deriveAddress("ADDRESS_FORMAT_ETHEREUM", "CURVE_SECP256K1", publicKey);
}
