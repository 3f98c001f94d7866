import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { MailMessage } from "../../src/providers/mail/mailer.ts";
import { createSmtpMailer, idInReply, parseSmtpUrl, type SmtpServer } from "../../src/providers/mail/smtp.ts";
import { type MailServer, startMailServer } from "../support/mail-server.ts";
import { until } from "../support/until.ts";

const rules = { from: { address: "keys@service.example", name: "Keys" }, domains: ["app.example"] };
const deadlines = { connectionMs: 1000, silenceMs: 500, wholeMessageMs: 1500 };
const mailerOf = (url: string, wholeMessageMs = deadlines.wholeMessageMs) => {
  const parsed = parseSmtpUrl(url) as { server: SmtpServer };
  return createSmtpMailer({
    server: parsed.server,
    rules,
    acceptanceIsDelivery: true,
    deadlines: { ...deadlines, wholeMessageMs },
  });
};
const mail = (more: Partial<MailMessage> = {}): MailMessage => ({
  id: "0197c1a2-0000-7000-8000-000000000001",
  to: "ada@example.com",
  subject: "Your code",
  text: "Code 123456\n",
  html: "<p>Code 123456</p>",
  secrets: ["123456"],
  ...more,
});

describe("mail over SMTP", () => {
  let server: MailServer;
  before(async () => {
    server = await startMailServer();
  });
  after(() => server.close());
  const send = async (message: MailMessage) => {
    const known = server.caught.length;
    const outcome = await mailerOf(server.url).send(message);
    return { outcome, caught: server.caught[known] };
  };

  it("arrives with both parts, its Message-ID, and the id of the reply as what it is known by", async () => {
    const { outcome, caught } = await send(mail());
    assert.deepEqual(outcome, {
      result: "accepted",
      identity: { from: "keys@service.example", messageId: "4ABC1234" },
      reply: "250 OK: queued as 4ABC1234",
    });
    assert.equal(caught?.messageId, `<${mail().id}@service.example>`);
    assert.deepEqual(caught?.from, { address: "keys@service.example", name: "Keys" });
    assert.equal(caught?.text?.trim(), "Code 123456");
    assert.match(caught?.html ?? "", /<p>Code 123456<\/p>/);
    assert.match(caught?.raw ?? "", /^Auto-Submitted: auto-generated\r$/m);
    assert.deepEqual(caught?.envelope, { from: "keys@service.example", to: ["ada@example.com"] });
  });

  it("comes from who asks for it where their domain is allowed, and from the service otherwise", async () => {
    const asked = { address: "hello@App.example", name: "App", replyTo: "help@app.example" };
    const allowed = await send(mail({ sender: asked }));
    assert.deepEqual(allowed.caught?.from, { address: "hello@app.example", name: "App" });
    assert.deepEqual(allowed.caught?.replyTo, [{ address: "help@app.example", name: "" }]);
    const { caught: unnamed } = await send(
      mail({ sender: { address: "hello@app.example", replyTo: "me@other.example" } }),
    );
    assert.deepEqual(unnamed?.from, { address: "hello@app.example", name: "Notifications" });
    assert.equal(unnamed?.replyTo, undefined);
    for (const address of [
      "hello@other.example",
      "hello@sub.app.example",
      "hello@app.example.evil",
      "x@y@app.example",
    ]) {
      const { caught } = await send(mail({ sender: { ...asked, address } }));
      assert.deepEqual(caught?.from, { address: "keys@service.example", name: "Keys" }, address);
      assert.equal(caught?.replyTo, undefined);
    }
  });

  it("takes no header and no recipient from what is written into it", async () => {
    const evil = "Ada\r\nBcc: eve@evil.example\r\n\r\nbody\u2028x";
    const sender = { address: "hello@app.example", name: evil, replyTo: "help@app.example" };
    const { caught } = await send(mail({ subject: `Code${evil}`, sender, text: `.\r\n${evil}`, html: evil }));
    assert.deepEqual(caught?.envelope.to, ["ada@example.com"]);
    assert.equal(caught?.bcc, undefined);
    assert.deepEqual(caught?.headers.map(({ key }) => key).sort(), [
      "auto-submitted",
      "content-type",
      "date",
      "from",
      "message-id",
      "mime-version",
      "reply-to",
      "subject",
      "to",
    ]);
  });

  for (const to of [
    "a@b.example, eve@evil.example",
    "<eve@evil.example>",
    "a@b.example\r\nRCPT TO:<x@y.zz>",
    "a b@c.de",
    "a",
  ]) {
    it(`bounces by itself to ${JSON.stringify(to)}`, async () => {
      const { outcome, caught } = await send(mail({ to }));
      assert.equal(outcome.result, "bounced");
      assert.equal(caught, undefined);
    });
  }

  it("bounces on 5xx, and waits on 4xx", async () => {
    server.refuseRecipients({ code: 550, text: "5.1.1 no such user" });
    const { outcome: bounced } = await send(mail());
    assert.equal(bounced.result, "bounced");
    assert.match((bounced as { diagnosticCode: string }).diagnosticCode, /^550 5\.1\.1 no such user/);
    server.refuseRecipients({ code: 451, text: "4.7.1 greylisted, come back later" });
    const { outcome: deferred } = await send(mail());
    assert.equal(deferred.result, "deferred");
    assert.match((deferred as { reason: string }).reason, /greylisted/);
    server.refuseRecipients(undefined);
  });

  it("has its secrets in no reason, also where that is cut off", async () => {
    for (const code of [451, 550]) {
      for (let room = 280; room < 300; room++) {
        // The reply begins with its code and a space.
        server.refuseRecipients({ code, text: `${"x".repeat(room - 4)}123456 is in it` });
        const { outcome } = await send(mail());
        const told = JSON.stringify(outcome);
        assert.match(told, /xxx\*/, told);
        assert.ok(!told.includes("1234") && !/x[1-6]/.test(told), told);
      }
    }
    server.refuseRecipients(undefined);
  });

  it("says what a server says of a mail, without the operator's network", async () => {
    const text = "4.4.1 mx.corp.internal[10.1.2.3] and mx.example.com[93.184.216.34], asked by 127.0.0.1, say no";
    const shown = "4.4.1 ***[***] and mx.example.com[93.184.216.34], asked by ***, say no";
    for (const code of [451, 550]) {
      server.refuseRecipients({ code, text });
      const { outcome } = await send(mail());
      const { diagnosticCode, reason } = outcome as { diagnosticCode?: string; reason?: string };
      assert.equal(diagnosticCode, `${code} ${shown}`);
      assert.equal(reason, code === 451 ? `${code} ${text}` : undefined);
    }
    server.refuseRecipients(undefined);
  });

  it("has the password of the mail server in no reason", async () => {
    const password = "opens-the-mail";
    const asking = createServer((socket) => {
      socket.on("error", () => socket.destroy());
      socket.write("220 mail\r\n");
      socket.on("data", (bytes) => {
        const line = bytes.toString();
        if (/^EHLO/i.test(line)) socket.write("250-mail\r\n250 AUTH PLAIN\r\n");
        else socket.write(`535 5.7.8 not with ${password}, nor ${line.split(" ")[2]}\r\n`);
      });
    });
    asking.listen(0, "127.0.0.1");
    await once(asking, "listening");
    const { port } = asking.address() as AddressInfo;
    const outcome = await mailerOf(`smtp://user:${password}@127.0.0.1:${port}`).send(mail());
    assert.equal(outcome.result, "deferred");
    assert.match((outcome as { reason: string }).reason, /not with \*\*\*, nor \*\*\*/);
    asking.close();
    await once(asking, "close");
  });

  it("waits when nobody listens", async () => {
    const closed = await startMailServer();
    await closed.close();
    const mailer = mailerOf(closed.url);
    const outcome = await mailer.send(mail());
    assert.equal(outcome.result, "deferred");
    assert.equal(mailer.problem(), (outcome as { reason: string }).reason);
  });

  it("has a problem with the server from an attempt that it does not answer until one that it does, whatever the answer", async () => {
    const mailer = mailerOf(server.url);
    assert.equal(mailer.problem(), undefined);
    const answers = [
      undefined,
      { code: 550, text: "5.1.1 no such user" },
      { code: 451, text: "4.7.1 greylisted" },
    ] as const;
    for (const answer of answers) {
      server.refuseRecipients("by silence");
      await mailer.send(mail());
      assert.notEqual(mailer.problem(), undefined);
      server.refuseRecipients(answer);
      await mailer.send(mail());
      assert.equal(mailer.problem(), undefined);
    }
    server.refuseRecipients(undefined);
  });

  it("keeps a password from a server without TLS elsewhere, and takes a refused login for no bounce", async () => {
    const passwords: string[] = [];
    const asking = await startMailServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth(auth, _session, done) {
        passwords.push(auth.password ?? "");
        done(new Error("no"));
      },
    });
    const withPassword = asking.url.replace("//", "//user:p%40ss@");
    assert.equal((await mailerOf(withPassword).send(mail())).result, "deferred");
    assert.ok(passwords.includes("p@ss"));
    passwords.length = 0;
    const elsewhere = withPassword.replace("127.0.0.1", "[::ffff:127.0.0.1]");
    assert.equal((await mailerOf(elsewhere).send(mail())).result, "deferred");
    assert.deepEqual(passwords, []);
    await asking.close();
  });
});

