import type { Static, TSchema } from "typebox";
import type { OnlyFor } from "../authority/callers.ts";
import type { Change } from "../authority/changes.ts";
import type { Subject } from "../authority/parties.ts";
import type { AddressReference, SignerVerb } from "../signer/protocol.ts";
import type { Reader } from "../storage/engine.ts";
import type { CredentialType } from "./identity/user-schemas.ts";
import type {
  ActivityContext,
  ActivityOperation,
  ActivityPlace,
  ActivityVersion,
  AnsweringContext,
  ChangingContext,
  CheckingContext,
  MeetingContext,
  Newcomer,
  Performed,
  PerformingContext,
  Planning,
  PolicyFacts,
  PreparingContext,
  QueryingContext,
  QueryOperation,
  RunningContext,
  StoringContext,
  VoteOperation,
} from "./operations.ts";
import type { AskedSigner, ServiceName, Services } from "./services.ts";

/** How operations are declared. A declaration is complete: routing, validation, documentation and the client are derived from it. */

/** The contexts of an operation's functions, with the services it needs and a signer limited to the verbs it asks. */

export type PlanContext<Intent, Needs extends ServiceName = never> = Pick<Services, Needs> &
  Planning<Intent> & { read: Reader };

export type PolicyFactsContext<Intent, Plan = undefined> = ActivityContext<Intent, Plan> & { read: Reader };

export type PrepareContext<
  Intent,
  Asks extends SignerVerb = never,
  Plan = undefined,
  Needs extends ServiceName = never,
> = Pick<Services, Needs> & PreparingContext<Intent, Plan> & { signer: AskedSigner<Asks> };

export type RunContext<Intent, Prepared, Plan = undefined, Needs extends ServiceName = never> = Pick<Services, Needs> &
  RunningContext<Intent, Plan, Prepared>;

export type PerformContext<Intent, Plan, Needs extends ServiceName = never> = Pick<Services, Needs> &
  PerformingContext<Intent, Plan>;

export type QueryContext<Request, Needs extends ServiceName = never, Asks extends SignerVerb = never> = Pick<
  Services,
  Needs
> &
  QueryingContext<Request> & { signer: AskedSigner<Asks> };

export interface OlderVersion<Intent, Result> {
  intent: TSchema;
  /** Converts an intent of this version into the newest form. */
  upgrade: (intent: never) => Intent;
  /** The result of this version, if its shape differs. */
  result?: { schema: TSchema; from: (result: Result) => unknown; key?: string };
}

interface CommonDeclaration<Path extends string, Needs extends ServiceName> {
  /** The last segment of the operation's URL. */
  path: Path;
  summary: string;
  /** True for an operation that the published SDKs do not know. */
  isExtension?: true;
  only?: OnlyFor;
  /** True if the request of a sub-organization's user may name the parent; the credential then tells which sub-organization is meant. */
  findsSubOrganization?: true;
  /** The services that its functions receive. They receive no others. */
  needs?: readonly Needs[];
}

export interface ActivityDeclaration<
  Path extends string,
  I extends TSchema,
  R extends TSchema,
  Needs extends ServiceName,
  Asks extends SignerVerb,
  Plan,
  Prepared,
  Version extends number = number,
  Word extends string = string,
