const GRPC_RESOURCE_EXHAUSTED = 8;
const GRPC_INTERNAL = 13;
const GRPC_UNAVAILABLE = 14;

/** An error of the published client, whose text repeats the message with what surrounds it. */
export interface ApiError extends Error {
  /** gRPC. */
  code: number;
  details: readonly ({ "@type"?: string } & Record<string, unknown>)[] | null;
}

export const isApiError = (error: unknown): error is ApiError =>
  error instanceof Error && error.name === "TurnkeyRequestError" && "code" in error;

/** What the server has against one field of a request. */
export interface Violation {
  /** Where it is in the body: members and places in lists, with dots between them, as `parameters.users.1.userName`. */
  field: string;
  description: string;
}

const BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest";
/** How many violations of one answer are looked at. */
const MAX_VIOLATIONS = 20;

/** The fields that an answer names, by its details and not by its words; none of what is no answer. */
export function violationsIn(error: unknown): readonly Violation[] {
  if (!isApiError(error) || !Array.isArray(error.details)) return [];
  return error.details
    .filter((detail) => detail?.["@type"] === BAD_REQUEST)
    .flatMap(({ fieldViolations }) => (Array.isArray(fieldViolations) ? (fieldViolations as unknown[]) : []))
    .filter(isViolation)
    .slice(0, MAX_VIOLATIONS);
}

function isViolation(value: unknown): value is Violation {
  const { field, description } = (value ?? {}) as Partial<Record<keyof Violation, unknown>>;
  return typeof field === "string" && field !== "" && typeof description === "string" && description !== "";
}

/** A violation's words as they are read at the field itself, which they need not name. */
export function wordsAtField({ field, description }: Violation): string {
  const [of, missing] = [`invalid request body: \`${field}\` `, `invalid request body: missing field \`${field}\``];
  if (description === missing) return "This is missing";
  return description.startsWith(of) ? `This ${description.slice(of.length)}` : description;
}

/** What stands at a violation's field, of the body that was refused; undefined where nothing does. */
export function valueAt(body: unknown, { field }: Violation): unknown {
  return field
    .split(".")
    .reduce<unknown>(
      (value, step) =>
        typeof value === "object" && value !== null && Object.hasOwn(value, step)
          ? (value as Record<string, unknown>)[step]
          : undefined,
      body,
    );
}

/** Whether the server turns away more than it can do. */
export const isExhausted = (code: number): boolean => code === GRPC_RESOURCE_EXHAUSTED;

/** Whether the server could not do its work. */
export const isUnable = (code: number): boolean => code === GRPC_INTERNAL || code === GRPC_UNAVAILABLE;

/** Whether the server has judged what it was asked, rather than not come to it. */
export const isVerdict = (error: unknown): boolean =>
  isApiError(error) && !isExhausted(error.code) && !isUnable(error.code);
