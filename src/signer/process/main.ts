import { Socket } from "node:net";
import { readFrames, writeFrame } from "../../kernel/frames.ts";
import type { RequestFrame, ResponseFrame, SignerFault } from "../protocol.ts";
import { SigningRefused } from "./refused.ts";
import { RootKeyProblem } from "./root-key-file.ts";
import { type Outcome, Rounds } from "./rounds.ts";
import { work } from "./slices.ts";
import { forgetSecrets, RootKeySealed } from "./verbs.ts";

/**
 * The signer: the only code that sees plaintext keys. It has no database and no network, and communicates over the socket that it inherits
 * as file descriptor 3. It exits when that socket closes, so it never outlives its server.
 */

const SOCKET_DESCRIPTOR = 3;

function faultOf(error: unknown): SignerFault {
  if (error instanceof RootKeySealed) return { kind: "sealed", message: error.message };
  if (error instanceof SigningRefused || error instanceof RootKeyProblem)
    return { kind: "refused", message: error.message };
  // The message of an unknown error could quote its input.
  return { kind: "internal", message: error instanceof Error ? error.name : "unknown error" };
}

function answerWith(write: (frame: ResponseFrame) => void, id: number, outcome: Outcome): void {
  const ms = Math.round(outcome.ms * 1000) / 1000;
  try {
    if ("error" in outcome) throw outcome.error;
    write({ id, ms, response: outcome.response });
  } catch (error) {
    write({ id, ms, fault: faultOf(error) });
  }
}

function serve(): void {
  // Uses of keys are logged to standard error. If the disk is full they are lost, but keys remain usable.
  process.stderr.on("error", () => {});
  const socket = new Socket({ fd: SOCKET_DESCRIPTOR, readable: true, writable: true });
  const rounds = new Rounds();
  const write = (frame: ResponseFrame) => writeFrame(socket, frame);
  readFrames(socket, (frame) => {
    const received = frame as RequestFrame;
    if ("ping" in received) write({ longestMs: rounds.longestMs });
    else rounds.begin(received.inTurnOf, work(received), (outcome) => answerWith(write, received.id, outcome));
  });
  const end = () => {
    forgetSecrets();
    process.exit(0);
  };
  socket.on("close", end);
  socket.on("error", end);
  // A terminal sends its signals to the whole process group; the server decides when the signer stops.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => {});
}

serve();
