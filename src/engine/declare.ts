import type { Static, TSchema } from "typebox";
import type { OutboundPolicy } from "../delivery/url-rules.ts";
import type { ConditionFacts } from "../policy/facts.ts";
import type { Signer } from "../signer/client.ts";
import type { AddressReference } from "../signer/protocol.ts";
import type { Reader, Transactor } from "../storage/engine.ts";
import type { Registry } from "./registry.ts";

/** The nouns that operations are declared with. A declaration is all there is to an operation; the rest derives from it. */

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
}

/** The user behind a stamp, as of the last look at the database. */
export interface Actor {
  userId: string;
  userName: string;
  /** The user's own organization: the request's, or its parent. */
  organizationId: string;
  isRootQuorumMember: boolean;
  /** Whether there are MFA policies to look at. */
  hasMfaPolicies: boolean;
  credential: {
    id: string;
    type: string;
    /** Of a session that is limited to what its profile allows. */
    sessionProfileId?: string;
  };
}

/** Which organizations an operation is for, where it is not for all. */
export type OnlyFor = "parents" | "subOrganizations";

/** What an activity is about, for whoever decides about it. It states facts and decides nothing. */
export type Subject =
  /** No policy is asked; MFA policies and session profiles see the action on the ORGANIZATION, UPDATE unless said. */
  | { governedBy: "rootQuorum"; action?: "DELETE" }
  | {
      governedBy: "policies";
      resource:
        | "CONFIG"
        | "CREDENTIAL"
        | "INVITATION"
        | "MFA_POLICY"
        | "ORGANIZATION"
        | "POLICY"
        | "PRIVATE_KEY"
        | "SECRET"
        | "SESSION_PROFILE"
        | "SMART_CONTRACT_INTERFACE"
        | "USER"
        | "WALLET"
        | "WEBHOOK_ENDPOINT";
      action: "CREATE" | "UPDATE" | "DELETE" | "SIGN" | "IMPORT" | "EXPORT";
      /** Whose credentials these are, where users may manage their own. */
      ownerId?: string;
      /** The user who alone may ask for it: a request of anybody else is denied, whatever policies and quorum say. */
      onlyUserId?: string;
    };

/** What the installation is set to, where rules on requests depend on it. */
export interface CheckEnvironment {
  outboundPolicy: OutboundPolicy;
}

export interface PolicyFactsContext<Intent> {
  intent: Intent;
  read: Reader;
  organization: Organization;
}

/** Facts that belong to an operation; the engine adds the activity's own. */
export type PolicyFacts = Omit<ConditionFacts, "activity">;

export interface PrepareContext<Intent> {
  intent: Intent;
  read: Reader;
  organization: Organization;
  signer: Pick<Signer, "ask">;
  /** The user who asked first. */
  submitterId: string;
  /** Milliseconds. */
  now: number;
}

export interface RunContext<Intent, Prepared> {
  intent: Intent;
  tx: Transactor;
  organization: Organization;
  /** Whose request or vote has it carried out. */
  actor: Actor;
  /** The user who asked first. */
  submitterId: string;
  /** Milliseconds; the one time of the whole activity. */
  now: number;
  prepared: Prepared;
}

export interface OlderVersion<Intent, Result> {
  intent: TSchema;
  /** The newest form of an intent of this version. */
  upgrade: (intent: never) => Intent;
  /** Where the older result has another shape. */
  result?: { schema: TSchema; from: (result: Result) => unknown; key?: string };
}

