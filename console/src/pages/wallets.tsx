import { Button, Group, Select } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { useState } from "react";
import { dateOf, type Schemas } from "../api/api.ts";
import { useAnswer, useSubmit } from "../api/hooks.ts";
import { FIRST_FORMATS } from "../parts/address-formats.ts";
import { Answered } from "../parts/answered.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { FormDialog } from "../parts/dialogs.tsx";
import { Made } from "../parts/made.tsx";
import { NameField } from "../parts/name-field.tsx";
import { Page } from "../parts/page.tsx";
import { Copyable, Name, When } from "../parts/texts.tsx";
import { AccountsField, firstAccounts } from "../parts/wallet-accounts.tsx";
import { ImportWallet } from "./import-wallet.tsx";

type Wallet = Schemas["Wallet"];
const column = createColumnHelper<Wallet>();

const columns = [
  column.accessor("walletName", {
    header: "Name",
    cell: ({ row: { original } }) => (
      <Link to="/wallets/$walletId" params={{ walletId: original.walletId }}>
        <Name>{original.walletName}</Name>
      </Link>
    ),
  }),
  column.accessor("walletId", {
    header: "Id",
    enableSorting: false,
    cell: ({ getValue }) => <Copyable text={getValue()} label="wallet id" />,
  }),
  column.accessor(({ exported }) => (exported ? "Exported" : "Never exported"), { id: "exported", header: "Exported" }),
  column.accessor(({ createdAt }) => dateOf(createdAt).getTime(), {
    id: "created",
    header: "Created",
    enableGlobalFilter: false,
    cell: ({ row: { original } }) => <When at={original.createdAt} />,
  }),
];

export function Wallets() {
  const [isOpen, setOpen] = useState(false);
  const [isImporting, setImporting] = useState(false);
  const answer = useAnswer("list_wallets", {});
  return (
    <Page
      title="Wallets"
      actions={
        <Group>
          <Button onClick={() => setOpen(true)}>New wallet</Button>
          <Button variant="default" onClick={() => setImporting(true)}>
            Import a wallet
          </Button>
        </Group>
      }
    >
      <Answered to={answer}>
        {({ wallets }) => (
          <DataTable
            caption="Wallets"
            rows={wallets}
            columns={columns}
            empty="There are no wallets yet. A wallet holds one secret phrase, and accounts of any chain that are derived from it."
          />
        )}
      </Answered>
      {isOpen && <NewWallet onClose={() => setOpen(false)} />}
      {isImporting && <ImportWallet onClose={() => setImporting(false)} />}
    </Page>
  );
}

const WORDS = ["12", "15", "18", "21", "24"];

function NewWallet({ onClose }: { onClose: () => void }) {
  const [walletName, setName] = useState("");
  const [formats, setFormats] = useState(FIRST_FORMATS);
  const [words, setWords] = useState("12");
  const create = useSubmit("create_wallet");
  return (
    <FormDialog
      title="New wallet"
      act="Create wallet"
      mutation={create}
      isReady={walletName.trim() !== ""}
      parameters={() => ({
        walletName,
        accounts: firstAccounts(formats),
        mnemonicLength: Number(words),
      })}
      onClose={onClose}
      done={({ walletId, addresses }) => (
        <Made addresses={addresses}>
          The wallet was created.{" "}
          <Link to="/wallets/$walletId" params={{ walletId }}>
            Open it
          </Link>{" "}
          to sign a message.
        </Made>
      )}
    >
      <NameField value={walletName} onChange={setName} />
      <AccountsField value={formats} onChange={setFormats} />
      <Select
        label="Words of the secret phrase"
        description="Nobody sees them unless the wallet is exported."
        data={WORDS}
        value={words}
        onChange={(value) => setWords(value ?? "12")}
        allowDeselect={false}
      />
    </FormDialog>
  );
}
