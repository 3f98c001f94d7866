import { Worker } from "node:worker_threads";
import { THREAD_CLOSE_MS, THREAD_PATIENCE_MS } from "../kernel/limits.ts";
import type { OutboundAnswer, OutboundClient, OutboundRequest } from "./outbound.ts";
import { closedEarly, deadlineError, OutboundError, stopping } from "./outbound-error.ts";
import {
  bufferOf,
  type FromThread,
  ownBytes,
  type SentError,
  type ThreadOptions,
  type ToThread,
} from "./thread/messages.ts";

const MAIN = import.meta.resolve("./thread/main.ts");

/** A request that the thread is making. */
interface Pending {
  settle: (outcome: OutboundAnswer | OutboundError) => void;
  into: OutboundRequest["into"];
}

/**
 * An outbound client whose work is done by a thread of its own. Whoever is asked decides how much work that is: a chain of certificates that a
 * host made up takes OpenSSL hundreds of milliseconds to verify. The thread that serves requests must not wait for it. The thread for
 * outbound requests starts with the first one, and anew if it ended.
 */
export function createOutboundThread(options: ThreadOptions): OutboundClient {
  const pending = new Map<number, Pending>();
  let asked = 0;
  let running: Worker | undefined;
  let closing: Promise<void> | undefined;

  const tell = (message: ToThread, ...bytes: Uint8Array<ArrayBuffer>[]): void =>
    running?.postMessage(
      message,
      bytes.map(({ buffer }) => buffer),
    );

  function start(): Worker {
    const worker = new Worker(new URL(MAIN), { workerData: options, name: "outbound" });
    // A process does not stay for it, except for a request.
    worker.unref();
    worker.on("message", (message: FromThread) => receive(message));
    const end = (cause?: unknown) => {
      // Whoever asks from now on asks another thread.
      if (running !== worker) return;
      running = undefined;
      for (const { settle } of pending.values()) settle(closing ? stopping() : closedEarly(cause));
    };
    worker.on("error", end);
    worker.on("exit", () => end());
    return worker;
  }

  function receive(message: FromThread): void {
    if ("answered" in message) {
      const { answer } = message;
      pending.get(message.answered)?.settle({ ...answer, body: bufferOf(answer.body) });
    } else if ("failed" in message) pending.get(message.failed)?.settle(received(message.error));
    else if ("piece" in message) void give(message.piece, bufferOf(message.bytes));
  }

  async function give(id: number, piece: Buffer): Promise<void> {
    const into = pending.get(id)?.into;
    try {
      await into?.(piece);
      tell({ taken: id, isGood: into !== undefined });
    } catch (error) {
      pending.get(id)?.settle(new OutboundError("reset", "the answer could not be taken", error));
      tell({ taken: id, isGood: false });
    }
  }

  async function request({ into, body, ...rest }: OutboundRequest): Promise<OutboundAnswer> {
    if (closing) throw stopping();
    running ??= start();
    const worker = running;
    const id = ++asked;
    const { promise, resolve, reject } = Promise.withResolvers<OutboundAnswer>();
    const settle = (outcome: OutboundAnswer | OutboundError) =>
      outcome instanceof OutboundError ? reject(outcome) : resolve(outcome);
    pending.set(id, { settle, into });
    worker.ref();
    // The thread knows what a late request waits for. This is for a thread that is too busy to say so.
    const late = setTimeout(() => settle(deadlineError(rest.timeoutMs, "queue")), rest.timeoutMs + THREAD_PATIENCE_MS);
    try {
      const bytes = typeof body === "object" ? ownBytes(body) : undefined;
      const sent = { ...rest, ...(body === undefined ? {} : { body: bytes ?? body }) };
      tell({ ask: id, request: sent, inPieces: into !== undefined }, ...(bytes ? [bytes] : []));
      return await promise;
    } finally {
      clearTimeout(late);
      pending.delete(id);
      if (pending.size === 0) worker.unref();
    }
  }

  async function close(): Promise<void> {
    const worker = running;
    if (!worker) return;
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    worker.on("message", (message: FromThread) => "closed" in message && resolve());
    worker.once("exit", () => resolve());
    worker.ref();
    tell({ close: true });
    const late = setTimeout(resolve, THREAD_CLOSE_MS);
    await closed;
    clearTimeout(late);
    await worker.terminate();
  }

  return {
    request,
    close() {
      closing ??= close();
      return closing;
    },
  };
}

const received = ({ kind, message, cause, waitedFor }: SentError): OutboundError =>
  new OutboundError(kind, message, cause, waitedFor);
