import { type Static, Type } from "typebox";
import { durationText } from "../kernel/durations.ts";
import { fail } from "../kernel/errors.ts";
import { isId } from "../kernel/ids.ts";
import { parseJson, parseJsonInTurns } from "../kernel/json.ts";
import { findStringMember } from "../kernel/json-member.ts";
import { LARGE_JSON_BYTES, MAX_CLOCK_AHEAD_MS, MAX_REQUEST_AGE_MS } from "../kernel/limits.ts";
import { nextTurn } from "../kernel/next-turn.ts";
import { Strict } from "./fields.ts";
import type { ActivityOperation, ActivityVersion, CheckingContext } from "./operations.ts";
import { validate, withoutNulls } from "./validate.ts";

/** The envelope of a request: the fields around its parameters. Unknown fields are ignored. */

/**
 * The organization id that a request claims, read before its sender is authenticated and without parsing the whole body. If that is not
 * possible, a body of ordinary size is parsed and a large one is refused.
 *
 * @throws KeysteadError
 */
export function claimedOrganizationId(body: Buffer): string {
  const id = findStringMember(body, "organizationId");
  if (id !== undefined) return isId(id) ? id : fail("ORGANIZATION_ID_MALFORMED", {});
  if (body.length <= LARGE_JSON_BYTES) return organizationIdOf(objectOf(body, parseJson(body)));
  const reason =
    "a large body must have the member `organizationId` at its top level, before any name that contains an escape";
  return fail("BODY_INVALID", { reason });
}

/**
 * Parses the whole body of an authenticated request. Members that are null count as absent.
 *
 * @throws KeysteadError unless it is a JSON object that names this organization
 */
export async function parseBody(body: Buffer, organizationId: string): Promise<Record<string, unknown>> {
  const object = objectOf(body, await parseJsonInTurns(body));
  if (body.length > LARGE_JSON_BYTES) await nextTurn();
  if (organizationIdOf(object) === organizationId) return object;
  const reason = "must be in the body once, at its top level and without an escape in its name";
  return fail("FIELD_INVALID", { field: "organizationId", reason });
}

function objectOf(body: Buffer, parsed: unknown): Record<string, unknown> {
  const value = body.includes("null") ? withoutNulls(parsed) : parsed;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    fail("BODY_INVALID", { reason: "it must be a JSON object" });
  }
  return value as Record<string, unknown>;
}

function organizationIdOf(body: Record<string, unknown>): string {
  const id = stringOf(body, "organizationId");
  return isId(id) ? id : fail("ORGANIZATION_ID_MALFORMED", {});
}

/** The validated parameters of a submit request. */
export interface Submission {
  version: ActivityVersion;
  /** As sent, in the version of the request's type. */
  parameters: unknown;
  /** Upgraded to the newest version. */
  intent: unknown;
  generateAppProofs: boolean;
}

/** Against which the time of a request is checked. */
interface RequestTimes {
  now: number;
  /** Since when the installation has been running on a restored backup; undefined if it was never restored. */
  restoredSince: number | undefined;
}

/**
 * @param context with the services that the operation needs
 * @throws KeysteadError naming the field
 */
export async function parseSubmission(
  operation: ActivityOperation,
  body: Record<string, unknown>,
  times: RequestTimes,
  context: CheckingContext,
): Promise<Submission> {
  const type = stringOf(body, "type");
  const version = operation.versions.get(type) ?? refuseType([...operation.versions.keys()]);
  checkLiveness(stringOf(body, "timestampMs"), times);
  const { parameters, generateAppProofs } = parametersOf(body);
  if (generateAppProofs && !operation.takesAppProofs) {
    const reason = `must be false or absent: ${operation.path} does not make app proofs`;
    fail("FIELD_INVALID", { field: "generateAppProofs", reason });
  }
  validate(version.intent, parameters, "parameters");
  const intent = version.upgrade(parameters);
  await operation.check(intent, context);
  return { version, parameters, intent, generateAppProofs };
}

/** The parameters of a vote: the fingerprint of its activity. */
export const VoteParameters = Strict({ fingerprint: Type.String() });

/** Parses a vote, which has a single version. */
export function parseVote(
  type: string,
  body: Record<string, unknown>,
  times: RequestTimes,
): Static<typeof VoteParameters> {
  if (stringOf(body, "type") !== type) refuseType([type]);
  checkLiveness(stringOf(body, "timestampMs"), times);
  // Whether app proofs are made was decided by the request that the vote is for.
  const { parameters } = parametersOf(body);
  validate(VoteParameters, parameters, "parameters");
  return parameters as Static<typeof VoteParameters>;
}

function refuseType(types: string[]): never {
  fail("FIELD_INVALID", { field: "type", reason: `must be one of ${types.join(", ")}` });
}

/**
 * A request is valid for a limited time, and clocks may differ a little. After a restore, one from before may have been carried out already, in
 * what was lost.
 */
function checkLiveness(timestampMs: string, { now, restoredSince }: RequestTimes): void {
  if (!/^[0-9]{1,15}$/.test(timestampMs)) {
    fail("FIELD_INVALID", { field: "timestampMs", reason: "must be the current time in milliseconds, in digits" });
  }
  const time = Number(timestampMs);
  if (now - time > MAX_REQUEST_AGE_MS) fail("TIMESTAMP_STALE", { maxAge: durationText(MAX_REQUEST_AGE_MS) });
  if (restoredSince !== undefined && time < restoredSince) {
    fail("TIMESTAMP_BEFORE_RESTORE", { restoredSince: new Date(restoredSince).toISOString() });
  }
  if (time - now > MAX_CLOCK_AHEAD_MS) {
    fail("TIMESTAMP_AHEAD", { maxAhead: durationText(MAX_CLOCK_AHEAD_MS), serverTimeMs: now });
  }
}

/** The parameters of a stored body, in the form of `Submission.parameters`. */
export const parametersOfStored = (body: string): Record<string, unknown> =>
  parametersOf(withoutNulls(JSON.parse(body)) as Record<string, unknown>).parameters;

function parametersOf(body: Record<string, unknown>): {
  parameters: Record<string, unknown>;
  generateAppProofs: boolean;
} {
  const { parameters } = body;
  if (parameters === undefined) fail("FIELD_MISSING", { field: "parameters" });
  if (typeof parameters !== "object" || Array.isArray(parameters)) {
    fail("FIELD_INVALID", { field: "parameters", reason: "must be an object" });
  }
  // One published client sends this flag inside the parameters.
  const { generateAppProofs: inside, ...rest } = parameters as Record<string, unknown>;
  const asked = [
    booleanOf(body.generateAppProofs, "generateAppProofs"),
    booleanOf(inside, "parameters.generateAppProofs"),
  ];
  return { parameters: rest, generateAppProofs: asked.includes(true) };
}

function booleanOf(value: unknown, field: string): boolean {
  if (value === undefined) return false;
  return typeof value === "boolean" ? value : fail("FIELD_INVALID", { field, reason: "must be a boolean" });
}

function stringOf(object: Record<string, unknown>, field: string): string {
  const value = object[field];
  if (value === undefined) fail("FIELD_MISSING", { field });
  if (typeof value !== "string") fail("FIELD_INVALID", { field, reason: "must be a string" });
  return value;
}
