import type { Clock } from "../kernel/clock.ts";
import { fail } from "../kernel/errors.ts";
import { OutOfBudget } from "../policy/budget.ts";
import type { Signer } from "../signer/client.ts";
import type { Database } from "../storage/database.ts";
import { type ActivityObserver, identifiers } from "./activities/ballot.ts";
import { castVote, submit } from "./activities/submit.ts";
import type { ActivityView } from "./activities/view.ts";
import { RequestBudget } from "./decisions/budget.ts";
import { organizationIdOf, parseBody, parseSubmission, parseVote } from "./envelope.ts";
import { authenticate, fingerprintOf, type Principal, refuseUnfitKind } from "./identity/authenticate.ts";
import { decodeStamp, type StampHeaders } from "./identity/credential-kinds.ts";
import type { Operation, Registry } from "./operations.ts";
import { type Services, servicesFor } from "./services.ts";
import { validate } from "./validate.ts";

export interface EngineOptions {
  registry: Registry;
  database: Database;
  signer: Signer;
  clock: Clock;
  observer: ActivityObserver;
  services: Services;
}

/** A request as the network layer hands it over. */
export interface StampedRequest {
  stamps: StampHeaders;
  /** The exact bytes that were stamped. */
  body: Buffer;
  /** The client's IP address; undefined where it is not known. */
  remoteAddress: string | undefined;
}

/** The answer, before the wire rules: `activity` and `activities` members carry times in milliseconds. */
export type Answer = { activity: ActivityView } | Record<string, unknown>;

/** The way of every request: stamp, user, then the operation of the path. */
export interface Engine {
  readonly registry: Registry;
  handle(operation: Operation, request: StampedRequest): Promise<Answer>;
}

export function createEngine({ registry, database, signer, clock, observer, services }: EngineOptions): Engine {
  const activities = { registry, database, signer, observer, services };

  async function handle(operation: Operation, { stamps, body, remoteAddress }: StampedRequest): Promise<Answer> {
    const stamp = decodeStamp(stamps);
    refuseUnfitKind(stamp.kind, operation.noun);
    const parsed = parseBody(body);
    const organizationId = organizationIdOf(parsed);
    const now = clock();
    const reach = operation.noun === "query" && operation.findsSubOrganization ? "subOrganizations" : "organization";
    const principal = await authenticate(database.read, { stamp, body, organizationId, reach, remoteAddress, now });
    refuseOtherKind(operation, principal);
    const budget = new RequestBudget();
    const ballot = { principal, message: body.toString(), now, id: identifiers(), budget };

    switch (operation.noun) {
      case "query": {
        validate(operation.request, parsed, "");
        const { organization, actor } = principal;
        const { read } = database;
        const given = servicesFor(services, operation.needs);
        return (await operation.run({ ...given, request: parsed, read, organization, actor, now, budget })) as Answer;
      }
      case "activity": {
        refuseOtherOrganization(principal);
        const submission = parseSubmission(operation, parsed, now, servicesFor(services, operation.needs));
        return { activity: await submit(activities, operation, submission, fingerprintOf(body), ballot) };
      }
      case "vote": {
        refuseOtherOrganization(principal);
        const { fingerprint } = parseVote(operation.type, parsed, now);
        return { activity: await castVote(activities, fingerprint, { ...ballot, selection: operation.selection }) };
      }
    }
  }

  return {
    registry,
    handle: (operation, request) => handle(operation, request).catch(refuseExcess),
  };
}

/** Whatever took too much work has changed nothing. */
function refuseExcess(error: unknown): never {
  if (error instanceof OutOfBudget) fail("DECISION_TOO_COSTLY", {});
  throw error;
}

/** Some operations are for parents or for sub-organizations alone. */
function refuseOtherKind(operation: Operation, { organization }: Principal): void {
  if (operation.noun === "vote" || operation.only === undefined) return;
  const { path } = operation;
  const isParent = organization.parentId === null;
  if (isParent === (operation.only === "parents")) return;
  const [whom, what] = isParent
    ? ["for sub-organizations alone", "a parent"]
    : ["for parent organizations alone", "a sub-organization"];
  fail("INVALID_CALLER", { path, whom, what, organizationId: organization.id });
}

/** A parent's keys may read its sub-organizations; acting in one takes a user of its own. */
function refuseOtherOrganization({ organization, actor }: Principal): void {
  if (actor.organizationId === organization.id) return;
  fail("ORGANIZATION_MISMATCH", { organizationId: organization.id, voterOrganizationId: actor.organizationId });
}
