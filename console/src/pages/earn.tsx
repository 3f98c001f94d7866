import { Autocomplete, Button, Group, Select, Text, TextInput } from "@mantine/core";
import { Fragment, useState } from "react";
import type { ParametersOf, Schemas } from "../api/api.ts";
import { useAnswer, useSubmit } from "../api/hooks.ts";
import { useRefusals } from "../api/refusals.ts";
import { smallestOf } from "../parts/amounts.ts";
import { Answered } from "../parts/answered.tsx";
import { CHAIN_NAMES } from "../parts/chains.ts";
import { FormDialog, NotYet } from "../parts/dialogs.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { ScrollTable } from "../parts/scroll-table.tsx";
import { Section } from "../parts/section.tsx";
import { TableRow } from "../parts/table-row.tsx";
import { Copyable, Mark, Name } from "../parts/texts.tsx";
import { visibleText } from "../parts/visible-text.ts";

type Enabled = Schemas["EarnEnabledVault"];
type Chain = ParametersOf<"earn_deploy_wrapper">["chainCaip2"];

/** The vaults that the organization's users can earn in, and the fee on what they earn. */
export function Earn() {
  const [isOpen, setOpen] = useState(false);
  const answer = useAnswer("list_earn_enabled_vaults", {});
  return (
    <Section
      title="Earn"
      add={
        <Button size="xs" variant="default" onClick={() => setOpen(true)}>
          Enable a vault
        </Button>
      }
    >
      <Answered to={answer}>
        {({ enabledVaults }) =>
          enabledVaults.length === 0 ? (
            <Text c="dimmed">
              No vaults are enabled. Users can deposit into vaults of this server's catalog that you enable.
            </Text>
          ) : (
            <ScrollTable caption="Earn" head={["Vault", "Chain", "Wrapper", "State", "Your fee", "Deposited", ""]}>
              {enabledVaults.map((vault) => (
                <VaultRow key={vault.wrapperAddress} vault={vault} />
              ))}
            </ScrollTable>
          )
        }
      </Answered>
      {isOpen && <EnableVault onClose={() => setOpen(false)} />}
    </Section>
  );
}

const DEPLOY_COLORS = { PENDING: "yellow", COMPLETED: "teal", FAILED: "red" };

function VaultRow({ vault }: { vault: Enabled }) {
  const { deployRequestId, name, caip19, wrapperAddress, clientFeeBps, depositsDisabled } = vault;
  // What it comes to is not told of itself.
  const deployment = useAnswer(
    "get_earn_deploy_status",
    { deployRequestId },
    { live: true, enabled: vault.deployStatus === "PENDING" },
  );
  const status = deployment.data?.status ?? vault.deployStatus;
  const error = deployment.data?.error ?? vault.deployError;
  const set = useSubmit("earn_set_wrapper_state");
  const act = depositsDisabled ? "Accept deposits" : "Refuse deposits";
  return (
    <TableRow
      cells={[
        <Name key="name">{name}</Name>,
        chainOf(caip19),
        <Copyable key="wrapper" text={wrapperAddress} label="wrapper" />,
        <Fragment key="state">
          <Mark color={DEPLOY_COLORS[status]}>{depositsDisabled ? "takes no deposits" : status.toLowerCase()}</Mark>
          {error !== undefined && (
            <Text size="sm">
              <Name>{error}</Name>
            </Text>
          )}
        </Fragment>,
        `${Number(clientFeeBps) / BPS_OF_PERCENT} %`,
        vault.display.crypto ?? vault.totalDeposited ?? "not known",
        <Group key="acts" gap="xs">
          {set.isError && <ProblemNote error={set.error} />}
          {set.data && set.data.result === undefined && <NotYet activity={set.data} />}
          <Button
            size="compact-sm"
            variant="default"
            aria-label={`${act}: ${visibleText(name)}`}
            loading={set.isPending}
            onClick={() => set.mutate({ wrapperAddress, depositsDisabled: !depositsDisabled })}
          >
            {act}
          </Button>
        </Group>,
      ]}
    />
  );
}

/** What a CAIP-19 name begins with says the chain. */
function chainOf(caip19: string): string {
  const [caip2 = caip19] = caip19.split("/");
  return CHAIN_NAMES[caip2] ?? caip2;
}

const BPS_OF_PERCENT = 100;
/** Basis points are hundredths. */
const PERCENT = { symbol: "%", decimals: 2 };

const CHAINS = (
  ["eip155:1", "eip155:8453", "eip155:42161", "eip155:137", "eip155:56", "eip155:4217"] as const satisfies Chain[]
).map((value) => ({ value, label: CHAIN_NAMES[value] ?? value }));

const ADDRESS = /^0x[0-9a-f]{40}$/i;
/** Chosen where the token is none that the server knows by name. */
const ANOTHER = "another";

