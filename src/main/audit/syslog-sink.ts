import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { Socket } from "node:net";
import { hostname } from "node:os";
import type { AuditEvent } from "./lines.ts";
import type { SyslogAddress, SyslogSettings } from "./settings.ts";
import { type Sink, sinkFailure, within } from "./sink.ts";

/** An open connection for messages. */
interface Channel {
  /** Resolves once the operating system has accepted all of them. */
  send(messages: readonly Buffer[]): Promise<void>;
  readonly isOpen: boolean;
  end(): void;
}

/**
 * Sends messages of RFC 5424 over a stream, each prefixed by its length (RFC 6587, section 3.4.1), or as one datagram each (RFC 5426). The
 * receiver does not acknowledge messages, so after a lost connection the last batch is sent again.
 */
export class SyslogSink implements Sink {
  readonly #settings: SyslogSettings;
  #channel: Channel | undefined;
  #lastSent: readonly Buffer[] = [];
  #attempt = new AbortController();

  constructor(settings: SyslogSettings) {
    this.#settings = settings;
  }

  async deliver(lines: readonly string[], timeoutMs: number): Promise<void> {
    const messages = lines.map((line) => messageOf(line, this.#settings.facility));
    this.#attempt = new AbortController();
    try {
      await within(timeoutMs, this.#send(messages, this.#attempt.signal));
    } catch (error) {
      // Cut the connection, so that no line of this attempt arrives later, between those of the next.
      this.#cutOff();
      throw sinkFailure(error);
    }
    this.#lastSent = messages;
  }

  async #send(messages: readonly Buffer[], signal: AbortSignal): Promise<void> {
    if (!this.#channel?.isOpen) {
      this.#channel = await openChannel(this.#settings.address, signal);
      if (this.#lastSent.length > 0) await this.#channel.send(this.#lastSent);
    }
    await this.#channel.send(messages);
  }

  async close(): Promise<void> {
    this.#cutOff();
  }

  #cutOff(): void {
    this.#attempt.abort();
    this.#channel?.end();
  }
}

const openChannel = (address: SyslogAddress, signal: AbortSignal): Promise<Channel> =>
  address.by === "udp" ? openDatagrams(address, signal) : openStream(address, signal);

/** Also used to check whether a receiver listens. */
export function openStream(address: Exclude<SyslogAddress, { by: "udp" }>, signal: AbortSignal): Promise<Channel> {
  const socket = new Socket({ signal });
  if (address.by === "unix") socket.connect(address.path);
  else socket.connect(address.port, address.host);
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.removeListener("error", reject);
      resolve(channelOn(socket));
    });
  });
}

function channelOn(socket: Socket): Channel {
  let failure: Error | undefined;
  socket.on("error", (error) => {
    failure = error;
  });
  // No data is expected. Read and discard it anyway, because otherwise the end of the connection would go unnoticed.
  socket.resume();
  socket.on("end", () => socket.destroy());
  return {
    get isOpen() {
      return !socket.destroyed;
    },
    send: (messages) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(failure ?? ended());
        const framed = messages.flatMap((message) => [Buffer.from(`${message.length} `), message]);
        // If the socket ends, the callback is called with an error.
        socket.write(Buffer.concat(framed), (error) => (error ? reject(error) : resolve()));
      }),
    end: () => socket.destroy(),
  };
}

const ended = (): Error => Object.assign(new Error("the connection has ended"), { code: "ECONNRESET" });

function openDatagrams({ host, port }: { host: string; port: number }, signal: AbortSignal): Promise<Channel> {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
  const channel = channelOnDatagrams(socket);
  return new Promise((resolve, reject) => {
    const giveUp = (error: unknown) => {
      channel.end();
      reject(error);
    };
    signal.addEventListener("abort", () => giveUp(ended()), { once: true });
    socket.once("error", giveUp);
    // A connected socket gets an error if nothing listens.
    socket.connect(port, host, () => resolve(channel));
  });
}

function channelOnDatagrams(socket: UdpSocket): Channel {
  let isOpen = true;
  const end = () => {
    if (isOpen) socket.close();
    isOpen = false;
  };
  // The error is about an earlier datagram.
  socket.on("error", end);
  const sendOne = (message: Buffer) =>
    new Promise<void>((resolve, reject) => {
      if (!isOpen) return reject(ended());
      socket.send(message, (error) => (error ? reject(error) : resolve()));
    });
  return {
    get isOpen() {
      return isOpen;
    },
    async send(messages) {
      for (const message of messages) await sendOne(message);
    },
    end,
  };
}

/** RFC 5424, section 6.2.1. */
const NOTICE = 5;
const WARNING = 4;
const severityOf = (event: AuditEvent): number =>
  event === "activity" || event === "root_key_rotated" ? NOTICE : WARNING;

/** PRINTUSASCII, within the length that section 6 allows. */
const HOSTNAME =
  hostname()
    .replaceAll(/[^\x21-\x7e]/g, "")
    .slice(0, 255) || "-";

function messageOf(line: string, facility: number): Buffer {
  const { event, time } = JSON.parse(line) as { event: AuditEvent; time: string };
  const priority = facility * 8 + severityOf(event);
  return Buffer.from(`<${priority}>1 ${time} ${HOSTNAME} keystead ${process.pid} ${event} - ${line}`);
}
