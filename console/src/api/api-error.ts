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

/** Whether the server turns away more than it can do. */
export const isExhausted = (code: number): boolean => code === GRPC_RESOURCE_EXHAUSTED;

/** Whether the server could not do its work. */
export const isUnable = (code: number): boolean => code === GRPC_INTERNAL || code === GRPC_UNAVAILABLE;

/** Whether the server has judged what it was asked, rather than not come to it. */
export const isVerdict = (error: unknown): boolean =>
  isApiError(error) && !isExhausted(error.code) && !isUnable(error.code);