function EnableVault({ onClose }: { onClose: () => void }) {
  const [chainCaip2, setChain] = useState<Chain>();
  const [asset, setAsset] = useState<string | null>(null);
  const [token, setToken] = useState("");
  const [vaultAddress, setVault] = useState<string | null>(null);
  const [fee, setFee] = useState("");
  const [clientFeeWallet, setFeeWallet] = useState("");
  const deploy = useSubmit("earn_deploy_wrapper");
  const clientFeeBps = smallestOf(fee, PERCENT);
  const refusalOf = useRefusals(deploy, { vaultAddress, clientFeeBps: fee, clientFeeWallet });
  const known = useAnswer(
    "list_supported_assets",
    { caip2: chainCaip2 ?? "eip155:1" },
    { enabled: chainCaip2 !== undefined },
  );
  const tokens = (known.data?.assets ?? []).filter(({ caip19 }) => caip19.includes("/erc20:"));
  const isTyped = asset === ANOTHER && ADDRESS.test(token.trim());
  const caip19 = asset === ANOTHER ? `${chainCaip2}/erc20:${token.trim()}` : (asset ?? "");
  const canLook = asset !== null && (asset !== ANOTHER || isTyped);
  const catalog = useAnswer("list_earn_vaults", { caip19 }, { enabled: canLook });
  const vaults = canLook ? (catalog.data?.vaults ?? []) : [];
  const accounts = useAnswer("list_wallet_accounts", { paginationOptions: { limit: ACCOUNTS } });
  const wallets = (accounts.data?.accounts ?? [])
    .filter(({ addressFormat }) => addressFormat === "ADDRESS_FORMAT_ETHEREUM")
    .map(({ address }) => address);
  return (
    <FormDialog
      title="Enable a vault"
      act="Enable vault"
      mutation={deploy}
      isReady={vaultAddress !== null && clientFeeBps !== undefined && ADDRESS.test(clientFeeWallet.trim())}
      parameters={() => ({
        vaultAddress: vaultAddress ?? "",
        chainCaip2: chainCaip2 as Chain,
        clientFeeBps: clientFeeBps ?? "",
        clientFeeWallet: clientFeeWallet.trim(),
      })}
      onClose={onClose}
    >
      <Text size="sm">
        A contract over the vault takes your fee on what it earns. The service pays for it, and nobody can change its
        terms: another fee, or another wallet for it, is another contract.
      </Text>
      <Select
        label="Chain"
        data={CHAINS}
        value={chainCaip2 ?? null}
        onChange={(value) => {
          setChain(value as Chain);
          setAsset(null);
          setVault(null);
        }}
        allowDeselect={false}
      />
      {known.isError && <ProblemNote error={known.error} retry={() => void known.refetch()} />}
      <Select
        label="Token"
        data={[
          ...tokens.map(({ caip19: value, symbol, name }) => ({ value, label: visibleText(`${symbol} (${name})`) })),
          { value: ANOTHER, label: "Another token" },
        ]}
        value={asset}
        onChange={(value) => {
          setAsset(value);
          setVault(null);
        }}
        disabled={!known.isSuccess}
        allowDeselect={false}
        searchable
      />
      {asset === ANOTHER && (
        <TextInput
          label="Token contract"
          value={token}
          onChange={(event) => {
            setToken(event.currentTarget.value);
            setVault(null);
          }}
          required
          autoComplete="off"
          spellCheck={false}
        />
      )}
      {canLook && catalog.isError && <ProblemNote error={catalog.error} retry={() => void catalog.refetch()} />}
      <Select
        label="Vault"
        description={
          canLook && catalog.isSuccess && vaults.length === 0
            ? "This server's catalog has no vault for this token."
            : "The vaults in this server's catalog, those that hold most first."
        }
        data={vaults.map(wordsOfVault)}
        value={vaultAddress}
        onChange={setVault}
        error={refusalOf("vaultAddress")}
        disabled={vaults.length === 0}
        required
        allowDeselect={false}
      />
      <TextInput
        label="Your fee (percent)"
        description="The share of each gain: 0 to 40."
        value={fee}
        onChange={(event) => setFee(event.currentTarget.value)}
        error={refusalOf("clientFeeBps")}
        inputMode="decimal"
        required
        autoComplete="off"
      />
      <Autocomplete
        label="Your fee goes to"
        description="An Ethereum account of one of your wallets, or of a sub-organization's wallet."
        data={wallets}
        value={clientFeeWallet}
        onChange={setFeeWallet}
        error={refusalOf("clientFeeWallet")}
        required
        autoComplete="off"
        spellCheck={false}
      />
    </FormDialog>
  );
}

const ACCOUNTS = "100";

const wordsOfVault = ({ vaultAddress, name, curator, tvl, display, enabled }: Schemas["EarnVault"]) => ({
  value: vaultAddress,
  label: [
    visibleText(curator === "" ? name : `${name}, ${curator}`),
    `holds ${display.crypto ?? tvl}`,
    ...(enabled ? ["already enabled"] : []),
  ].join(" · "),
});
