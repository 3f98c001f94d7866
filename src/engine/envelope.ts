import { type Static, Type } from "typebox";
import { fail } from "../kernel/errors.ts";
import { isId } from "../kernel/ids.ts";
import { parseJson } from "../kernel/json.ts";
import { MAX_CLOCK_AHEAD_MS, MAX_REQUEST_AGE_MS } from "../kernel/limits.ts";
import type { ActivityOperation, ActivityVersion, CheckEnvironment } from "./declare.ts";
import { Strict } from "./fields.ts";
import { validate, withoutNulls } from "./validate.ts";

/** What stands around the parameters of a request: fields beyond these are ignored. */

/** @throws KeysteadError unless the body is a JSON object; members that are null count as absent */
export function parseBody(body: Uint8Array): Record<string, unknown> {
  const value = withoutNulls(parseJson(body));
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    fail("BODY_INVALID", { reason: "it must be a JSON object" });
  }
  return value as Record<string, unknown>;
}

/** The organization that the request is for, which both kinds of request name. */
export function organizationIdOf(body: Record<string, unknown>): string {
  const id = stringOf(body, "organizationId");
  return isId(id) ? id : fail("ORGANIZATION_ID_MALFORMED", {});
}

/** The parameters of a submit request in the version that its type names, checked. */
export interface Submission {
  version: ActivityVersion;
  /** As they were sent. */
  parameters: unknown;
  /** In the newest version's form. */
  intent: unknown;
}

/** @throws KeysteadError naming the field */
export function parseSubmission(
  operation: ActivityOperation,
  body: Record<string, unknown>,
  now: number,
  environment: CheckEnvironment,
): Submission {
  const type = stringOf(body, "type");
  const version = operation.versions.get(type) ?? refuseType([...operation.versions.keys()]);
  checkLiveness(stringOf(body, "timestampMs"), now);
  const parameters = parametersOf(body);
  validate(version.intent, parameters, "parameters");
  const intent = version.upgrade(parameters);
  operation.check(intent, environment);
  return { version, parameters, intent };
}

/** The parameters of a vote: which activity it is about. */
export const VoteParameters = Strict({ fingerprint: Type.String() });

/** The same for the operations that have one version and no intent of their own kind. */
export function parseVote(type: string, body: Record<string, unknown>, now: number): Static<typeof VoteParameters> {
  if (stringOf(body, "type") !== type) refuseType([type]);
  checkLiveness(stringOf(body, "timestampMs"), now);
  const parameters = parametersOf(body);
  validate(VoteParameters, parameters, "parameters");
  return parameters as Static<typeof VoteParameters>;
}

function refuseType(types: string[]): never {
  fail("FIELD_INVALID", { field: "type", reason: `must be one of ${types.join(", ")}` });
}

/** A request is good for an hour, and clocks may differ by a few minutes. */
function checkLiveness(timestampMs: string, now: number): void {
  if (!/^[0-9]{1,15}$/.test(timestampMs)) {
    fail("FIELD_INVALID", { field: "timestampMs", reason: "must be the current time in milliseconds, in digits" });
  }
  const time = Number(timestampMs);
  if (now - time > MAX_REQUEST_AGE_MS) fail("TIMESTAMP_STALE", { maxAge: "1 hour" });
  if (time - now > MAX_CLOCK_AHEAD_MS) fail("TIMESTAMP_AHEAD", { maxAhead: "5 minutes", serverTimeMs: now });
}

function parametersOf(body: Record<string, unknown>): Record<string, unknown> {
  const { parameters } = body;
  if (parameters === undefined) fail("FIELD_MISSING", { field: "parameters" });
  if (typeof parameters !== "object" || Array.isArray(parameters)) {
    fail("FIELD_INVALID", { field: "parameters", reason: "must be an object" });
  }
  refuseAppProofs(body.generateAppProofs, "generateAppProofs");
  // One published client sends this switch inside the parameters.
  const { generateAppProofs, ...rest } = parameters as Record<string, unknown>;
  refuseAppProofs(generateAppProofs, "parameters.generateAppProofs");
  return rest;
}

function refuseAppProofs(value: unknown, field: string): void {
  if (value === undefined || value === false) return;
  const reason = value === true ? "must be false or absent: app proofs are not supported yet" : "must be a boolean";
  fail("FIELD_INVALID", { field, reason });
}

function stringOf(object: Record<string, unknown>, field: string): string {
  const value = object[field];
  if (value === undefined) fail("FIELD_MISSING", { field });
  if (typeof value !== "string") fail("FIELD_INVALID", { field, reason: "must be a string" });
  return value;
}
