import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { MAX_BODY_BYTES } from "../../src/kernel/limits.ts";
import { type Client, generateApiKey } from "../support/client.ts";
import { cpuOf, longestHold } from "../support/loop-hold.ts";
import { startTestServer, type TestServer } from "../support/server.ts";

/** What a request may cost before it is known whose it is, and what the largest of a known sender cost everybody else. */

const repeat = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join();

/** Bodies up to the limit that are laborious to read; each is one member of the whole. */
const laborious: Record<string, string> = {
  "escaped names": `"x":{${repeat(98_000, (index) => `"\\u0061${index}":1`)}}`,
  "objects of escaped names": `"x":[${repeat(97, (j) => `{${repeat(1000, (i) => `"\\u0061k${j}x${i}":"${"x".repeat(18)}"`)}}`)}]`,
  "a list of a million": `"x":[${repeat(1_000_000, () => "1")}]`,
  "a list of many objects": `"x":[${repeat(33_000, (index) => `{"a":"\\u0061${index}","b":null}`)}]`,
  "one long escaped name": `"x":{"${"\\u0061".repeat(680_000)}":1}`,
  "a text of quotes": `"x":"${'\\"'.repeat(2_000_000)}"`,
  "a long number": `"x":${"1".repeat(4_100_000)}`,
};

const bodyOf = ({ organizationId }: Client, member: string): Buffer => {
  const body = Buffer.from(`{"organizationId":"${organizationId}",${member}}`);
  assert.ok(body.length <= MAX_BODY_BYTES, String(body.length));
  return body;
};

const submission = (type: string): string => `"type":"ACTIVITY_TYPE_${type}","timestampMs":"${Date.now()}"`;

/** Sends by the plainest means, so that most of what is measured is the server's work. */
async function send(client: Client, body: Buffer, path = "/public/v1/query/whoami"): Promise<number> {
  const url = new URL(path, client.baseUrl);
  const sent = request(url, { method: "POST", agent: false, headers: { "x-stamp": client.stamp(body) } });
  sent.end(body);
  const [answer] = await once(sent, "response");
  answer.resume();
  await once(answer, "end");
  return answer.statusCode;
}

describe("a request", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer("sqlite", { settings: { KEYSTEAD_FAILED_AUTHENTICATIONS_PER_SECOND: "0" } });
  });
  after(() => server.close());

  it("without a good stamp is refused before its body is sent", async () => {
    const { root, baseUrl } = server;
    const stamp = root.stamp("{}");
    for (const [headers, status] of [
      ["", 401],
      ["X-Stamp: junk\r\n", 401],
      [`X-Stamp: ${stamp}\r\nX-Stamp-WebAuthn: {}\r\n`, 401],
      [`X-Stamp-WebAuthn: {}\r\n`, 401],
    ] as const) {
      const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
      socket.write(
        `POST /public/v1/query/whoami HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n${headers}\r\n`,
      );
      const [answer] = await once(socket, "data");
      assert.match(String(answer), new RegExp(`^HTTP/1\\.1 ${status} `), headers);
      socket.destroy();
    }
  });

  it("of an unknown key costs by the bytes of its body, not by what they hold", async () => {
    const stranger = server.root.with({ key: generateApiKey() });
    const cost = async (member: string): Promise<number> => {
      const body = bodyOf(stranger, member);
      const statuses: number[] = [];
      const before = process.threadCpuUsage();
      for (let times = 0; times < 5; times++) statuses.push(await send(stranger, body));
      const { user, system } = process.threadCpuUsage(before);
      assert.deepEqual([...new Set(statuses)], [401]);
      return user + system;
    };
    await cost('"x":1');
    const plain = await cost(`"x":"${"x".repeat(4_000_000)}"`);
    for (const [name, member] of Object.entries(laborious)) {
      const ratio = (await cost(member)) / plain;
      assert.ok(ratio < 2, `${name}: ${ratio.toFixed(1)} times that of plain text`);
    }
  });

  it("of a known sender lets others go between its steps, whatever it holds", async (t) => {
    const { root } = server;
    // What nothing can part: making the values of the most laborious body that is within the limits.
    const values = `{${laborious["objects of escaped names"]}}`;
    JSON.parse(values);
    const parsing = Math.max(...[1, 2, 3].map(() => cpuOf(() => JSON.parse(values))));
    const users = (member: string) =>
      `${submission("CREATE_USERS_V4")},"parameters":{${member.replace('"x"', '"users"')}}`;
    for (const [path, envelope] of [
      ["/public/v1/query/whoami", (member: string) => member],
      ["/public/v1/submit/create_users", users],
    ] as const) {
      for (const [name, member] of Object.entries(laborious)) {
        const body = bodyOf(root, envelope(member));
        const hold = await longestHold(async () => {
          const status = await send(root, body, path);
          assert.ok(status === 200 || status === 400, `${name}: ${status}`);
        });
        t.diagnostic(`${path} ${name}: ${hold.toFixed(0)} ms of CPU at once`);
        assert.ok(hold < 3 * parsing, `${name}: ${hold} ms at once, where parsing takes ${parsing} ms`);
      }
    }
  });
});
