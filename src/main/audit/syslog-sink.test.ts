import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { until } from "../../../test/support/until.ts";
import { lineOfRefusal } from "./lines.ts";
import type { SyslogAddress } from "./settings.ts";
import { SyslogSink } from "./syslog-sink.ts";

const folder = mkdtempSync(join(tmpdir(), "keystead-syslog-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const TIMEOUT_MS = 60_000;
const FACILITY = 13;

const lineAbout = (operation: string) =>
  lineOfRefusal({ reason: "STAMP_MISSING", operation, organizationId: () => undefined, remoteAddress: "::1" }, 0);

/** Messages with their lengths before them (RFC 6587, section 3.4.1), as far as they are whole. */
function unframed(bytes: Buffer): string[] {
  const messages: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(" ", at);
    const length = Number(bytes.subarray(at, space));
    assert.ok(space > at && Number.isSafeInteger(length), `no length at ${at}`);
    messages.push(bytes.subarray(space + 1, space + 1 + length).toString());
    at = space + 1 + length;
  }
  return messages;
}

/** RFC 5424, section 6, with neither a structured element nor a byte order mark. */
const MESSAGE =
  /^<(\d+)>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ([\x21-\x7e]{1,255}) keystead (\d+) ([a-z_]{1,32}) - (\{.*\})$/;

function parsed(message: string) {
  const [, priority, time, , pid, event, line] = MESSAGE.exec(message) ?? assert.fail(message);
  return { priority: Number(priority), time, pid: Number(pid), event, line };
}

/** Collects what comes over streams. */
async function startStreamReceiver(at: string | number) {
  const chunks: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("data", (chunk) => chunks.push(chunk)).on("error", () => {});
  });
  if (typeof at === "string") server.listen(at);
  else server.listen(at, "127.0.0.1");
  await once(server, "listening");
  return {
    port: () => (server.address() as AddressInfo).port,
    messages: () => unframed(Buffer.concat(chunks)),
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

describe("the audit stream by syslog", () => {
  for (const by of ["tcp", "unix"] as const) {
    it(`goes over a stream, each message with its length (${by})`, async () => {
      const path = join(folder, "socket");
      const receiver = await startStreamReceiver(by === "unix" ? path : 0);
      const address: SyslogAddress = by === "unix" ? { by, path } : { by, host: "127.0.0.1", port: receiver.port() };
      const sink = new SyslogSink({ address, facility: FACILITY });
      const lines = [lineAbout("whoami"), lineAbout("ünïcode")];
      await sink.deliver(lines, TIMEOUT_MS);
      await until(() => receiver.messages().length === 2, "both messages");
      const [first, second] = receiver.messages().map(parsed);
      const common = { priority: FACILITY * 8 + 4, time: "1970-01-01T00:00:00.000Z", pid: process.pid };
      assert.deepEqual(first, { ...common, event: "authentication_refused", line: lines[0] });
      assert.equal(second?.line, lines[1]);
      await sink.close();
      await receiver.close();
    });
  }

  it("goes by datagrams, one for each message", async () => {
    const receiver = createSocket("udp4");
    const messages: string[] = [];
    receiver.on("message", (message) => messages.push(message.toString()));
    receiver.bind(0, "127.0.0.1");
    await once(receiver, "listening");
    const address: SyslogAddress = { by: "udp", host: "127.0.0.1", port: receiver.address().port };
    const sink = new SyslogSink({ address, facility: FACILITY });
    const lines = [lineAbout("whoami"), lineAbout("get_user")];
    await sink.deliver(lines, TIMEOUT_MS);
    await until(() => messages.length === 2, "both messages");
    assert.deepEqual(
      messages.map((message) => parsed(message).line),
      lines,
    );
    await sink.close();
    receiver.close();
  });

  it("repeats what it sent last over a connection that has ended", async () => {
    const receiver = await startStreamReceiver(0);
    const address: SyslogAddress = { by: "tcp", host: "127.0.0.1", port: receiver.port() };
    const sink = new SyslogSink({ address, facility: FACILITY });
    const [first, second] = [lineAbout("first"), lineAbout("second")];
    await sink.deliver([first], TIMEOUT_MS);
    await until(() => receiver.messages().length === 1, "the first message");
    receiver.cut();
    // Whether the next one goes into the connection that is just ending, nobody is told. If so it is the one that comes again.
    const seen = () => receiver.messages().map((message) => parsed(message).line);
    await sink.deliver([second], TIMEOUT_MS).catch(() => {});
    await until(async () => {
      if (seen().includes(second)) return true;
      await sink.deliver([second], TIMEOUT_MS).catch(() => {});
      return false;
    }, "the second message");
    const counts = [first, second].map((line) => seen().filter((one) => one === line).length);
    assert.ok(Math.max(...counts) >= 2, `${counts}`);
    await sink.close();
    await receiver.close();
  });

  it("says why nobody takes it, and goes on once somebody does", async () => {
    const receiver = await startStreamReceiver(0);
    const port = receiver.port();
    await receiver.close();
    const sink = new SyslogSink({ address: { by: "tcp", host: "127.0.0.1", port }, facility: FACILITY });
    await assert.rejects(sink.deliver([lineAbout("whoami")], TIMEOUT_MS), { message: /^refuses connections/ });
    const again = await startStreamReceiver(port);
    await sink.deliver([lineAbout("whoami")], TIMEOUT_MS);
    await until(() => again.messages().length === 1, "the message");
    await sink.close();
    await again.close();
    const nowhere = new SyslogSink({ address: { by: "unix", path: join(folder, "none") }, facility: FACILITY });
    await assert.rejects(nowhere.deliver([lineAbout("whoami")], TIMEOUT_MS), { message: /does not exist/ });
  });
});
