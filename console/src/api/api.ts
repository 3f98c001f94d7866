import { isVerdict } from "./api-error.ts";
import { ACTIVITY_TYPES, type Activities, type Queries, type Schemas } from "./operations.gen.ts";

/** Calls of the API, typed by the server's declarations. Whoever is signed in stamps each one here, in the browser. */

export type { Schemas } from "./operations.gen.ts";

export type QueryPath = keyof Queries;
export type RequestOf<Path extends QueryPath> = Omit<Queries[Path]["request"], "organizationId">;
export type AnswerOf<Path extends QueryPath> = Queries[Path]["answer"];

export type ActivityPath = keyof Activities;
export type ParametersOf<Path extends ActivityPath> = Activities[Path]["parameters"];
export type ResultOf<Path extends ActivityPath> = Activities[Path]["result"];

/** Any activity, as queries show it. */
export type ShownActivity = AnswerOf<"get_activity">["activity"];
export type ActivityStatus = ShownActivity["status"];

/** An activity that was just submitted. */
export interface SubmittedActivity<Result> {
  id: string;
  status: ActivityStatus;
  /** Undefined until it is completed. */
  result: Result | undefined;
}

export type Selection = "approve" | "reject";

/** What is stamped of a vote: these bytes and no others are sent. */
export interface Ballot {
  path: string;
  body: string;
}

export interface Api {
  /** The same credential's calls of another organization: what a parent's may read in a sub-organization. */
  of(organizationId: string): Api;
  query<Path extends QueryPath>(path: Path, request: RequestOf<Path>): Promise<AnswerOf<Path>>;
  submit<Path extends ActivityPath>(
    path: Path,
    parameters: ParametersOf<Path>,
  ): Promise<SubmittedActivity<ResultOf<Path>>>;
  /** Made first, so that it can be shown before it is stamped. */
  ballot(selection: Selection, fingerprint: string): Ballot;
  vote(ballot: Ballot): Promise<ShownActivity>;
  /** Any operation by its path, for those who type JSON: fields of a query, or an activity. */
  call(path: string, what: { fields: object } | { type: string; parameters: object }): Promise<unknown>;
}

/** Stamps a body and sends it: the `request` of the published client. */
export type Send = (path: string, body: object) => Promise<unknown>;

/** Whether an activity was carried out is not known: its answer was lost, and nothing that was answered since tells. */
export class OutcomeUnknown extends Error {
  constructor() {
    super("It is not known whether this was done, because the server's answer was lost twice.");
  }
}

/** How many activities whose outcome is not known are remembered; of more, the oldest are forgotten. */
const MAX_UNKNOWN = 20;

/** No answer of the server: none at all, or that of a proxy which had none from it. */
const isLost = (error: unknown): boolean =>
  error instanceof TypeError || (error instanceof Error && /^50[234]( |$)/.test(error.message));

/** Whether the server says that a body was made too long ago. */
const isStale = (error: unknown): boolean =>
  error instanceof Error && /`timestampMs` is older than/.test(error.message);

const TOO_OLD =
  "It is still not known whether this was done, and the request is too old to be sent again. Look under Activities first: trying again creates a new activity.";

/** The same body is the same activity, so it can be sent once more where an answer was lost. @throws OutcomeUnknown */
async function submitSurely(send: Send, path: string, body: object): Promise<unknown> {
  try {
    return await send(path, body);
  } catch (error) {
    if (!isLost(error)) throw error;
  }
  try {
    return await send(path, body);
  } catch (error) {
    // That a server which restarts, or is asked too often, turns the second away says nothing of the first.
    if (isVerdict(error)) throw error;
    throw new OutcomeUnknown();
  }
}

export function createApi(organizationId: string, send: Send): Api {
  const envelope = (type: string, parameters: object) => ({
    type,
    timestampMs: String(Date.now()),
    organizationId,
    parameters,
  });
  /** The bodies of those whose outcome is not known, by what was asked. Asked for again, it is the same body and no second activity. */
  const unknown = new Map<string, object>();
  async function submitActivity(path: string, type: string, parameters: object): Promise<unknown> {
    const asked = JSON.stringify([path, type, parameters]);
    const sentBefore = unknown.get(asked);
    const body = sentBefore ?? envelope(type, parameters);
    try {
      const answer = await submitSurely(send, path, body);
      unknown.delete(asked);
      return answer;
    } catch (error) {
      if (isVerdict(error)) {
        unknown.delete(asked);
        if (sentBefore && isStale(error)) throw new Error(TOO_OLD);
        throw error;
      }
      if (!sentBefore && !(error instanceof OutcomeUnknown)) throw error;
      const [oldest] = unknown.keys();
      if (!sentBefore && unknown.size >= MAX_UNKNOWN && oldest !== undefined) unknown.delete(oldest);
      unknown.set(asked, body);
      throw new OutcomeUnknown();
    }
  }
  return {
    of: (other) => createApi(other, send),
    query: (path, request) => send(`/public/v1/query/${path}`, { organizationId, ...request }) as Promise<never>,
    async submit(path, parameters) {
      const answer = await submitActivity(`/public/v1/submit/${path}`, ACTIVITY_TYPES[path], parameters);
      const { id, status, result } = (answer as { activity: ShownActivity }).activity;
      // It stands under one key, whose name says its version.
      return { id, status, result: Object.values(result)[0] as never };
    },
    ballot: (selection, fingerprint) => ({
      path: `/public/v1/submit/${selection}_activity`,
      body: JSON.stringify(envelope(`ACTIVITY_TYPE_${selection.toUpperCase()}_ACTIVITY`, { fingerprint })),
    }),
    call: (path, what) =>
      "fields" in what
        ? send(path, { organizationId, ...what.fields })
        : submitActivity(path, what.type, what.parameters),
    // The client writes the body as JSON once more, which of parsed JSON makes the same bytes.
    vote: async ({ path, body }) =>
      ((await submitSurely(send, path, JSON.parse(body))) as { activity: ShownActivity }).activity,
  };
}

/** The time of an activity is text or an object, that of all else an object. */
export const dateOf = (time: string | Schemas["Timestamp"]): Date =>
  new Date(typeof time === "string" ? time : Number(time.seconds) * 1000 + Number(time.nanos) / 1_000_000);
