import type { Static, TSchema } from "typebox";
import type { OnlyFor } from "../authority/callers.ts";
import type { Change } from "../authority/changes.ts";
import type { Subject } from "../authority/parties.ts";
import type { AddressReference, SignerVerb } from "../signer/protocol.ts";
import type { Reader } from "../storage/engine.ts";
import type { CredentialType } from "./identity/users.ts";
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

/** How operations are declared. A declaration is all there is to an operation; the rest derives from it. */

/** What functions are told, with the services that they name and the signer as they may ask it. */

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
  /** The newest form of an intent of this version. */
  upgrade: (intent: never) => Intent;
  /** Where the older result has another shape. */
  result?: { schema: TSchema; from: (result: Result) => unknown; key?: string };
}

interface CommonDeclaration<Path extends string, Needs extends ServiceName> {
  /** The last segment of the operation's URL. */
  path: Path;
  summary: string;
  /** Ours alone: the API that the published SDKs know does not have it. */
  isExtension?: true;
  only?: OnlyFor;
  /** Whether a parent's id will do for a user of one of its sub-organizations, who is found by the credential. */
  findsSubOrganization?: true;
  /** The services that its functions are given; there are no others. */
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
  /** What type and keys derive from, where that is not the path. */
  word?: Word;
  /** What `prepare` asks the signer. */
  asks?: readonly Asks[];
  /** Whether a parent's users may have it done in a sub-organization: they help its users to sign in, and link them to OAuth providers. */
  byParents?: true;
  /**
   * The sub-organization in which it is done where a parent's user names the parent alone; undefined for the parent itself. It is asked at
   * every verdict, so it refuses nothing: `prepare` does.
   */
  carriedOutIn?: (context: ActivityPlace<Static<I>>) => Promise<string | undefined>;
  /** The one type of credential that it takes, and that stamps nothing else but queries, whatever quorum and policies say. */
  stampedWith?: CredentialType;
  /**
   * For an operation by which somebody becomes a user, stamped with the credential that it registers: who that is, as the request
   * tells. It throws for whoever is not let in, before anything of the request is stored.
   */
  newcomer?: (context: MeetingContext<Static<I>>) => Promise<Newcomer>;
  /** Whether `generateAppProofs` may be true; it may unless said. */
  takesAppProofs?: boolean;
  /** The newest version; 1 unless said. */
  version?: Version;
  intent: I;
  result: R;
  /** The result key, where it is not the path's own name in camel case with `Result`. */
  resultKey?: string;
  versions?: Record<number, OlderVersion<Static<I>, Static<R>>>;
  /** Another spelling of the newest type, which a published client has. */
  alsoTyped?: string;
  subject: (intent: Static<I>) => Subject;
  /** Rules on the intent alone that a schema cannot say; it throws. Nobody has been authorized yet, so it stays cheap. */
  check?: (intent: Static<I>, context: Pick<Services, Needs> & CheckingContext) => void | Promise<void>;
  /**
   * What will be done outside, settled before anybody decides on it: a nonce, a fee, a quote. It is read once, when the
   * activity is submitted, and kept with it: policies see what is planned, and what is planned is what is done.
   */
  plan?: { schema: TSchema; make: (context: PlanContext<Static<I>, Needs>) => Promise<Plan> };
  /** What policies may ask about beyond the activity itself; loaded when there is a policy to ask. */
  policyFacts?: (context: PolicyFactsContext<Static<I>, Plan>) => Promise<PolicyFacts>;
  /**
   * Work outside the transaction, after a first decision and before the one that counts: asking the signer. It may be done
   * in vain, so it leaves no trace.
   */
  prepare?: (context: PrepareContext<Static<I>, Asks, Plan, Needs>) => Promise<Prepared>;
  /** The addresses that come into being, from what was prepared; they are proved for those who ask for app proofs. */
  addresses?: (context: { intent: Static<I>; prepared: Prepared }) => readonly AddressReference[];
  /**
   * True for an activity that changes nothing but adds its own row: it then does not wait for the organization's other
   * activities.
   */
  concurrent?: boolean;
  /**
   * What the activity changes of who may do what. It is pure: what it looks at comes from the view, identifiers and time from
   * outside, and it may be run several times. It throws what it refuses.
   */
  change?: (context: ChangingContext<Static<I>, Plan, Prepared>) => readonly Change[];
  /** The result of `change`. */
  answer?: (context: AnsweringContext<Static<I>, Prepared>) => NoInfer<Static<R>>;
  /**
   * What is stored beside `change` that says nothing of who may do what, such as a mail that is queued; in the same transaction,
   * after the changes were written. A thrown error undoes all of it.
   */
  alsoStore?: (context: StoringContext<Static<I>, Prepared>) => Promise<void>;
  /**
   * What changes anything else, in the transaction that also stores the activity; an operation has this or `change`, or
   * neither beside an `effect`. A thrown error undoes all of it. What it answers is the result, unless there is an `effect`.
   */
  run?: (context: RunContext<Static<I>, Prepared, Plan, Needs>) => Promise<NoInfer<Static<R>> | undefined>;
  /** What happens outside after the commit; the activity is PENDING until it is done or has failed. */
  effect?: {
    /**
     * A process may die between any two steps, so whatever it does can be done twice without harm. Errors below 500 say that
     * it has failed for good. Those from 500 on say that what it waits for is away: it is tried again, and so is everything
     * of the organization that waits for the same, without end. An exception is a fault: after some tries it waits for an operator.
     */
    perform: (context: PerformContext<Static<I>, Plan, Needs>) => Promise<Performed<NoInfer<Static<R>>>>;
    /**
     * What it waits for, such as a chain. An organization's effects that wait for the same are performed one after the other,
     * as they were submitted; those of all organizations share a bounded number of workers.
     */
    gate: (plan: Plan) => string;
  };
}

/** An operation that still knows the types that it was declared with; they exist for the compiler alone. */
export type Typed<Base, Path extends string, Request, Answer, Type extends string = never> = Base & {
  path: Path;
  readonly types?: { type: Type; request: Request; answer: Answer };
};

/** The type of the newest version of an activity, as `names` makes it. */
type TypeOf<
  Path extends string,
  Version extends number,
> = `ACTIVITY_TYPE_${Uppercase<Path>}${Version extends 1 ? "" : `_V${Version}`}`;

/** Declares a state-changing operation, `POST /public/v1/submit/<path>`; type, intent key and result key derive from the path. */
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

/** The engine passes to each function what its declaration says; the compiler has held both against each other there. */
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
  /** What it asks the signer, which holds it against the stamped body: only what changes and signs nothing of anybody's. */
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
