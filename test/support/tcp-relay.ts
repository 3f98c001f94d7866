import { connect, createServer, type Socket } from "node:net";

/** What comes on a connection, and the way on. */
export interface Relayed {
  fromClient(chunk: Buffer, pass: () => void): void;
  fromTarget(chunk: Buffer, pass: () => void): void;
}

export interface TcpRelay {
  port: number;
  close(): Promise<void>;
}

/** Passes on connections to another port of this machine. `relayed` is asked for each of them, and told of all that comes on it before it goes on. */
export async function startTcpRelay(targetPort: number, relayed: () => Relayed): Promise<TcpRelay> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket, other: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      other.destroy();
    });
  };
  const write = (socket: Socket, chunk: Buffer) => () => {
    if (!socket.destroyed) socket.write(chunk);
  };
  const server = createServer((client) => {
    const target = connect(targetPort, "127.0.0.1");
    const { fromClient, fromTarget } = relayed();
    client.on("data", (chunk) => fromClient(chunk, write(target, chunk)));
    target.on("data", (chunk) => fromTarget(chunk, write(client, chunk)));
    keep(client, target);
    keep(target, client);
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port));
  });
  return {
    port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
