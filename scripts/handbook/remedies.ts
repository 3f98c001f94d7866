import type { DescribedError, ErrorCode } from "../../src/kernel/errors.ts";

/** What to do about an error, where its text does not say so itself; any other has the advice of its HTTP status. */
const remedies: Partial<Record<ErrorCode, string>> = {
  BODY_INVALID:
    "Send one JSON object in UTF-8, as the reason says. Its values, members and nesting have [limits](../guide/limits.md).",
  BODY_TOO_LARGE: "Send less in one request: split lists, and pages of them.",
  FIELD_MISSING: "Add the field that is named. The [operations](operations.md) show a request of each that works.",
  FIELD_INVALID: "Mend the field that is named, as the reason says. `details` names it as well.",
  ORGANIZATION_ID_MALFORMED: "Take the `organizationId` of the credentials, or of `whoami`; it is a UUID.",
  ROUTE_NOT_FOUND:
    "Look at the path and at the method: every operation is a `POST`. The [operations](operations.md) are all there are.",
  STAMP_MISSING:
    "Stamp the body with an API key (`X-Stamp`) or a passkey (`X-Stamp-WebAuthn`); the published stampers do.",
  STAMP_AMBIGUOUS: "Send one stamp alone.",
  STAMP_MALFORMED:
    "Send the stamp as the published stampers make it: base64url of JSON with `publicKey`, `signature` and `scheme`.",
  PUBLIC_KEY_NOT_FOUND:
    "The key is not, or no longer, of a user there: name the organization that the user is in, or sign in again if it was a session's key.",
  CREDENTIAL_NOT_FOUND: "The passkey is not, or no longer, of a user there: name the organization that the user is in.",
  API_KEY_EXPIRED: "Sign in again, or create a new API key.",
  API_KEY_SIGNATURE_INVALID:
    "Stamp the very bytes that are sent: a body that is written as JSON a second time may differ.",
  WEBAUTHN_SIGNATURE_INVALID:
    "Stamp the very bytes that are sent, on a page of an origin that the organization allows.",
  OTP_INVALID: "Have the code looked at again, or ask for a new one.",
  PERMISSION_DENIED:
    "The reason says which policies said what. `get_policy_evaluations` has them all, and `simulate_policy` tries out a change.",
  ORGANIZATION_MISMATCH: "Name the organization that the credential's user is in.",
  INVALID_CALLER: "Ask from the organization that the text names.",
  ORGANIZATION_NOT_FOUND:
    "Take the `organizationId` of `whoami` or `list_suborgs`; a deleted organization is not found.",
  RESOURCE_NOT_FOUND: "Look at the id and at the organization: what is in a sub-organization is not in its parent.",
  ACTIVITY_NOT_FOUND_BY_FINGERPRINT: "Take the `fingerprint` of the activity that waits, from `list_activities`.",
  SIGNING_RESOURCE_NOT_FOUND:
    "Give `signWith` as an address of an account, or as the id of a private key, of this organization.",
  RESOURCE_EXISTS: "Use what is there, or choose another value for the field that is named.",
  ACTIVITY_DECIDED: "Submit it anew, with a new `timestampMs`, if it is still wanted.",
  POLICY_CONDITION_INVALID:
    "The reason names the place. [The policy language](../guide/policy-language.md) and the [facts](policy-facts.md) say what there is.",
  POLICY_CONSENSUS_INVALID:
    "The reason names the place. A consensus can ask about `approvers` and `credentials` alone.",
  POLICY_TIME_INVALID:
    "The reason names the place. [Time](../guide/policy-language.md#time) has `Timestamp` and `CronSpan`.",
  RATE_LIMITED: "Wait as long as the header `Retry-After` says. Operators set the [rates](settings.md).",
  QUOTA_EXCEEDED: "Delete what is not needed, or ask the operator for a higher [quota](../guide/limits.md#quotas).",
  INTERNAL:
    "Send the request again; if it fails again, give the request's id to the operator, whose log has what happened.",
};

const byStatus: Record<number, string> = {
  400: "Change the request as the text says, stamp it and send it again.",
  401: "Stamp the request with a credential that serves for it.",
  403: "Whoever rules over the organization has to allow it, as the text says.",
  404: "Look at the id and at the organization that the request names.",
  409: "Use what is there, or choose another name.",
  413: "Send less in one request.",
  429: "Wait, as long as `Retry-After` says where it is there, and send the request again.",
  499: "Send the request again if it is still wanted.",
  500: "Send the request again; if it fails again, tell the operator.",
  503: "Send the same bytes again later: an activity is carried out once, however often it is sent.",
};

export const remedyOf = ({ code, httpStatus }: DescribedError): string =>
  remedies[code] ?? byStatus[httpStatus] ?? "Tell the operator.";
