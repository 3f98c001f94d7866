import { OutcomeUnknown } from "./api.ts";
import { type ApiError, isApiError, isExhausted, isUnable } from "./api-error.ts";

/** Why a policy came to its outcome, as the server says. */
export interface Explanation {
  policyId: string;
  text: string;
}

/** What went wrong, in words for whoever looks at the page: what, why, and what helps. */
export interface Problem {
  message: string;
  remedy?: string;
  /** Of a denial: why each policy came to its outcome. */
  explanations?: readonly Explanation[];
  /** Whether the credential does not serve any more, so that only signing in again helps. */
  isSignedOut?: boolean;
}

const GRPC_NOT_FOUND = 5;
const GRPC_UNAUTHENTICATED = 16;

/** Whether the server says that there is no such thing. */
export const isNotFound = (error: unknown): boolean => isApiError(error) && error.code === GRPC_NOT_FOUND;

export function problemOf(error: unknown): Problem {
  if (isApiError(error)) return problemOfAnswer(error);
  if (error instanceof OutcomeUnknown) {
    return {
      message: error.message,
      remedy:
        "Check that the server is running and that this machine can reach it. Trying again here sends the same activity, not a second one. Activities shows what was done.",
    };
  }
  if (error instanceof DOMException) return problemOfBrowser(error);
  if (error instanceof TypeError) {
    return {
      message: "The server does not answer.",
      remedy: "Check that it is running and that this machine can reach it, then try again.",
    };
  }
  return { message: error instanceof Error ? error.message : "Something went wrong." };
}

function problemOfAnswer({ code, details, message }: ApiError): Problem {
  const text = plainMessage(message);
  if (/`timestampMs` is from before/.test(text)) {
    return {
      message: "The service was restored from a backup after this was first sent, or this machine's clock is behind.",
      remedy: `Look under Activities whether it was done, and if not, do it again from the beginning. The server says: ${text}`,
    };
  }
  if (/timestampMs/.test(text)) {
    return {
      message: "This machine's clock and the server's clock differ.",
      remedy: `Set this machine's clock, then try again. The server says: ${text}`,
    };
  }
  if (code === GRPC_UNAUTHENTICATED) {
    return {
      message: text,
      remedy: "Sign in again: the credential has expired, was deleted, or belongs to another organization.",
      isSignedOut: true,
    };
  }
  if (isExhausted(code)) return { message: text, remedy: "Wait a moment, then try again." };
  if (isUnable(code)) {
    return {
      message: text,
      remedy: "Whoever runs the server finds the reason in its log; `/readyz` says which part is not ready.",
    };
  }
  const explained = details?.find((detail) => detail["@type"]?.endsWith("keystead.v1.PolicyExplanation"));
  return explained ? { message: text, explanations: explained.explanations as never } : { message: text };
}

/** Without "Turnkey error 7: ", and the details, which are told apart. */
const plainMessage = (message: string): string =>
  message.replace(/^Turnkey error [0-9]+: /, "").replace(/ \(Details: [\s\S]*\)$/, "");

function problemOfBrowser({ name, message }: DOMException): Problem {
  switch (name) {
    case "NotAllowedError":
      return {
        message: "The passkey was not used.",
        remedy:
          "The browser's dialog was closed or took too long, or there is no passkey for this address here. Try again, or sign in with an API key.",
      };
    case "InvalidStateError":
      return { message: "This device already has a passkey for this user.", remedy: "Use it to sign in." };
    case "SecurityError":
      return {
        message: "Passkeys do not work at this address.",
        remedy: "They need https, or `http://localhost` on the machine itself; an IP address does not do.",
      };
    default:
      return { message };
  }
}
