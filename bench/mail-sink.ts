import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";

/**
 * A mail server that takes every mail at once and looks for a code in it. The one of the tests leaves each client 100 ms without a
 * greeting, as a server does that looks for clients which talk too soon; a benchmark would measure little else.
 */
export interface MailSink {
  url: string;
  /** The code in the next mail to an address; rejects where none comes. */
  codeFor(address: string): Promise<string>;
  close(): void;
}

const MAIL_DEADLINE_MS = 60_000;

export async function startMailSink(): Promise<MailSink> {
  const waiting = new Map<string, (code: string) => void>();
  const take = (address: string, lines: readonly string[]) => {
    // In the text of a mail it stands alone, between two lines that are empty.
    const code = lines.find((line, at) => /^[0-9A-Z]{6,9}$/.test(line) && lines[at - 1] === "");
    if (code !== undefined) waiting.get(address)?.(code);
    waiting.delete(address);
  };
  const server = createServer((socket) => void converse(socket, take).catch(() => socket.destroy()));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    codeFor: (address) =>
      new Promise((resolve, reject) => {
        const late = () =>
          reject(new Error(`no code was mailed to ${address} within ${MAIL_DEADLINE_MS / 1000} seconds`));
        const timer = setTimeout(late, MAIL_DEADLINE_MS);
        waiting.set(address, (code) => {
          clearTimeout(timer);
          resolve(code);
        });
      }),
    close: () => void server.close(),
  };
}

/** One client, as far as a client that sends one mail needs it. */
async function converse(socket: Socket, take: (address: string, lines: readonly string[]) => void): Promise<void> {
  let address = "";
  let mail: string[] | undefined;
  socket.setNoDelay(true);
  socket.on("error", () => {});
  socket.write("220 ready\r\n");
  for await (const line of createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (mail !== undefined) {
      if (line === ".") {
        take(address, mail);
        mail = undefined;
        socket.write("250 OK\r\n");
      } else mail.push(line);
      continue;
    }
    address = /^RCPT TO:<([^>]*)>/i.exec(line)?.[1] ?? address;
    if (/^DATA$/i.test(line)) mail = [];
    socket.write(mail ? "354 go on\r\n" : /^QUIT$/i.test(line) ? "221 bye\r\n" : "250 OK\r\n");
    if (/^QUIT$/i.test(line)) socket.end();
  }
}
