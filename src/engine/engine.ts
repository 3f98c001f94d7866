import { isByParent, refuseOtherKind, refuseOtherOrganization, refuseUnfitType } from "../authority/callers.ts";
import { fingerprintOf } from "../crypto/fingerprint.ts";
import type { Clock } from "../kernel/clock.ts";
import { fail, KeysteadError } from "../kernel/errors.ts";
import { LARGE_JSON_BYTES, MAX_VOTE_BODY_BYTES } from "../kernel/limits.ts";
import { inSpan } from "../kernel/spans.ts";
import { OutOfBudget } from "../policy/budget.ts";
import { askedBy, type Signer } from "../signer/client.ts";
import type { Database } from "../storage/database.ts";
import type { Reader } from "../storage/engine.ts";
import { type ActivityObserver, type Ballot, identifiers } from "./activities/ballot.ts";
import { MonthlyQuota } from "./activities/monthly-quota.ts";
import { findActivityByFingerprint } from "./activities/rows.ts";
import { sizeOfActivityByFingerprint } from "./activities/size.ts";
import { castVote, submit } from "./activities/submit.ts";
import type { ActivityView } from "./activities/view.ts";
import type { Admission } from "./admission.ts";
import { RequestBudget } from "./decisions/budget.ts";
import { claimedOrganizationId, parseBody, parseSubmission, parseVote } from "./envelope.ts";
import { authenticate, type Principal, refuseUnfitKind, type StampedBody } from "./identity/authenticate.ts";
import type { Reach } from "./identity/credential-kind.ts";
import { type DecodedStamp, decodeStamp, type StampHeaders } from "./identity/credential-kinds.ts";
import { firstUses } from "./identity/first-uses.ts";
import { stampOfNewcomer } from "./identity/newcomers.ts";
import { findOrganization } from "./identity/organizations.ts";
import { stampOfSpentKey } from "./identity/spent-keys.ts";
import type { ActivityOperation, Operation, QueryOperation, Registry, TakeRoom, VoteOperation } from "./operations.ts";
import { isRefusedAuthentication, noAudit, type RequestAudit } from "./request-audit.ts";
import { type Services, servicesFor, signerFor } from "./services.ts";
import { validate } from "./validate.ts";

export interface EngineOptions {
  registry: Registry;
  database: Database;
  signer: Signer;
  clock: Clock;
  observer: ActivityObserver;
  services: Services;
  admission: Admission;
  /** Since when the installation has been running on a restored backup; undefined if it was never restored. */
  restoredSince?: number | undefined;
  /** @throws KeysteadError while writes are not accepted, for example during maintenance */
  refuseWrites: () => void;
  /** Default: none. */
  audit?: RequestAudit | undefined;
}

/** What the listener knows of a request from its headers. */
export interface RequestOrigin {
  stamps: StampHeaders;
  /** The client's IP address, if it is known. */
  remoteAddress: string | undefined;
  /** Whether it is exempt from IP allowlists. Default: false. */
  isExempt?: boolean;
  /** Called with the sender, once authenticated. */
  onPrincipal: (principal: Principal) => void;
  /** Whether the client is still connected. */
  isWanted: () => boolean;
}

/** An answer before the wire format is applied: the times of `activity` and `activities` are in milliseconds. */
export type Answer = { activity: ActivityView } | Record<string, unknown>;

/** Handles every request: verifies its stamp, finds the user, then runs the operation. */
export interface Engine {
  readonly registry: Registry;
  /**
   * Checks the form of a request's stamp and returns a function that handles the request once its body was received.
   *
   * @throws KeysteadError with a 401 or RATE_LIMITED, before the body is read
   */
  accept(operation: Operation, origin: RequestOrigin): (body: Buffer) => Promise<Answer>;
}

