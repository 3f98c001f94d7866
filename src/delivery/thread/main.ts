import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { createOutboundClient, OutboundError } from "../outbound.ts";
import { bufferOf, type FromThread, ownBytes, type SentError, type ThreadOptions, type ToThread } from "./messages.ts";

/** The main module of the thread that makes outbound requests (`../outbound-thread.ts`). */

const port = parentPort as MessagePort;
const client = createOutboundClient(workerData as ThreadOptions);
/** Requests whose last piece is being taken. */
const taking = new Map<number, (isGood: boolean) => void>();

const say = (message: FromThread, ...bytes: Uint8Array<ArrayBuffer>[]): void =>
  port.postMessage(
    message,
    bytes.map(({ buffer }) => buffer),
  );

port.on("message", (message: ToThread) => {
  if ("ask" in message) void answer(message);
  else if ("taken" in message) taking.get(message.taken)?.(message.isGood);
  else void client.close().then(() => say({ closed: true }));
});

async function answer({ ask: id, request, inPieces }: Extract<ToThread, { ask: number }>): Promise<void> {
  const into = (piece: Buffer): Promise<void> => {
    const bytes = ownBytes(piece);
    say({ piece: id, bytes }, bytes);
    return new Promise((resolve, reject) => {
      taking.set(id, (isGood) => {
        taking.delete(id);
        if (isGood) resolve();
        else reject(new OutboundError("reset", "the answer was not wanted any more"));
      });
    });
  };
  try {
    const given = await client.request({ ...request, ...(inPieces ? { into } : {}) });
    const body = ownBytes(given.body);
    say({ answered: id, answer: { ...given, body: bufferOf(body) } }, body);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    say({ failed: id, error: sent(error) });
  } finally {
    taking.delete(id);
  }
}

const sent = ({ kind, message, cause, waitedFor }: OutboundError): SentError => ({
  kind,
  message,
  cause: cause === undefined ? undefined : String(cause),
  waitedFor,
});
