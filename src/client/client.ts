import type { capabilities } from "../capabilities/index.ts";

/**
 * An API client for the command line, tests and web pages. The declarations of the operations provide the types of requests and
 * answers; no server code is loaded.
 */

type Declared = (typeof capabilities)[number]["operations"][number];
type DeclaredActivity = Extract<Declared, { kind: "activity" }>;
type DeclaredQuery = Extract<Declared, { kind: "query" }>;
type TypesOf<Operation extends Declared> = NonNullable<Operation["types"]>;

/** The activity types, each in its newest version. */
export type ActivityType = TypesOf<DeclaredActivity>["type"];
type ActivityOfType<Type extends ActivityType> = DeclaredActivity extends infer Operation
  ? Operation extends DeclaredActivity
    ? Type extends TypesOf<Operation>["type"]
      ? Operation
      : never
    : never
  : never;
export type ParametersOf<Type extends ActivityType> = TypesOf<ActivityOfType<Type>>["request"];
export type ResultOf<Type extends ActivityType> = TypesOf<ActivityOfType<Type>>["answer"];

export type QueryPath = DeclaredQuery["path"];
type QueryAt<Path extends QueryPath> = Extract<DeclaredQuery, { path: Path }>;
/** A query's request without the organization's id, which the client adds. */
export type RequestOf<Path extends QueryPath> = Omit<TypesOf<QueryAt<Path>>["request"], "organizationId">;
export type AnswerOf<Path extends QueryPath> = TypesOf<QueryAt<Path>>["answer"];

/** Signs request bodies with an API key, a passkey or a wallet. */
export interface Stamper {
  /** The stamp header for exactly this body. */
  stamp(body: string): Promise<{ header: string; value: string }>;
}

export interface ClientOptions {
  baseUrl: string;
  organizationId: string;
  stamper: Stamper;
  fetch?: typeof fetch;
  /** The current time in milliseconds. */
  now?: () => number;
}

/** The parts of an activity in the server's response that all clients need. */
export interface Activity<Result> {
  id: string;
  status: string;
  type: string;
  fingerprint: string;
  canApprove: boolean;
  canReject: boolean;
  /** Undefined until it is completed. */
  result: Result | undefined;
  failure?: { code: number; message: string };
}

/** An error response of the server. */
export class RequestRefused extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    const { message } = (body ?? {}) as { message?: unknown };
    super(typeof message === "string" ? message : `the server answered ${status}`);
    this.name = "RequestRefused";
    this.status = status;
    this.body = body;
  }
}

export interface Client {
  /** Submits an activity. Each call creates a new one, because the body includes the time. */
  submit<Type extends ActivityType>(type: Type, parameters: ParametersOf<Type>): Promise<Activity<ResultOf<Type>>>;
  query<Path extends QueryPath>(path: Path, request: RequestOf<Path>): Promise<AnswerOf<Path>>;
  approve(fingerprint: string): Promise<Activity<unknown>>;
  reject(fingerprint: string): Promise<Activity<unknown>>;
  /** Stamps and sends any body and returns the response text unparsed. For callers with raw JSON. */
  send(path: string, body: string): Promise<{ status: number; text: string }>;
}

export function createClient(options: ClientOptions): Client {
  const { baseUrl, organizationId, stamper, fetch: request = fetch, now = Date.now } = options;

  async function send(path: string, body: string): Promise<{ status: number; text: string }> {
    const { header, value } = await stamper.stamp(body);
    const headers = { "content-type": "application/json", [header]: value };
    const response = await request(`${baseUrl}${path}`, { method: "POST", headers, body });
    return { status: response.status, text: await response.text() };
  }

  async function ask(path: string, body: object): Promise<unknown> {
    const { status, text } = await send(path, JSON.stringify(body));
    const answer = parsed(text);
    if (status !== 200) throw new RequestRefused(status, answer);
    return answer;
  }

  async function submit<Result>(type: string, parameters: object): Promise<Activity<Result>> {
    const body = { type, timestampMs: String(now()), organizationId, parameters };
    const answer = await ask(`/public/v1/submit/${pathOfType(type)}`, body);
    return activityOf<Result>(answer);
  }

  return {
    submit,
    query: (path, query) => ask(`/public/v1/query/${path}`, { organizationId, ...query }) as Promise<never>,
    approve: (fingerprint) => submit("ACTIVITY_TYPE_APPROVE_ACTIVITY", { fingerprint }),
    reject: (fingerprint) => submit("ACTIVITY_TYPE_REJECT_ACTIVITY", { fingerprint }),
    send,
  };
}

/** The last segment of the URL for activities of this type. */
function pathOfType(type: string): string {
  const word = type
    .replace(/^ACTIVITY_TYPE_/, "")
    .replace(/_V[0-9]+$/, "")
    .toLowerCase();
  return IRREGULAR_PATHS[word] ?? word;
}

/** The paths that differ from their activity type. */
const IRREGULAR_PATHS: Record<string, string> = { update_tvc_app_live_deployment: "set_tvc_app_live_deployment" };

/** Unwraps the result, which is under a single key whose name depends on the version. */
function activityOf<Result>(answer: unknown): Activity<Result> {
  const { activity } = answer as { activity: Activity<Result> & { result: Record<string, Result> } };
  return { ...activity, result: Object.values(activity.result)[0] };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
