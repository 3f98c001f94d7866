import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import PostalMime from "postal-mime";
import { checkTemplate } from "../../src/capabilities/messages/model.ts";
import { listJobs } from "../../src/engine/jobs/admin.ts";
import { DAY_MS, HOUR_MS } from "../../src/kernel/durations.ts";
import { newId } from "../../src/kernel/ids.ts";
import { createTemplates } from "../../src/providers/templates/templates.ts";
import { dumpDatabase } from "../support/database-dump.ts";
import { type MailServer, startMailServer, TAKEN } from "../support/mail-server.ts";
import { askForMail, askForSms } from "../support/messages.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { addSubOrganization } from "../support/world.ts";

const CODE = "K7Q4Z9XW2";

for (const engine of engines) {
  describe(`messages (${engine})`, () => {
    let server: TestServer;
    let mails: MailServer;
    let gateway: Receiver;
    let ahead = 0;
    const clock = () => Date.now() + ahead;
    before(async () => {
      mails = await startMailServer();
      gateway = await startReceiver();
      server = await startTestServer(engine, {
        clock,
        settings: {
          KEYSTEAD_SMTP_URL: mails.url,
          KEYSTEAD_MAIL_FROM: "Keys <keys@service.example>",
          KEYSTEAD_MAIL_SENDER_DOMAINS: "app.example",
          KEYSTEAD_SMS_URL: `${gateway.url}/sms`,
          KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
        },
      });
    });
    after(async () => {
      await server.close();
      await mails.close();
      await gateway.close();
    });

    const events = async (email: string, more: object = {}) => {
      const { body } = await server.root.query("list_email_events", { email, ...more });
      return body.emailEvents;
    };
    const eventsOf = async (email: string, count: number) => {
      await until(async () => (await events(email)).length >= count, `${count} events of ${email}`);
      return events(email);
    };
    const mailTo = async (to: string) => {
      await until(() => mails.caught.some(({ envelope }) => envelope.to.includes(to)), `a mail to ${to}`);
      return mails.caught.filter(({ envelope }) => envelope.to.includes(to));
    };

    it("a code reaches its recipient, and nobody else can read it on its way", async () => {
      mails.refuseRecipients({ code: 451, text: `4.7.1 come back later with ${CODE}` });
      const id = await askForMail(server, { to: "secret@example.com" });
      const { database } = server.opened;
      await until(async () =>
        (await listJobs(database.read, "waiting", 100)).some(({ lastError }) => lastError?.includes("come back")),
      );
      const jobs = JSON.stringify(await listJobs(database.read, "waiting", 100));
      const dump = JSON.stringify(await dumpDatabase(database));
      for (const place of [dump, jobs, server.log()]) {
        assert.ok(!place.includes(CODE) && !place.includes(Buffer.from(CODE).toString("base64")));
      }
      assert.match(jobs, new RegExp(id));
      assert.deepEqual(await events("secret@example.com"), []);
      mails.refuseRecipients(undefined);
      ahead += 10_000;
      const [mail] = await mailTo("secret@example.com");
      assert.ok(mail?.text?.includes(CODE) && mail.html?.includes(CODE));
      assert.equal(mail?.subject, "Your code for Keystead");
    });

    it("what was greylisted is handed over once, and told of as sent and delivered", async () => {
      const [delivery, send, ...others] = await eventsOf("secret@example.com", 2);
      assert.deepEqual(others, []);
      assert.equal(delivery.eventType, "Delivery");
      assert.equal(delivery.details.deliverySmtpResponse, "250 OK: queued as 4ABC1234");
      assert.match(delivery.details.deliveryProcessingTimeMillis, /^[0-9]+$/);
      assert.deepEqual(send, {
        id: send.id,
        organizationId: server.root.organizationId,
        messageId: "4ABC1234",
        eventType: "Send",
        fromAddress: "keys@service.example",
        toAddress: "secret@example.com",
        timestamp: send.timestamp,
        createdAt: send.createdAt,
        details: {},
      });
      assert.ok(Number(delivery.timestamp) > Number(send.timestamp));
      assert.equal((await mailTo("secret@example.com")).length, 1);
    });

    it("what is handed over again has the same Message-ID", async () => {
      mails.answerData({ code: 451, text: "4.3.0 lost it" });
      const id = await askForMail(server, { to: "twice@example.com", now: clock() });
      await mailTo("twice@example.com");
      mails.answerData(TAKEN);
      const { database } = server.opened;
      await until(async () =>
        (await listJobs(database.read, "waiting", 100)).some(({ lastError }) => lastError?.includes("lost it")),
      );
      ahead += 10_000;
      assert.equal((await eventsOf("twice@example.com", 2)).length, 2);
      const messageIds = (await mailTo("twice@example.com")).map(({ messageId }) => messageId);
      assert.deepEqual(messageIds, [`<${id}@service.example>`, `<${id}@service.example>`]);
    });

    it("a refusal is a bounce, and so is what no server took while it was good", async () => {
      mails.refuseRecipients({ code: 550, text: "5.1.1 no such user" });
      await askForMail(server, { to: "nobody@example.com" });
      const [bounce] = await eventsOf("nobody@example.com", 1);
      assert.equal(bounce.eventType, "Bounce");
      assert.equal(bounce.details.bounceType, "Permanent");
      assert.match(bounce.details.diagnosticCode, /^550 5\.1\.1 no such user/);
      mails.refuseRecipients(undefined);

      await askForMail(server, { to: "late@example.com", expiresAt: clock() - 1 });
      const [dropped] = await eventsOf("late@example.com", 1);
      assert.deepEqual(
        [dropped.eventType, dropped.details.bounceType, dropped.fromAddress],
        ["Bounce", "Transient", "keys@service.example"],
      );
      assert.ok(!mails.caught.some(({ envelope }) => envelope.to.includes("late@example.com")));
    });

    it("events are listed newest first, by type, by cursor, and whatever the case of the address", async () => {
      for (let count = 0; count < 3; count++) await askForMail(server, { to: "Many@Example.com" });
      const all = await eventsOf("many@EXAMPLE.com", 6);
      assert.ok(all.every(({ toAddress }: { toAddress: string }) => toAddress === "Many@Example.com"));
      const times = all.map(({ timestamp }: { timestamp: string }) => Number(timestamp));
      assert.deepEqual(
        times,
        times.toSorted((one: number, other: number) => other - one),
      );
      const sent = await events("many@example.com", { eventType: "Send" });
      assert.equal(sent.length, 3);
      assert.deepEqual(await events("many@example.com", { eventType: "Nothing" }), []);
      const ids = all.map(({ id }: { id: string }) => id);
      const page = async (paginationOptions: object) =>
        (await events("many@example.com", { paginationOptions })).map(({ id }: { id: string }) => id);
      assert.deepEqual(await page({ limit: "2" }), ids.slice(0, 2));
      assert.deepEqual(await page({ limit: "2", before: ids[1] }), ids.slice(2, 4));
      assert.deepEqual(await page({ limit: "2", after: ids[4] }), ids.slice(2, 4));
    });

    it("belong to who asked: a parent reads its sub-organization's by naming it", async () => {
      const { client } = await addSubOrganization(server.root);
      await askForMail(server, { to: "sub@example.com", organizationId: client.organizationId });
      const asking = { email: "sub@example.com" };
      await until(async () => (await client.query("list_email_events", asking)).body.emailEvents.length === 2);
      assert.deepEqual(await events("sub@example.com"), []);
      const byParent = await server.root
        .with({ organizationId: client.organizationId })
        .query("list_email_events", asking);
      assert.equal(byParent.body.emailEvents.length, 2);
    });

    it("none leaves an organization that was deleted meanwhile, though its mails are still to be erased", async () => {
      const { client } = await addSubOrganization(server.root);
      mails.refuseRecipients({ code: 451, text: "4.7.1 come back later" });
      const asked = { to: "late@example.com", organizationId: client.organizationId, now: clock() };
      const id = await askForMail(server, asked);
      const { database } = server.opened;
      const its = async () =>
        (await listJobs(database.read, "waiting", 100)).find((job) => JSON.stringify(job).includes(id));
      await until(async () => (await its())?.lastError?.includes("come back") === true, "its first attempt");
      await database.transact(undefined, async (tx) => {
        const rows = tx.updateTable("organizations").where("id", "=", client.organizationId);
        await rows.set({ deleted_at: clock(), erasing: 1 }).execute();
      });
      mails.refuseRecipients(undefined);
      ahead += 10_000;
      await until(async () => (await its()) === undefined, "the end of its job");
      assert.ok(mails.caught.every(({ envelope }) => !envelope.to.includes(asked.to)));
    });

    it("a template of the operator's is filled, and escaped in HTML", async () => {
      const folder = join(server.dataDir, "templates", "welcome");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "subject.txt"), '{{ .AppName }} for {{index .TemplateVariables "name"}}\n');
      writeFileSync(join(folder, "text.txt"), "{{ .OtpCode }} {{ .MagicLink }}\n");
      writeFileSync(
        join(folder, "html.html"),
        '<a title="{{ .AppName }}" href="{{.MagicLink}}">{{ index .TemplateVariables "name" }}</a>',
      );
      const customization = {
        appName: `A<b>"&'`,
        magicLinkTemplate: "https://app.example/?a=1&code=%s",
        templateId: "welcome",
        templateVariables: JSON.stringify({ name: "<script>Ada\r\nBcc: eve@evil.example</script>" }),
      };
      await askForMail(server, { to: "template@example.com", secret: "a+b/c=", customization });
      const [mail] = await mailTo("template@example.com");
      assert.equal(mail?.subject, `A<b>"&' for <script>Ada Bcc: eve@evil.example</script>`);
      assert.equal(mail?.text?.trim(), "a+b/c= https://app.example/?a=1&code=a%2Bb%2Fc%3D");
      assert.match(
        mail?.html ?? "",
        /title="A&lt;b&gt;&#34;&amp;&#39;" href="https:\/\/app\.example\/\?a=1&amp;code=a%2Bb%2Fc%3D"/,
      );
      assert.ok(!mail?.html?.includes("<script>"));
      assert.deepEqual(mail?.envelope.to, ["template@example.com"]);

      const templates = createTemplates(join(server.dataDir, "templates"));
      const check = (more: object, kind: "otp" | "email_auth" = "otp") =>
        checkTemplate(templates, kind, { ...customization, ...more }, "parameters.emailCustomization.templateId");
      await check({});
      const refusals: [object, RegExp, "email_auth"?][] = [
        [
          { templateId: "unknown" },
          /`parameters\.emailCustomization\.templateId` failed to get email template contents.*not known/,
        ],
        [{ templateId: "../templates/welcome" }, /not known/],
        [{ templateId: "welcome/../welcome" }, /not known/],
        [{ templateVariables: "{}" }, /the variable "name"/],
        [{ magicLinkTemplate: "" }, /\.MagicLink/],
        [{}, /\.OtpCode/, "email_auth"],
      ];
      for (const [more, message, kind] of refusals)
        await assert.rejects(check(more, kind), { code: "FIELD_INVALID", message });
    });

    it("events are gone after a month, and so is what could not be sent", async () => {
      const { database } = server.opened;
      const old = clock() - 31 * DAY_MS;
      const dead = { id: newId(), lane: "nowhere", kind: "send_sms", payload: "{}", state: "dead" as const, key: null };
      const rest = { sealed_secret: null, organization_id: null, attempts: 20, last_error: null, run_at: old };
      await database.transact(undefined, async (tx) => {
        await tx
          .insertInto("jobs")
          .values({ ...dead, ...rest, created_at: old, updated_at: old })
          .execute();
        await tx
          .updateTable("email_events")
          .set({ created_at: old })
          .where("lookup", "=", "many@example.com")
          .execute();
        await tx.updateTable("mails").set({ created_at: old }).where("to_address", "=", "Many@Example.com").execute();
      });
      ahead += HOUR_MS + 1000;
      await until(async () => (await events("many@example.com")).length === 0, "the old events to go");
      const left = () => database.read.selectFrom("mails").select("to_address").execute();
      await until(async () => (await left()).every(({ to_address }) => to_address !== "Many@Example.com"));
      await until(async () => (await listJobs(database.read, "dead", 100)).length === 0);
      assert.equal((await events("nobody@example.com")).length, 1);
    });

    it("text messages go to the gateway, again after trouble, and not after a refusal or too late", async () => {
      const sent = (number: string) => gateway.received.filter(({ body }) => body.includes(number));
      gateway.answer(503);
      await askForSms(server, { to: "+14155550111", appName: "App", now: clock() });
      await until(() => sent("+14155550111").length === 1);
      gateway.answer(201);
      ahead += 10_000;
      await until(() => sent("+14155550111").length === 2);
      const { path, headers, body } = sent("+14155550111")[1] as (typeof gateway.received)[number];
      assert.equal(path, "/sms");
      assert.equal(headers["content-type"], "application/json");
      assert.deepEqual(JSON.parse(body), { to: "+14155550111", message: `${CODE} is your one-time code for App.` });

      gateway.answer(400);
      await askForSms(server, { to: "+14155550122", customization: { template: "c={{.OtpCode}}" }, now: clock() });
      await until(() => sent("+14155550122").length === 1);
      await askForSms(server, { to: "+14155550133", now: clock(), expiresAt: clock() - 1 });
      await until(() => server.log().split("a text message could not be sent").length === 3);
      ahead += 10_000;
      await askForMail(server, { to: "last@example.com", now: clock() });
      await mailTo("last@example.com");
      assert.equal(sent("+14155550122").length, 1);
      assert.equal(JSON.parse(sent("+14155550122")[0]?.body ?? "").message, `c=${CODE}`);
      assert.equal(sent("+14155550133").length, 0);
      assert.ok(!server.log().includes(CODE));
    });

    it("a mail server that hangs holds up nothing but its mail, and not the end of the server", async () => {
      mails.refuseRecipients("by silence");
      gateway.answer(200);
      for (let count = 0; count < 12; count++) await askForMail(server, { to: "hanging@example.com", now: clock() });
      await until(() => mails.silences() > 0);
      await askForSms(server, { to: "+14155550144", now: clock() });
      await until(() => gateway.received.some(({ body }) => body.includes("+14155550144")));
      assert.ok(!mails.caught.some(({ envelope }) => envelope.to.includes("hanging@example.com")));
    });
  });
}

