import type { DescribedError, ErrorCode } from "../../src/kernel/errors.ts";

/** What to do about an error, if its text does not say so; all others get the advice for their HTTP status. */
const remedies: Partial<Record<ErrorCode, string>> = {
  BODY_INVALID:
    "Send one JSON object in UTF-8, as the reason says. Its values, members and nesting have [limits](../guide/limits.md).",
  BODY_TOO_LARGE: "Send less in one request: split lists, and pages of them.",
  FIELD_MISSING: "Add the field that is named. The [operations](operations.md) show a request of each that works.",
  FIELD_INVALID: "Correct the field that is named, as the reason says. `details` names it as well.",
  ORGANIZATION_ID_MALFORMED: "Use the `organizationId` from the credentials or from `whoami`; it is a UUID.",
  ROUTE_NOT_FOUND:
    "Check the path and the method: every operation is a `POST`. See the list of [operations](operations.md).",
  ROUTE_MISTAKEN:
    "Send the request with the method and to the path that the message names. Set the client's base URL without a path and without a slash at its end.",
  STAMP_MISSING:
    "Stamp the body with an API key (`X-Stamp`) or a passkey (`X-Stamp-WebAuthn`); the published stampers do.",
  STAMP_AMBIGUOUS: "Send only one stamp.",
  STAMP_MALFORMED:
    "Send the stamp as the published stampers make it: base64url of JSON with `publicKey`, `signature` and `scheme`.",
  PUBLIC_KEY_NOT_FOUND:
    "The key does not, or no longer, belong to a user there. Name the organization that the user is in, or sign in again if it was a session's key.",
  CREDENTIAL_NOT_FOUND:
    "The passkey does not, or no longer, belong to a user there. Name the organization that the user is in.",
  API_KEY_EXPIRED: "Sign in again, or create a new API key.",
  API_KEY_SIGNATURE_INVALID: "Stamp exactly the bytes that are sent: a body that is serialized again may differ.",
  WEBAUTHN_SIGNATURE_INVALID:
    "Stamp exactly the bytes that are sent, on a page with an origin that the organization allows.",
  OTP_INVALID: "Check the code, or request a new one.",
  PERMISSION_DENIED:
    "The reason gives the outcomes of policies. `get_policy_evaluations` returns all of them, and `simulate_policy` tries out a change.",
  ORGANIZATION_MISMATCH: "Name the organization that the credential's user is in.",
  INVALID_CALLER: "Send the request from the organization that the text names.",
  ORGANIZATION_NOT_FOUND:
    "Use the `organizationId` from `whoami` or `list_suborgs`; a deleted organization is not found.",
  RESOURCE_NOT_FOUND: "Check the ID and the organization: what is in a sub-organization is not in its parent.",
  ACTIVITY_NOT_FOUND_BY_FINGERPRINT: "Use the `fingerprint` of the open activity, from `list_activities`.",
  SIGNING_RESOURCE_NOT_FOUND:
    "Set `signWith` to the address of an account or the ID of a private key in this organization.",
  RESOURCE_EXISTS: "Use the existing one, or choose another value for the field that is named.",
  ACTIVITY_DECIDED: "If it is still wanted, submit it again with a new `timestampMs`.",
  POLICY_CONDITION_INVALID:
    "The reason names the place. See [the policy language](../guide/policy-language.md) and the [facts](policy-facts.md).",
  POLICY_CONSENSUS_INVALID: "The reason names the place. A consensus can use only `approvers` and `credentials`.",
  POLICY_TIME_INVALID:
    "The reason names the place. See `Timestamp` and `CronSpan` under [Time](../guide/policy-language.md#time).",
  RATE_LIMITED: "Wait as long as the header `Retry-After` says. Operators set the [rates](settings.md).",
  QUOTA_EXCEEDED: "Delete what is not needed, or ask the operator for a higher [quota](../guide/limits.md#quotas).",
  INTERNAL:
    "Send the request again. If it fails again, give the request's ID to the operator, whose log says what happened.",
};

const byStatus: Record<number, string> = {
  400: "Change the request as the text says, stamp it and send it again.",
  401: "Stamp the request with a credential that is valid for it.",
  403: "The organization must allow it, as the text says.",
  404: "Check the ID and the organization that the request names.",
  409: "Use the existing one, or choose another name.",
  413: "Send less in one request.",
  429: "Wait, for as long as `Retry-After` says if it is present, and send the request again.",
  499: "If it is still wanted, send the request again.",
  500: "Send the request again; if it fails again, tell the operator.",
  503: "Send the same bytes again later: an activity is carried out once, however often it is sent.",
};

export const remedyOf = ({ code, httpStatus }: DescribedError): string =>
  remedies[code] ?? byStatus[httpStatus] ?? "Tell the operator.";
