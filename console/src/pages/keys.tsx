import { Button, Group, MultiSelect, Select } from "@mantine/core";
import { createColumnHelper } from "@tanstack/react-table";
import { useMemo, useState } from "react";
import type { Schemas } from "../api/api.ts";
import { closedPrivateKey, isHexKey, privateKeyOf } from "../api/bundles.ts";
import { useAnswer, useSubmit } from "../api/hooks.ts";
import { useImport } from "../api/import.ts";
import { type AddressFormat, curveOf, FORMAT_OPTIONS } from "../parts/address-formats.ts";
import { Answered } from "../parts/answered.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { DeleteDialog, FormDialog } from "../parts/dialogs.tsx";
import { ExportSecret } from "../parts/export-secret.tsx";
import { Made } from "../parts/made.tsx";
import { NameField } from "../parts/name-field.tsx";
import { Page } from "../parts/page.tsx";
import { SecretField } from "../parts/secret-field.tsx";
import { SignMessage } from "../parts/sign-message.tsx";
import { Copyable, Name, When, wordsOf } from "../parts/texts.tsx";
import { visibleText } from "../parts/visible-text.ts";

type PrivateKey = Schemas["PrivateKey"];
type Curve = PrivateKey["curve"];

type Open = { dialog: "new" | "import" } | { dialog: "sign" | "export" | "delete"; key: PrivateKey };

export function Keys() {
  const [open, setOpen] = useState<Open>();
  const answer = useAnswer("list_private_keys", {});
  const columns = useMemo(() => columnsWith(setOpen), []);
  const close = () => setOpen(undefined);
  return (
    <Page
      title="Private keys"
      actions={
        <Group>
          <Button onClick={() => setOpen({ dialog: "new" })}>New private key</Button>
          <Button variant="default" onClick={() => setOpen({ dialog: "import" })}>
            Import a private key
          </Button>
        </Group>
      }
    >
      <Answered to={answer}>
        {({ privateKeys }) => (
          <DataTable
            caption="Private keys"
            rows={privateKeys}
            columns={columns}
            empty="There are no private keys yet. A private key is independent; a wallet derives many keys from one phrase."
          />
        )}
      </Answered>
      {open?.dialog === "new" && <NewKey onClose={close} />}
      {open?.dialog === "import" && <ImportKey onClose={close} />}
      {open?.dialog === "export" && <ExportKey privateKey={open.key} onClose={close} />}
      {open?.dialog === "sign" && <SignMessage signing={signingOf(open.key)} onClose={close} />}
      {open?.dialog === "delete" && <DeleteKey privateKey={open.key} onClose={close} />}
    </Page>
  );
}

/** An Ethereum address chooses how messages are signed; without one the key does by its id. */
function signingOf({ privateKeyId, curve, addresses }: PrivateKey) {
  const ethereum = addresses.find(({ format }) => format === "ADDRESS_FORMAT_ETHEREUM");
  return { signWith: ethereum?.address ?? privateKeyId, curve, isEthereum: ethereum !== undefined };
}

const curveWords = (curve: Curve): string => wordsOf(curve, "CURVE_");

const column = createColumnHelper<PrivateKey>();

const columnsWith = (open: (what: Open) => void) => [
  column.accessor("privateKeyName", { header: "Name", cell: ({ getValue }) => <Name>{getValue()}</Name> }),
  column.accessor(({ curve }) => curveWords(curve), { id: "curve", header: "Curve" }),
  column.accessor("publicKey", {
    header: "Public key",
    enableSorting: false,
    cell: ({ getValue }) => <Copyable text={getValue()} label="public key" />,
  }),
  column.accessor(({ addresses }) => addresses.map(({ address = "" }) => address).join(" "), {
    id: "addresses",
    header: "Addresses",
    enableSorting: false,
    cell: ({ row: { original } }) =>
      original.addresses.map(({ address = "" }) => <Copyable key={address} text={address} label="address" />),
  }),
  column.display({
    id: "created",
    header: "Created",
    cell: ({ row: { original } }) => <When at={original.createdAt} />,
  }),
  column.display({
    id: "actions",
    header: "",
    cell: ({ row: { original: key } }) => (
      <Group gap="xs" wrap="nowrap">
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`Sign a message with ${visibleText(key.privateKeyName)}`}
          onClick={() => open({ dialog: "sign", key })}
        >
          Sign
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`Export ${visibleText(key.privateKeyName)}`}
          onClick={() => open({ dialog: "export", key })}
        >
          Export
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`Delete ${visibleText(key.privateKeyName)}`}
          onClick={() => open({ dialog: "delete", key })}
        >
          Delete
        </Button>
      </Group>
    ),
  }),
];

const CURVES = (["CURVE_SECP256K1", "CURVE_ED25519", "CURVE_P256"] as const).map((value) => ({
  value,
  label: curveWords(value),
}));

