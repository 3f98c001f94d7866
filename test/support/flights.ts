import { connect, createServer, type Socket } from "node:net";

/** Between a server and its PostgreSQL: counts how often transactions wait for it. */
export interface FlightCounter {
  port: number;
  /** Of each transaction since the last call, how often it sent something and waited for the answers. */
  take(): number[];
  close(): Promise<void>;
}

const BEGIN = Buffer.from("begin\0");
const COMMIT = Buffer.from("commit\0");

export async function startFlightCounter(targetPort: number): Promise<FlightCounter> {
  let flights: number[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(targetPort, "127.0.0.1");
    /** Of the transaction that is open. */
    let count: number | undefined;
    let isAnswered = true;
    client.on("data", (chunk) => {
      if (count === undefined && chunk.includes(BEGIN)) count = 0;
      if (count !== undefined && isAnswered) count++;
      isAnswered = false;
      target.write(chunk);
      if (count === undefined || !chunk.includes(COMMIT)) return;
      flights.push(count);
      count = undefined;
    });
    target.on("data", (chunk) => {
      isAnswered = true;
      client.write(chunk);
    });
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on("error", () => one.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port));
  });
  return {
    port,
    take: () => {
      const taken = flights;
      flights = [];
      return taken;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
