import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";

/**
 * Trace spans, in the terms of OpenTelemetry. Code that runs inside a span finds it without a parameter, so callers need not know whether
 * there is one. Without a trace, a span costs one lookup.
 */

/** Only identifiers, names of operations and outcomes. No text from clients, and no secrets. */
export type SpanAttributes = Record<string, string | number>;

export type SpanKind = "internal" | "server" | "client";

/** A finished span. */
export interface EndedSpan {
  /** 32 hexadecimal digits. A span's id has 16. */
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  kind: SpanKind;
  /** Milliseconds since 1970, with fractions. */
  startedAt: number;
  endedAt: number;
  attributes: SpanAttributes;
  isError: boolean;
}

/** The trace that a request continues: W3C Trace Context, section 3.2. */
export interface TraceParent {
  traceId: string;
  spanId: string;
  /** Whether the caller records the trace. */
  isSampled: boolean;
}

/** Receives finished spans. Must not throw or block. */
export type SpanSink = (span: EndedSpan) => void;

/** Starts traces, and decides which of them are recorded. */
export interface Tracer {
  /** Starts the span of a request. Undefined if it is not recorded. `traceparent` is the header as the client sent it. */
  request(name: string, traceparent: string | undefined): Span | undefined;
  /** Starts the span of a background job. With the context of a recorded trace, it continues that trace. */
  work(name: string, traceparent: string | undefined): Span | undefined;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Undefined for an invalid header. Then a new trace starts here. */
export function parseTraceparent(header: string | undefined): TraceParent | undefined {
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(header ?? "") ?? [];
  // Later versions may have more fields; this version does not (section 3.2.4).
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

const now = (): number => performance.timeOrigin + performance.now();

/** A recorded span. It starts when it is created. */
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

  /** Whether the request or job of this span has ended. Work that it started and that continues is no longer part of it. */
  get isPast(): boolean {
    return this.#root.#isOver;
  }

  /** The value of a `traceparent` header. */
  get traceparent(): string {
    return `00-${this.traceId}-${this.spanId}-01`;
  }

  child(name: string, kind: SpanKind): Span {
    return new Span(name, kind, this.#sink, this);
  }

  note(attributes: SpanAttributes): void {
    Object.assign(this.#attributes, attributes);
  }

  /** @param error the error's name in the list of errors */
  failed(error?: string): void {
    this.#isError = true;
    if (error !== undefined) this.note({ "error.type": error });
  }

  /** Makes this span the current one for everything that `work` starts. */
  run<T>(work: () => T): T {
    return current.run(this, work);
  }

  /** Further calls have no effect. */
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

/** The caller's span, unless its request or job has ended. */
export function currentSpan(): Span | undefined {
  const span = current.getStore();
  return span?.isPast ? undefined : span;
}

/** Runs `work` in a child of the current span, if there is one. */
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

/** Runs work that serves many callers outside of any trace. */
export const outsideSpans = <T>(work: () => T): T =>
  current.getStore() === undefined ? work() : current.run(undefined, work);

/** The name of an error. Its text may contain input from a client. */
function nameOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === "string" ? code : typeof name === "string" ? name : "unknown";
}
