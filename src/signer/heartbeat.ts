import { SIGNER_DEADLINE_MS, SIGNER_START_MS } from "../kernel/limits.ts";

/** How often the signer is pinged while it has work. */
const BEAT_MS = 1000;
const MAX_SILENT_BEATS = SIGNER_DEADLINE_MS / BEAT_MS;
/** Before its first message, the signer loads its code and opens the root key, which takes a while on a loaded machine. */
const MAX_FIRST_SILENT_BEATS = SIGNER_START_MS / BEAT_MS;

interface HeartbeatOptions {
  /** Whether the signer has work. It is pinged only if it has. */
  isBusy: () => boolean;
  /** Asks for a sign of life. */
  ping: () => void;
  /** Called when the signer is considered dead; the text says why. */
  onDead: (reason: string) => void;
}

/**
 * Tells a slow signer from a dead one. A busy signer answers between two slices of its work. A signer is dead if it is silent, or has spent
 * more processor time on one request than the deadline allows, by its own count.
 *
 * Missed beats are counted rather than the time between them, so that pauses of this process do not count as silence of the signer.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #timer: NodeJS.Timeout | undefined;
  #silentBeats = 0;
  #hasBeenHeard = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** The signer has work. */
  start(): void {
    if (this.#timer) return;
    this.#silentBeats = 0;
    this.#timer = setInterval(() => this.#beat(), BEAT_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** A message of the signer arrived. */
  heard(): void {
    this.#hasBeenHeard = true;
    this.#silentBeats = 0;
  }

  /** The signer reported how long it has worked on the slowest request in progress. */
  heardOf(longestMs: number): void {
    if (longestMs > SIGNER_DEADLINE_MS) this.#end(`it worked on one request for ${Math.round(longestMs)} ms`);
  }

  #beat(): void {
    if (!this.#options.isBusy()) {
      this.stop();
    } else if (this.#silentBeats >= (this.#hasBeenHeard ? MAX_SILENT_BEATS : MAX_FIRST_SILENT_BEATS)) {
      this.#end(`it gave no sign of life for ${this.#silentBeats * BEAT_MS} ms`);
    } else {
      this.#silentBeats++;
      this.#options.ping();
    }
  }

  #end(reason: string): void {
    this.stop();
    this.#options.onDead(reason);
  }
}
