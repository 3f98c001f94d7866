import { startTcpRelay, type TcpRelay } from "./tcp-relay.ts";

/** Between a server and its PostgreSQL: counts how often transactions wait for it. */
export interface FlightCounter extends TcpRelay {
  /** Of each transaction since the last call, how often it sent something and waited for the answers. */
  take(): number[];
}

const BEGIN = Buffer.from("begin isolation level read committed\0");
const COMMIT = Buffer.from("commit\0");

export async function startFlightCounter(targetPort: number): Promise<FlightCounter> {
  const flights: number[] = [];
  const relay = await startTcpRelay(targetPort, () => {
    /** Of the transaction that is open. */
    let count: number | undefined;
    let isAnswered = true;
    return {
      fromClient(chunk, pass) {
        if (count === undefined && chunk.includes(BEGIN)) count = 0;
        if (count !== undefined && isAnswered) count++;
        isAnswered = false;
        pass();
        if (count === undefined || !chunk.includes(COMMIT)) return;
        flights.push(count);
        count = undefined;
      },
      fromTarget(_chunk, pass) {
        isAnswered = true;
        pass();
      },
    };
  });
  return { ...relay, take: () => flights.splice(0) };
}
