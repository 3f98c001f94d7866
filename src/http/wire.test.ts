import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { test } from "node:test";
import { activityTimesFor } from "./wire.ts";

const sdks: IncomingHttpHeaders[] = [
  { "x-client-version": "@turnkey/http@1.0.0" },
  { "user-agent": "turnkey-rust-client/0.1" },
  { "user-agent": "tkhq-go-sdk/1.2" },
  { "user-agent": "Go-http-client/1.1" },
  { "user-agent": "Go-http-client/2.0" },
];
const others: IncomingHttpHeaders[] = [
  {},
  { "user-agent": "curl/8.0" },
  { "user-agent": "node" },
  { "user-agent": "keystead (not a Go-http-client/1.1)" },
];

test("times of activities are objects for the published SDKs, and text for everybody else", () => {
  for (const headers of sdks) assert.equal(activityTimesFor(headers, "auto"), "object", JSON.stringify(headers));
  for (const headers of others) assert.equal(activityTimesFor(headers, "auto"), "text", JSON.stringify(headers));
});

test("a setting gives everybody one form", () => {
  for (const headers of [...sdks, ...others]) {
    for (const form of ["text", "object"] as const) assert.equal(activityTimesFor(headers, form), form);
  }
});
