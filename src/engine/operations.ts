import type { TSchema } from "typebox";
import type { OnlyFor } from "../authority/callers.ts";
import type { Change } from "../authority/changes.ts";
import type { Actor, Subject } from "../authority/parties.ts";
import type { AuthorityView } from "../authority/view.ts";
import type { IdFor } from "../kernel/ids.ts";
import type { EvaluateCondition } from "../policy/compile.ts";
import type { ConditionFacts } from "../policy/facts.ts";
import type { Signer } from "../signer/client.ts";
import type { AddressReference, SignerVerb } from "../signer/protocol.ts";
import type { Reader, Transactor } from "../storage/engine.ts";
import type { Schema } from "../storage/schema.ts";
import type { DecisionBudget, RequestBudget } from "./decisions/budget.ts";

/**
 * Operations as the engine handles them, without the types of their intents and results. `declare.ts` produces them from declarations; the
 * contexts below are generic so that `declare.ts` can fill those types in.
 */

/** The organization a request is for. */
export interface Organization {
  id: string;
  parentId: string | null;
  name: string;
  /** The organization's key, sealed under the root key. */
  sealedKey: Uint8Array;
  quorumThreshold: number;
  /** Incremented with every change of its policies. */
  policiesVersion: number;
  /** Whether it was deleted and a job is still erasing its rows. Nothing of it is shown. */
  isErasing: boolean;
}

/** Somebody whom a request makes a user, with the credential that the request registers and is stamped with. */
export interface Newcomer {
  userName: string;
  credential:
    | { type: string; publicKey: string }
    | {
        type: "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR";
        credentialId: string;
        /** COSE. */
        publicKey: Uint8Array;
        rpIdHash: Uint8Array;
        /** Any origin if undefined. */
        allowedOrigins: readonly string[] | undefined;
      };
}

/** What decides whether somebody may become a user. */
export interface MeetingContext<Intent = unknown> {
  /** In the newest version's form. */
  intent: Intent;
  read: Reader;
  /** As in the request; it may not exist. */
  organizationId: string;
  /** Milliseconds. */
  now: number;
}

/** Facts for policies that an operation provides. The engine adds those of the activity itself. */
export type PolicyFacts = Omit<ConditionFacts, "activity">;

/** The context of rules about the intent alone, which run before the sender is authorized. */
export interface CheckingContext {
  /** The organization on whose account long work takes its turns. */
  organizationId: string;
}

/** The context that all functions of an activity share. */
export interface ActivityContext<Intent = unknown, Plan = unknown> {
  /** In the newest version's form. */
  intent: Intent;
  /** The plan, for operations that have one. */
  plan: Plan;
  organization: Organization;
}

/** What tells where an activity of a parent's user is carried out. */
export interface ActivityPlace<Intent = unknown> {
  /** In the newest version's form. */
  intent: Intent;
  read: Reader;
  /** The parent. */
  organization: Organization;
}

/** What a plan is made from. */
export interface Planning<Intent = unknown> {
  /** In the newest version's form. */
  intent: Intent;
  organization: Organization;
  /** The user who submits the activity. */
  submitterId: string;
  /** Milliseconds. */
  now: number;
}

export interface PreparingContext<Intent = unknown, Plan = unknown> extends ActivityContext<Intent, Plan> {
  read: Reader;
  /** The user who asked first. */
  submitterId: string;
  /** The user who submitted the activity, with the credential that they used. */
  submitter: Actor;
  /** The IP address of the request or vote that causes it to be carried out, if it is known. */
  remoteAddress: string | undefined;
  id: IdFor;
  /** Milliseconds. */
  now: number;
  /** What may be spent on evaluating conditions. */
  budget: RequestBudget;
}

export interface ChangingContext<Intent = unknown, Plan = unknown, Prepared = unknown>
  extends ActivityContext<Intent, Plan> {
  prepared: Prepared;
  view: AuthorityView;
  /** The view of the parent, which owns the session profiles; the organization's own view if it has no parent. */
  parentView: AuthorityView;
  /** Evaluates conditions within the budget. Call it after all other checks, because `change` may run several times. */
  evaluate: EvaluateCondition;
  id: IdFor;
  /** The user who asked first. */
  submitterId: string;
  /** Milliseconds; the one time of the whole activity. */
  now: number;
}

export interface AnsweringContext<Intent = unknown, Prepared = unknown> {
  intent: Intent;
  prepared: Prepared;
  changes: readonly Change[];
  /** The view after the changes. */
  view: AuthorityView;
  id: IdFor;
}

export interface StoringContext<Intent = unknown, Prepared = unknown> extends Omit<ActivityContext<Intent>, "plan"> {
  tx: Transactor;
  prepared: Prepared;
  id: IdFor;
  /** Milliseconds; the one time of the whole activity. */
  now: number;
  /** The changes that `change` returned; they are written already. */
  changes: readonly Change[];
}

