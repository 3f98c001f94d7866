import type { Duplex } from "node:stream";
import { readFrames, writeFrame } from "../kernel/frames.ts";
import { Slot } from "../kernel/slot.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { AnswerFrame, Occasion, RequestFrame, ResponseFrame, SignerRequest } from "./protocol.ts";

/** The answer to a request; undefined if the signer was lost before it answered. */
export type OnAnswer = (answer: AnswerFrame | undefined) => void;

/**
 * The traffic between the server and one run of the signer: requests with ids, and answers in any order, until the run ends. While requests
 * are open, the signer is monitored.
 */
export class Exchange {
  readonly #socket: Duplex;
  readonly #heartbeat: Heartbeat;
  readonly #open = new Map<number, Slot<OnAnswer>>();
  #nextId = 1;

  constructor(socket: Duplex, onDead: (reason: string) => void) {
    this.#socket = socket;
    this.#heartbeat = new Heartbeat({
      isBusy: () => this.#open.size > 0,
      ping: () => this.#write({ ping: true }),
      onDead,
    });
    readFrames(socket, (frame) => this.#receive(frame as ResponseFrame));
    socket.on("error", () => {});
  }

  /** @throws Error if the request exceeds the limit of a frame */
  send(
    request: SignerRequest,
    onAnswer: OnAnswer,
    {
      organizationId = "",
      occasion,
      traceId,
    }: { organizationId?: string; occasion?: Occasion | undefined; traceId?: string | undefined } = {},
  ): void {
    const id = this.#nextId++;
    this.#write({
      id,
      request,
      inTurnOf: organizationId,
      ...(occasion === undefined ? {} : { occasion }),
      ...(traceId === undefined ? {} : { traceId }),
    });
    this.#open.set(id, new Slot(onAnswer));
    this.#heartbeat.start();
  }

  /** Ends the run: requests that are still waiting get an undefined answer. */
  end(): void {
    this.#heartbeat.stop();
    this.#socket.destroy();
    const waiting = [...this.#open.values()];
    this.#open.clear();
    for (const slot of waiting) slot.take()?.(undefined);
  }

  #write(frame: RequestFrame): void {
    writeFrame(this.#socket, frame);
  }

  #receive(frame: ResponseFrame): void {
    this.#heartbeat.heard();
    if ("id" in frame) {
      const onAnswer = this.#open.get(frame.id)?.take();
      this.#open.delete(frame.id);
      onAnswer?.(frame);
    } else {
      this.#heartbeat.heardOf(frame.longestMs);
    }
  }
}
