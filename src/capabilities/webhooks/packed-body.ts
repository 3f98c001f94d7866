import { deflateRawSync, inflateRawSync } from "node:zlib";
import { MAX_WEBHOOK_EVENT_BYTES } from "../../kernel/limits.ts";

/**
 * The two forms in which bodies of events are stored: as JSON, or compressed after a prefix with which no JSON begins. The next version
 * writes the second form. This one reads both, so that the two versions can run side by side (ADR 0122).
 */

/** The number identifies the dictionary. */
const MARK = "deflate1:";

/** Common parts of events, the most frequent last (RFC 1950, section 2.2). If you change it, change the mark too. */
const DICTIONARY = Buffer.from(
  [
    '{"type":"webhooks:endpoint_disabled","organizationId":"","msg":{"endpointId":"","url":"https://","name":"","isActive":false,"timestamp":',
    '"parentOrganizationId":"","msg":{"CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR","CREDENTIAL_TYPE_API_KEY_SECP256K1","CREDENTIAL_TYPE_API_KEY_ED25519"',
    '"ACTIVITY_STATUS_CONSENSUS_NEEDED","ACTIVITY_STATUS_PENDING","ACTIVITY_STATUS_FAILED","ACTIVITY_STATUS_REJECTED","VOTE_SELECTION_REJECTED"',
    '"SIGNATURE_SCHEME_TK_WEBAUTHN","failure":{"code":,"message":"","details":[]},"ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V7","ACTIVITY_TYPE_CREATE_WALLET"',
    '"ACTIVITY_TYPE_SIGN_TRANSACTION_V2","intent":{"signTransactionIntentV2":null},"result":{"signTransactionResult":{"signedTransaction":"',
    '{"id":"01a2","organizationId":"01a2","status":"ACTIVITY_STATUS_COMPLETED","type":"ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2","intent":{"signRawPayloadIntentV2":null},"result":{"signRawPayloadResult":{"r":"","s":"","v":"00"}},',
    '"votes":[{"id":"01a2","userId":"01a2","user":{"userId":"01a2","userName":"Root user","userEmail":"","authenticators":[],"apiKeys":[{"credential":{"publicKey":"02","type":"CREDENTIAL_TYPE_API_KEY_P256"},"apiKeyId":"01a2","apiKeyName":"Root API key",',
    '"createdAt":{"seconds":"1","nanos":"000000"},"updatedAt":{"seconds":"1","nanos":"000000"}}],"userTags":[],"oauthProviders":[],"createdAt":{"seconds":"1","nanos":"000000"},"updatedAt":{"seconds":"1","nanos":"000000"},"mfaPolicies":[]},',
    '"activityId":"01a2","selection":"VOTE_SELECTION_APPROVED","message":"","publicKey":"03","signature":"3045022100","scheme":"SIGNATURE_SCHEME_TK_API_P256","createdAt":{"seconds":"1","nanos":"000000"}}],',
    '"fingerprint":"sha256:","canApprove":false,"canReject":false,"createdAt":"2026-","updatedAt":"2026-"}',
  ].join(""),
);

/** Compresses a body, unless that would make it longer. */
export function packBody(body: string): string {
  const packed = MARK + deflateRawSync(body, { dictionary: DICTIONARY }).toString("base64");
  return packed.length < body.length ? packed : body;
}

/** @throws Error if it is corrupt or longer than any event */
export function unpackBody(stored: string): string {
  if (!stored.startsWith(MARK)) return stored;
  const packed = Buffer.from(stored.slice(MARK.length), "base64");
  return inflateRawSync(packed, { dictionary: DICTIONARY, maxOutputLength: MAX_WEBHOOK_EVENT_BYTES }).toString();
}