export function createEngine(options: EngineOptions): Engine {
  const { registry, database, signer, clock, observer, services, admission, refuseWrites, audit = noAudit } = options;
  const { restoredSince } = options;
  const monthlyQuota = new MonthlyQuota(database.read, clock);
  const activities = { registry, database, signer, observer, services, admission, monthlyQuota };
  const noteFirstUse = firstUses(database);
  const narrowTypes = narrowTypesOf(registry);

  function accept(operation: Operation, origin: RequestOrigin): (body: Buffer) => Promise<Answer> {
    const { stamps, remoteAddress, isExempt = false, onPrincipal, isWanted } = origin;
    const auditRefusal = (error: unknown, body?: Buffer) => {
      if (!isRefusedAuthentication(error)) return;
      const organizationId = () => body && namedOrganizationId(body);
      audit.refused({ reason: error.code, operation: operation.path, organizationId, remoteAddress });
    };
    const stamp = fittingStamp(operation, stamps, auditRefusal);
    admission.refuseFailing(remoteAddress, stamp.kind.keyOf(stamp.decoded));
    const reach = reachOf(operation);
    return async (body) => {
      try {
        return await answer(body);
      } catch (error) {
        auditRefusal(error, body);
        throw error;
      }
    };

    async function answer(body: Buffer): Promise<Answer> {
      const by = { stamp, reach, remoteAddress, isExempt };
      const known = await inSpan("authenticate", () => identify(operation, by, body));
      onPrincipal(known.principal);
      const leave = await admission.enter(known.principal, remoteAddress, body.length);
      let giveRoomBack: (() => void) | undefined;
      const takeRoom: TakeRoom = async (bytes) => {
        if (giveRoomBack) throw new Error("a request takes room once: what it took first would never be given back");
        giveRoomBack = await admission.reading(known.principal.organization.id, bytes);
      };
      try {
        return await handle(operation, known, { remoteAddress, isWanted, takeRoom });
      } catch (error) {
        throw tooCostly(error);
      } finally {
        giveRoomBack?.();
        leave();
      }
    }
  }

  async function identify(
    operation: Operation,
    by: Pick<StampedBody, "stamp" | "reach" | "remoteAddress" | "isExempt">,
    body: Buffer,
  ): Promise<KnownRequest> {
    const { remoteAddress } = by;
    const leave = await admission.identify(remoteAddress, by.stamp.kind.keyOf(by.stamp.decoded));
    try {
      const organizationId = claimedOrganizationId(body);
      const now = clock();
      const stamp = stampFor(operation, by.stamp, body, now);
      const principal = await authenticate(database.read, {
        ...by,
        stamp,
        body,
        organizationId,
        oidc: services.oidc,
        now,
      });
      return { body, organizationId, principal, now };
    } catch (error) {
      admission.countFailure(error, remoteAddress, body.length);
      throw error;
    } finally {
      leave();
    }
  }

  /**
   * Extends the stamp by where else to look its credential up: in the request, if the operation makes its sender a user, and among
   * expired or used-up credentials, if the operation uses its own credential up.
   */
  function stampFor(operation: Operation, stamp: DecodedStamp, body: Buffer, now: number): DecodedStamp {
    if (operation.kind !== "activity") return stamp;
    if (operation.stampedWith) return stampOfSpentKey(stamp, fingerprintOf(body));
    if (!operation.newcomer) return stamp;
    const { newcomer } = operation;
    const meet = async (read: Reader, organizationId: string) => {
      if (body.length > LARGE_JSON_BYTES) fail("BODY_TOO_LARGE", { maxBytes: LARGE_JSON_BYTES });
      const parsed = await parseBody(body, organizationId);
      const context = { ...servicesFor(services, operation.needs), organizationId };
      const { intent } = await parseSubmission(operation, parsed, { now, restoredSince }, context);
      return newcomer({ intent, read, organizationId, now });
    };
    return stampOfNewcomer(stamp, body, { oidc: services.oidc, meet });
  }

  async function handle(
    operation: Operation,
    known: KnownRequest,
    origin: Pick<RequestOrigin, "remoteAddress" | "isWanted"> & { takeRoom: TakeRoom },
  ): Promise<Answer> {
    const { body, organizationId, principal } = known;
    if (operation.kind !== "query") refuseWrites();
    const parsed = await parseBody(body, organizationId);
    refuseUnfitType(operation, principal.actor.credential, narrowTypes);
    refuseOtherKind(operation, principal);
    const request = { ...known, ...origin, parsed, budget: new RequestBudget(principal.organization.id) };
    if (operation.kind === "query") return answerQuery(operation, request);
    audit.refuseWhenFull();
    const activity =
      operation.kind === "activity" ? await submitActivity(operation, request) : await voteOn(operation, request);
    return { activity };
  }

  async function answerQuery(operation: QueryOperation, request: ReadRequest): Promise<Answer> {
    const { parsed, principal, now, budget, takeRoom } = request;
    validate(operation.request, parsed, "");
    const { organization, actor } = principal;
    const given = {
      ...servicesFor(services, operation.needs),
      ...(operation.asks.length === 0 ? {} : { signer: signerOfQuery(operation, request) }),
    };
    const context = { request: parsed, read: database.read, organization, actor, now, budget, takeRoom };
    const answer = await operation.run({ ...given, ...context });
    noteFirstUse(principal, now);
    return answer as Answer;
  }

  /** The signer checks what a query asks of it against the query's body, although a query changes nothing. */
  function signerOfQuery(
    { asks, path }: QueryOperation,
    { body, principal, isWanted }: ReadRequest,
  ): Pick<Signer, "ask"> {
    const occasion = { body: body.toString(), ballots: [] };
    return signerFor(askedBy(signer, { organizationId: principal.organization.id, isWanted, occasion }), asks, path);
  }

  async function submitActivity(operation: ActivityOperation, request: ReadRequest): Promise<ActivityView> {
    const { body, organizationId, parsed, now } = request;
    const principal = await actingFrom(database.read, operation, request.principal);
    const context = { ...servicesFor(services, operation.needs), organizationId };
    const submission = await parseSubmission(operation, parsed, { now, restoredSince }, context);
    const fingerprint = fingerprintOf(body);
    if (operation.newcomer) await refuseUser(database.read, operation, principal, fingerprint);
    return submit(activities, operation, submission, fingerprint, ballotOf(request, principal));
  }

  async function voteOn({ type, selection }: VoteOperation, request: ReadRequest): Promise<ActivityView> {
    const { body, principal, parsed, now, takeRoom } = request;
    refuseOtherOrganization(principal);
    if (body.length > MAX_VOTE_BODY_BYTES) fail("BODY_TOO_LARGE", { maxBytes: MAX_VOTE_BODY_BYTES });
    const { fingerprint } = parseVote(type, parsed, { now, restoredSince });
    const which = { organizationId: principal.organization.id, fingerprint };
    await takeRoom(await sizeOfActivityByFingerprint(database.read, which));
    return castVote(activities, fingerprint, { ...ballotOf(request, principal), selection });
  }

  return { registry, accept };
}

