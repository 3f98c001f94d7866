import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { builtInTemplate, mailKindNames, mailKinds } from "./kinds.ts";
import { type Facts, fill, fillAll, problemOf } from "./render.ts";
import { createTemplates } from "./templates.ts";

const facts: Facts = {
  places: { OtpCode: "12<3", AppName: "App", MagicLink: "https://app.example/?a=1&b=2" },
  variables: { name: "Ada", constructor: "c" },
};

describe("places of templates", () => {
  it("are filled, and what is filled in is not looked at again", () => {
    const text =
      '{{.OtpCode}} {{  .AppName  }} {{ index .TemplateVariables "name" }} {{index .TemplateVariables "constructor"}} { }';
    assert.equal(fill(text, facts), "12<3 App Ada c { }");
    const tricky = { places: { OtpCode: "{{ .AppName }}", AppName: "$&" }, variables: {} };
    assert.equal(fill("{{ .OtpCode }} {{ .AppName }}", tricky), "{{ .AppName }} $&");
  });

  for (const [text, problem] of [
    ["{{ .Nothing }}", /Nothing.*does not have/],
    ["{{ .LogoUrl }}", /LogoUrl.*does not have/],
    ["{{ .constructor }}", /does not have/],
    ['{{ index .TemplateVariables "toString" }}', /"toString"/],
    ["{{ if .AppName }}x{{ end }}", /not known: \{\{ if/],
    ["{{ .OtpCode | printf }}", /not known/],
    ["{{- .OtpCode }}", /not known/],
    ["{{ .OtpCode", /not known/],
    [".OtpCode }}", /not known/],
    ["{{{{ .OtpCode }}", /not known/],
  ] as const) {
    it(`may not be ${text}`, () => {
      assert.match(problemOf(text, facts) ?? "", problem);
      assert.throws(() => fill(text, facts), problem);
    });
  }

  it("take time by the length of the text alone", () => {
    for (const text of [
      "{{".repeat(50_000),
      "{{ ".repeat(50_000),
      "{".repeat(100_000),
      `{{ index ${" ".repeat(100_000)}`,
    ]) {
      problemOf(text, facts);
    }
  });
});

describe("the built-in templates", () => {
  for (const kind of mailKindNames) {
    it(`of ${kind} show what they carry, and a link where there is one`, () => {
      const plain = { places: { [mailKinds[kind].carries]: "a<b", AppName: "A&B" }, variables: {} };
      const mail = fillAll(builtInTemplate(kind, plain), plain);
      assert.match(mail.text, /a<b/);
      assert.match(mail.html, /a&lt;b/);
      assert.match(mail.subject, /A&B/);
      const linked = {
        places: { ...plain.places, MagicLink: 'https://x.yz/?a="b"', LogoUrl: "https://x.yz/l.png" },
        variables: {},
      };
      const withLink = fillAll(builtInTemplate(kind, linked), linked);
      assert.match(withLink.text, /https:\/\/x\.yz\/\?a="b"/);
      assert.match(withLink.html, /href="https:\/\/x\.yz\/\?a=&#34;b&#34;"/);
      assert.match(withLink.html, /src="https:\/\/x\.yz\/l\.png"/);
    });
  }
});

describe("templates in folders", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "keystead-templates-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  const put = (id: string, files: Record<string, string | Buffer>) => {
    mkdirSync(join(folder, id), { recursive: true });
    const whole = { "subject.txt": "S\n", "text.txt": "T", "html.html": "H", ...files };
    for (const [name, content] of Object.entries(whole)) writeFileSync(join(folder, id, name), content);
  };
  const find = (templateId: string) => createTemplates(folder).find({ kind: "otp", templateId }, facts);

  it("are read whole", async () => {
    put("good", {});
    assert.deepEqual(await find("good"), { template: { subject: "S", text: "T", html: "H" } });
    assert.ok("template" in (await find("")));
  });

  it("are refused with a reason", async () => {
    put("large", { "text.txt": "x".repeat(64 * 1024 + 1) });
    put("bytes", { "html.html": Buffer.of(0xff, 0xfe) });
    mkdirSync(join(folder, "empty"));
    writeFileSync(join(folder, "file"), "");
    for (const [id, problem] of [
      ["large", /more than 65536 bytes/],
      ["bytes", /UTF-8/],
      ["empty", /lacks one of/],
      ["file", /lacks one of/],
      ["..", /not known/],
      ["good/../good", /not known/],
      ["nothing", /not known/],
    ] as const) {
      const found = await find(id);
      assert.match((found as { problem: string }).problem, problem, id);
    }
  });
});
