import assert from "node:assert/strict";
import { it } from "node:test";
import { errorCodes, fail, KeysteadError } from "./errors.ts";

/** The codes that published clients know; typed ones decode no other. */
const published = `
  INTERNAL ORGANIZATION_NOT_FOUND API_OPERATIONS_DISABLED SIGNING_QUOTA_EXCEEDED REQUEST_NOT_AUTHORIZED PUBLIC_KEY_NOT_FOUND
  RATE_LIMIT_EXCEEDED SIGNATURE_MISSING SIGNATURE_INVALID CREDENTIAL_NOT_FOUND CREDENTIAL_CONFLICT API_KEY_EXPIRED REQUEST_INVALID
  FORBIDDEN UNAUTHENTICATED UNSUPPORTED_TRANSACTION_TYPE INVALID_TRANSACTION INVALID_OIDC_TOKEN INVALID_ORGANIZATION_ID
  OAUTH2_CREDENTIAL_NOT_FOUND OAUTH2_PROVIDER_NOT_FOUND INVALID_OAUTH2_PROVIDER OAUTH2_PROVIDER_NOT_CONFIGURED INVALID_ACTIVITY_CALLER
  WALLET_ACCOUNT_NOT_EXPORTED INVALID_TIME RPC_CALL_ERROR INVALID_EMAIL INVALID_FQDN OAUTH_PROVIDER_ALREADY_EXISTS
  EMAIL_SENDING_DISABLED ORGANIZATION_MISMATCH MAX_OTP_INITIATED TVC_IMAGE_VALIDATION_FAILED TRANSACTION_RISK_SCREENING_DENIED
  TRANSACTION_RISK_SCREENING_UNVERIFIED TVC_CLIENT_VERSION_TOO_OLD SWAP_QUOTE_ALREADY_USED`
  .trim()
  .split(/\s+/);

it("every code has an HTTP status, a gRPC code and a text whose blanks are its facts", () => {
  assert.ok(errorCodes.length > 40);
  for (const code of errorCodes) {
    const facts = new Proxy({}, { get: (_, name) => `<${String(name)}>` }) as Record<string, string>;
    const error = new KeysteadError(code, facts, []);
    assert.ok(error.httpStatus >= 400 && error.httpStatus < 600, code);
    assert.ok(error.grpcCode > 0 && error.grpcCode < 17, code);
    assert.doesNotMatch(error.message, /\{\w*\}|undefined/, code);
    assert.ok(published.includes(error.turnkeyErrorCode), `${code}: ${error.turnkeyErrorCode}`);
  }
});

it("gRPC codes and HTTP statuses go together", () => {
  const pairs = new Map(
    errorCodes.map((code) => new KeysteadError(code, {}, [])).map((e) => [e.grpcCode, e.httpStatus]),
  );
  assert.deepEqual(
    [1, 3, 5, 6, 7, 13, 14, 16].map((grpc) => pairs.get(grpc)),
    [499, 400, 404, 409, 403, 500, 503, 401],
  );
});

it("what may be sent again says so, and when if that is known", () => {
  const busy = new KeysteadError("SIGNER_BUSY", { retryAfterSeconds: 7 }, []);
  assert.equal(busy.retryAfterSeconds, 7);
  assert.match(busy.message, /again in 7 seconds$/);
  assert.ok(busy.isTransient);
  for (const code of ["CLIENT_GONE", "SIGNER_UNAVAILABLE"] as const) {
    const error = new KeysteadError(code, {}, []);
    assert.ok(error.isTransient, code);
    assert.equal(error.retryAfterSeconds, undefined);
  }
  for (const code of ["QUOTA_EXCEEDED", "FIELD_INVALID"] as const) {
    assert.ok(!new KeysteadError(code, {}, []).isTransient, code);
  }
});

it("a fault in a field is told as a violation too", () => {
  assert.throws(
    () => fail("FIELD_INVALID", { field: "parameters.x", reason: "is wrong" }),
    (error: KeysteadError) => {
      assert.equal(error.message, "invalid request body: `parameters.x` is wrong");
      const [detail] = error.details as { fieldViolations?: { field: string }[] }[];
      assert.equal(detail?.fieldViolations?.[0]?.field, "parameters.x");
      return true;
    },
  );
});
