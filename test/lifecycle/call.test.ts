import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { MAX_HELD_ANSWER_BYTES } from "../../src/kernel/limits.ts";
import { generateApiKey } from "../support/client.ts";
import { runKeystead, settingsOf, temporaryFolder } from "../support/server-process.ts";

async function listening(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What `keystead call` says about a server that answers so. */
async function callTo(t: TestContext, answer: RequestListener) {
  const baseUrl = await listening(t, answer);
  const dataDir = temporaryFolder();
  const file = join(dataDir, "credentials.json");
  writeFileSync(file, JSON.stringify({ baseUrl, organizationId: newId(), apiKey: generateApiKey() }));
  return runKeystead(["call", "whoami", "--credentials", file], settingsOf({ dataDir }));
}

describe("keystead call to a server that means harm", () => {
  it("shows what could control the terminal, whether the answer is JSON or not", async (t) => {
    const harm = "\u001b]52;c;aGFybQ==\u0007\u202e";
    for (const [text, shown] of [
      [`<html>\n${harm}`, "<html>\n\\u001b]52;c;aGFybQ==\\u0007\\u202e\n"],
      [JSON.stringify(harm), '"\\u001b]52;c;aGFybQ==\\u0007\\u202e"\n'],
    ] as const) {
      const { code, stderr } = await callTo(t, (_, response) => response.writeHead(400).end(text));
      assert.deepEqual([code, stderr], [1, shown]);
    }
  });

  it("sends nothing to where that leads", async (t) => {
    let arrived = 0;
    const elsewhere = await listening(t, (_, response) => {
      arrived++;
      response.end("{}");
    });
    const { code, stdout, stderr } = await callTo(t, (_, response) =>
      response.writeHead(307, { location: `${elsewhere}/public/v1/query/whoami` }).end(),
    );
    assert.deepEqual([code, stdout, arrived], [1, "", 0]);
    assert.match(stderr, /^keystead: http:[^\n]+ leads to another address \(307\)/);
  });

  it("reads no more than a server ever answers", async (t) => {
    let written = 0;
    const { code, stdout, stderr } = await callTo(t, (_, response) => {
      const piece = Buffer.alloc(1024 * 1024);
      const write = () => {
        while (!response.destroyed && written < 4 * MAX_HELD_ANSWER_BYTES) {
          written += piece.length;
          if (!response.write(piece)) return void response.once("drain", write);
        }
        response.end();
      };
      write();
    });
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^keystead: http:[^\n]+ answers with more than 134217728 bytes/);
  });
});
