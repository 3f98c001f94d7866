import { CONTINUED_TRACES } from "../../kernel/limits.ts";
import { parseTraceparent, Span, type SpanSink, type Tracer } from "../../kernel/spans.ts";
import { TokenBuckets } from "../../kernel/token-buckets.ts";

/**
 * Records a share of the requests. The client's context determines the trace that a request belongs to. If the client says that it records the
 * trace, the server does too, but only so many times a second for all clients together, because anybody can send that with every request.
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
      // A server of this installation stored this context, for a trace that it records.
      const parent = parseTraceparent(traceparent);
      return parent || isChosen() ? new Span(name, "internal", sink, parent) : undefined;
    },
  };
}
