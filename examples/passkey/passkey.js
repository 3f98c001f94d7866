/** Passkeys in the form of the API: registering one, and stamping a request with it. WebAuthn Level 3, without a library. */

const ES256 = -7;
const RS256 = -257;

/** The transports of authenticators, by their names in browsers; the API has no names for others. */
const transports = {
  ble: "AUTHENTICATOR_TRANSPORT_BLE",
  hybrid: "AUTHENTICATOR_TRANSPORT_HYBRID",
  internal: "AUTHENTICATOR_TRANSPORT_INTERNAL",
  nfc: "AUTHENTICATOR_TRANSPORT_NFC",
  usb: "AUTHENTICATOR_TRANSPORT_USB",
};

/**
 * Has the user make a passkey for this page's host.
 *
 * @param {string} userName
 * @returns an entry of `authenticators`
 */
export async function registerPasskey(userName) {
  const challenge = crypto.getRandomValues(new Uint8Array(32));
  const { rawId, response } = await navigator.credentials.create({
    publicKey: {
      rp: { id: location.hostname, name: document.title },
      user: { id: crypto.getRandomValues(new Uint8Array(32)), name: userName, displayName: userName },
      challenge,
      pubKeyCredParams: [ES256, RS256].map((alg) => ({ type: "public-key", alg })),
      authenticatorSelection: { residentKey: "preferred", userVerification: "preferred" },
      attestation: "none",
    },
  });
  return {
    authenticatorName: `${userName}'s passkey`,
    challenge: base64url(challenge),
    attestation: {
      credentialId: base64url(rawId),
      clientDataJson: base64url(response.clientDataJSON),
      attestationObject: base64url(response.attestationObject),
      transports: response.getTransports().flatMap((name) => transports[name] ?? []),
    },
  };
}

/**
 * Has the user stamp a request.
 *
 * @param {string} body as it will be sent
 * @param {string} credentialId as `registerPasskey` gave it
 * @returns the value of the header `X-Stamp-Webauthn`
 */
export async function stampWithPasskey(body, credentialId) {
  const { rawId, response } = await navigator.credentials.get({
    publicKey: {
      rpId: location.hostname,
      // The service expects the signature to be over the digest's hexadecimal digits, as text.
      challenge: new TextEncoder().encode(await sha256Hex(body)),
      allowCredentials: [{ type: "public-key", id: fromBase64url(credentialId) }],
      userVerification: "preferred",
    },
  });
  return JSON.stringify({
    credentialId: base64url(rawId),
    clientDataJson: base64url(response.clientDataJSON),
    authenticatorData: base64url(response.authenticatorData),
    signature: base64url(response.signature),
  });
}

async function sha256Hex(text) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Unpadded. */
function base64url(bytes) {
  const text = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64url(text) {
  const decoded = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(decoded, (character) => character.charCodeAt(0));
}