export interface RunningContext<Intent = unknown, Plan = unknown, Prepared = unknown>
  extends ActivityContext<Intent, Plan> {
  tx: Transactor;
  prepared: Prepared;
  activityId: string;
  /** The fingerprint of the activity's body: `sha256:` followed by hex. */
  fingerprint: string;
  id: IdFor;
  /** The user whose request or vote causes it to be carried out. */
  actor: Actor;
  /** The user who asked first. */
  submitterId: string;
  /** Milliseconds; the one time of the whole activity. */
  now: number;
  /** What may be spent on evaluating conditions. */
  budget: DecisionBudget;
}

export interface PerformingContext<Intent = unknown, Plan = unknown> extends ActivityContext<Intent, Plan> {
  read: Reader;
  activityId: string;
  /** The number of earlier attempts. */
  attempts: number;
  /** The last note of an earlier attempt, and how to store one. A note is stored immediately, whatever the outcome of the attempt. */
  noted: unknown;
  note: (what: object | undefined) => Promise<void>;
  /** Milliseconds. */
  now: number;
}

/** The outcome of an attempt to perform an effect: the activity's result, or when to try again. */
export type Performed<Result = unknown> =
  | { done: Result }
  /** `reason` is for the operator. */
  | { retryInMs: number; reason: string };

/** The outside effect of an activity, performed after its commit. It is idempotent. */
export interface Effect {
  perform: (context: PerformingContext) => Promise<Performed>;
  /** What the effect depends on, such as a chain. */
  gate: (plan: unknown) => string;
}

/** One version of an activity on the wire. */
export interface ActivityVersion {
  type: string;
  intentKey: string;
  resultKey: string;
  intent: TSchema;
  result: TSchema;
  upgrade: (intent: unknown) => unknown;
  resultFrom: (result: unknown) => unknown;
}

/** What an operation receives besides its context: services by name, and verbs of the signer. It receives nothing else. */
export interface Wants {
  needs: readonly string[];
  asks: readonly SignerVerb[];
}

export interface ActivityOperation extends Wants {
  kind: "activity";
  path: string;
  summary: string;
  isExtension: boolean;
  only?: OnlyFor;
  findsSubOrganization?: true;
  byParents?: true;
  carriedOutIn?: (context: ActivityPlace) => Promise<string | undefined>;
  stampedWith?: string;
  newcomer?: (context: MeetingContext) => Promise<Newcomer>;
  takesAppProofs: boolean;
  /** Versions by activity type, newest first. */
  versions: ReadonlyMap<string, ActivityVersion>;
  subject: (intent: unknown) => Subject;
  policyFacts: (context: ActivityContext & { read: Reader }) => Promise<PolicyFacts>;
  check: (intent: unknown, context: CheckingContext) => void | Promise<void>;
  plan?: { schema: TSchema; make: (context: Planning & { read: Reader }) => Promise<unknown> };
  prepare?: (context: PreparingContext) => Promise<unknown>;
  addresses: (context: { intent: unknown; prepared: unknown }) => readonly AddressReference[];
  concurrent: boolean;
  /** How the activity is carried out: by pure changes of authority, or by any other work in the transaction. */
  carryOut:
    | {
        by: "changes";
        change: (context: ChangingContext) => readonly Change[];
        answer: (context: AnsweringContext) => unknown;
        /** Stores what accompanies the changes, after they are written. */
        alsoStore: (context: StoringContext) => Promise<void>;
      }
    | { by: "run"; run: (context: RunningContext) => Promise<unknown> };
  effect?: Effect;
}

export interface QueryingContext<Request = unknown> {
  request: Request;
  read: Reader;
  organization: Organization;
  actor: Actor;
  /** Milliseconds. */
  now: number;
  /** What may be spent on deciding. */
  budget: RequestBudget;
  takeRoom: TakeRoom;
}

/** Waits for room in memory for the stored bytes that a request is about to read for its answer. Called at most once per request. */
export type TakeRoom = (bytes: number) => Promise<void>;

export interface QueryOperation extends Wants {
  kind: "query";
  path: string;
  summary: string;
  isExtension: boolean;
  only?: OnlyFor;
  findsSubOrganization?: true;
  request: TSchema;
  response: TSchema;
  /** `signer` is present if the operation asks any verbs. */
  run: (context: QueryingContext & { signer?: Pick<Signer, "ask"> }) => Promise<unknown>;
}

/** A vote on an activity: `approve_activity` or `reject_activity`. */
export interface VoteOperation {
  kind: "vote";
  path: string;
  summary: string;
  selection: "VOTE_SELECTION_APPROVED" | "VOTE_SELECTION_REJECTED";
  type: string;
}

export type Operation = ActivityOperation | QueryOperation | VoteOperation;

/** The tables that belong to organizations. */
export type OwnedTable = {
  [Table in keyof Schema]: Schema[Table] extends { organization_id: string } ? Table : never;
}[keyof Schema];

/** All operations of the server. Routing, documentation and the generated tests are derived from it. */
export interface Registry {
  readonly operations: readonly Operation[];
  /** The operation behind a request path such as `/public/v1/submit/create_users`. */
  byPath(path: string): Operation | undefined;
  /** The declaration behind an activity type, if there is one. */
  findActivityOfType(type: string): { operation: ActivityOperation; version: ActivityVersion } | undefined;
  /** The declaration behind a stored activity. */
  activityOfType(type: string): { operation: ActivityOperation; version: ActivityVersion };
}
