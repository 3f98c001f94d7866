import type { OutboundClient } from "../delivery/outbound.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/log.ts";

import { type Chain, type ChainFamily, familyOf } from "./families.ts";
import { AnswerTooLarge, callJsonRpc, type Endpoint, endpointOf, NodeFailure, type RpcAnswer } from "./json-rpc.ts";

/** A call, and how its answer is understood. */
export interface RpcCall<T> {
  method: string;
  params: readonly unknown[];
  /** What the answer means; undefined where it says nothing that can be used, and another node may do better. */
  read: (answer: RpcAnswer) => T | undefined;
  /**
   * For what may be large or much work, as whole blocks are: the bound of its answer in bytes. That there is none says nothing of the
   * node, which goes on to serve others; a larger answer is AnswerTooLarge.
   */
  maxAnswerBytes?: number;
  /** What an answer beyond its bound means, where it means something. */
  readTooLarge?: () => T;
  /** For what is to be done: told of each node that may have done it and did not say so. */
  onDoubt?: () => void;
}

export type NodeStatus = "unchecked" | "ready" | "unavailable" | "wrong chain";

const FIRST_REST_MS = 1000;
/** Also how long a node rests that serves another chain: somebody must change a setting before it is worth another look. */
const LONGEST_REST_MS = 30_000;

/**
 * One node of a chain. Before its first use, and again after it failed, it is asked which chain it serves. After a failure it
 * rests, twice as long each time; what it answers to a call, whatever that is, is no failure.
 */
export class ChainNode {
  readonly host: string;
  readonly #endpoint: Endpoint;
  readonly #chain: Chain;
  readonly #family: ChainFamily;
  readonly #outbound: Pick<OutboundClient, "request">;
  readonly #clock: Clock;
  readonly #log: Logger;
  #status: NodeStatus = "unchecked";
  #problem = "was not asked yet";
  #failures = 0;
  #restsUntil = 0;
  #heardAt = 0;
  #checking: Promise<boolean> | undefined;

  constructor(
    url: string,
    chain: Chain,
    { outbound, clock, log }: { outbound: Pick<OutboundClient, "request">; clock: Clock; log: Logger },
  ) {
    this.#endpoint = endpointOf(url);
    this.host = this.#endpoint.host;
    this.#chain = chain;
    this.#family = familyOf(chain);
    this.#outbound = outbound;
    this.#clock = clock;
    this.#log = log;
  }

  get status(): NodeStatus {
    return this.#status;
  }

  /** Why it cannot be used, after its host's name. */
  get problem(): string {
    return `${this.host} ${this.#problem}`;
  }

  get isResting(): boolean {
    return this.#clock() < this.#restsUntil;
  }

  /** Asks it again when nothing was heard of it for so long. */
  async lookAfter(silentMs: number): Promise<void> {
    if (!this.isResting && this.#clock() - this.#heardAt >= silentMs) await this.check();
  }

  /** The meaning of its answer, or why there is none that can be used. */
  async ask<T>(call: RpcCall<T>): Promise<{ meaning: T } | { problem: string }> {
    const { method, read } = call;
    if (this.isResting) return { problem: this.problem };
    try {
      if (this.#status !== "ready" && !(await this.check())) return { problem: this.problem };
      const answer = await this.#call(call);
      const meaning = read(answer);
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

  /** Asks it which chain it serves; resolves to whether it can be used. */
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
      return answer;
    } catch (error) {
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
    // Calls that were under way together fail together, and that is one failure.
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

/** What is asked for may be too much for any node, or wait for others of ours: that takes the node from nobody else. */
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