> extends CommonDeclaration<Path, Needs> {
  /** The word from which the activity type and the keys are derived; the path if absent. */
  word?: Word;
  /** The signer verbs that `prepare` may use. */
  asks?: readonly Asks[];
  /** True if users of the parent may submit it for a sub-organization, as a backend does that signs its users in. */
  byParents?: true;
  /**
   * The sub-organization in which the activity is carried out when a user of the parent names only the parent; undefined for the parent
   * itself. It runs at every decision, so it must not refuse anything; `prepare` does.
   */
  carriedOutIn?: (context: ActivityPlace<Static<I>>) => Promise<string | undefined>;
  /** The only credential type that may submit it. Such credentials may otherwise only run queries, whatever the quorum and policies allow. */
  stampedWith?: CredentialType;
  /**
   * For an operation that makes its sender a user and is stamped with the credential that it registers: reads from the request who that
   * is. Throws if they may not become one, before anything is stored.
   */
  newcomer?: (context: MeetingContext<Static<I>>) => Promise<Newcomer>;
  /** Whether `generateAppProofs` may be true. Default: true. */
  takesAppProofs?: boolean;
  /** The newest version. Default: 1. */
  version?: Version;
  intent: I;
  result: R;
  /** The result key, if it is not the path in camel case followed by `Result`. */
  resultKey?: string;
  versions?: Record<number, OlderVersion<Static<I>, Static<R>>>;
  /** Another spelling of the newest type that a published client sends. */
  alsoTyped?: string;
  subject: (intent: Static<I>) => Subject;
  /** Rules about the intent that a schema cannot express; throws. It runs before authorization, so it must be cheap. */
  check?: (intent: Static<I>, context: Pick<Services, Needs> & CheckingContext) => void | Promise<void>;
  /**
   * The plan of an outside effect: its nonce, fee or quote. It is made once, when the activity is submitted, and stored with it, so that
   * policies decide on exactly what will be done.
   */
  plan?: { schema: TSchema; make: (context: PlanContext<Static<I>, Needs>) => Promise<Plan> };
  /** The facts that policies can use beyond those of the activity itself. Loaded only if a policy is evaluated. */
  policyFacts?: (context: PolicyFactsContext<Static<I>, Plan>) => Promise<PolicyFacts>;
  /**
   * Work outside the transaction, such as asking the signer. It runs after a first decision and before the one that counts, and its
   * result may be discarded, so it must have no side effects.
   */
  prepare?: (context: PrepareContext<Static<I>, Asks, Plan, Needs>) => Promise<Prepared>;
  /** The addresses that the activity creates, for app proofs. */
  addresses?: (context: { intent: Static<I>; prepared: Prepared }) => readonly AddressReference[];
  /** True for an activity that writes nothing but its own row; it then does not wait for other activities of the organization. */
  concurrent?: boolean;
  /**
   * The changes that the activity makes to authority: who may do what. It is pure and may run several times: it reads only the view, and
   * identifiers and the time are passed in. Throws to refuse.
   */
  change?: (context: ChangingContext<Static<I>, Plan, Prepared>) => readonly Change[];
  /** The result of `change`. */
  answer?: (context: AnsweringContext<Static<I>, Prepared>) => NoInfer<Static<R>>;
  /**
   * Stores what accompanies `change` but is not authority, such as a queued mail. It runs in the same transaction, after the changes are
   * written; an error rolls all of it back.
   */
  alsoStore?: (context: StoringContext<Static<I>, Prepared>) => Promise<void>;
  /**
   * Carries out an activity that does not change authority, in the transaction that stores the activity; an error rolls all of it back.
   * Returns the result, unless there is an `effect`. An operation has `run` or `change`; with an `effect` it may have neither.
   */
  run?: (context: RunContext<Static<I>, Prepared, Plan, Needs>) => Promise<NoInfer<Static<R>> | undefined>;
  /** The outside effect, performed after the commit. The activity is PENDING until it succeeds or fails. */
  effect?: {
    /**
     * Must be idempotent: the process can die between any two steps, and the job then runs again. A KeysteadError with a status below 500
     * fails the activity permanently. One from 500 on means that the gate (such as a chain) is unavailable: the job is retried without a
     * limit, and so is everything of the organization that waits for the same gate. Any other exception is a bug; after some retries the
     * job waits for an operator.
     */
    perform: (context: PerformContext<Static<I>, Plan, Needs>) => Promise<Performed<NoInfer<Static<R>>>>;
    /**
     * The name of what the effect depends on, such as a chain. Effects of one organization with the same gate are performed one at a time,
     * in the order of submission; all organizations share a bounded number of workers per gate.
     */
    gate: (plan: Plan) => string;
  };
}

/** An operation that keeps the types of its declaration. They exist at compile time only. */
export type Typed<Base, Path extends string, Request, Answer, Type extends string = never> = Base & {
  path: Path;
  readonly types?: { type: Type; request: Request; answer: Answer };
};

/** The activity type of the newest version, as `names` derives it. */
type TypeOf<
  Path extends string,
  Version extends number,
> = `ACTIVITY_TYPE_${Uppercase<Path>}${Version extends 1 ? "" : `_V${Version}`}`;

/** Declares an activity, `POST /public/v1/submit/<path>`. Its type, intent key and result key are derived from the path. */
export function activity<
  const Path extends string,
  I extends TSchema,
  R extends TSchema,
  Needs extends ServiceName = never,
  Asks extends SignerVerb = never,
  Plan = undefined,
  Prepared = undefined,
  const Version extends number = 1,
  const Word extends string = Path,
>(
  declaration: ActivityDeclaration<Path, I, R, Needs, Asks, Plan, Prepared, Version, Word>,
): Typed<ActivityOperation, Path, Static<I>, Static<R>, TypeOf<Word, Version>> {
  const { path, summary, needs = [], asks = [], concurrent = false } = declaration;
  const { only, plan, prepare, effect, policyFacts, check, addresses } = declaration;
  return {
    kind: "activity",
    path,
    summary,
    needs,
    asks,
    isExtension: declaration.isExtension ?? false,
    takesAppProofs: declaration.takesAppProofs ?? true,
    ...(only ? { only } : {}),
    ...(declaration.byParents ? { byParents: true } : {}),
    ...(declaration.carriedOutIn ? { carriedOutIn: erased(declaration.carriedOutIn) } : {}),
    ...(declaration.stampedWith ? { stampedWith: declaration.stampedWith } : {}),
    ...(declaration.newcomer ? { newcomer: erased(declaration.newcomer) } : {}),
    ...(declaration.findsSubOrganization ? { findsSubOrganization: true } : {}),
    versions: new Map(versionsOf(declaration).map((version) => [version.type, version])),
    concurrent,
    subject: erased(declaration.subject),
    policyFacts: erased(policyFacts ?? (async () => ({}))),
    check: erased(check ?? (() => {})),
    addresses: erased(addresses ?? (() => [])),
    carryOut: carryOutOf(declaration as never),
    ...(plan ? { plan: { schema: plan.schema, make: erased(plan.make) } } : {}),
    ...(prepare ? { prepare: erased(prepare) } : {}),
    ...(effect ? { effect: { perform: erased(effect.perform), gate: erased(effect.gate) } } : {}),
  };
}

