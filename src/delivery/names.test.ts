import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIPv6, type LookupFunction } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { isPublicAddress } from "./addresses.ts";
import { createGuardedLookup, createNameServerResolver, type Resolver } from "./names.ts";
import { OutboundError } from "./outbound-error.ts";

const answer = (...addresses: string[]) => addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));

/** The addresses to which `net.connect` would connect. */
function dialed(lookup: LookupFunction): Promise<unknown> {
  return new Promise((resolve, reject) => {
    lookup("hooks.example.com", { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}

const guarded = (resolver: Resolver, allowPrivateNetworks = false) =>
  createGuardedLookup(resolver, { allowPrivateNetworks });

const isKind = (kind: string) => (error: unknown) => error instanceof OutboundError && error.kind === kind;

test("hands on every address of a public name", async () => {
  const addresses = answer("8.8.8.8", "2606:4700:4700::1111");
  assert.deepEqual(await dialed(guarded(async () => addresses)), addresses);
});

test("asked for one address, hands on the first", () => {
  const lookup = guarded(async () => answer("2606:4700:4700::1111", "8.8.8.8"));
  return new Promise<void>((resolve) => {
    lookup("hooks.example.com", { all: false }, (error, address, family) => {
      assert.deepEqual([error, address, family], [null, "2606:4700:4700::1111", 6]);
      resolve();
    });
  });
});

test("resolves once: an answer that changes afterwards is never seen", async () => {
  const answers = [answer("8.8.8.8"), answer("169.254.169.254")];
  let asked = 0;
  const lookup = guarded(async () => answers[asked++] ?? []);
  assert.deepEqual(await dialed(lookup), answer("8.8.8.8"));
  assert.equal(asked, 1);
  await assert.rejects(dialed(lookup), isKind("blocked"));
});

test("one address that is not public refuses them all, wherever it stands", async () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom("127.0.0.1", "::1", "169.254.169.254", "8.8.8.8"));
  await fc.assert(
    fc.asyncProperty(fc.array(address, { minLength: 1, maxLength: 4 }), async (addresses) => {
      const outcome = dialed(guarded(async () => answer(...addresses)));
      if (addresses.every(isPublicAddress)) assert.deepEqual(await outcome, answer(...addresses));
      else await assert.rejects(outcome, isKind("blocked"));
    }),
    { numRuns: 500 },
  );
});

test("does not believe the family of an answer", async () => {
  const lookup = guarded(async () => [{ address: "2606:4700:4700::1111", family: 4 }]);
  assert.deepEqual(await dialed(lookup), answer("2606:4700:4700::1111"));
});

test("no answer, a failure, and an answer that is no address are DNS errors, in development too", async () => {
  const resolvers: Resolver[] = [
    async () => [],
    () => Promise.reject(new Error("SERVFAIL")),
    async () => answer("8.8.8.8", "localhost"),
    async () => answer("0x7f.1"),
    async () => answer(""),
  ];
  for (const resolver of resolvers) {
    await assert.rejects(dialed(guarded(resolver)), isKind("dns"));
    await assert.rejects(dialed(guarded(resolver, true)), isKind("dns"));
  }
});

test("the refusal names no address", async () => {
  const message = await dialed(guarded(async () => answer("10.1.2.3"))).catch((error: Error) => error.message);
  assert.equal(message, "the host name has an address that is not public");
});

test("allowPrivateNetworks lets private addresses through", async () => {
  assert.deepEqual(await dialed(guarded(async () => answer("127.0.0.1"), true)), answer("127.0.0.1"));
});

const A = 1;
const AAAA = 28;
const OK = 0;
const SERVFAIL = 2;
const NXDOMAIN = 3;

/** A name server (RFC 1035 section 4) that answers each type of question with a response code and at most one address. */
async function startNameServer(answers: Record<number, { code: number; data?: Buffer }>) {
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    const endOfName = query.indexOf(0, 12) + 1;
    const type = query.readUInt16BE(endOfName);
    const { code, data } = answers[type] ?? { code: OK };
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(0x8180 | code, 2);
    header.writeUInt16BE(data === undefined ? 0 : 1, 6);
    header.fill(0, 8);
    const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data?.length ?? 0, ...(data ?? [])]);
    const question = query.subarray(12, endOfName + 4);
    socket.send(Buffer.concat(data === undefined ? [header, question] : [header, question, record]), from.port);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const resolver = createNameServerResolver([`127.0.0.1:${socket.address().port}`]);
  const stop = async () => {
    resolver.cancel();
    socket.close();
    await once(socket, "close");
  };
  return { resolve: () => resolver.resolve("hooks.example.com"), stop };
}

const ipv4 = Buffer.from([8, 8, 8, 8]);
const ipv6 = Buffer.from("26064700470000000000000000001111", "hex");

test("the name server resolver joins A and AAAA records", async (t) => {
  const cases: [Record<number, { code: number; data?: Buffer }>, string[]][] = [
    [{ [A]: { code: OK, data: ipv4 }, [AAAA]: { code: OK, data: ipv6 } }, ["8.8.8.8", "2606:4700:4700::1111"]],
    [{ [A]: { code: OK, data: ipv4 }, [AAAA]: { code: OK } }, ["8.8.8.8"]],
    [{ [A]: { code: OK, data: ipv4 }, [AAAA]: { code: SERVFAIL } }, ["8.8.8.8"]],
    [{ [A]: { code: NXDOMAIN }, [AAAA]: { code: OK, data: ipv6 } }, ["2606:4700:4700::1111"]],
    [{ [A]: { code: OK }, [AAAA]: { code: OK } }, []],
    [{ [A]: { code: NXDOMAIN }, [AAAA]: { code: NXDOMAIN } }, []],
  ];
  for (const [answers, expected] of cases) {
    const server = await startNameServer(answers);
    t.after(server.stop);
    assert.deepEqual(await server.resolve(), answer(...expected));
  }
});

test("the name server resolver fails where nobody knows whether there is a record", async (t) => {
  for (const codes of [
    [SERVFAIL, SERVFAIL],
    [OK, SERVFAIL],
    [SERVFAIL, NXDOMAIN],
  ] as const) {
    const server = await startNameServer({ [A]: { code: codes[0] }, [AAAA]: { code: codes[1] } });
    t.after(server.stop);
    await assert.rejects(server.resolve());
  }
});