export interface ActivityDeclaration<I extends TSchema, R extends TSchema, Prepared> {
  /** The last segment of `/public/v1/submit/<path>`; type, intent key and result key derive from it. */
  path: string;
  summary: string;
  /** Ours alone: the API that the published SDKs know does not have it. */
  isExtension?: true;
  only?: OnlyFor;
  /** Whether `generateAppProofs` may be true; it may unless said. */
  takesAppProofs?: boolean;
  /** The newest version; 1 unless said. */
  version?: number;
  intent: I;
  result: R;
  /** The result key, where it is not the path's own name in camel case with `Result`. */
  resultKey?: string;
  versions?: Record<number, OlderVersion<Static<I>, Static<R>>>;
  subject: (intent: Static<I>) => Subject;
  /** What policies may ask about beyond the activity itself; loaded when there is a policy to ask. */
  policyFacts?: (context: PolicyFactsContext<Static<I>>) => Promise<PolicyFacts>;
  /**
   * Rules on the intent alone that a schema cannot say; it throws. Nobody has been authorized yet, so it stays cheap, and takes
   * turns where it is long (`kernel/turns.ts`).
   */
  check?: (intent: Static<I>, environment: CheckEnvironment) => void | Promise<void>;
  /**
   * Work outside the transaction, after a first decision and before the one that counts: asking the signer. It may be done
   * in vain, so it leaves no trace.
   */
  prepare?: (context: PrepareContext<Static<I>>) => Promise<Prepared>;
  /** The addresses that come into being, from what was prepared; they are proved for those who ask for app proofs. */
  addresses?: (context: { intent: Static<I>; prepared: Prepared }) => readonly AddressReference[];
  /**
   * True for an activity that changes nothing but adds its own row: it then does not wait for the organization's other
   * activities.
   */
  changesNothing?: boolean;
  /** The change itself, in the transaction that also stores the activity. A thrown error undoes all of it. */
  run: (context: RunContext<Static<I>, Prepared>) => Promise<Static<R>>;
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

export interface ActivityOperation {
  noun: "activity";
  path: string;
  summary: string;
  isExtension: boolean;
  only?: OnlyFor;
  takesAppProofs: boolean;
  /** By activity type; the newest first. */
  versions: ReadonlyMap<string, ActivityVersion>;
  subject: (intent: unknown) => Subject;
  policyFacts: (context: PolicyFactsContext<unknown>) => Promise<PolicyFacts>;
  check: (intent: unknown, environment: CheckEnvironment) => void | Promise<void>;
  prepare?: (context: PrepareContext<unknown>) => Promise<unknown>;
  addresses: (context: { intent: unknown; prepared: unknown }) => readonly AddressReference[];
  changesNothing: boolean;
  run: (context: RunContext<unknown, unknown>) => Promise<unknown>;
}

/** Declares a state-changing operation, `POST /public/v1/submit/<path>`. */
export function activity<I extends TSchema, R extends TSchema, Prepared = undefined>(
  declaration: ActivityDeclaration<I, R, Prepared>,
): ActivityOperation {
  const { path, summary, subject, prepare, run, changesNothing = false } = declaration;
  const versions = new Map(versionsOf(declaration).map((version) => [version.type, version]));
  return {
    noun: "activity",
    path,
    summary,
    isExtension: declaration.isExtension ?? false,
    takesAppProofs: declaration.takesAppProofs ?? true,
    ...(declaration.only ? { only: declaration.only } : {}),
    versions,
    changesNothing,
    subject: subject as ActivityOperation["subject"],
    policyFacts: (declaration.policyFacts ?? (async () => ({}))) as ActivityOperation["policyFacts"],
    check: (declaration.check ?? (() => {})) as ActivityOperation["check"],
    addresses: (declaration.addresses ?? (() => [])) as ActivityOperation["addresses"],
    run: run as ActivityOperation["run"],
    ...(prepare ? { prepare: prepare as NonNullable<ActivityOperation["prepare"]> } : {}),
  };
}

function versionsOf<I extends TSchema, R extends TSchema, P>(
  declaration: ActivityDeclaration<I, R, P>,
): ActivityVersion[] {
  const { path, version: newest = 1, intent, result, versions = {} } = declaration;
  const same = (value: unknown) => value;
  const resultKey = declaration.resultKey ?? `${camelCase(path)}Result`;
  const current = { ...names(path, newest), resultKey, intent, result, upgrade: same, resultFrom: same };
  const older = Object.entries(versions).map(([number, { intent, upgrade, result: olderResult }]) => ({
    ...names(path, Number(number)),
    resultKey: olderResult?.key ?? (olderResult ? `${camelCase(path)}Result` : resultKey),
    intent,
    result: olderResult?.schema ?? result,
    upgrade: upgrade as (intent: unknown) => unknown,
    resultFrom: (olderResult?.from ?? same) as (result: unknown) => unknown,
  }));
  return [current, ...older.reverse()];
}

const names = (path: string, version: number) => ({
  type: `ACTIVITY_TYPE_${path.toUpperCase()}${version === 1 ? "" : `_V${version}`}`,
  intentKey: `${camelCase(path)}Intent${version === 1 ? "" : `V${version}`}`,
});

const camelCase = (path: string): string => path.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

export interface QueryContext<Request> {
  request: Request;
  read: Reader;
  organization: Organization;
  actor: Actor;
  now: number;
  /** For queries about activities: the declarations behind them. */
  registry: Registry;
}

export interface QueryDeclaration<Q extends TSchema, R extends TSchema> {
  /** The last segment of `/public/v1/query/<path>`. */
  path: string;
  summary: string;
  only?: OnlyFor;
  /** Whether a parent's id will do for a user of one of its sub-organizations, who is found by the credential. */
  findsSubOrganization?: true;
  request: Q;
  response: R;
  run: (context: QueryContext<Static<Q>>) => Promise<Static<R>>;
}

export interface QueryOperation {
  noun: "query";
  path: string;
  summary: string;
  only?: OnlyFor;
  findsSubOrganization?: true;
  request: TSchema;
  response: TSchema;
  run: (context: QueryContext<unknown>) => Promise<unknown>;
}

/** Declares a read, `POST /public/v1/query/<path>`. */
export function query<Q extends TSchema, R extends TSchema>(declaration: QueryDeclaration<Q, R>): QueryOperation {
  return { noun: "query", ...declaration, run: declaration.run as QueryOperation["run"] };
}

/** A user's vote on somebody's activity: `approve_activity` and `reject_activity`. */
export interface VoteOperation {
  noun: "vote";
  path: string;
  summary: string;
  selection: "VOTE_SELECTION_APPROVED" | "VOTE_SELECTION_REJECTED";
  type: string;
}

export function vote(declaration: Omit<VoteOperation, "noun" | "type">): VoteOperation {
  return { noun: "vote", ...declaration, type: names(declaration.path, 1).type };
}

export type Operation = ActivityOperation | QueryOperation | VoteOperation;
