import { Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { useMemo, useState } from "react";
import type { Schemas } from "../api/api.ts";
import { phraseOf } from "../api/bundles.ts";
import { useAnswer, useSubmit } from "../api/hooks.ts";
import { usePagedQuery } from "../api/pages.ts";
import { type AddressFormat, accountAt, FORMAT_OPTIONS, formatWords, usualPath } from "../parts/address-formats.ts";
import { Answered } from "../parts/answered.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { DeleteDialog, FormDialog } from "../parts/dialogs.tsx";
import { ExportSecret } from "../parts/export-secret.tsx";
import { More } from "../parts/more.tsx";
import { Page } from "../parts/page.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { RenameDialog } from "../parts/rename-dialog.tsx";
import { type SigningKey, SignMessage } from "../parts/sign-message.tsx";
import { Copyable, Name, When } from "../parts/texts.tsx";
import { useSession } from "../session/context.tsx";

type Account = Schemas["WalletAccount"];

const PAGE_SIZE = 100;

type Open = { dialog: "sign"; key: SigningKey } | { dialog: "add" | "delete" | "export" | "rename" };

export function Wallet() {
  const { walletId } = useParams({ from: "/wallets/$walletId" });
  const [open, setOpen] = useState<Open>();
  const answer = useAnswer("get_wallet", { walletId });
  const accounts = useAccounts(walletId);
  const [sought, setSought] = useState("");
  const search = useSoughtAccounts(walletId, sought.trim());
  const all = useMemo(() => accounts.data?.pages.flat() ?? [], [accounts.data]);
  const list = useMemo(() => found(all, search.data ?? [], sought.trim()), [all, search.data, sought]);
  const columns = useMemo(() => columnsWith((key) => setOpen({ dialog: "sign", key })), []);
  const close = () => setOpen(undefined);
  const wallet = answer.data?.wallet;
  return (
    <Page
      title={wallet?.walletName ?? "Wallet"}
      actions={
        wallet && (
          <Group>
            <Button onClick={() => setOpen({ dialog: "add" })}>Add an account</Button>
            <Button variant="default" onClick={() => setOpen({ dialog: "rename" })}>
              Rename
            </Button>
            <Button variant="default" onClick={() => setOpen({ dialog: "export" })}>
              Export
            </Button>
            <Button variant="default" onClick={() => setOpen({ dialog: "delete" })}>
              Delete
            </Button>
          </Group>
        )
      }
    >
      <Answered to={answer}>
        {({ wallet: { createdAt, exported, imported } }) => (
          <Stack gap="xs">
            <Group gap={4}>
              Id <Copyable text={walletId} label="wallet id" />
            </Group>
            <Text c="dimmed">
              {imported ? "Imported" : "Created"} <When at={createdAt} />,{" "}
              {exported ? "exported at least once" : "never exported"}.
            </Text>
          </Stack>
        )}
      </Answered>
      <Answered to={accounts}>
        {() => (
          <>
            {(all.length > 1 || sought !== "") && (
              <TextInput
                label="Search accounts"
                description={
                  accounts.hasNextPage
                    ? "Part of what is listed below, or a complete address or path, which is searched in all accounts of the wallet."
                    : "Part of an address, a path or a name."
                }
                value={sought}
                onChange={(event) => setSought(event.currentTarget.value)}
                autoComplete="off"
                spellCheck={false}
                maw={640}
              />
            )}
            {search.isError && <ProblemNote error={search.error} retry={() => void search.refetch()} />}
            <DataTable
              caption="Accounts"
              rows={list}
              columns={columns}
              hasSearch={false}
              empty={emptyWords(sought.trim(), search.isFetching)}
            />
          </>
        )}
      </Answered>
      {sought.trim() === "" && <More list={accounts} label="Show more accounts" />}
      {open?.dialog === "sign" && <SignMessage signing={open.key} onClose={close} />}
      {open?.dialog === "add" && <AddAccount walletId={walletId} accounts={all} onClose={close} />}
      {open?.dialog === "rename" && wallet && <RenameWallet wallet={wallet} onClose={close} />}
      {open?.dialog === "export" && wallet && <ExportWallet wallet={wallet} onClose={close} />}
      {open?.dialog === "delete" && wallet && <DeleteWallet wallet={wallet} onClose={close} />}
    </Page>
  );
}

function useAccounts(walletId: string) {
  const { api, organizationId, userId } = useSession();
  return usePagedQuery({
    queryKey: [organizationId, userId, "accounts", walletId],
    initialPageParam: "",
    queryFn: async ({ pageParam: after }) => {
      const paginationOptions = { limit: String(PAGE_SIZE), ...(after === "" ? {} : { after }) };
      return (await api.query("list_wallet_accounts", { walletId, paginationOptions })).accounts;
    },
    getNextPageParam: (page) => (page.length === PAGE_SIZE ? page.at(-1)?.walletAccountId : undefined),
  });
}

const TYPING_MS = 300;
const MAX_SOUGHT = "20";
/** What may be a whole derivation path. */
const PATH = /^m(\/[0-9]+'?)+$/;
/** Shorter text is no whole address. */
const MIN_ADDRESS_LENGTH = 20;

/** Accounts of however many at exactly this address or path, by the server, once nobody types. */
function useSoughtAccounts(walletId: string, text: string) {
  const [asked] = useDebouncedValue(text, TYPING_MS);
  const filter = PATH.test(asked) ? { filterByPath: asked } : { filterByAddress: asked };
  const { data, ...answer } = useAnswer(
    "list_wallet_accounts",
    { walletId, ...filter, paginationOptions: { limit: MAX_SOUGHT } },
    { enabled: asked === text && (PATH.test(text) || text.length >= MIN_ADDRESS_LENGTH) },
  );
  return { ...answer, data: asked === text ? data?.accounts : undefined };
}

/** Of those that are here, what has this in it; with what the server found. */
function found(all: readonly Account[], bySearch: readonly Account[], text: string): Account[] {
  if (text === "") return [...all];
  const sought = text.toLowerCase();
  const here = all.filter(({ address, path, name = "", addressFormat }) =>
    [address, path, name, formatWords(addressFormat)].some((each) => each.toLowerCase().includes(sought)),
  );
  return [...new Map([...here, ...bySearch].map((account) => [account.walletAccountId, account])).values()];
}

function emptyWords(sought: string, isLooking: boolean): string {
  if (sought === "") return "The wallet has no accounts. Add one to have an address.";
  return isLooking ? "Searching …" : "No account matches.";
}

/** Those of chains whose nodes a server can be told. */
const WITH_NODES: AddressFormat[] = ["ADDRESS_FORMAT_ETHEREUM", "ADDRESS_FORMAT_SOLANA"];

const column = createColumnHelper<Account>();

const columnsWith = (sign: (key: SigningKey) => void) => [
  column.accessor(({ addressFormat }) => formatWords(addressFormat), { id: "format", header: "Format" }),
  column.accessor("address", {
    header: "Address",
    enableSorting: false,
    cell: ({ row: { original } }) => (
      <Group gap="xs">
        <Copyable text={original.address} label="address" />
        {WITH_NODES.includes(original.addressFormat) && (
          <Link
            to="/wallets/$walletId/addresses/$address"
            params={{ walletId: original.walletId, address: original.address }}
            aria-label={`Open ${original.address}`}
          >
            Open
          </Link>
        )}
      </Group>
    ),
  }),
  column.accessor("path", { header: "Path" }),
  column.accessor(({ name = "" }) => name, {
    id: "name",
    header: "Name",
    cell: ({ getValue }) => <Name>{getValue()}</Name>,
  }),
  column.display({
    id: "sign",
    header: "",
    cell: ({ row: { original } }) => (
      <Button
        size="compact-sm"
        variant="default"
        onClick={() =>
          sign({
            ...original,
            signWith: original.address,
            isEthereum: original.addressFormat === "ADDRESS_FORMAT_ETHEREUM",
          })
        }
        aria-label={`Sign a message with ${original.address}`}
      >
        Sign
      </Button>
    ),
  }),
];

function AddAccount({
  walletId,
  accounts,
  onClose,
}: {
  walletId: string;
  accounts: readonly Account[];
  onClose: () => void;
}) {
  const next = (format: AddressFormat) =>
    usualPath(format, accounts.filter(({ addressFormat }) => addressFormat === format).length);
  const [format, setFormat] = useState<AddressFormat>("ADDRESS_FORMAT_ETHEREUM");
  const [path, setPath] = useState(() => next(format));
  const [name, setName] = useState("");
  const create = useSubmit("create_wallet_accounts");
  return (
    <FormDialog
      title="Add an account"
      act="Add account"
      mutation={create}
      isReady={path !== ""}
      parameters={() => ({ walletId, accounts: [accountAt(format, path, name.trim())] })}
      onClose={onClose}
    >
      <Select
        label="Format"
        data={FORMAT_OPTIONS}
        value={format}
        onChange={(value) => {
          if (value === null) return;
          setFormat(value as AddressFormat);
          setPath(next(value as AddressFormat));
        }}
        searchable
        allowDeselect={false}
      />
      <TextInput
        label="Derivation path"
        description="The next one of this kind, as other wallets count them."
        value={path}
        onChange={(event) => setPath(event.currentTarget.value)}
        required
        spellCheck={false}
      />
      <TextInput
        label="Name"
        description="Optional. It cannot be changed later."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        autoComplete="off"
      />
    </FormDialog>
  );
}

const RenameWallet = ({
  wallet: { walletId, walletName },
  onClose,
}: {
  wallet: Schemas["Wallet"];
  onClose: () => void;
}) => (
  <RenameDialog
    kind="wallet"
    name={walletName}
    mutation={useSubmit("update_wallet")}
    parametersFor={(name) => ({ walletId, walletName: name })}
    onClose={onClose}
  />
);

function DeleteWallet({ wallet, onClose }: { wallet: Schemas["Wallet"]; onClose: () => void }) {
  const navigate = useNavigate();
  const remove = useSubmit("delete_wallets");
  return (
    <DeleteDialog
      kind="wallet"
      name={wallet.walletName}
      warning={
        wallet.exported
          ? "Its phrase is destroyed here. Anybody who exported it can still use its addresses."
          : "Its phrase was never exported: everything at its addresses is lost permanently."
      }
      undo={wallet.exported ? "It can be restored by importing the exported phrase." : "This cannot be undone."}
      mutation={remove}
      parameters={{ walletIds: [wallet.walletId], deleteWithoutExport: true }}
      onClose={onClose}
      onDone={() => navigate({ to: "/wallets" })}
    />
  );
}

function ExportWallet({
  wallet: { walletId, walletName },
  onClose,
}: {
  wallet: Schemas["Wallet"];
  onClose: () => void;
}) {
  const submit = useSubmit("export_wallet");
  return (
    <ExportSecret
      name={walletName}
      kind="wallet"
      secretName="Secret phrase"
      warning="Anybody who has the secret phrase controls everything at its addresses forever, and no policy applies to them."
      ask={(targetPublicKey) => submit.mutateAsync({ walletId, targetPublicKey })}
      open={phraseOf}
      onClose={onClose}
    />
  );
}
