import { Type } from "typebox";
import { operatorUrlProblem } from "../operator-url.ts";

/** The destination of traces, and the share of requests to trace. */
export const Traces = {
  otlpUrl: Type.String({
    pattern: "^https?://",
    maxLength: 2048,
    description:
      "Where traces are sent with OTLP over HTTP, such as http://127.0.0.1:4318. If it is not set, there are no traces.",
  }),
  otlpToken: Type.String({
    minLength: 1,
    maxLength: 4096,
    pattern: "^[\\x21-\\x7e]*$",
    description: "Bearer token that is sent with traces.",
  }),
  traceRatio: Type.Number({
    minimum: 0,
    maximum: 1,
    description: "The share of requests and jobs that are traced, from 0 to 1.",
  }),
};

export const tracesEnvironment = {
  otlpUrl: "KEYSTEAD_OTLP_URL",
  otlpToken: "KEYSTEAD_OTLP_TOKEN",
  traceRatio: "KEYSTEAD_TRACE_RATIO",
} as const;

export interface TraceSettings {
  /** The complete URL, including its path. */
  url: string;
  /** Sent as a bearer token. */
  token: string | undefined;
  /** From 0 to 1. */
  ratio: number;
}

const DEFAULT_RATIO = 0.01;
/** The path at which collectors accept traces (OTLP specification, "OTLP/HTTP request"). */
const PATH = "/v1/traces";

/** Undefined if tracing is off. `refuse` receives the problem with the URL. */
export function traceSettingsOf(
  given: { otlpUrl?: string; otlpToken?: string; traceRatio?: number },
  allowPrivateNetworks: boolean,
  refuse: (problem: string) => never,
): TraceSettings | undefined {
  const { otlpUrl, otlpToken: token, traceRatio: ratio = DEFAULT_RATIO } = given;
  if (otlpUrl === undefined) return undefined;
  const problem = operatorUrlProblem(otlpUrl, allowPrivateNetworks);
  if (problem !== undefined) return refuse(problem);
  const url = new URL(otlpUrl);
  if (url.pathname === "/") url.pathname = PATH;
  return { url: url.href, token, ratio };
}
