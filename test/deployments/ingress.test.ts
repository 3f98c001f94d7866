import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { Ingress } from "../../src/capabilities/deployments/index.ts";
import { createLogger } from "../../src/kernel/log.ts";
import type { Database } from "../../src/storage/database.ts";
import { requestAs } from "../support/program.ts";

const HOST = "app-00000000-0000-7000-8000-000000000000.tvc.localhost";
const DEPLOYMENT = "a deployment";

describe("requests to apps", () => {
  let connections = 0;
  /** What the look-up of the app waits for. */
  const looked = Promise.withResolvers<void>();
  let program: Server;
  let front: Server;
  let ingress: Ingress;

  const portOf = (server: Server) => (server.address() as AddressInfo).port;
  const listening = async (server: Server) => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    return server;
  };

  before(async () => {
    program = await listening(
      createServer((_, answer) => answer.end("{}")).on("connection", () => {
        connections++;
      }),
    );
    const rows = async () => {
      await looked.promise;
      return [{ id: DEPLOYMENT, public_ingress_port: portOf(program), organization_id: "a", parent_id: null }];
    };
    const replica = { number: 1, address: "127.0.0.1", isReady: true, pid: 1, restarts: 0 };
    ingress = new Ingress({
      database: { read: { kind: "sqlite", all: rows } as unknown as Database["read"] },
      runner: { replicasOf: (id) => (id === DEPLOYMENT ? [replica] : undefined) },
      domain: "tvc.localhost",
      log: createLogger("error"),
    });
    front = await listening(createServer((incoming, answer) => ingress.pass(incoming, answer, "127.0.0.1")));
  });
  after(async () => {
    await ingress.close();
    for (const server of [front, program]) server.close();
  });

  it("are not passed on for whoever has gone", async () => {
    const gone = request({ port: portOf(front), path: "/gone", headers: { host: HOST }, agent: false });
    gone.on("error", () => {});
    gone.end();
    const [, answer] = await once(front, "request");
    gone.destroy();
    await once(answer, "close");
    looked.resolve();
    assert.equal((await requestAs(`http://127.0.0.1:${portOf(front)}`, HOST, "/next")).status, 200);
    assert.equal(connections, 1);
  });
});
