import assert from "node:assert/strict";
import { it } from "node:test";
import { MAX_TRACE_SPANS, TRACE_BATCH } from "../../src/kernel/limits.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { type EndedSpan, parseTraceparent } from "../../src/kernel/spans.ts";
import { TraceExporter } from "../../src/main/traces/exporter.ts";
import { createTracer } from "../../src/main/traces/tracer.ts";
import type { Json } from "../support/client.ts";
import { reservePort } from "../support/ports.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { engines, startTestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { webhooksOf } from "../support/webhooks.ts";

/** Traces, sent to a collector over HTTP; and what collectors that do not take them cost. */

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const SECRET = "a name that nobody else has";

const spansOf = ({ received }: Pick<Receiver, "received">): Json[] =>
  received.flatMap(({ body }) => JSON.parse(body).resourceSpans[0].scopeSpans[0].spans);
const attributesOf = (span: Json): Json =>
  Object.fromEntries(span.attributes.map(({ key, value }: Json) => [key, value.stringValue ?? Number(value.intValue)]));

for (const engine of engines) {
  it(`a signature and a webhook make one tree of spans each (${engine})`, async () => {
    const [collector, hook] = [await startReceiver(), await startReceiver()];
    const server = await startTestServer(engine, {
      settings: {
        KEYSTEAD_OTLP_URL: collector.url,
        KEYSTEAD_OTLP_TOKEN: "token-of-the-collector",
        KEYSTEAD_TRACE_RATIO: "1",
      },
    });
    const { root } = server;
    await webhooksOf(root).create(hook.url, undefined, SECRET);
    const { privateKeyIds } = await root
      .result("create_private_keys", {
        privateKeys: [{ privateKeyName: SECRET, curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] }],
      })
      .then(({ privateKeys }: Json) => ({ privateKeyIds: privateKeys.map(({ privateKeyId }: Json) => privateKeyId) }));
    const sign = {
      signWith: privateKeyIds[0],
      payload: "00".repeat(32),
      encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
      hashFunction: "HASH_FUNCTION_NO_OP",
    };
    const signed = await server.root.submit("sign_raw_payload", sign, {
      headers: { traceparent: `00-${TRACE}-${CALLER}-00` },
    });
    assert.equal(signed.status, 200);
    const renamed = await root.submit("update_organization_name", { organizationName: SECRET });
    const [delivery] = await hook.waitFor(1);
    const rootOf = (operation: string) => spansOf(collector).find(({ name }) => name === operation);
    await until(
      () => rootOf("sign_raw_payload") !== undefined && spansOf(collector).some(({ name }) => name === "webhook"),
      "the spans",
    );
    await server.close();
    const spans = spansOf(collector);
    const nameOf = (spanId: string) => spans.find((span) => span.spanId === spanId)?.name;
    const edgesOf = (traceId: string) =>
      spans
        .filter((span) => span.traceId === traceId)
        .map(({ name, parentSpanId }) => `${nameOf(parentSpanId) ?? ""} > ${name}`);

    const request = rootOf("sign_raw_payload") as Json;
    assert.deepEqual([request.traceId, request.parentSpanId, request.kind], [TRACE, CALLER, 2]);
    assert.deepEqual(
      new Set(edgesOf(TRACE)),
      new Set([
        " > sign_raw_payload",
        "sign_raw_payload > authenticate",
        "sign_raw_payload > decide",
        "sign_raw_payload > signer sign",
        "sign_raw_payload > commit",
        "commit > decide",
      ]),
    );
    const { "keystead.request_id": requestId, ...told } = attributesOf(request);
    assert.match(requestId, /^[0-9a-f-]{36}$/);
    assert.deepEqual(told, {
      "http.request.method": "POST",
      "http.response.status_code": 200,
      "keystead.operation": "sign_raw_payload",
      "keystead.organization_id": root.organizationId,
      "keystead.user_id": server.credentials.userId,
      "keystead.activity_id": signed.body.activity.id,
    });

    const rename = rootOf("update_organization_name") as Json;
    assert.equal(attributesOf(rename)["keystead.activity_id"], renamed.body.activity.id);
    const edges = edgesOf(rename.traceId);
    for (const edge of [
      "commit > job deliver_webhook",
      "job deliver_webhook > webhook",
      "webhook > signer signStatements",
    ]) {
      assert.ok(edges.includes(edge), `${edge} in ${edges}`);
    }
    const webhook = spans.find(({ traceId, name }) => traceId === rename.traceId && name === "webhook") as Json;
    assert.equal(delivery?.headers.traceparent, `00-${rename.traceId}-${webhook.spanId}-01`);
    assert.ok(spans.every(({ startTimeUnixNano: start, endTimeUnixNano: end }) => BigInt(start) <= BigInt(end)));
    assert.ok(collector.received.every(({ path }) => path === "/v1/traces"));
    assert.ok(collector.received.every(({ headers }) => headers.authorization === "Bearer token-of-the-collector"));
    assert.ok(!collector.received.some(({ body }) => body.includes(SECRET)), "nothing that a client wrote");
    await Promise.all([collector.close(), hook.close()]);
  });
}