function flood(socket: Socket, text: string): void {
  const bytes = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)));
  const more = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on("drain", more);
  more();
}

describe("mail over TLS", () => {
  const pem = (name: string) => readFileSync(new URL(`../support/tls/${name}.pem`, import.meta.url), "utf8");
  const known = getCACertificates("default");
  after(() => setDefaultCACertificates(known));

  for (const secure of [true, false]) {
    it(`arrives where ${secure ? "TLS comes first" : "the server offers STARTTLS"}, if its certificate is trusted`, async () => {
      const options = { secure, key: pem("key"), cert: pem("valid"), disabledCommands: [] };
      const server = await startMailServer(options);
      const url = secure ? server.url.replace("smtp:", "smtps:") : server.url;
      setDefaultCACertificates(known);
      const refused = await mailerOf(url).send(mail());
      assert.equal(refused.result, "deferred");
      assert.match((refused as { reason: string }).reason, /certificate/);
      setDefaultCACertificates([...known, pem("valid")]);
      assert.equal((await mailerOf(url).send(mail())).result, "accepted");
      assert.equal(server.caught.length, 1);
      await server.close();
    });
  }
});

describe("an SMTP server that does not behave", () => {
  const liars: Record<string, (socket: Socket) => void> = {
    "says nothing": () => {},
    "stops in the middle of its greeting": (socket) => socket.write("220 hel"),
    "speaks HTTP": (socket) => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"),
    "says yes to everything and never takes the mail": (socket) => {
      socket.write("220 hello\r\n");
      socket.on("data", (bytes) => {
        const text = bytes.toString();
        if (text.startsWith("DATA")) socket.write("354 go on\r\n");
        else if (/^(EHLO|MAIL|RCPT)/.test(text)) socket.write("250 yes\r\n");
      });
    },
    "drips bytes without end": (socket) => {
      const timer = setInterval(() => socket.write("2"), 50);
      socket.on("close", () => clearInterval(timer));
    },
    "drips its answer without end": (socket) => {
      socket.write("220 hello\r\n");
      socket.once("data", () => {
        const timer = setInterval(() => socket.write("2"), 50);
        socket.on("close", () => clearInterval(timer));
      });
    },
    "sends a reply without end": (socket) => {
      socket.write("220 hello\r\n");
      socket.on("data", () => socket.write(`250-${"x".repeat(100_000)}\r\n`));
    },
    "sends empty lines without end": (socket) => {
      socket.write("220 hello\r\n");
      socket.once("data", () => flood(socket, "\r\n"));
    },
    "sends replies that nobody waits for without end": (socket) => {
      socket.write("220 hello\r\n");
      socket.once("data", () => flood(socket, "250 yes\r\n".repeat(2) + "\r\n".repeat(1000)));
    },
    "offers TLS and has none": (socket) => {
      socket.write("220 hello\r\n");
      socket.on("data", (bytes) => {
        const text = bytes.toString();
        if (text.startsWith("EHLO")) socket.write("250-hello\r\n250 STARTTLS\r\n");
        else socket.write("220 go on\r\n");
      });
    },
    "hangs up on the mail": (socket) => {
      socket.write("220 hello\r\n");
      socket.on("data", (bytes) => (/^DATA/.test(bytes.toString()) ? socket.destroy() : socket.write("250 yes\r\n")));
    },
    "refuses the mail in another command's words": (socket) => {
      socket.write("220 hello\r\n");
      socket.on("data", () => socket.write("999 \u0000\u0007what\r\n"));
    },
  };
  const reasons: Record<string, RegExp> = {
    "drips its answer without end": /did not finish within 1\.5 s/,
    "sends empty lines without end": /sent more than 262144 bytes/,
  };
  for (const [name, lie] of Object.entries(liars)) {
    it(`and ${name} is given up`, async () => {
      const open = new Set<Socket>();
      const server = createServer((socket) => {
        open.add(socket.on("error", () => {}));
        socket.on("close", () => open.delete(socket));
        lie(socket);
      });
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      // What is given up for its bytes has all the time that a busy machine needs.
      const wholeMessageMs = name === "sends empty lines without end" ? 300_000 : undefined;
      const outcome = await mailerOf(`smtp://127.0.0.1:${port}`, wholeMessageMs).send(mail());
      assert.equal(outcome.result, "deferred");
      const { reason } = outcome as { reason: string };
      assert.match(reason, /^[\x20-\x7e]{1,300}$/);
      if (name in reasons) assert.match(reason, reasons[name] as RegExp);
      await until(() => open.size === 0, "the end of the connection");
      server.close();
      await once(server, "close");
    });
  }
});

