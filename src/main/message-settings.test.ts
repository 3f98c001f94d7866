import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadConfig } from "./config.ts";

const load = (settings: Record<string, string>) => loadConfig(settings).messages;
const twilio = {
  KEYSTEAD_TWILIO_ACCOUNT_SID: "AC0123",
  KEYSTEAD_TWILIO_AUTH_TOKEN: "secret-token",
  KEYSTEAD_TWILIO_FROM: "+14155550100",
};
const topic = "arn:aws:sns:eu-west-1:123456789012:mail";

describe("the settings of messages", () => {
  it("are files unless something else is said", () => {
    assert.deepEqual(load({}), {
      smtp: undefined,
      rules: { from: { address: "keystead@localhost", name: "Keystead" }, domains: [] },
      sms: { by: "files" },
      ses: { topicArns: [], certificateHosts: [] },
    });
  });

  it("name a mail server, a sender, domains, Twilio and topics", () => {
    const settings = load({
      ...twilio,
      KEYSTEAD_SMTP_URL: "smtps://user:pass@mail.example",
      KEYSTEAD_MAIL_FROM: '"Keys" <keys@example.com>',
      KEYSTEAD_MAIL_SENDER_DOMAINS: "App.example, other.example",
      KEYSTEAD_SES_TOPIC_ARNS: topic,
    });
    assert.deepEqual(settings, {
      smtp: { host: "mail.example", port: 465, secure: true, auth: { user: "user", pass: "pass" } },
      rules: { from: { address: "keys@example.com", name: "Keys" }, domains: ["app.example", "other.example"] },
      sms: {
        by: "twilio",
        account: {
          url: "https://api.twilio.com",
          accountSid: "AC0123",
          authToken: "secret-token",
          from: "+14155550100",
        },
      },
      ses: { topicArns: [topic], certificateHosts: [] },
    });
  });

  const refused: [string, Record<string, string>, RegExp][] = [
    ["a mail server without a sender", { KEYSTEAD_SMTP_URL: "smtp://mail.example" }, /KEYSTEAD_MAIL_FROM/],
    ["options in its URL", { KEYSTEAD_SMTP_URL: "smtp://u:secret-token@mail.example?debug=true" }, /KEYSTEAD_SMTP_URL/],
    ["a sender of two addresses", { KEYSTEAD_MAIL_FROM: "a@b.cd, e@f.gh" }, /KEYSTEAD_MAIL_FROM/],
    ["a sender with a line break", { KEYSTEAD_MAIL_FROM: "Keys\r\nBcc: e@f.gh <a@b.cd>" }, /KEYSTEAD_MAIL_FROM/],
    ["a domain with an at sign", { KEYSTEAD_MAIL_SENDER_DOMAINS: "@app.example" }, /KEYSTEAD_MAIL_SENDER_DOMAINS/],
    ["half of Twilio", { ...twilio, KEYSTEAD_TWILIO_FROM: "" }, /KEYSTEAD_TWILIO_FROM/],
    ["two gateways", { ...twilio, KEYSTEAD_SMS_URL: "https://sms.example/secret-token" }, /KEYSTEAD_SMS_URL/],
    ["a gateway inside", { KEYSTEAD_SMS_URL: "http://127.0.0.1/secret-token" }, /KEYSTEAD_SMS_URL/],
    ["a topic that is none", { KEYSTEAD_SES_TOPIC_ARNS: "mail" }, /KEYSTEAD_SES_TOPIC_ARNS/],
    ["certificates of other hosts", { KEYSTEAD_SES_CERTIFICATE_HOSTS: "127.0.0.1:1" }, /development/],
  ];
  for (const [name, settings, message] of refused) {
    it(`may not have ${name}`, () => {
      assert.throws(
        () => load(settings),
        (error: Error) => message.test(error.message) && !error.message.includes("secret-token"),
      );
    });
  }
});