it("a collector that hangs, fails or is gone holds up no request", async () => {
  const hanging = await startReceiver();
  hanging.answer(() => {});
  const failing = await startReceiver();
  failing.answer(500);
  const gone = `http://127.0.0.1:${await reservePort()}`;
  for (const url of [hanging.url, failing.url, gone]) {
    const settings = { KEYSTEAD_OTLP_URL: url, KEYSTEAD_TRACE_RATIO: "1" };
    const server = await startTestServer("sqlite", { settings });
    for (let count = 0; count < 20; count++) assert.equal((await server.root.query("whoami")).status, 200);
    if (url !== hanging.url)
      await until(() => server.log().includes("the collector does not accept traces"), "the warning");
    // The last attempt has a bound, and the server ends.
    await server.close();
  }
  await Promise.all([hanging.close(), failing.close()]);
});

it("spans that nobody takes are lost within a bound, and counted", async () => {
  const hanging = await startReceiver();
  hanging.answer(() => {});
  const lines: string[] = [];
  const log = createLogger("info", { write: (line: string) => void lines.push(line) });
  const exporter = new TraceExporter({ url: `${hanging.url}/v1/traces`, token: undefined, ratio: 1 }, log);
  const span: EndedSpan = {
    ...{ traceId: TRACE, spanId: CALLER, parentSpanId: undefined, name: "whoami", kind: "server" as const },
    ...{ startedAt: 1, endedAt: 2, attributes: {}, isError: false },
  };
  exporter.add(span);
  await hanging.waitFor(1);
  // One batch hangs; what comes now fills the queue.
  const MORE = 1000;
  for (let count = 0; count < MAX_TRACE_SPANS + MORE; count++) exporter.add(span);
  assert.deepEqual(exporter.figures, {
    exported: 0,
    waiting: MAX_TRACE_SPANS,
    dropped: { queue_full: MORE, not_taken: 0 },
  });
  hanging.answer(200);
  await hanging.close();
  await until(() => exporter.figures.dropped.not_taken > 0, "the batch to be given up");
  await exporter.close();
  const { dropped, waiting, exported } = exporter.figures;
  assert.equal(exported, 0);
  assert.ok(dropped.not_taken >= 1 + TRACE_BATCH, `${dropped.not_taken} of ${waiting}`);
});

it("what clients say decides for few requests alone", () => {
  const none = createTracer({ ratio: 0 }, () => {});
  assert.equal(none.request("whoami", `00-${TRACE}-${CALLER}-01`), undefined);
  // Of everything that says it is traced, a part is: those of the ratio, and a bounded number besides.
  const few = createTracer({ ratio: Number.MIN_VALUE }, () => {});
  const began = performance.now();
  const spans = Array.from({ length: 5000 }, () => few.request("whoami", `00-${TRACE}-${CALLER}-01`));
  const recorded = spans.filter((span) => span !== undefined);
  const most = 101 + (10 * (performance.now() - began)) / 1000;
  assert.ok(recorded.length >= 100 && recorded.length <= most, `${recorded.length}`);
  assert.equal(recorded[0]?.traceId, TRACE);
  assert.equal(few.request("whoami", `00-${TRACE}-${CALLER}-00`), undefined);
});

it("a context is taken as the standard has it, or not at all", () => {
  assert.deepEqual(parseTraceparent(`00-${TRACE}-${CALLER}-01`), { traceId: TRACE, spanId: CALLER, isSampled: true });
  assert.deepEqual(parseTraceparent(`cc-${TRACE}-${CALLER}-00-more`), {
    traceId: TRACE,
    spanId: CALLER,
    isSampled: false,
  });
  const bad = [
    undefined,
    "",
    `ff-${TRACE}-${CALLER}-01`,
    `00-${TRACE}-${CALLER}-01-more`,
    `00-${TRACE.toUpperCase()}-${CALLER}-01`,
    `00-${"0".repeat(32)}-${CALLER}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE}-${CALLER}`,
    `00-${TRACE}-${CALLER}-01, 00-${TRACE}-${CALLER}-01`,
  ];
  for (const header of bad) assert.equal(parseTraceparent(header), undefined, header);
});
