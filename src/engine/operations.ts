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
 * Operations as the engine handles them: what `declare.ts` makes of declarations, whose own types are not known here. What an operation's
 * functions are told is said here with those types left open, and `declare.ts` fills them in.
 */

/** The organization a request is for. */
export interface Organization {
  id: string;
  parentId: string | null;
  name: string;
  /** The organization's key, sealed under the root key. */
  sealedKey: Uint8Array;
  quorumThreshold: number;
  /** Rises with every change to its policies. */
  policiesVersion: number;
  /** Whether it was deleted and still has rows, of which nothing is shown. */
  isErasing: boolean;
}

/** Somebody who becomes a user by a request, with the credential that it registers and that stamps it. */
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
        /** Undefined: any. */
        allowedOrigins: readonly string[] | undefined;
      };
}

/** What a newcomer is let in by. */
export interface MeetingContext<Intent = unknown> {
  /** In the newest version's form. */
  intent: Intent;
  read: Reader;
  /** As the request names it; there may be no such organization. */
  organizationId: string;
  /** Milliseconds. */
  now: number;
}

/** Facts that belong to an operation; the engine adds the activity's own. */
export type PolicyFacts = Omit<ConditionFacts, "activity">;

/** What rules on the intent alone are told: there is nobody yet whom they could be about. */
export interface CheckingContext {
  /** Whose turns long work takes. */
  organizationId: string;
}

/** What every part of an activity is told. */
export interface ActivityContext<Intent = unknown, Plan = unknown> {
  /** In the newest version's form. */
  intent: Intent;
  /** What was planned, for operations that plan. */
  plan: Plan;
  organization: Organization;
}

/** Where something is asked for, by who may have it done elsewhere. */
export interface ActivityPlace<Intent = unknown> {
  /** In the newest version's form. */
  intent: Intent;
  read: Reader;
  /** The parent. */
  organization: Organization;
}

/** What a plan is made for. */
export interface Planning<Intent = unknown> {
  /** In the newest version's form. */
  intent: Intent;
  organization: Organization;
  /** The user who asks. */
  submitterId: string;
  /** Milliseconds. */
  now: number;
}

export interface PreparingContext<Intent = unknown, Plan = unknown> extends ActivityContext<Intent, Plan> {
  read: Reader;
  /** The user who asked first. */
  submitterId: string;
  /** The same, by the credential that they asked with. */
  submitter: Actor;
  /** The IP address that the request or vote came from which has it carried out; undefined where that is not known. */
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
  /** The parent's, which has the session profiles; the same for an organization without one. */
  parentView: AuthorityView;
  /** Evaluates conditions, within what may be spent on it. What else is looked at comes before: it may be run several times. */
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
  /** As the changes leave it. */
  view: AuthorityView;
  id: IdFor;
}

export interface StoringContext<Intent = unknown, Prepared = unknown> extends Omit<ActivityContext<Intent>, "plan"> {
  tx: Transactor;
  prepared: Prepared;
  id: IdFor;
  /** Milliseconds; the one time of the whole activity. */
  now: number;
  /** What `change` came to, written already. */
  changes: readonly Change[];
}

export interface RunningContext<Intent = unknown, Plan = unknown, Prepared = unknown>
  extends ActivityContext<Intent, Plan> {
  tx: Transactor;
  prepared: Prepared;
  activityId: string;
  /** Of the activity's body: `sha256:` and hex. */
  fingerprint: string;
  id: IdFor;
  /** Whose request or vote has it carried out. */
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
  /** Tries before this one. */
  attempts: number;
  /** What the tries before have noted last, and how this one does so: it is stored at once, whatever comes of the try. */
  noted: unknown;
  note: (what: object | undefined) => Promise<void>;
  /** Milliseconds. */
  now: number;
}

/** How far an outside effect is: done, with the activity's result, or to be gone on with. */
export type Performed<Result = unknown> =
  | { done: Result }
  /** `reason` is for the operator. */
  | { retryInMs: number; reason: string };

/** The part of an activity that happens outside, after its commit. It can be repeated. */
export interface Effect {
  perform: (context: PerformingContext) => Promise<Performed>;
  /** What it waits for, such as a chain. */
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

/** What an operation is given beside its context, and nothing else: services by name, and verbs of the signer. */
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
  /** By activity type; the newest first. */
  versions: ReadonlyMap<string, ActivityVersion>;
  subject: (intent: unknown) => Subject;
  policyFacts: (context: ActivityContext & { read: Reader }) => Promise<PolicyFacts>;
  check: (intent: unknown, context: CheckingContext) => void | Promise<void>;
  plan?: { schema: TSchema; make: (context: Planning & { read: Reader }) => Promise<unknown> };
  prepare?: (context: PreparingContext) => Promise<unknown>;
  addresses: (context: { intent: unknown; prepared: unknown }) => readonly AddressReference[];
  concurrent: boolean;
  /** What the activity does: changes of authority, which are pure, or anything else in the transaction. */
  carryOut:
    | {
        by: "changes";
        change: (context: ChangingContext) => readonly Change[];
        answer: (context: AnsweringContext) => unknown;
        /** What is stored beside the changes, after them. */
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

/** Waits, once in a request, until there is room for the stored bytes that it is about to read for its answer. */
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
  /** The signer is there where the operation asks it something. */
  run: (context: QueryingContext & { signer?: Pick<Signer, "ask"> }) => Promise<unknown>;
}

/** A user's vote on somebody's activity: `approve_activity` and `reject_activity`. */
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

/** Every operation of the service; routing, documentation and the generated tests derive from it. */
export interface Registry {
  readonly operations: readonly Operation[];
  /** The operation behind a request path such as `/public/v1/submit/create_users`. */
  byPath(path: string): Operation | undefined;
  /** The declaration behind an activity type, if there is one. */
  findActivityOfType(type: string): { operation: ActivityOperation; version: ActivityVersion } | undefined;
  /** The declaration behind a stored activity. */
  activityOfType(type: string): { operation: ActivityOperation; version: ActivityVersion };
}
