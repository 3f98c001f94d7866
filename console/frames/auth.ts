import { ApiKeyStamper } from "@turnkey/api-key-stamper";
import { decryptCredentialBundle, getPublicKey } from "@turnkey/crypto";
import { uint8ArrayToHexString } from "@turnkey/encoding";
import { serveParent, textOf } from "./channel.ts";
import { EmbeddedKey } from "./embedded-key.ts";
import { keyRequests } from "./key-requests.ts";

/** Opens the API key that somebody has signed in for, and stamps requests with it; the page around it never sees the key. */

const key = new EmbeddedKey("auth");
let stamper: ApiKeyStamper | undefined;
const { RESET_EMBEDDED_KEY: reset, ...others } = keyRequests(key);

/** @throws Error with a text of its own: a library's may quote what was in the bundle */
function stamperOf(bundle: string, embeddedKey: string): ApiKeyStamper {
  try {
    const apiPrivateKey = decryptCredentialBundle(bundle, embeddedKey);
    const apiPublicKey = uint8ArrayToHexString(getPublicKey(apiPrivateKey, true));
    return new ApiKeyStamper({ apiPublicKey, apiPrivateKey });
  } catch {
    throw new Error("it could not be opened: the credential bundle is broken, or is not for this frame's key");
  }
}

serveParent((lifetimeMs) => key.ensure(lifetimeMs), {
  ...others,
  RESET_EMBEDDED_KEY: {
    answers: reset?.answers as string,
    handle(request) {
      stamper = undefined;
      return reset?.handle(request);
    },
  },
  INJECT_CREDENTIAL_BUNDLE: {
    answers: "BUNDLE_INJECTED",
    handle(request) {
      stamper = stamperOf(textOf(request, "value"), key.privateKey());
      return true;
    },
  },
  STAMP_REQUEST: {
    answers: "STAMP",
    async handle(request) {
      if (!stamper) throw new Error("nobody has signed in: inject a credential bundle first");
      return (await stamper.stamp(textOf(request, "value"))).stampHeaderValue;
    },
  },
});
