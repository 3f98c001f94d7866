import type { ParametersOf } from "../api/api.ts";
import { base64UrlOf } from "../bytes.ts";

/** Passkeys that are made on this page, for the name that it is reached under. */

export type NewAuthenticator = ParametersOf<"create_authenticators">["authenticators"][number];

const CHALLENGE_BYTES = 32;
const ES256 = -7;
const RS256 = -257;

/** Why no passkey can be made or used here; undefined where it can. */
export function passkeyProblem(): string | undefined {
  if (!window.isSecureContext || window.PublicKeyCredential === undefined) {
    return "Passkeys do not work at this address: they require https, or http://localhost on the machine itself.";
  }
  if (!/^[0-9.]+$|:/.test(location.hostname)) return undefined;
  return `Passkeys are bound to names, and this page was opened by an address. Open http://localhost:${location.port} instead.`;
}

/** @throws DOMException where the browser or its user refuses */
export async function makePasskey(user: { name: string; label: string }): Promise<NewAuthenticator> {
  const { getWebAuthnAttestation } = await import("../api/published-client.ts");
  const challenge = crypto.getRandomValues(new Uint8Array(CHALLENGE_BYTES));
  const attestation = await getWebAuthnAttestation({
    publicKey: {
      rp: { id: location.hostname, name: "Keystead" },
      user: { id: crypto.getRandomValues(new Uint8Array(CHALLENGE_BYTES)), name: user.name, displayName: user.name },
      challenge,
      pubKeyCredParams: [
        { type: "public-key", alg: ES256 },
        { type: "public-key", alg: RS256 },
      ],
      authenticatorSelection: { residentKey: "required", userVerification: "preferred" },
    },
  });
  return {
    authenticatorName: user.label,
    challenge: base64UrlOf(challenge),
    attestation: attestation as NewAuthenticator["attestation"],
  };
}
