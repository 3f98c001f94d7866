import { startTcpRelay, type TcpRelay } from "./tcp-relay.ts";

/** Between a server and its PostgreSQL: counts how often transactions wait for it. */
export interface FlightCounter extends TcpRelay {
  /** Of each transaction since the last call that named this, how often it sent something and waited for the answers. */
  take(named?: string): number[];
}

const BEGIN = Buffer.from("begin isolation level read committed\0");
const COMMIT = Buffer.from("commit\0");

export async function startFlightCounter(targetPort: number): Promise<FlightCounter> {
  let flights: { count: number; sent: Buffer }[] = [];
  const relay = await startTcpRelay(targetPort, () => {
    /** Of the transaction that is open. */
    let count: number | undefined;
    let sent: Buffer[] = [];
    let isAnswered = true;
    return {
      fromClient(chunk, pass) {
        if (count === undefined && chunk.includes(BEGIN)) count = 0;
        if (count !== undefined && isAnswered) count++;
        if (count !== undefined) sent.push(chunk);
        isAnswered = false;
        pass();
        if (count === undefined || !chunk.includes(COMMIT)) return;
        flights.push({ count, sent: Buffer.concat(sent) });
        count = undefined;
        sent = [];
      },
      fromTarget(_chunk, pass) {
        isAnswered = true;
        pass();
      },
    };
  });
  const take = (named = "") => {
    const taken = flights.filter(({ sent }) => sent.includes(named)).map(({ count }) => count);
    flights = [];
    return taken;
  };
  return { ...relay, take };
}
