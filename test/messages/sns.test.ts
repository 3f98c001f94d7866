import assert from "node:assert/strict";
import { createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { OutboundError } from "../../src/delivery/outbound.ts";
import { createSns } from "../../src/providers/mail/ses/sns.ts";

const TLS = join(import.meta.dirname, "../support/tls");
const TOPIC = "arn:aws:sns:eu-west-1:123456789012:mail-events";
const certificateUrl = (name: string) =>
  `https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-${name.padStart(32, "0")}.pem`;

function message(url = certificateUrl("1")): Buffer {
  const Timestamp = new Date().toISOString();
  const text = `Message\nhello\nMessageId\n1\nTimestamp\n${Timestamp}\nTopicArn\n${TOPIC}\nType\nNotification\n`;
  const key = createPrivateKey(readFileSync(join(TLS, "sns-key.pem")));
  const Signature = sign("sha256", Buffer.from(text), key).toString("base64");
  const rest = { SignatureVersion: "2", SigningCertURL: url, Signature };
  return Buffer.from(
    JSON.stringify({ Type: "Notification", Message: "hello", MessageId: "1", Timestamp, TopicArn: TOPIC, ...rest }),
  );
}

function snsWith(answer: (url: string) => { status: number; body: Buffer }) {
  const fetched: string[] = [];
  const outbound = {
    request: async ({ url }: { url: string }) => {
      fetched.push(url);
      return { headers: {}, truncated: false, durationMs: 0, ...answer(url) };
    },
  };
  return { fetched, sns: createSns({ topicArns: [TOPIC], certificateHosts: [], outbound, clock: Date.now }) };
}

const good = { status: 200, body: readFileSync(join(TLS, "sns.pem")) };

describe("certificates of Amazon SNS", () => {
  it("come from the topic's own region, once for all who ask at the same time", async () => {
    const { sns, fetched } = snsWith(() => good);
    const read = await Promise.all([sns.read(message()), sns.read(message()), sns.read(message())]);
    assert.deepEqual(
      read.map(({ Message }) => Message),
      ["hello", "hello", "hello"],
    );
    assert.deepEqual(fetched, [certificateUrl("1")]);
  });

  it("that cannot be had are asked for again", async () => {
    let works = false;
    const { sns } = snsWith(() => {
      if (works) return good;
      throw new OutboundError("connect", "the connection was refused");
    });
    await assert.rejects(sns.read(message()), { code: "INGEST_UNAVAILABLE" });
    works = true;
    assert.equal((await sns.read(message())).Message, "hello");
  });

  for (const [name, answer] of Object.entries({
    "are not there": { status: 404, body: Buffer.alloc(0) },
    "are no certificates": { status: 200, body: Buffer.from("hello") },
    "have a key of another kind": { status: 200, body: readFileSync(join(TLS, "valid.pem")) },
  })) {
    it(`that ${name} prove nothing`, async () => {
      await assert.rejects(snsWith(() => answer).sns.read(message()), { code: /^INGEST_/ });
    });
  }

  it("are fetched in a bounded number, whatever anybody asks for, and the one that serves stays known", async () => {
    const { sns, fetched } = snsWith((url) =>
      url === certificateUrl("1") ? good : { status: 404, body: Buffer.alloc(0) },
    );
    await sns.read(message());
    const tries = Array.from({ length: 50 }, (_, index) => sns.read(message(certificateUrl(`a${index}`))));
    for (const { status } of await Promise.allSettled(tries)) assert.equal(status, "rejected");
    assert.ok(fetched.length <= 11, `${fetched.length} were fetched`);
    assert.equal((await sns.read(message())).Message, "hello");
    assert.equal(fetched.filter((url) => url === certificateUrl("1")).length, 1);
  });
});
