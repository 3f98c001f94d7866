import { Socket } from "node:net";
import { readFrames, writeFrame } from "../../kernel/frames.ts";
import type { FromRunner, ToRunner } from "../protocol.ts";
import { Supervisor } from "./supervisor.ts";

/**
 * The process that runs deployments' programs. It communicates over the socket that it inherits as file descriptor 3. When the socket
 * closes, it stops the programs and exits.
 */

const SOCKET_DESCRIPTOR = 3;

function serve(): void {
  const socket = new Socket({ fd: SOCKET_DESCRIPTOR, readable: true, writable: true });
  const tell = (message: FromRunner) => {
    if (socket.writable) writeFrame(socket, message);
  };
  let supervisor: Supervisor | undefined;
  readFrames(socket, (frame) => {
    const message = frame as ToRunner;
    if (message.say === "begin") {
      supervisor = new Supervisor(message.settings, (states) => tell({ say: "replicas", ...states }));
    } else if (message.say === "run") {
      supervisor?.run(message.programs);
    } else {
      tell({ say: "logs", id: message.id, entries: supervisor?.logsOf(message.deploymentId, message.tailLines) ?? [] });
    }
  });
  let isEnding = false;
  const end = () => {
    if (isEnding) return;
    isEnding = true;
    const stopped = supervisor?.stop() ?? Promise.resolve();
    stopped.finally(() => process.exit(0));
  };
  socket.on("end", end);
  socket.on("close", end);
  socket.on("error", end);
  // A terminal sends signals to the whole process group. Only the server decides when the runner stops.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => {});
}

serve();
