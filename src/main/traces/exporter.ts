import { hostname } from "node:os";
import { createOutboundClient, type OutboundClient, OutboundError } from "../../delivery/outbound.ts";
import { backOffMs } from "../../kernel/back-off.ts";
import { newId } from "../../kernel/ids.ts";
import {
  MAX_TRACE_ANSWER_BYTES,
  MAX_TRACE_SPANS,
  TRACE_ATTEMPT_MS,
  TRACE_BATCH,
  TRACE_GATHER_MS,
  TRACE_RETRY_MS,
  TRACE_STOP_MS,
} from "../../kernel/limits.ts";
import type { Logger } from "../../kernel/log.ts";
import { type EndedSpan, outsideSpans, type SpanAttributes, type SpanKind } from "../../kernel/spans.ts";
import { createNodeClient } from "../../nodes/node-client.ts";
import { isOfPrivateNetwork } from "../operator-url.ts";
import { version } from "../version.ts";
import type { TraceSettings } from "./settings.ts";

/** Why spans were lost: the queue was full, or the collector did not accept them. */
export type DropReason = "queue_full" | "not_taken";

/**
 * Sends spans to a collector by OTLP over HTTP, as JSON, one batch at a time. Spans wait in a bounded queue in memory. Those that the collector
 * does not accept are dropped and counted, so that nothing else ever waits for the collector.
 */
export class TraceExporter {
  readonly #settings: TraceSettings;
  readonly #log: Logger;
  readonly #client: OutboundClient;
  readonly #resource = resourceOf();
  readonly #waiting: EndedSpan[] = [];
  readonly #dropped: Record<DropReason, number> = { queue_full: 0, not_taken: 0 };
  #exported = 0;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #isStopping = false;

  constructor(settings: TraceSettings, log: Logger) {
    this.#settings = settings;
    this.#log = log;
    // A collector on a private network needs the client that may reach private addresses.
    this.#client = isOfPrivateNetwork(settings.url)
      ? createNodeClient()
      : createOutboundClient({ allowPrivateNetworks: false });
  }

  get figures(): { exported: number; waiting: number; dropped: Readonly<Record<DropReason, number>> } {
    return { exported: this.#exported, waiting: this.#waiting.length, dropped: this.#dropped };
  }

  /** Queues a finished span. */
  readonly add = (span: EndedSpan): void => {
    if (this.#waiting.length >= MAX_TRACE_SPANS || this.#isStopping) {
      this.#dropped.queue_full++;
      return;
    }
    this.#waiting.push(span);
    if (this.#timer === undefined && this.#sending === undefined) this.#sendIn(TRACE_GATHER_MS);
  };

  /** Sends the remaining spans within a time limit, so that a collector that hangs does not delay the server's shutdown. */
  async close(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    // Once the client is closed, every batch fails immediately.
    const late = setTimeout(() => void this.#client.close(), TRACE_STOP_MS);
    await this.#sending;
    while (this.#waiting.length > 0) await this.#send(TRACE_STOP_MS);
    clearTimeout(late);
    await this.#client.close();
  }

  #sendIn(ms: number): void {
    outsideSpans(() => {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#sending = this.#send(TRACE_ATTEMPT_MS).finally(() => {
          this.#sending = undefined;
          if (this.#isStopping || this.#waiting.length === 0) return;
          if (this.#failures > 0) this.#sendIn(backOffMs(RETRIES, this.#failures - 1));
          else this.#sendIn(this.#waiting.length >= TRACE_BATCH ? 0 : TRACE_GATHER_MS);
        });
      }, ms).unref();
    });
  }

  async #send(timeoutMs: number): Promise<void> {
    const spans = this.#waiting.splice(0, TRACE_BATCH);
    const problem = await this.#post(spans, timeoutMs);
    if (problem === undefined) {
      this.#exported += spans.length;
      if (this.#failures > 0) this.#log.info("the collector accepts traces again");
      this.#failures = 0;
      return;
    }
    this.#dropped.not_taken += spans.length;
    if (this.#failures++ === 0)
      this.#log.warn({ reason: problem }, "the collector does not accept traces; they are lost until it does");
  }

  /** Resolves to the reason if the collector did not accept them. */
  async #post(spans: readonly EndedSpan[], timeoutMs: number): Promise<string | undefined> {
    const { url, token } = this.#settings;
    try {
      const { status } = await this.#client.request({
        method: "POST",
        url,
        headers: {
          "content-type": "application/json",
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify(requestOf(this.#resource, spans)),
        timeoutMs,
        maxResponseBytes: MAX_TRACE_ANSWER_BYTES,
      });
      return status >= 200 && status < 300 ? undefined : `it answered HTTP ${status}`;
    } catch (error) {
      return error instanceof OutboundError ? `it cannot be reached: ${error.message}` : "they could not be sent";
    }
  }
}

const RETRIES = { firstMs: 1000, longestMs: TRACE_RETRY_MS, spread: 0.2 };

/** `ExportTraceServiceRequest` in JSON (OTLP specification, "JSON Protobuf encoding"). */
const requestOf = (resource: object, spans: readonly EndedSpan[]) => ({
  resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "keystead", version }, spans: spans.map(spanOf) }] }],
});

const KINDS: Record<SpanKind, number> = { internal: 1, server: 2, client: 3 };
const STATUS_UNSET = 0;
const STATUS_ERROR = 2;

const spanOf = (span: EndedSpan) => ({
  traceId: span.traceId,
  spanId: span.spanId,
  ...(span.parentSpanId === undefined ? {} : { parentSpanId: span.parentSpanId }),
  name: span.name,
  kind: KINDS[span.kind],
  startTimeUnixNano: nanoseconds(span.startedAt),
  endTimeUnixNano: nanoseconds(span.endedAt),
  attributes: attributesOf(span.attributes),
  status: { code: span.isError ? STATUS_ERROR : STATUS_UNSET },
});

/** A double holds the time since 1970 to the microsecond, so the last three digits are zeros. */
const nanoseconds = (ms: number): string => `${Math.round(ms * 1000)}000`;

const attributesOf = (attributes: SpanAttributes) =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === "number" ? { intValue: String(Math.round(value)) } : { stringValue: value },
  }));

const resourceOf = () => ({
  attributes: attributesOf({
    "service.name": "keystead",
    "service.version": version,
    "service.instance.id": newId(),
    "host.name": hostname(),
  }),
});
