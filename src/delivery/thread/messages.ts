import type { OutboundAnswer, OutboundOptions, OutboundRequest } from "../outbound.ts";
import type { OutboundErrorKind, Stage } from "../outbound-error.ts";

/** Messages between the thread that serves requests and the thread that makes outbound ones. */

/** What the thread is started with: the options that can be sent to it. */
export type ThreadOptions = Pick<OutboundOptions, "allowPrivateNetworks" | "ca">;

export type ToThread =
  | { ask: number; request: Omit<OutboundRequest, "into">; inPieces: boolean }
  /** The last piece was taken, or will not be. */
  | { taken: number; isGood: boolean }
  | { close: true };

export type FromThread =
  | { answered: number; answer: OutboundAnswer }
  | { failed: number; error: SentError }
  | { piece: number; bytes: Uint8Array }
  | { closed: true };

/** An OutboundError in a message, which drops what is added to an Error. */
export interface SentError {
  kind: OutboundErrorKind;
  message: string;
  cause: string | undefined;
  waitedFor: Stage | undefined;
}

/** The bytes in memory of their own, which a message moves instead of copying it. */
export const ownBytes = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

/** The same memory as a Buffer. */
export const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