describe("the URL of a mail server", () => {
  it("names host, port, TLS and login", () => {
    assert.deepEqual(parseSmtpUrl("smtp://mail.example"), {
      server: { host: "mail.example", port: 587, secure: false },
    });
    assert.deepEqual(parseSmtpUrl("smtps://ada%40x.example:p%2Fw@[::1]:2465/"), {
      server: { host: "::1", port: 2465, secure: true, auth: { user: "ada@x.example", pass: "p/w" } },
    });
  });

  for (const url of ["smtp://h?debug=true", "smtp://h/path", "smtp://h#x", "smtp://", "smtp://u:%zz@h"]) {
    it(`is refused as ${url}`, () => assert.ok("problem" in parseSmtpUrl(url)));
  }
});

describe("the id in a reply", () => {
  for (const [reply, id] of [
    [
      "250 Ok 0102018f3c0a4f11-6a2e6d3b-1c2d-4e5f-8a9b-0c1d2e3f4a5b-000000",
      "0102018f3c0a4f11-6a2e6d3b-1c2d-4e5f-8a9b-0c1d2e3f4a5b-000000",
    ],
    ["250 2.0.0 Ok: queued as 4Fxyz123", "4Fxyz123"],
    ["250 OK id=1rABCd-000123-45", "1rABCd-000123-45"],
    ["250 OK: message queued", undefined],
    ["250 2.0.0 Accepted", undefined],
  ] as const) {
    it(`is ${id} in "${reply}"`, () => assert.equal(idInReply(reply), id));
  }
});
