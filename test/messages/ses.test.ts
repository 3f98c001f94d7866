import assert from "node:assert/strict";
import { createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { dumpDatabase } from "../support/database-dump.ts";
import { type MailServer, startMailServer } from "../support/mail-server.ts";
import { askForMail } from "../support/messages.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const TOPIC = "arn:aws:sns:eu-west-1:123456789012:mail-events";
const SES_ID = "0102018f3c0a4f11-6a2e6d3b-1c2d-4e5f-8a9b-0c1d2e3f4a5b-000000";
const TLS = join(import.meta.dirname, "../support/tls");
const certificate = readFileSync(join(TLS, "sns.pem"));
const privateKey = createPrivateKey(readFileSync(join(TLS, "sns-key.pem")));

type Sns = Record<string, string>;

/** Signs as SNS does: the members that count, each with its name, in alphabetical order. */
function signed(message: Sns, key = privateKey): Sns {
  const names = ["Message", "MessageId", "SubscribeURL", "Subject", "Timestamp", "Token", "TopicArn", "Type"];
  const lines = names.filter((name) => message[name] !== undefined).map((name) => `${name}\n${message[name]}\n`);
  const algorithm = message.SignatureVersion === "1" ? "sha1" : "sha256";
  return { ...message, Signature: sign(algorithm, Buffer.from(lines.join("")), key).toString("base64") };
}

for (const engine of engines) {
  describe(`events of Amazon SES (${engine})`, () => {
    let server: TestServer;
    let mails: MailServer;
    let amazon: Receiver;
    let mailId: string;
    before(async () => {
      amazon = await startReceiver();
      amazon.answer((request, response) => {
        if (request.url?.endsWith(".pem")) response.writeHead(200).end(certificate);
        else response.writeHead(200).end("<ConfirmSubscriptionResponse/>");
      });
      mails = await startMailServer();
      mails.answerData(`Ok ${SES_ID}`);
      server = await startTestServer(engine, {
        settings: {
          KEYSTEAD_SMTP_URL: mails.url,
          KEYSTEAD_MAIL_FROM: "keys@service.example",
          KEYSTEAD_SES_TOPIC_ARNS: TOPIC,
          KEYSTEAD_SES_CERTIFICATE_HOSTS: new URL(amazon.url).host,
          KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
        },
      });
      mailId = await askForMail(server, { to: "Ada@example.com" });
      await until(async () => (await events()).length > 0);
    });
    after(async () => {
      await server.close();
      await mails.close();
      await amazon.close();
    });

    const events = async (email = "ada@example.com") =>
      (await server.root.query("list_email_events", { email })).body.emailEvents;
    const post = async (message: unknown) => {
      const body = typeof message === "string" ? message : JSON.stringify(message);
      const answer = await fetch(`${server.baseUrl}/ingest/ses`, { method: "POST", body });
      return { status: answer.status, text: await answer.text() };
    };
    const notification = (event: object | string, more: Partial<Sns> = {}): Sns => ({
      Type: "Notification",
      MessageId: newId(),
      TopicArn: TOPIC,
      Message: typeof event === "string" ? event : JSON.stringify(event),
      Timestamp: new Date().toISOString(),
      SignatureVersion: "2",
      SigningCertURL: `${amazon.url}/cert.pem`,
      ...(more as Sns),
    });
    const mail = (more: object = {}) => ({
      timestamp: "2026-11-22T05:00:00.000Z",
      source: "Keys <keys@service.example>",
      messageId: SES_ID,
      destination: ["Ada@example.com"],
      ...more,
    });

    it("the SMTP reply tells of the hand-over alone", async () => {
      const [send, ...others] = await events();
      assert.deepEqual(others, []);
      assert.equal(send.eventType, "Send");
      assert.equal(send.messageId, SES_ID);
    });

    const at = (minute: number) => `2026-11-22T05:0${minute}:00.000Z`;
    const happenings: [string, object, object, Partial<Sns>?][] = [
      [
        "DeliveryDelay",
        {
          eventType: "DeliveryDelay",
          deliveryDelay: {
            delayType: "MailboxFull",
            delayedRecipients: [{ emailAddress: "ada@example.com", diagnosticCode: "smtp; 452 full" }],
            timestamp: at(1),
          },
        },
        { deliveryDelayType: "MailboxFull", diagnosticCode: "smtp; 452 full" },
      ],
      [
        "Delivery",
        {
          eventType: "Delivery",
          delivery: { smtpResponse: "250 2.6.0 ok", processingTimeMillis: 546, timestamp: at(2) },
        },
        { deliverySmtpResponse: "250 2.6.0 ok", deliveryProcessingTimeMillis: "546" },
        { SignatureVersion: "1", Subject: "Amazon SES Email Event Notification" },
      ],
      [
        "Bounce",
        {
          notificationType: "Bounce",
          bounce: {
            bounceType: "Permanent",
            bounceSubType: "General",
            bouncedRecipients: [{ emailAddress: "ada@example.com", diagnosticCode: "smtp; 550 5.1.1" }],
            timestamp: at(3),
          },
        },
        { bounceType: "Permanent", bounceSubType: "General", diagnosticCode: "smtp; 550 5.1.1" },
      ],
      [
        "Complaint",
        { eventType: "Complaint", complaint: { complaintFeedbackType: "abuse", timestamp: at(4) } },
        { complaintFeedbackType: "abuse" },
      ],
    ];
    for (const [eventType, event, details, more] of happenings) {
      it(`${eventType} is kept once, with its details`, async () => {
        const message = signed(
          notification({ ...event, mail: mail({ tags: { "ses:tenant-name": ["wallets"] } }) }, more),
        );
        assert.equal((await post(message)).status, 200);
        assert.equal((await post(message)).status, 200);
        const all = (await events()).filter((each: { eventType: string }) => each.eventType === eventType);
        assert.equal(all.length, 1);
        assert.deepEqual(all[0].details, details);
        assert.equal(all[0].messageId, SES_ID);
        assert.equal(all[0].senderTenant, "wallets");
        assert.equal(all[0].fromAddress, "keys@service.example");
        assert.equal(all[0].toAddress, "Ada@example.com");
      });
    }

    it("Send counts once, whoever tells of it, and a mail is known by its Message-ID too", async () => {
      const headers = [{ name: "Message-ID", value: `<${mailId}@service.example>` }];
      const send = { eventType: "Send", send: {}, mail: mail({ messageId: "another-id", headers }) };
      assert.equal((await post(signed(notification(send)))).status, 200);
      const before = await events();
      assert.equal(before.filter((each: { eventType: string }) => each.eventType === "Send").length, 1);
      const delay = { eventType: "DeliveryDelay", deliveryDelay: {}, mail: mail({ messageId: "another-id", headers }) };
      assert.equal((await post(signed(notification(delay)))).status, 200);
      assert.equal((await events()).length, before.length + 1);
    });

    it("what is not known is dropped", async () => {
      const before = await events();
      for (const event of [
        { eventType: "Delivery", delivery: {}, mail: mail({ messageId: "0102-of-somebody-else" }) },
        { eventType: "Open", mail: mail() },
        "Successfully validated SNS topic for Amazon SES event publishing.",
        { eventType: "Bounce" },
      ]) {
        assert.equal((await post(signed(notification(event)))).status, 200);
      }
      assert.deepEqual(await events(), before);
    });

    it("a subscription is confirmed by its link", async () => {
      const confirmation = {
        ...notification("You have chosen to subscribe"),
        Type: "SubscriptionConfirmation",
        Token: "2336412f37",
        SubscribeURL: `${amazon.url}/?Action=ConfirmSubscription&Token=2336412f37`,
      };
      assert.equal((await post(signed(confirmation))).status, 200);
      assert.ok(amazon.received.some(({ path }) => path === "/?Action=ConfirmSubscription&Token=2336412f37"));
    });

    it("whatever SNS did not send is refused; nothing is stored, and nothing fetched", async () => {
      const event = { eventType: "Complaint", complaint: {}, mail: mail() };
      const confirmation = (url: string) => ({
        ...notification("x"),
        Type: "SubscriptionConfirmation",
        Token: "t",
        SubscribeURL: url,
      });
      const good = signed(notification(event));
      const forgeries: Record<string, object> = {
        "another text": { ...good, Message: good.Message?.replace("Complaint", "Delivery") },
        "another id": { ...good, MessageId: newId() },
        "a subject that was not signed": { ...good, Subject: "x" },
        "no signature to speak of": { ...good, Signature: "AAAA" },
        "the other version's signature": { ...good, SignatureVersion: "1" },
        "another topic": signed(notification(event, { TopicArn: `${TOPIC}-other` })),
        "an hour ago": signed(notification(event, { Timestamp: new Date(Date.now() - 3_601_000).toISOString() })),
        "the future": signed(notification(event, { Timestamp: new Date(Date.now() + 600_000).toISOString() })),
        "no time": signed(notification(event, { Timestamp: "soon" })),
        "a certificate of another host": signed(
          notification(event, { SigningCertURL: `http://localhost:${new URL(amazon.url).port}/x.pem` }),
        ),
        "a certificate of a host that looks like Amazon's": signed(
          notification(event, {
            SigningCertURL:
              "https://sns.eu-west-1.amazonaws.com.evil.example/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
          }),
        ),
        "a certificate of another region": signed(
          notification(event, {
            SigningCertURL:
              "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
          }),
        ),
        "a certificate by plain http": signed(
          notification(event, {
            SigningCertURL:
              "http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
          }),
        ),
        "a certificate that is another file": signed(
          notification(event, { SigningCertURL: "https://sns.eu-west-1.amazonaws.com/?Action=Publish" }),
        ),
        "a link to another host": signed(confirmation("https://evil.example/?Action=ConfirmSubscription")),
        "a link inside": signed(confirmation("http://169.254.169.254/")),
      };
      const stored = JSON.stringify(await dumpDatabase(server.opened.database));
      const fetched = amazon.received.length;
      for (const [name, message] of Object.entries(forgeries)) {
        const { status, text } = await post(message);
        assert.equal(status, 403, `${name}: ${text}`);
      }
      for (const message of [
        "",
        "{}",
        "[]",
        JSON.stringify({ ...good, SignatureVersion: "3" }),
        '{"Type":"Notification"}',
      ]) {
        assert.equal((await post(message)).status, 400, message);
      }
      assert.equal((await post({ ...good, Message: "x".repeat(400_000) })).status, 413);
      assert.equal(amazon.received.length, fetched);
      assert.equal(JSON.stringify(await dumpDatabase(server.opened.database)), stored);
    });

    it("a certificate is fetched once", () => {
      assert.equal(amazon.received.filter(({ path }) => path === "/cert.pem").length, 1);
    });

    it("events are in the order in which they happened", async () => {
      const types = (await events()).map(({ eventType }: { eventType: string }) => eventType);
      assert.ok(types.indexOf("Complaint") < types.indexOf("Bounce"));
      assert.ok(types.indexOf("Bounce") < types.indexOf("Delivery"));
    });
  });
}

describe("a server without topics", () => {
  it("has no such page", async () => {
    const server = await startTestServer("sqlite");
    try {
      assert.equal((await fetch(`${server.baseUrl}/ingest/ses`, { method: "POST", body: "{}" })).status, 404);
    } finally {
      await server.close();
    }
  });
});
