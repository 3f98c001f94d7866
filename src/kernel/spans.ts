import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";

/**
 * Spans of traces, in the terms of OpenTelemetry. Whatever runs inside a span finds it without being handed it, so that nothing has to
 * know whether there is one; where nobody has begun a trace, a span costs one look-up.
 */

/** Identifiers, names of operations and outcomes alone: nothing that a client wrote, and no secrets. */
export type SpanAttributes = Record<string, string | number>;

export type SpanKind = "internal" | "server" | "client";

/** One that is over. */
export interface EndedSpan {
  /** 32 and 16 hexadecimal digits. */
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  kind: SpanKind;
  /** Milliseconds since 1970, with their fraction. */
  startedAt: number;
  endedAt: number;
  attributes: SpanAttributes;
  isError: boolean;
}

/** Where a trace goes on: W3C Trace Context, section 3.2. */
export interface TraceParent {
  traceId: string;
  spanId: string;
  /** Whether whoever began it records it. */
  isSampled: boolean;
}

/** Takes spans that are over; it must not throw and not wait. */
export type SpanSink = (span: EndedSpan) => void;

/** Begins traces: it decides which of them are recorded. */
export interface Tracer {
  /** The first span of a request in this process; undefined where nothing of it is recorded. `traceparent` is as the client sent it. */
  request(name: string, traceparent: string | undefined): Span | undefined;
  /** That of work in the background; with the context of a trace that is recorded it goes on with that one. */
  work(name: string, traceparent: string | undefined): Span | undefined;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Undefined for what is none: then a trace begins here. */
export function parseTraceparent(header: string | undefined): TraceParent | undefined {
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(header ?? "") ?? [];
  // A later version may have more fields; this one has not (section 3.2.4).
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

const now = (): number => performance.timeOrigin + performance.now();

/** A span that is recorded, from when it is made until its end. */
export class Span {
  readonly traceId: string;
  readonly spanId = randomBytes(8).toString("hex");
  readonly #name: string;
  readonly #kind: SpanKind;
  readonly #parentSpanId: string | undefined;
  readonly #root: Span;
  readonly #sink: SpanSink;
  readonly #startedAt = now();
  readonly #attributes: SpanAttributes = {};
  #isError = false;
  #isOver = false;

  constructor(name: string, kind: SpanKind, sink: SpanSink, parent?: Span | Pick<TraceParent, "traceId" | "spanId">) {
    this.#name = name;
    this.#kind = kind;
    this.#sink = sink;
    this.#root = parent instanceof Span ? parent.#root : this;
    this.traceId = parent?.traceId ?? randomBytes(16).toString("hex");
    this.#parentSpanId = parent?.spanId;
  }

  /** Whether the request or the job that it belongs to is over: what was begun by it and goes on is no part of it. */
  get isPast(): boolean {
    return this.#root.#isOver;
  }

  /** As the header of that name has it. */
  get traceparent(): string {
    return `00-${this.traceId}-${this.spanId}-01`;
  }

  child(name: string, kind: SpanKind): Span {
    return new Span(name, kind, this.#sink, this);
  }

  note(attributes: SpanAttributes): void {
    Object.assign(this.#attributes, attributes);
  }

  /** @param error its name in the list of errors */
  failed(error?: string): void {
    this.#isError = true;
    if (error !== undefined) this.note({ "error.type": error });
  }

  /** Has whatever `work` begins find this span. */
  run<T>(work: () => T): T {
    return current.run(this, work);
  }

  /** Only the first end counts. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink({
      traceId: this.traceId,
      spanId: this.spanId,
      parentSpanId: this.#parentSpanId,
      name: this.#name,
      kind: this.#kind,
      startedAt: this.#startedAt,
      endedAt: now(),
      attributes: this.#attributes,
      isError: this.#isError,
    });
  }
}

const current = new AsyncLocalStorage<Span | undefined>();

/** The span that the caller runs in, while what it belongs to goes on. */
export function currentSpan(): Span | undefined {
  const span = current.getStore();
  return span?.isPast ? undefined : span;
}

/** Runs `work` in a span of its own, if there is one that it would belong to. */
export function inSpan<T>(
  name: string,
  work: (span: Span | undefined) => Promise<T>,
  kind: SpanKind = "internal",
): Promise<T> {
  const span = currentSpan()?.child(name, kind);
  return span ? runRecorded(span, work) : work(undefined);
}

async function runRecorded<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await span.run(() => work(span));
  } catch (error) {
    span.failed(nameOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Has what goes on by itself, for many, belong to nobody's trace. */
export const outsideSpans = <T>(work: () => T): T =>
  current.getStore() === undefined ? work() : current.run(undefined, work);

/** The name of an error: its text may quote what a client wrote. */
function nameOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === "string" ? code : typeof name === "string" ? name : "unknown";
}
