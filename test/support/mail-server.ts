import type { AddressInfo, Socket } from "node:net";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { until } from "./until.ts";

export interface CaughtMail extends Email {
  raw: string;
  envelope: { from: string; to: string[] };
}

/** A real SMTP server that keeps what it is sent. */
export interface MailServer {
  url: string;
  port: number;
  caught: CaughtMail[];
  /** Resolves when so many mails have come in. */
  waitFor(count: number): Promise<CaughtMail[]>;
  /** What it says to a recipient from now on: yes, an error with a reply code, or nothing at all. */
  refuseRecipients(reply: { code: number; text: string } | "by silence" | undefined): void;
  /** How many it has left without an answer. */
  silences(): number;
  /** What it says to a whole mail from now on, after its own code, or with another one; it keeps the mail either way. */
  answerData(reply: string | { code: number; text: string }): void;
  close(): Promise<void>;
}

/** What it says to a whole mail unless told otherwise. */
export const TAKEN = "OK: queued as 4ABC1234";

const replyError = ({ code, text }: { code: number; text: string }) =>
  Object.assign(new Error(text), { responseCode: code });

export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const caught: CaughtMail[] = [];
  let refusal: { code: number; text: string } | "by silence" | undefined;
  let silences = 0;
  let answer: string | { code: number; text: string } = TAKEN;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    disableReverseLookup: true,
    onRcptTo(_address, _session, done) {
      if (refusal === "by silence") silences++;
      else done(refusal && replyError(refusal));
    },
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const bytes = Buffer.concat(chunks);
        void PostalMime.parse(bytes).then((mail) => {
          const from = (envelope.mailFrom || { address: "" }).address;
          const to = envelope.rcptTo.map(({ address }) => address);
          caught.push({ ...mail, raw: bytes.toString(), envelope: { from, to } });
          if (typeof answer === "string") done(null, answer);
          else done(replyError(answer));
        });
      });
    },
    ...options,
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    port,
    caught,
    async waitFor(count) {
      await until(() => caught.length >= count, `${count} mails`);
      return caught;
    },
    refuseRecipients: (reply) => {
      refusal = reply;
    },
    silences: () => silences,
    answerData: (reply) => {
      answer = reply;
    },
    close: () =>
      new Promise((resolve) => {
        for (const { _socket: socket } of server.connections as Set<{ _socket: Socket }>) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
