import { SIGNER_DEADLINE_MS, SIGNER_START_MS } from "../kernel/limits.ts";

/** How often the signer is asked for a sign of life while it has work. */
const BEAT_MS = 1000;
const MAX_SILENT_BEATS = SIGNER_DEADLINE_MS / BEAT_MS;
/** Before it has said anything it loads its code and opens the root key, which takes a loaded machine its time. */
const MAX_FIRST_SILENT_BEATS = SIGNER_START_MS / BEAT_MS;

interface HeartbeatOptions {
  /** Whether the signer has work; without any, nobody asks how it is. */
  isBusy: () => boolean;
  /** Asks for a sign of life. */
  ping: () => void;
  /** The signer is not to be waited for any longer; the text says why. */
  onDead: (reason: string) => void;
}

/**
 * Tells a slow signer from a dead one. A signer that is merely busy answers between two slices of its work; one that says
 * nothing, or that has worked on one request beyond the deadline by its own clock, is dead.
 *
 * Beats are counted and not the time between them, so that time in which this process did not run itself is nobody's silence.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #timer: NodeJS.Timeout | undefined;
  #silentBeats = 0;
  #hasBeenHeard = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** There is work for the signer. */
  start(): void {
    if (this.#timer) return;
    this.#silentBeats = 0;
    this.#timer = setInterval(() => this.#beat(), BEAT_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** The signer said something. */
  heard(): void {
    this.#hasBeenHeard = true;
    this.#silentBeats = 0;
  }

  /** The signer has worked for so long on the request that takes it longest. */
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
