import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Strict } from "../../engine/fields.ts";
import { matches } from "../../engine/validate.ts";
import {
  checkEmailCustomization,
  checkSmsCustomization,
  EmailCustomization,
  mailFacts,
  senderFields,
  senderOfIntent,
} from "./model.ts";

const FIELD = "parameters.emailCustomization";

describe("the customization of a mail", () => {
  it("may give all, and '' for nothing", () => {
    const full = {
      appName: "App",
      logoUrl: "https://app.example/logo.png",
      magicLinkTemplate: "myapp://auth?bundle=%s&next=%2F",
      templateId: "welcome",
      templateVariables: '{"name":"Ada"}',
    };
    const empty = { appName: "", logoUrl: "", magicLinkTemplate: "", templateId: "", templateVariables: "" };
    for (const customization of [full, empty, {}]) {
      assert.ok(matches(EmailCustomization, customization));
      checkEmailCustomization(customization, FIELD);
    }
    assert.ok(!matches(EmailCustomization, { unknown: "x" }));
    assert.deepEqual(mailFacts({ kind: "otp", secret: "$&1", customization: full }).places, {
      OtpCode: "$&1",
      AppName: "App",
      LogoUrl: "https://app.example/logo.png",
      MagicLink: "myapp://auth?bundle=%24%261&next=%2F",
    });
    assert.deepEqual(mailFacts({ kind: "email_auth", secret: "b", customization: empty }).places, {
      CredentialBundle: "b",
      AppName: "Keystead",
    });
  });

  const refused: [string, object, RegExp][] = [
    ["a logo by http", { logoUrl: "http://app.example/logo.png" }, /logoUrl/],
    ["a logo that is a script", { logoUrl: "javascript:alert(1)" }, /logoUrl/],
    [
      "a link without a place",
      { magicLinkTemplate: "https://app.example/" },
      /magicLinkTemplate.*invalid magic link template/,
    ],
    ["a link with two", { magicLinkTemplate: "https://app.example/%s/%s" }, /invalid magic link template/],
    ["a link that is a script", { magicLinkTemplate: "JavaScript:alert('%s')" }, /invalid magic link template/],
    ["a link with a line break", { magicLinkTemplate: "https://app.example/\n%s" }, /invalid magic link template/],
    ["a link to nowhere", { magicLinkTemplate: "%s" }, /invalid magic link template/],
    [
      "variables that are no JSON",
      { templateVariables: "{" },
      /templateVariables.*failed to unmarshal template variables/,
    ],
    ["variables that are a list", { templateVariables: "[]" }, /failed to unmarshal/],
    ["variables that are numbers", { templateVariables: '{"a":1}' }, /failed to unmarshal/],
    [
      "too many variables",
      {
        templateVariables: JSON.stringify(
          Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`v${index}`, ""])),
        ),
      },
      /failed to unmarshal/,
    ],
  ];
  for (const [name, customization, message] of refused) {
    it(`may not have ${name}`, () => {
      assert.throws(() => checkEmailCustomization(customization, FIELD), { code: "FIELD_INVALID", message });
    });
  }
});

describe("the sender that an intent names", () => {
  const Sender = Strict(senderFields);

  it("is what it gives, without the empty texts", () => {
    const full = {
      sendFromEmailAddress: "hello@app.example",
      sendFromEmailSenderName: "App",
      replyToEmailAddress: "help@app.example",
    };
    assert.ok(matches(Sender, full));
    assert.deepEqual(senderOfIntent(full), { address: "hello@app.example", name: "App", replyTo: "help@app.example" });
    const empty = { sendFromEmailAddress: "", sendFromEmailSenderName: "", replyToEmailAddress: "" };
    assert.ok(matches(Sender, empty));
    assert.deepEqual(senderOfIntent(empty), {});
  });

  for (const bad of [
    { sendFromEmailAddress: "nobody" },
    { sendFromEmailAddress: "a@b.cd\r\nBcc: e@f.gh" },
    { sendFromEmailSenderName: "A\nB" },
    { replyToEmailAddress: "a b@c.de" },
  ]) {
    it(`may not be ${JSON.stringify(bad)}`, () => assert.ok(!matches(Sender, bad)));
  }
});

describe("the customization of a text message", () => {
  it("may give a text with the code in it", () => {
    for (const template of ["", "{{.OtpCode}}", "{{ .AppName }}: {{ .OtpCode }}"])
      checkSmsCustomization({ template }, "f");
  });

  for (const template of [
    "your code",
    "{{ .OtpCode }} {{ .Other }}",
    '{{.OtpCode}} {{ index .TemplateVariables "x" }}',
    "{{.OtpCode}} }}",
  ]) {
    it(`may not be ${template}`, () => {
      assert.throws(() => checkSmsCustomization({ template }, "f"), {
        code: "FIELD_INVALID",
        message: /`f\.template`/,
      });
    });
  }
});
