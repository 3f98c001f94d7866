import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { it } from "node:test";
import { MAX_INTERIM_ANSWERS } from "../../kernel/limits.ts";
import { isHealthy } from "./health.ts";

it("a program that sends interim answers without an end is not healthy", async (t) => {
  let interim = MAX_INTERIM_ANSWERS;
  const program = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", () => {
      socket.write(`${"HTTP/1.1 102 Processing\r\n\r\n".repeat(interim)}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`);
    });
  });
  await once(program.listen(0, "127.0.0.1"), "listening");
  t.after(() => program.close());
  const check = { kind: "http", port: (program.address() as AddressInfo).port } as const;
  assert.equal(await isHealthy(check, "127.0.0.1"), true);
  interim++;
  assert.equal(await isHealthy(check, "127.0.0.1"), false);
});
