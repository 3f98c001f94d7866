import type { Clock } from "../kernel/clock.ts";
import { fail, KeysteadError } from "../kernel/errors.ts";
import { MAX_VOTE_BODY_BYTES } from "../kernel/limits.ts";
import { OutOfBudget } from "../policy/budget.ts";
import type { Signer } from "../signer/client.ts";
import type { Database } from "../storage/database.ts";
import type { Reader } from "../storage/engine.ts";
import { type ActivityObserver, identifiers } from "./activities/ballot.ts";
import { sizeOfActivityByFingerprint } from "./activities/size.ts";
import { castVote, submit } from "./activities/submit.ts";
import type { ActivityView } from "./activities/view.ts";
import type { Admission } from "./admission.ts";
import { RequestBudget } from "./decisions/budget.ts";
import { claimedOrganizationId, parseBody, parseSubmission, parseVote } from "./envelope.ts";
import {
  authenticate,
  fingerprintOf,
  type Principal,
  refuseUnfitKind,
  type StampedBody,
} from "./identity/authenticate.ts";
import type { Reach } from "./identity/credential-kind.ts";
import { decodeStamp, type StampHeaders } from "./identity/credential-kinds.ts";
import { firstUses } from "./identity/first-uses.ts";
import { findOrganization } from "./identity/organizations.ts";
import type { ActivityOperation, Operation, Registry, TakeRoom } from "./operations.ts";
import { type Services, servicesFor } from "./services.ts";
import { validate } from "./validate.ts";

export interface EngineOptions {
  registry: Registry;
  database: Database;
  signer: Signer;
  clock: Clock;
  observer: ActivityObserver;
  services: Services;
  admission: Admission;
}

/** A request as far as its headers go, as the network layer hands it over. */
export interface RequestOrigin {
  stamps: StampHeaders;
  /** The client's IP address; undefined where it is not known. */
  remoteAddress: string | undefined;
  /** Told who sends it, once that is known. */
  onPrincipal: (principal: Principal) => void;
  /** Whether the client still waits for the answer. */
  isWanted: () => boolean;
}

/** The answer, before the wire rules: `activity` and `activities` members carry times in milliseconds. */
export type Answer = { activity: ActivityView } | Record<string, unknown>;

/** The way of every request: stamp, user, then the operation of the path. */
export interface Engine {
  readonly registry: Registry;
  /**
   * Takes a request on by its stamp's form, and gives what answers it once its exact bytes are there.
   *
   * @throws KeysteadError with a 401 or RATE_LIMITED, before any of the body is read
   */
  accept(operation: Operation, origin: RequestOrigin): (body: Buffer) => Promise<Answer>;
}

export function createEngine(options: EngineOptions): Engine {
  const { registry, database, signer, clock, observer, services, admission } = options;
  const activities = { registry, database, signer, observer, services, admission };
  const noteFirstUse = firstUses(database);
  const narrowTypes = narrowTypesOf(registry);

  function accept(operation: Operation, origin: RequestOrigin): (body: Buffer) => Promise<Answer> {
    const { stamps, remoteAddress, onPrincipal, isWanted } = origin;
    const stamp = decodeStamp(stamps);
    refuseUnfitKind(stamp.kind, operation.noun);
    admission.refuseFailing(remoteAddress, stamp.kind.keyOf(stamp.decoded));
    const reach = reachOf(operation);
    return async (body) => {
      const known = await identify({ stamp, reach, remoteAddress }, body);
      onPrincipal(known.principal);
      const leave = await admission.enter(known.principal, body.length);
      let giveRoomBack = () => {};
      const takeRoom: TakeRoom = async (bytes) => {
        giveRoomBack = await admission.reading(known.principal.organization.id, bytes);
      };
      try {
        return await handle(operation, known, { isWanted, takeRoom });
      } catch (error) {
        throw tooCostly(error);
      } finally {
        giveRoomBack();
        leave();
      }
    };
  }

  async function identify(
    by: Pick<StampedBody, "stamp" | "reach" | "remoteAddress">,
    body: Buffer,
  ): Promise<KnownRequest> {
    const { stamp, remoteAddress } = by;
    const leave = await admission.identify(remoteAddress, stamp.kind.keyOf(stamp.decoded));
    try {
      const organizationId = claimedOrganizationId(body);
      const now = clock();
      const principal = await authenticate(database.read, { ...by, body, organizationId, now });
      return { body, organizationId, principal, now };
    } catch (error) {
      admission.countFailure(error, remoteAddress, body.length);
      throw error;
    } finally {
      leave();
    }
  }

  async function handle(
    operation: Operation,
    { body, organizationId, principal, now }: KnownRequest,
    { isWanted, takeRoom }: { isWanted: () => boolean; takeRoom: TakeRoom },
  ): Promise<Answer> {
    const parsed = await parseBody(body, organizationId);
    refuseUnfitType(operation, principal, narrowTypes);
    refuseOtherKind(operation, principal);
    const budget = new RequestBudget(principal.organization.id);

    switch (operation.noun) {
      case "query": {
        validate(operation.request, parsed, "");
        const { organization, actor } = principal;
        const { read } = database;
        const given = servicesFor(services, operation.needs);
        const context = { request: parsed, read, organization, actor, now, budget, takeRoom };
        const answer = await operation.run({ ...given, ...context });
        noteFirstUse(principal, now);
        return answer as Answer;
      }
      case "activity": {
        const acting = await actingFrom(database.read, operation, principal);
        const submission = await parseSubmission(operation, parsed, now, servicesFor(services, operation.needs));
        const ballot = { principal: acting, message: body.toString(), now, id: identifiers(), isWanted, budget };
        return { activity: await submit(activities, operation, submission, fingerprintOf(body), ballot) };
      }
      case "vote": {
        refuseOtherOrganization(principal);
        if (body.length > MAX_VOTE_BODY_BYTES) fail("BODY_TOO_LARGE", { maxBytes: MAX_VOTE_BODY_BYTES });
        const { fingerprint } = parseVote(operation.type, parsed, now);
        const which = { organizationId: principal.organization.id, fingerprint };
        await takeRoom(await sizeOfActivityByFingerprint(database.read, which));
        const { selection } = operation;
        const ballot = { principal, message: body.toString(), now, id: identifiers(), isWanted, budget, selection };
        return { activity: await castVote(activities, fingerprint, ballot) };
      }
    }
  }

  return { registry, accept };
}