describe("a mail server that takes no mail", () => {
  it("is the operator's concern: the bounce of a mail does not tell what it says", async (t) => {
    let ahead = 0;
    const away = createServer((socket) => {
      socket.on("error", () => {});
      // The mail expires during this attempt.
      ahead = HOUR_MS;
      socket.end("421 4.3.2 the user keys is locked out of mx[10.1.2.3]\r\n");
    });
    await new Promise<void>((resolve) => away.listen(0, "127.0.0.1", resolve));
    t.after(() => away.close());
    const { port } = away.address() as AddressInfo;
    const settings = { KEYSTEAD_SMTP_URL: `smtp://127.0.0.1:${port}`, KEYSTEAD_MAIL_FROM: "keys@service.example" };
    const server = await startTestServer("sqlite", { clock: () => Date.now() + ahead, settings });
    t.after(() => server.close());
    await askForMail(server, { to: "ada@example.com" });
    const events = async () =>
      (await server.root.query("list_email_events", { email: "ada@example.com" })).body.emailEvents;
    await until(async () => (await events()).length === 1, "the bounce");
    const { diagnosticCode } = (await events())[0].details;
    assert.equal(diagnosticCode, "the mail server could not be reached, or did not accept mail");
    assert.match(server.log(), /locked out of mx\[10\.1\.2\.3\]/);
  });
});

describe("a server that nothing was set for", () => {
  it("writes mail and text messages into the outbox, complete files alone", async () => {
    const server = await startTestServer("sqlite");
    try {
      const mailId = await askForMail(server, { to: "Ada@example.com" });
      const smsId = await askForSms(server, { to: "+14155550100" });
      const folder = join(server.dataDir, "outbox");
      const files = () => {
        try {
          return readdirSync(folder);
        } catch {
          return [];
        }
      };
      await until(() => files().filter((name) => /\.(eml|txt)$/.test(name)).length === 2);
      assert.deepEqual(files().sort(), [`${mailId}.eml`, `${smsId}.txt`].sort());
      const mail = await PostalMime.parse(readFileSync(join(folder, `${mailId}.eml`)));
      assert.equal(mail.messageId, `<${mailId}@localhost>`);
      assert.ok(mail.text?.includes(CODE) && mail.html?.includes(CODE));
      assert.equal(
        readFileSync(join(folder, `${smsId}.txt`), "utf8"),
        `+14155550100\n${CODE} is your one-time code for Keystead.\n`,
      );
    } finally {
      await server.close();
    }
  });
});
