import { CONTINUED_TRACES } from "../../kernel/limits.ts";
import { parseTraceparent, Span, type SpanSink, type Tracer } from "../../kernel/spans.ts";
import { TokenBuckets } from "../../kernel/token-buckets.ts";

/**
 * Records a part of what comes in. A client's context says which trace a request belongs to; that the client records it is
 * taken as a wish that is granted so many times a second, of all clients together, as anybody can write it into each request.
 */
export function createTracer({ ratio }: { ratio: number }, sink: SpanSink): Tracer {
  const wishes = new TokenBuckets(CONTINUED_TRACES, 1, () => performance.now());
  const isChosen = () => Math.random() < ratio;
  return {
    request(name, traceparent) {
      const parent = parseTraceparent(traceparent);
      const isRecorded = isChosen() || (parent?.isSampled === true && ratio > 0 && wishes.take("all", 1) === 0);
      return isRecorded ? new Span(name, "server", sink, parent) : undefined;
    },
    work(name, traceparent) {
      // Stored by a server of this installation, for a trace that it records.
      const parent = parseTraceparent(traceparent);
      return parent || isChosen() ? new Span(name, "internal", sink, parent) : undefined;
    },
  };
}
