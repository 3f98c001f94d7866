import assert from "node:assert/strict";
import { test } from "node:test";
import { parseResponse } from "./response.ts";

const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\ncontent-length: 7\r\n\r\n";

test("a whole response has its status, body and length", () => {
  const bytes = Buffer.from(`${ok}{"a":1}HTTP/1.1 500`);
  const response = parseResponse(bytes);
  assert.equal(response?.status, 200);
  assert.equal(response?.body.toString(), '{"a":1}');
  assert.equal(response?.length, bytes.length - "HTTP/1.1 500".length);
});

test("Content-Length may be the last header, and the body empty", () => {
  const response = parseResponse(Buffer.from("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"));
  assert.equal(response?.status, 503);
  assert.equal(response?.body.length, 0);
});

test("every beginning of a response is not whole yet", () => {
  const bytes = Buffer.from(`${ok}{"a":1}`);
  for (let length = 0; length < bytes.length; length++) {
    assert.equal(parseResponse(bytes.subarray(0, length)), undefined, `${length} bytes`);
  }
});

test("what has no Content-Length is refused", () => {
  assert.throws(() => parseResponse(Buffer.from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")));
  assert.throws(() => parseResponse(Buffer.from("SSH-2.0 \r\ncontent-length: 0\r\n\r\n")));
});
