import { decryptExportBundle } from "@turnkey/crypto";
import { type FrameRequest, keyFormatOf, serveParent, settingsOf, textOf } from "./channel.ts";
import { EmbeddedKey } from "./embedded-key.ts";
import { keyRequests } from "./key-requests.ts";
import { applyStyles } from "./styles.ts";
import { withTrustedKey } from "./trusted-keys.ts";

/** Opens what was exported and shows it to its user; the page around it never sees it. */

const key = new EmbeddedKey("export");
const shown = document.createElement("div");
document.body.append(shown);

const NOT_OPENED =
  "it could not be opened: the export bundle is not for this frame's key, this organization or this server, or holds no key of this format";

/** The frame's key is spent by it: what was exported is opened once. */
async function show(
  request: FrameRequest,
  form: { returnMnemonic: boolean; keyFormat?: "HEXADECIMAL" | "SOLANA" },
): Promise<true> {
  const bundle = {
    exportBundle: textOf(request, "value"),
    organizationId: textOf(request, "organizationId"),
    embeddedKey: key.privateKey(),
    ...form,
  };
  const text = await withTrustedKey(
    (dangerouslyOverrideSignerPublicKey) => decryptExportBundle({ ...bundle, dangerouslyOverrideSignerPublicKey }),
    NOT_OPENED,
  );
  shown.textContent = form.keyFormat === "HEXADECIMAL" ? `0x${text}` : text;
  key.clear();
  return true;
}

serveParent((lifetimeMs) => key.ensure(lifetimeMs), {
  ...keyRequests(key),
  APPLY_SETTINGS: {
    answers: "SETTINGS_APPLIED",
    handle(request) {
      applyStyles(settingsOf(request).styles ?? {}, shown);
      return true;
    },
  },
  INJECT_WALLET_EXPORT_BUNDLE: {
    answers: "BUNDLE_INJECTED",
    handle: (request) => show(request, { returnMnemonic: true }),
  },
  INJECT_KEY_EXPORT_BUNDLE: {
    answers: "BUNDLE_INJECTED",
    handle: (request) => show(request, { returnMnemonic: false, keyFormat: keyFormatOf(request) }),
  },
  CLEAR_EMBEDDED_PRIVATE_KEY: {
    answers: "EMBEDDED_PRIVATE_KEY_CLEARED",
    handle() {
      shown.textContent = "";
      return true;
    },
  },
});
