import { Textarea } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { closedPhrase } from "../api/bundles.ts";
import { useImport } from "../api/import.ts";
import { FIRST_FORMATS } from "../parts/address-formats.ts";
import { FormDialog } from "../parts/dialogs.tsx";
import { Made } from "../parts/made.tsx";
import { NameField } from "../parts/name-field.tsx";
import { AccountsField, firstAccounts } from "../parts/wallet-accounts.tsx";

export function ImportWallet({ onClose }: { onClose: () => void }) {
  const [walletName, setName] = useState("");
  const [phrase, setPhrase] = useState("");
  const [formats, setFormats] = useState(FIRST_FORMATS);
  const words = phrase.trim().split(/\s+/).join(" ");
  const importing = useImport({
    secret: words,
    begin: (api, userId) => api.submit("init_import_wallet", { userId }),
    close: closedPhrase,
    submit: (api, bundle) => api.submit("import_wallet", { ...bundle, walletName, accounts: firstAccounts(formats) }),
    onImported: () => setPhrase(""),
  });
  return (
    <FormDialog
      title="Import a wallet"
      act="Import wallet"
      mutation={importing}
      isReady={walletName.trim() !== "" && words !== ""}
      parameters={() => undefined}
      onClose={onClose}
      done={({ walletId, addresses }) => (
        <Made addresses={addresses}>
          The wallet is imported.{" "}
          <Link to="/wallets/$walletId" params={{ walletId }}>
            Open it
          </Link>
          . Other copies of its phrase still work.
        </Made>
      )}
    >
      <NameField value={walletName} onChange={setName} />
      <Textarea
        label="Secret phrase"
        description="12 to 24 words. It is encrypted for the signer in this browser, and cleared once it is imported."
        value={phrase}
        onChange={(event) => setPhrase(event.currentTarget.value)}
        required
        minRows={3}
        autosize
        autoComplete="off"
        spellCheck={false}
      />
      <AccountsField value={formats} onChange={setFormats} />
    </FormDialog>
  );
}