function carryOutOf({
  path,
  change,
  answer,
  alsoStore,
  run,
  effect,
}: Pick<
  ActivityDeclaration<string, TSchema, TSchema, never, never, never, never>,
  "path" | "change" | "answer" | "alsoStore" | "run" | "effect"
>): ActivityOperation["carryOut"] {
  if (change && answer && !run) {
    return {
      by: "changes",
      change: erased(change),
      answer: erased(answer),
      alsoStore: erased(alsoStore ?? (async () => {})),
    };
  }
  if (run && !change && !answer && !alsoStore) return { by: "run", run: erased(run) };
  if (effect && !run && !change && !answer && !alsoStore) return { by: "run", run: async () => undefined };
  throw new Error(`${path} must declare either \`change\` with \`answer\`, or \`run\``);
}

/** Drops the types of a declared function. That its context fits was checked where it was declared. */
const erased = <F extends (...args: never[]) => unknown, E>(declared: F): E => declared as unknown as E;

function versionsOf(declaration: {
  path: string;
  word?: string;
  version?: number;
  intent: TSchema;
  result: TSchema;
  resultKey?: string;
  versions?: Record<number, OlderVersion<unknown, never>>;
  alsoTyped?: string;
}): ActivityVersion[] {
  const { version: newest = 1, intent, result, versions = {} } = declaration;
  const { word: path = declaration.path } = declaration;
  const same = (value: unknown) => value;
  const resultKey = declaration.resultKey ?? `${camelCase(path)}Result`;
  const current = { ...names(path, newest), resultKey, intent, result, upgrade: same, resultFrom: same };
  const older = Object.entries(versions).map(([number, { intent, upgrade, result: olderResult }]) => ({
    ...names(path, Number(number)),
    resultKey: olderResult?.key ?? (olderResult ? `${camelCase(path)}Result` : resultKey),
    intent,
    result: olderResult?.schema ?? result,
    upgrade: erased<typeof upgrade, ActivityVersion["upgrade"]>(upgrade),
    resultFrom: olderResult ? erased<typeof olderResult.from, ActivityVersion["resultFrom"]>(olderResult.from) : same,
  }));
  const { alsoTyped } = declaration;
  return [current, ...(alsoTyped === undefined ? [] : [{ ...current, type: alsoTyped }]), ...older.reverse()];
}

const names = (path: string, version: number) => ({
  type: `ACTIVITY_TYPE_${path.toUpperCase()}${version === 1 ? "" : `_V${version}`}`,
  intentKey: `${camelCase(path)}Intent${version === 1 ? "" : `V${version}`}`,
});

const camelCase = (path: string): string => path.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

export interface QueryDeclaration<
  Path extends string,
  Q extends TSchema,
  R extends TSchema,
  Needs extends ServiceName,
  Asks extends SignerVerb,
> extends CommonDeclaration<Path, Needs> {
  /** The signer verbs that the query may use. The signer checks each request against the stamped body; none changes or signs anything of a user's. */
  asks?: readonly Asks[];
  request: Q;
  response: R;
  run: (context: QueryContext<Static<Q>, Needs, Asks>) => Promise<Static<R>>;
}

/** Declares a read, `POST /public/v1/query/<path>`. */
export function query<
  const Path extends string,
  Q extends TSchema,
  R extends TSchema,
  Needs extends ServiceName = never,
  Asks extends SignerVerb = never,
>(declaration: QueryDeclaration<Path, Q, R, Needs, Asks>): Typed<QueryOperation, Path, Static<Q>, Static<R>> {
  const { needs = [], asks = [], isExtension = false, run, ...rest } = declaration;
  return { kind: "query", ...rest, isExtension, needs, asks, run: erased(run) };
}

/** Declares a vote, `POST /public/v1/submit/<path>`. */
export function vote<const Path extends string>(
  declaration: Omit<VoteOperation, "kind" | "type" | "path"> & { path: Path },
): Typed<VoteOperation, Path, { fingerprint: string }, never> {
  return { kind: "vote", ...declaration, type: names(declaration.path, 1).type };
}