/** Whatever took too much work has changed nothing. */
const tooCostly = (error: unknown): unknown =>
  error instanceof OutOfBudget ? new KeysteadError("DECISION_TOO_COSTLY", {}, []) : error;

/** A request whose sender is known. */
interface KnownRequest {
  /** The exact bytes that were stamped. */
  body: Buffer;
  organizationId: string;
  principal: Principal;
  /** Milliseconds. */
  now: number;
}

const reachOf = (operation: Operation): Reach =>
  operation.noun !== "vote" && operation.findsSubOrganization ? "subOrganizations" : "organization";

/** The types of credential that are made for certain activities. */
const narrowTypesOf = ({ operations }: Registry): ReadonlySet<string> =>
  new Set(operations.flatMap((each) => (each.noun === "activity" && each.stampedWith ? [each.stampedWith] : [])));

/** A credential that is made for certain activities stamps nothing else but queries, and they take no other. */
function refuseUnfitType(operation: Operation, { actor }: Principal, narrowTypes: ReadonlySet<string>): void {
  if (operation.noun === "query") return;
  const { type } = actor.credential;
  const wanted = operation.noun === "activity" ? operation.stampedWith : undefined;
  if (type === wanted || (wanted === undefined && !narrowTypes.has(type))) return;
  const { path } = operation;
  fail("CREDENTIAL_TYPE_UNFIT", { type, path });
}

/** Some operations are for parents or for sub-organizations alone. A parent's user is one wherever it is to be done. */
function refuseOtherKind(operation: Operation, { organization, actor }: Principal): void {
  if (operation.noun === "vote" || operation.only === undefined) return;
  const { path } = operation;
  const isParents = operation.noun === "activity" && operation.byParents && actor.organizationId !== organization.id;
  const isParent = organization.parentId === null || isParents === true;
  if (isParent === (operation.only === "parents")) return;
  const [whom, what] = isParent
    ? ["for sub-organizations alone", "a parent"]
    : ["for parent organizations alone", "a sub-organization"];
  fail("INVALID_CALLER", { path, whom, what, organizationId: organization.id });
}

/**
 * A parent's user who acts in a sub-organization, where the operation is for that: the parent decides on it and keeps it, and it is
 * carried out in the sub-organization.
 */
async function actingFrom(read: Reader, operation: ActivityOperation, principal: Principal): Promise<Principal> {
  const { organization: target, actor } = principal;
  if (actor.organizationId === target.id || !operation.byParents) {
    refuseOtherOrganization(principal);
    return principal;
  }
  const organization = await findOrganization(read, actor.organizationId);
  return organization ? { ...principal, organization, target } : principal;
}

/** A parent's keys may read its sub-organizations; acting in one takes a user of its own. */
function refuseOtherOrganization({ organization, actor }: Principal): void {
  if (actor.organizationId === organization.id) return;
  fail("ORGANIZATION_MISMATCH", { organizationId: organization.id, voterOrganizationId: actor.organizationId });
}
