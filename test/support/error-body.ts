import assert from "node:assert/strict";
import type { TestAnswer } from "./client.ts";

/** Holds an answer against the one shape of errors; `about` opens the text of a failure. */
export function assertErrorBody({ status, headers, body }: TestAnswer, about: string): void {
  const shown = `${about}: ${status} ${JSON.stringify(body)}`;
  assert.ok(status >= 400 && status < 500, `${shown} is no 4xx`);
  assert.equal(headers.get("content-type"), "application/json", shown);
  assert.deepEqual(Object.keys(body).sort(), ["code", "details", "message", "turnkeyErrorCode"], shown);
  assert.equal(grpcCodes[status], body.code, shown);
  assert.ok(typeof body.message === "string" && body.message.length > 0, shown);
  assert.match(body.turnkeyErrorCode, /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/, shown);
  assert.ok(Array.isArray(body.details) && body.details.length > 0, shown);
  for (const detail of body.details) assert.match(detail["@type"], /^type\.googleapis\.com\/[\w.]+$/, shown);
  // What a client reads never grows with what it sent.
  assert.ok(
    JSON.stringify(body).length < 4096,
    `${about}: the error is ${JSON.stringify(body).length} characters long`,
  );
}

/** google.rpc.Code behind each HTTP status. */
const grpcCodes: Record<number, number> = { 400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 413: 8, 429: 8 };

/** The fields that an error blames, in `details`. */
export const blamedFields = ({ body }: TestAnswer): string[] =>
  body.details.flatMap(({ fieldViolations = [] }: { fieldViolations?: { field: string }[] }) =>
    fieldViolations.map(({ field }) => field),
  );
