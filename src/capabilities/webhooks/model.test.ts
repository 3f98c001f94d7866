import assert from "node:assert/strict";
import { test } from "node:test";
import { checkEndpointUrl, matchesFilters, parseFilters } from "./model.ts";

const filters = (value: unknown) => parseFilters(JSON.stringify(value), "filters");

test("a filter takes an event if each of its members names the event's, one of several", () => {
  const facts = { organizationId: "o", type: "A", status: "DONE" };
  const takes = (value: unknown) => matchesFilters(filters(value), facts);
  assert.ok(takes({}));
  assert.ok(takes({ type: "A" }));
  assert.ok(takes({ type: ["B", "A"], status: "DONE", organizationId: ["o"] }));
  assert.ok(!takes({ type: "B" }));
  assert.ok(!takes({ type: ["B", "C"] }));
  assert.ok(!takes({ type: "A", status: "OPEN" }), "all members have to match");
  assert.ok(!takes({ type: "a" }));
  // What an event does not have matches nothing.
  assert.ok(!takes({ address: "0x" }));
  assert.ok(!takes({ type: "A", caip2: "eip155:1" }));
});

test("a filter of another form is refused, with what is wrong about it", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => `${index}`);
  assert.deepEqual(filters({ address: hundred }), { address: hundred });
  for (const [json, reason] of [
    ["", /must contain a JSON object/],
    ["[]", /must contain a JSON object/],
    ["null", /must contain a JSON object/],
    ['"type"', /must contain a JSON object/],
    ['{"type":"A","type":"B"}', /must contain a JSON object: /],
    ['{"typ":"A"}', /unknown key; the known ones are organizationId, type, status, caip2, address/],
    ['{"type":[]}', /must set `type` to a string or a list of 1 to 100 strings/],
    ['{"type":5}', /must set `type`/],
    ['{"type":null}', /must set `type`/],
    ['{"type":["A",5]}', /must set `type`/],
    [JSON.stringify({ type: "A", address: [...hundred, "more"] }), /must set `address`/],
  ] as const) {
    const refused = { code: "FIELD_INVALID", message: reason };
    assert.throws(() => parseFilters(json, "subscriptions[1].filtersJson"), refused, json);
    assert.throws(() => parseFilters(json, "subscriptions[1].filtersJson"), { message: /`subscriptions\[1\]/ }, json);
  }
});

test("an endpoint is a public address on the internet, unless the operator allows others", () => {
  const refused = { code: "FIELD_INVALID", message: /`parameters\.url` / };
  checkEndpointUrl("https://example.com/hook", { allowPrivateNetworks: false });
  for (const url of ["http://example.com/hook", "https://127.0.0.1/", "https://localhost/"]) {
    assert.throws(() => checkEndpointUrl(url, { allowPrivateNetworks: false }), refused, url);
    checkEndpointUrl(url, { allowPrivateNetworks: true });
  }
});
