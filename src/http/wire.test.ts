import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { test } from "node:test";
import type { ActivityView } from "../engine/activities/view.ts";
import { activityTimesFor, renderAnswer } from "./wire.ts";

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

test("an answer is what it is, whether it is written at once or in pieces", async () => {
  const activity = (message: string) =>
    ({
      id: "activity",
      intent: { text: message },
      votes: [{ message }, { message, revokedAt: undefined }],
      failure: undefined,
      createdAt: 0,
      updatedAt: 1000,
    }) as unknown as ActivityView;
  const shown = (message: string) => ({
    ...activity(message),
    createdAt: "1970-01-01T00:00:00.000Z",
    updatedAt: "1970-01-01T00:00:01.000Z",
  });
  const [short, long] = ["short", 'long "\u20ac\n'.repeat(20_000)];
  const written: [answer: object, expected: object][] = [
    [{ activity: activity(short) }, { activity: shown(short) }],
    [{ activity: activity(long) }, { activity: shown(long) }],
    [
      { activities: [activity(short), activity(long)], more: { a: undefined, b: 1 } },
      { activities: [shown(short), shown(long)], more: { b: 1 } },
    ],
    [{ activities: [] }, { activities: [] }],
    [
      { transactions: [{ id: 1, service: { a: 1 } }, { id: 2 }] },
      { transactions: [{ id: 1, service: { a: 1 }, turnkey: { a: 1 } }, { id: 2 }] },
    ],
    [
      { users: [{ name: long, tag: undefined }], total: 1 },
      { users: [{ name: long }], total: 1 },
    ],
    [{ userId: "user", tag: undefined }, { userId: "user" }],
  ];
  for (const [answer, expected] of written) {
    assert.deepEqual(JSON.parse(await renderAnswer(answer as never, "text")), JSON.parse(JSON.stringify(expected)));
  }
});
