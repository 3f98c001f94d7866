import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { it } from "node:test";
import { addUser, type Json } from "../support/client.ts";
import { startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

const TLS = join(import.meta.dirname, "../support/tls");
const pem = (name: string) => readFileSync(join(TLS, `${name}.pem`));

it("the audit stream goes over TLS, to a receiver with a certificate that is accepted alone", async (t) => {
  const lines: Json[] = [];
  const receiver = createServer({ key: pem("key"), cert: pem("expired") }, (request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      lines.push(
        ...text
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line)),
      );
      response.writeHead(200).end();
    });
  });
  receiver.on("tlsClientError", () => {});
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  t.after(() => receiver.close());
  const dataDir = temporaryFolder();
  const config = join(dataDir, "config.json");
  const url = `https://localhost:${(receiver.address() as AddressInfo).port}/`;
  writeFileSync(config, JSON.stringify({ audit: { https: { url }, whenFull: "block" } }));
  const server = await startServerProcess({
    dataDir,
    settings: { KEYSTEAD_CONFIG: config, NODE_EXTRA_CA_CERTS: join(TLS, "valid.pem") },
  });
  const { userId } = await addUser(server.root);
  const readyz = async (): Promise<Json> => (await fetch(`${server.baseUrl}/readyz`)).json();
  await until(async () => (await readyz()).warnings?.["audit https"] !== undefined, "the certificate to be refused");
  assert.match(
    (await readyz()).warnings["audit https"],
    /^the sink cannot be reached: the certificate has expired, since .*; 1 lines are waiting$/,
  );
  assert.equal(lines.length, 0);
  receiver.setSecureContext({ key: pem("key"), cert: pem("valid") });
  await until(() => lines.length === 1, "the line");
  const line = lines[0];
  assert.deepEqual(
    [line.outcome, line.activity.type, line.by.userId === userId],
    ["completed", "ACTIVITY_TYPE_CREATE_USERS_V4", false],
  );
  await server.end("SIGTERM");
});
