import { encryptPrivateKeyToBundle, encryptWalletToBundle } from "@turnkey/crypto";
import { keyFormatOf, serveParent, settingsOf, textOf } from "./channel.ts";
import { EmbeddedKey } from "./embedded-key.ts";
import { keyRequests } from "./key-requests.ts";
import { applyStyles } from "./styles.ts";
import { withTrustedKey } from "./trusted-keys.ts";

/** Takes a recovery phrase or a private key from its user, and gives the page around it nothing but what only the signer can open. */

interface Begun {
  importBundle: string;
  organizationId: string;
  userId: string;
}

const key = new EmbeddedKey("import");
let begun: Begun | undefined;

const secret = newField("Recovery phrase or private key");
/** Of a recovery phrase; for an app that asks for it. */
const passphrase = newField("Passphrase");
document.body.append(secret.label);

function newField(name: string): { label: HTMLLabelElement; field: HTMLTextAreaElement } {
  const label = document.createElement("label");
  label.textContent = name;
  const field = document.createElement("textarea");
  field.autocomplete = "off";
  field.autocapitalize = "off";
  field.spellcheck = false;
  // What was pasted is still in the clipboard, for every other program; not every browser lets it be emptied.
  field.addEventListener("paste", () => void navigator.clipboard?.writeText("").catch(() => undefined));
  label.append(field);
  return { label, field };
}

const NOT_ENCRYPTED =
  "it could not be encrypted: what was typed is no key of this format, or the import bundle is not for this user, organization or server";

/** What was typed, encrypted; the fields and the bundle are spent by it. */
async function extract(encrypt: (typed: string, to: Begun, trusted: string) => Promise<string>): Promise<string> {
  const typed = secret.field.value.trim();
  if (!begun) throw new Error("inject an import bundle first");
  if (typed === "") throw new Error("nothing has been typed yet");
  const to = begun;
  const bundle = await withTrustedKey((trusted) => encrypt(typed, to, trusted), NOT_ENCRYPTED);
  for (const { field } of [secret, passphrase]) field.value = "";
  begun = undefined;
  return bundle;
}

serveParent((lifetimeMs) => key.ensure(lifetimeMs), {
  ...keyRequests(key),
  APPLY_SETTINGS: {
    answers: "SETTINGS_APPLIED",
    handle(request) {
      const { styles = {}, passphraseStyles = {}, enablePassphrase } = settingsOf(request);
      applyStyles(styles, secret.field, secret.label);
      applyStyles(passphraseStyles, passphrase.field, passphrase.label);
      if (enablePassphrase) document.body.append(passphrase.label);
      else passphrase.label.remove();
      return true;
    },
  },
  INJECT_IMPORT_BUNDLE: {
    answers: "BUNDLE_INJECTED",
    handle(request) {
      begun = {
        importBundle: textOf(request, "value"),
        organizationId: textOf(request, "organizationId"),
        userId: textOf(request, "userId"),
      };
      return true;
    },
  },
  EXTRACT_WALLET_ENCRYPTED_BUNDLE: {
    answers: "ENCRYPTED_BUNDLE_EXTRACTED",
    handle: () =>
      extract((typed, to, dangerouslyOverrideSignerPublicKey) => {
        const words = typed.split(/\s+/).join(" ");
        const isAsked = passphrase.field.isConnected && passphrase.field.value !== "";
        const mnemonic = isAsked ? `${words}\n${passphrase.field.value}` : words;
        return encryptWalletToBundle({ ...to, mnemonic, dangerouslyOverrideSignerPublicKey });
      }),
  },
  EXTRACT_KEY_ENCRYPTED_BUNDLE: {
    answers: "ENCRYPTED_BUNDLE_EXTRACTED",
    handle(request) {
      const keyFormat = keyFormatOf(request);
      return extract((privateKey, to, dangerouslyOverrideSignerPublicKey) =>
        encryptPrivateKeyToBundle({ ...to, privateKey, keyFormat, dangerouslyOverrideSignerPublicKey }),
      );
    },
  },
});