/** A request that exceeds its budget of work fails with an error of the client's; it has changed nothing. */
const tooCostly = (error: unknown): unknown =>
  error instanceof OutOfBudget ? new KeysteadError("DECISION_TOO_COSTLY", {}, []) : error;

/** The stamp, if its kind may be used for the operation. */
function fittingStamp(operation: Operation, stamps: StampHeaders, onRefused: (error: unknown) => void): DecodedStamp {
  try {
    const stamp = decodeStamp(stamps);
    refuseUnfitKind(stamp.kind, operation);
    return stamp;
  } catch (error) {
    onRefused(error);
    throw error;
  }
}

/** The organization id in a body, if there is one. */
function namedOrganizationId(body: Buffer): string | undefined {
  try {
    return claimedOrganizationId(body);
  } catch {
    return undefined;
  }
}

/** An authenticated request. */
interface KnownRequest {
  /** The exact bytes that were stamped. */
  body: Buffer;
  organizationId: string;
  principal: Principal;
  /** Milliseconds. */
  now: number;
}

/** The same, with its body read and what answering it may take. */
interface ReadRequest extends KnownRequest, Pick<RequestOrigin, "remoteAddress" | "isWanted"> {
  parsed: Record<string, unknown>;
  budget: RequestBudget;
  takeRoom: TakeRoom;
}

/** What the request says on an activity, in the name of who sent it. */
const ballotOf = (
  { body, now, remoteAddress, isWanted, budget }: ReadRequest,
  principal: Principal,
): Omit<Ballot, "selection"> => ({
  principal,
  message: body.toString(),
  now,
  id: identifiers(),
  remoteAddress,
  isWanted,
  budget,
});

const reachOf = (operation: Operation): Reach =>
  operation.kind !== "vote" && operation.findsSubOrganization ? "subOrganizations" : "organization";

/** The credential types that exist for certain activities only. */
const narrowTypesOf = ({ operations }: Registry): ReadonlySet<string> =>
  new Set(operations.flatMap((each) => (each.kind === "activity" && each.stampedWith ? [each.stampedWith] : [])));

/**
 * The principal, if a user of the parent acts in a sub-organization and the operation allows that. The parent decides on the activity and
 * stores it; it is carried out in the sub-organization.
 */
async function actingFrom(read: Reader, operation: ActivityOperation, principal: Principal): Promise<Principal> {
  const { organizationId } = principal.actor;
  const organization = isByParent(operation, principal) ? await findOrganization(read, organizationId) : undefined;
  if (organization) return { ...principal, organization };
  refuseOtherOrganization(principal);
  return principal;
}

/** Somebody who is a user already may only repeat the request that made them one. */
async function refuseUser(
  read: Reader,
  { path }: ActivityOperation,
  { isNewcomer, organization: { id: organizationId } }: Principal,
  fingerprint: string,
): Promise<void> {
  if (isNewcomer || (await findActivityByFingerprint(read, organizationId, fingerprint))) return;
  fail("CREDENTIAL_IN_USE", { organizationId, path });
}
