import { Socket } from "node:net";
import { readFrames, writeFrame } from "../frames.ts";
import type { RequestFrame, SignerFault } from "../protocol.ts";
import { SigningRefused } from "./refused.ts";
import { RootKeyProblem } from "./root-key.ts";
import { answer, forgetSecrets, RootKeySealed } from "./verbs.ts";

/**
 * The signer: the only code that sees plaintext keys. It has no database and no network, and speaks over the socket it
 * inherited as file descriptor 3. It ends when that socket does, so it never outlives its server.
 */

const SOCKET_DESCRIPTOR = 3;

function faultOf(error: unknown): SignerFault {
  if (error instanceof RootKeySealed) return { kind: "sealed", message: error.message };
  if (error instanceof SigningRefused || error instanceof RootKeyProblem)
    return { kind: "refused", message: error.message };
  // The text of an unknown error could quote its input.
  return { kind: "internal", message: error instanceof Error ? error.name : "unknown error" };
}

function serve(): void {
  const socket = new Socket({ fd: SOCKET_DESCRIPTOR, readable: true, writable: true });
  readFrames(socket, (frame) => {
    const { id, request } = frame as RequestFrame;
    try {
      writeFrame(socket, { id, response: answer(request) });
    } catch (error) {
      writeFrame(socket, { id, fault: faultOf(error) });
    }
  });
  const end = () => {
    forgetSecrets();
    process.exit(0);
  };
  socket.on("close", end);
  socket.on("error", end);
  // A terminal sends its signals to the whole group; the server decides when the signer stops.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => {});
}

serve();
