/** The published client and its stampers, in a chunk of their own: they are loaded when somebody signs in. */
export { ApiKeyStamper } from "@turnkey/api-key-stamper";
export { getWebAuthnAttestation, TurnkeyClient } from "@turnkey/http";
export { IndexedDbStamper } from "@turnkey/indexed-db-stamper";
export { WebauthnStamper } from "@turnkey/webauthn-stamper";
