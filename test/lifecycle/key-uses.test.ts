import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type ServerProcess, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** The signer tells the operator itself what keys were used for. */
describe("a use of a key", () => {
  let server: ServerProcess;
  before(async () => {
    server = await startServerProcess({ dataDir: temporaryFolder(), settings: { KEYSTEAD_LOG_LEVEL: "info" } });
  });
  after(() => server.end("SIGKILL"));

  it("is a line of the log with the activity's fingerprint, and nothing that is secret", async () => {
    const { root } = server;
    const accounts = [
      {
        curve: "CURVE_SECP256K1",
        pathFormat: "PATH_FORMAT_BIP32",
        path: "m/44'/60'/0'/0/0",
        addressFormat: "ADDRESS_FORMAT_ETHEREUM",
      },
    ];
    const { addresses } = await root.result("create_wallet", { walletName: "Treasury", accounts });
    const signed = await root.submit("sign_raw_payload", {
      signWith: addresses[0],
      payload: "c0ffee".repeat(10),
      encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
      hashFunction: "HASH_FUNCTION_KECCAK256",
    });
    const { fingerprint, organizationId, type } = signed.body.activity;
    await until(() => server.stderr().includes(fingerprint), "the line");
    const lines = server
      .stderr()
      .split("\n")
      .filter((line) => line.includes('"from":"signer"'))
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ verb }) => verb),
      ["createWallet", "sign"],
    );
    const { time, ...line } = lines[1];
    assert.deepEqual(line, {
      level: "info",
      from: "signer",
      verb: "sign",
      organizationId,
      activityType: type,
      fingerprint,
      named: addresses[0],
      msg: "a key was used",
    });
    assert.ok(Math.abs(Date.parse(time) - Date.now()) < 600_000);
  });
});
