import { connect, createServer, type Server, type Socket } from "node:net";
import { reservePort } from "./ports.ts";

/** A TCP connection that can be made to break, to refuse and to hang, as networks do. */
export interface TcpProxy {
  port: number;
  /** Ends every connection without a word and refuses new ones. */
  refuse(): Promise<void>;
  /** Keeps connections open, and passes nothing on. */
  stall(): void;
  /** Works again, on the same port. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let stalled = false;
  let server: Server | undefined;

  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    if (stalled) socket.pause();
  };
  const join = (client: Socket) => {
    const target = connect(targetPort, "127.0.0.1");
    keep(client);
    keep(target);
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      from.on("data", (chunk) => to.write(chunk));
      from.on("close", () => to.destroy());
      if (stalled) from.pause();
    }
  };
  const listen = async (port: number) => {
    const listening = createServer(join);
    await new Promise<void>((resolve, reject) => {
      listening.once("error", reject);
      listening.listen(port, "127.0.0.1", resolve);
    });
    server = listening;
  };
  const refuse = async () => {
    const listening = server;
    server = undefined;
    const closed = new Promise<void>((resolve) => (listening ? listening.close(() => resolve()) : resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  };

  // Its own also while it refuses.
  const port = await reservePort();
  await listen(port);
  return {
    port,
    refuse,
    stall: () => {
      stalled = true;
      for (const socket of sockets) socket.pause();
    },
    heal: async () => {
      stalled = false;
      for (const socket of sockets) socket.resume();
      if (!server) await listen(port);
    },
    close: refuse,
  };
}
