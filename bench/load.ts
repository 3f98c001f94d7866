import { connect, type Socket } from "node:net";
import { type StampingKey, stamper } from "../src/crypto/make-stamp.ts";
import { parseResponse } from "./response.ts";
import { type AnyScenario, type Subject, scenarios } from "./scenarios.ts";
import { percentile } from "./statistics.ts";

/**
 * The client of the benchmark, in its own process. It shares the machine with what it measures, so all that can be done
 * before is: requests are whole and stamped, and answers are read only as far as status and length.
 */

export interface LoadOptions {
  scenario: AnyScenario;
  /** Who asks, one after the other. */
  parties: readonly Party[];
  connections: number;
}

export interface Party {
  /** What its requests name. */
  subject: Subject;
  key: StampingKey;
}

export type LoadRequest =
  /** Comes first. */
  | ({ verb: "begin" } & LoadOptions)
  /** Make new requests, which the runs that follow send each from the first on. */
  | { verb: "prepare"; requests: number }
  | { verb: "run"; port: number; warmUpMs: number; measureMs: number };

export type LoadReply =
  | { kind: "prepared" }
  /** The measured part begins ... */
  | { kind: "measuring" }
  /** ... and has ended. */
  | { kind: "measured" }
  | { kind: "result"; result: LoadResult };

export interface LoadResult {
  /** Answered in the measured part. */
  requests: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** Whether the requests ran out before the time was up. */
  ranOut: boolean;
}

/** A read changes nothing, so few are enough; they go round. */
const MAX_READS = 1024;
/** How long the last answers may take. */
const GRACE_MS = 15_000;

let options: LoadOptions;
let stampers: ((body: string) => string)[] = [];
let nextBody = 0;
let prepared: Buffer[] = [];

const isRepeatable = (): boolean => options.scenario === "read";

function prepare(requests: number): void {
  prepared = Array.from({ length: isRepeatable() ? Math.min(requests, MAX_READS) : requests }, makeRequest);
}

function makeRequest(): Buffer {
  const { path, body } = scenarios[options.scenario];
  const index = nextBody++;
  const turn = index % options.parties.length;
  const { subject } = options.parties[turn] as Party;
  const stamp = stampers[turn] as (typeof stampers)[number];
  const text = JSON.stringify(body(subject, index));
  const head = [
    `POST ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Stamp: ${stamp(text)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${text}`);
}

/** What the connections of one run have in common. */
interface Run {
  nextRequest: number;
  warmUpEnds: number;
  deadline: number;
  startedAt: number | undefined;
  endedAt: number | undefined;
  latenciesMs: number[];
  ranOut: boolean;
}

async function run({ port, warmUpMs, measureMs }: Extract<LoadRequest, { verb: "run" }>): Promise<LoadResult> {
  const sockets = await Promise.all(Array.from({ length: options.connections }, () => open(port)));
  const warmUpEnds = performance.now() + warmUpMs;
  const state: Run = {
    nextRequest: 0,
    warmUpEnds,
    deadline: warmUpEnds + measureMs,
    startedAt: undefined,
    endedAt: undefined,
    latenciesMs: [],
    ranOut: false,
  };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("the server stopped answering")), warmUpMs + measureMs + GRACE_MS);
  });
  try {
    await Promise.race([Promise.all(sockets.map((socket) => drive(socket, state))), late]);
  } finally {
    clearTimeout(timer);
    for (const socket of sockets) socket.destroy();
  }
  return resultOf(state);
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => resolve(socket));
  });
}

/** Sends one request after the other, each when the one before is answered, until the run has ended. */
function drive(socket: Socket, state: Run): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentAt = 0;
    let received: Buffer | undefined;
    const send = () => {
      const request = takeRequest(state);
      if (!request) return resolve();
      sentAt = performance.now();
      socket.write(request);
    };
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the server closed a connection")));
    socket.on("data", (chunk: Buffer) => {
      received = received ? Buffer.concat([received, chunk]) : chunk;
      try {
        const response = parseResponse(received);
        if (!response) return;
        if (response.status !== 200) throw new Error(`answered ${response.status}: ${response.body}`);
        received = undefined;
        count(state, sentAt);
        send();
      } catch (error) {
        reject(error);
      }
    });
    send();
  });
}

function takeRequest(state: Run): Buffer | undefined {
  if (state.endedAt !== undefined) return undefined;
  if (state.nextRequest === prepared.length) {
    if (!isRepeatable()) {
      state.ranOut = true;
      end(state, performance.now());
      return undefined;
    }
    state.nextRequest = 0;
  }
  return prepared[state.nextRequest++];
}

function count(state: Run, sentAt: number): void {
  const now = performance.now();
  if (state.endedAt !== undefined || now < state.warmUpEnds) return;
  if (state.startedAt === undefined) {
    // This answer marks the start; it belongs to the time before.
    state.startedAt = now;
    reply({ kind: "measuring" });
    return;
  }
  // On a machine that is busy enough the first answer comes after the time is up.
  if (now >= state.deadline && state.latenciesMs.length > 0) {
    end(state, now);
    return;
  }
  state.latenciesMs.push(now - sentAt);
}

function end(state: Run, now: number): void {
  if (state.endedAt !== undefined) return;
  // What began after the time was up ends with an answer, and not before it began.
  const isLate = state.startedAt !== undefined && state.startedAt >= state.deadline;
  state.endedAt = isLate ? now : Math.min(now, state.deadline);
  reply({ kind: "measured" });
}

function resultOf({ startedAt, endedAt, latenciesMs, ranOut }: Run): LoadResult {
  if (startedAt === undefined || endedAt === undefined) throw new Error("the requests ran out in the warm-up");
  const sorted = Float64Array.from(latenciesMs).sort();
  return {
    requests: sorted.length,
    seconds: (endedAt - startedAt) / 1000,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    ranOut,
  };
}

function reply(message: LoadReply): void {
  process.send?.(message);
}

process.on("message", async (request: LoadRequest) => {
  try {
    if (request.verb === "begin") {
      options = request;
      stampers = options.parties.map(({ key }) => stamper(key));
    } else if (request.verb === "prepare") {
      prepare(request.requests);
      reply({ kind: "prepared" });
    } else {
      reply({ kind: "result", result: await run(request) });
    }
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n`);
    process.exit(1);
  }
});
// It never outlives the benchmark.
process.on("disconnect", () => process.exit());
