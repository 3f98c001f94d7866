import type { OutboundClient } from "../delivery/outbound.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/log.ts";

import { type Chain, type ChainFamily, familyOf } from "./families.ts";
import {
  AnswerTooLarge,
  callJsonRpc,
  type Endpoint,
  endpointOf,
  NodeFailure,
  type RpcAnswer,
  speakable,
} from "./json-rpc.ts";

/** A call, and how to read its answer. */
export interface RpcCall<T> {
  method: string;
  params: readonly unknown[];
  /**
   * Reads the answer. Undefined if it cannot be used, and another node may give a better one. `shown` gives a text of the node in a form
   * that callers may see; an error's message has it already.
   */
  read: (answer: RpcAnswer, shown: (text: string) => string) => T | undefined;
  /**
   * The largest answer in bytes, for calls that may be large or expensive, such as whole blocks. A failure of such a call does not count
   * against the node, which continues to serve other calls. A larger answer throws AnswerTooLarge.
   */
  maxAnswerBytes?: number;
  /** What a larger answer means, if anything. */
  readTooLarge?: () => T;
  /** For calls that change something: called for each node that may have executed it without confirming. */
  onDoubt?: () => void;
}

export type NodeStatus = "unchecked" | "ready" | "unavailable" | "wrong chain";

export interface ChainNodeOptions {
  outbound: Pick<OutboundClient, "request">;
  clock: Clock;
  log: Logger;
  /** Called after each call of a node, whether it answered or failed; must not throw. */
  onCall?: ((chain: Chain, outcome: "answered" | "failed") => void) | undefined;
}

const FIRST_REST_MS = 1000;
/** Also the pause for a node that serves another chain: an operator must change a setting before it can be used. */
const LONGEST_REST_MS = 30_000;

/**
 * One node of a chain. Before its first use, and after a failure, it is asked which chain it serves. After a failure it pauses, twice as
 * long each time. An answer to a call is not a failure, whatever it says.
 */
export class ChainNode {
  readonly host: string;
  readonly #endpoint: Endpoint;
  readonly #chain: Chain;
  readonly #family: ChainFamily;
  readonly #outbound: Pick<OutboundClient, "request">;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onCall: NonNullable<ChainNodeOptions["onCall"]>;
  #status: NodeStatus = "unchecked";
  #problem = "was not asked yet";
  #failures = 0;
  #restsUntil = 0;
  #heardAt = 0;
  #checking: Promise<boolean> | undefined;

  constructor(url: string, chain: Chain, { outbound, clock, log, onCall = () => {} }: ChainNodeOptions) {
    this.#endpoint = endpointOf(url);
    this.host = this.#endpoint.host;
    this.#chain = chain;
    this.#family = familyOf(chain);
    this.#outbound = outbound;
    this.#clock = clock;
    this.#log = log;
    this.#onCall = onCall;
  }

  get status(): NodeStatus {
    return this.#status;
  }

  /** Why the node cannot be used, starting with its host's name. */
  get problem(): string {
    return `${this.host} ${this.#problem}`;
  }

  get isResting(): boolean {
    return this.#clock() < this.#restsUntil;
  }

  /** Checks the node if nothing has been heard from it for this long. */
  async lookAfter(silentMs: number): Promise<void> {
    if (!this.isResting && this.#clock() - this.#heardAt >= silentMs) await this.check();
  }

  /** The meaning of the node's answer, or why there is no usable answer. */
  async ask<T>(call: RpcCall<T>): Promise<{ meaning: T } | { problem: string }> {
    const { method, read } = call;
    if (this.isResting) return { problem: this.problem };
    try {
      if (this.#status !== "ready" && !(await this.check())) return { problem: this.problem };
      const answer = await this.#call(call);
      const meaning = read(answer, (text) => speakable(text, this.#endpoint.url));
      if (meaning !== undefined) return { meaning };
      return { problem: `${this.host} answered ${method} with ${described(answer)}` };
    } catch (error) {
      if (!(error instanceof NodeFailure)) throw error;
      if (error.mayHaveActed) call.onDoubt?.();
      if (error instanceof AnswerTooLarge) {
        if (call.readTooLarge) return { meaning: call.readTooLarge() };
        if (call.maxAnswerBytes !== undefined) throw error;
      }
      return { problem: `${this.host} ${error.message}` };
    }
  }

  /** Asks the node which chain it serves. Resolves to whether it can be used. */
  check(): Promise<boolean> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #check(): Promise<boolean> {
    try {
      const served = await this.#servedChain();
      if (served === undefined) throw this.#failed(new NodeFailure("did not say which chain it serves"));
      const isOurs = served === this.#chain;
      if (isOurs) this.#succeeded();
      else this.#isOfOtherChain(served);
      return isOurs;
    } catch (error) {
      if (error instanceof AnswerTooLarge) this.#failed(error);
      if (error instanceof NodeFailure) return false;
      throw error;
    }
  }

  async #servedChain(): Promise<string | undefined> {
    const { identityMethod, chainIn } = this.#family;
    const answer = await this.#call({ method: identityMethod, params: [] });
    return "result" in answer ? chainIn(answer.result) : undefined;
  }

  async #call(call: Omit<RpcCall<unknown>, "read">): Promise<RpcAnswer> {
    try {
      const answer = await callJsonRpc(this.#outbound, this.#endpoint, call);
      const rest = "error" in answer ? this.#family.restingCodes[answer.error.code] : undefined;
      if (rest !== undefined) throw new NodeFailure(rest, { mayHaveActed: false });
      this.#heardAt = this.#clock();
      this.#onCall(this.#chain, "answered");
      return answer;
    } catch (error) {
      this.#onCall(this.#chain, "failed");
      throw isItsFault(error, call) ? this.#failed(error) : error;
    }
  }

  #succeeded(): void {
    if (this.#failures > 0) this.#log.info({ chain: this.#chain, host: this.host }, "a node is back");
    this.#status = "ready";
    this.#failures = 0;
    this.#restsUntil = 0;
  }

  #failed(failure: NodeFailure): NodeFailure {
    const { message: reason } = failure;
    if (this.#failures === 0) this.#log.warn({ chain: this.#chain, host: this.host, reason }, "a node is unavailable");
    // Calls that are in flight together fail together, which counts as one failure.
    if (!this.isResting) {
      this.#restsUntil = this.#clock() + Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** this.#failures);
      this.#failures = Math.min(this.#failures + 1, 30);
    }
    this.#status = "unavailable";
    this.#problem = reason;
    this.#heardAt = this.#clock();
    return failure;
  }

  #isOfOtherChain(served: string): void {
    const reason = `serves ${served} and not ${this.#chain}`;
    if (this.#status !== "wrong chain") {
      this.#log.error({ chain: this.#chain, host: this.host, reason }, "a node serves another chain and is not used");
    }
    this.#status = "wrong chain";
    this.#problem = reason;
    this.#failures = 1;
    this.#restsUntil = this.#clock() + LONGEST_REST_MS;
  }
}

/** A call that is too much for any node, or that waited for our own other calls, must not make the node unavailable to others. */
const isItsFault = (
  error: unknown,
  { maxAnswerBytes }: Pick<RpcCall<unknown>, "maxAnswerBytes">,
): error is NodeFailure =>
  error instanceof NodeFailure &&
  error.isItsFault &&
  !(error instanceof AnswerTooLarge) &&
  maxAnswerBytes === undefined;

const described = (answer: RpcAnswer): string =>
  "error" in answer ? `"${answer.error.message}"` : "something else than such an answer is";