interface KeyFieldsProps {
  curve: Curve;
  onCurve: (curve: Curve) => void;
  formats: AddressFormat[];
  onFormats: (formats: AddressFormat[]) => void;
}

const KeyFields = ({ curve, onCurve, formats, onFormats }: KeyFieldsProps) => (
  <>
    <Select
      label="Curve"
      data={CURVES}
      value={curve}
      onChange={(value) => {
        onCurve(value as Curve);
        onFormats([]);
      }}
      allowDeselect={false}
    />
    <MultiSelect
      label="Addresses"
      description="Optional; not needed to sign."
      data={FORMAT_OPTIONS.filter(({ value }) => curveOf(value) === curve)}
      value={formats}
      onChange={(values) => onFormats(values as AddressFormat[])}
      searchable
    />
  </>
);

function NewKey({ onClose }: { onClose: () => void }) {
  const [privateKeyName, setName] = useState("");
  const [curve, setCurve] = useState<Curve>("CURVE_SECP256K1");
  const [formats, setFormats] = useState<AddressFormat[]>([]);
  const create = useSubmit("create_private_keys");
  return (
    <FormDialog
      title="New private key"
      act="Create private key"
      mutation={create}
      isReady={privateKeyName.trim() !== ""}
      parameters={() => ({ privateKeys: [{ privateKeyName, curve, addressFormats: formats, privateKeyTags: [] }] })}
      onClose={onClose}
    >
      <NameField value={privateKeyName} onChange={setName} />
      <KeyFields curve={curve} onCurve={setCurve} formats={formats} onFormats={setFormats} />
    </FormDialog>
  );
}

function ImportKey({ onClose }: { onClose: () => void }) {
  const [privateKeyName, setName] = useState("");
  const [typed, setTyped] = useState("");
  const [curve, setCurve] = useState<Curve>("CURVE_SECP256K1");
  const [formats, setFormats] = useState<AddressFormat[]>([]);
  const secret = typed.trim();
  const importing = useImport({
    secret,
    begin: (api, userId) => api.submit("init_import_private_key", { userId }),
    close: closedPrivateKey,
    submit: (api, bundle) =>
      api.submit("import_private_key", { ...bundle, privateKeyName, curve, addressFormats: formats }),
    onImported: () => setTyped(""),
  });
  const isKey = isHexKey(secret) || (curve === "CURVE_ED25519" && BASE58_KEY.test(secret));
  return (
    <FormDialog
      title="Import a private key"
      act="Import private key"
      mutation={importing}
      isReady={privateKeyName.trim() !== "" && isKey}
      parameters={() => undefined}
      onClose={onClose}
      done={({ addresses }) => (
        <Made addresses={addresses.map(({ address = "" }) => address)}>
          The private key was imported. Other copies of it still work.
        </Made>
      )}
    >
      <NameField value={privateKeyName} onChange={setName} />
      <SecretField
        label="Private key"
        description="64 hex digits; of Ed25519 also as wallets of Solana export it. It is encrypted in this browser for the signer, and cleared once it is imported."
        value={typed}
        onChange={setTyped}
        error={secret !== "" && !isKey ? "This is not a private key of the curve." : undefined}
      />
      <KeyFields curve={curve} onCurve={setCurve} formats={formats} onFormats={setFormats} />
    </FormDialog>
  );
}

/** 64 bytes: the key and its public half. */
const BASE58_KEY = /^[1-9A-HJ-NP-Za-km-z]{86,88}$/;

function ExportKey({ privateKey, onClose }: { privateKey: PrivateKey; onClose: () => void }) {
  const { privateKeyId, privateKeyName, addresses } = privateKey;
  const submit = useSubmit("export_private_key");
  const isSolana = addresses.some(({ format }) => format === "ADDRESS_FORMAT_SOLANA");
  return (
    <ExportSecret
      name={privateKeyName}
      kind="private key"
      secretName="Private key"
      warning="Anybody who has the private key can sign with it forever, and no policy applies to them."
      ask={(targetPublicKey) => submit.mutateAsync({ privateKeyId, targetPublicKey })}
      open={privateKeyOf(isSolana ? "SOLANA" : "HEXADECIMAL")}
      onClose={onClose}
    />
  );
}

function DeleteKey({ privateKey, onClose }: { privateKey: PrivateKey; onClose: () => void }) {
  const remove = useSubmit("delete_private_keys");
  return (
    <DeleteDialog
      kind="private key"
      name={privateKey.privateKeyName}
      warning={
        privateKey.exported
          ? "The key is destroyed here. Anybody who exported it can still use it."
          : "The key was never exported: everything that only it can move is lost permanently."
      }
      undo={privateKey.exported ? "It can be restored by importing the exported key." : "This cannot be undone."}
      mutation={remove}
      parameters={{ privateKeyIds: [privateKey.privateKeyId], deleteWithoutExport: true }}
      onClose={onClose}
    />
  );
}
