import { Button, Group, Select, Stack, Text } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { RequestOf, Schemas } from "../api/api.ts";
import { useAnswer } from "../api/hooks.ts";
import { usePagedQuery } from "../api/pages.ts";
import { Answered } from "../parts/answered.tsx";
import { CHAIN_NAMES } from "../parts/chains.ts";
import { Page } from "../parts/page.tsx";
import { type CellsOf, PagedTable } from "../parts/paged-table.tsx";
import { QrImage } from "../parts/qr-image.tsx";
import { ScrollTable } from "../parts/scroll-table.tsx";
import { Section } from "../parts/section.tsx";
import { TableRow } from "../parts/table-row.tsx";
import { Copyable, Name, When } from "../parts/texts.tsx";
import { useSession } from "../session/context.tsx";
import { type EvmChain, SendEvm, SendSolana, type SolanaChain } from "./send-native.tsx";

type BalanceChain = RequestOf<"get_wallet_address_balances">["caip2"];
type EthHistoryChain = RequestOf<"list_eth_transaction_history">["caip2"];
type SolHistoryChain = RequestOf<"list_sol_transaction_history">["caip2"];

/** The Ethereum chains whose transactions the server lists. */
const EVM_WITH_HISTORY: ReadonlySet<string> = new Set<EthHistoryChain>([
  "eip155:1",
  "eip155:11155111",
  "eip155:8453",
  "eip155:84532",
  "eip155:137",
  "eip155:80002",
  "eip155:42161",
  "eip155:421614",
  "eip155:56",
  "eip155:97",
  "eip155:4217",
  "eip155:42431",
]);

/** Tempo has no native unit, so there is nothing to send of it. */
const isTempo = (caip2: string): boolean => caip2 === "eip155:4217" || caip2 === "eip155:42431";

/** An address: to be paid at, what is there on a chain, what happened there, and sending from it. */
export function AddressPage() {
  const { walletId, address } = useParams({ from: "/wallets/$walletId/addresses/$address" });
  // Anybody can write a link: nothing is offered of an address that is not the wallet's.
  const account = useAnswer("get_wallet_account", { walletId, address });
  const isEvm = /^0x[0-9a-f]{40}$/i.test(address);
  const [isSending, setSending] = useState(false);
  const ofFamily = Object.entries(CHAIN_NAMES)
    .filter(([caip2]) => caip2.startsWith("eip155:") === isEvm)
    .map(([value, label]) => ({ value, label }));
  const [caip2, setChain] = useState(ofFamily[0]?.value ?? "");
  return (
    <Page
      title="Address"
      actions={account.isSuccess && !isTempo(caip2) && <Button onClick={() => setSending(true)}>Send</Button>}
    >
      <Section title="Receive">
        <Answered to={account}>
          {({ account: { address: spelled } }) => (
            <Group align="flex-start" gap="lg">
              <QrImage text={spelled} label={`QR code of ${spelled}`} />
              <Stack gap="xs" miw={0}>
                <Text>Payments to this address go to the wallet, on every chain of its kind:</Text>
                <Copyable text={spelled} label="address" whole />
              </Stack>
            </Group>
          )}
        </Answered>
      </Section>
      <Select
        label="Chain"
        data={ofFamily}
        value={caip2}
        onChange={(value) => value !== null && setChain(value)}
        allowDeselect={false}
        searchable
        maw={320}
      />
      <Balances address={address} caip2={caip2 as BalanceChain} />
      {(!isEvm || EVM_WITH_HISTORY.has(caip2)) && <History address={address} caip2={caip2} isEvm={isEvm} />}
      {isSending && isEvm && <SendEvm from={address} caip2={caip2 as EvmChain} onClose={() => setSending(false)} />}
      {isSending && !isEvm && (
        <SendSolana from={address} caip2={caip2 as SolanaChain} onClose={() => setSending(false)} />
      )}
    </Page>
  );
}

function Balances({ address, caip2 }: { address: string; caip2: BalanceChain }) {
  const answer = useAnswer("get_wallet_address_balances", { address, caip2 });
  return (
    <Section title="Balances">
      <Answered to={answer}>
        {({ balances }) =>
          balances.length === 0 ? (
            <Text c="dimmed">It has none of the assets that this server knows.</Text>
          ) : (
            <ScrollTable caption="Balances" head={["Asset", "Amount", "In US dollars"]}>
              {balances.map(({ caip19, symbol, name, display }) => (
                <TableRow
                  key={caip19}
                  cells={[
                    <Name key="asset">{`${symbol} (${name})`}</Name>,
                    display.crypto ?? "unknown",
                    display.usd ?? "unknown",
                  ]}
                />
              ))}
            </ScrollTable>
          )
        }
      </Answered>
    </Section>
  );
}

interface Past {
  hash: string;
  status: "CONFIRMED" | "FINALIZED" | "FAILED";
  /** RFC 3339. */
  at: string;
  transfers: readonly Schemas["TransactionHistoryTransfer"][];
}

interface PastPage {
  items: Past[];
  /** Where the next page begins. */
  next: string | undefined;
}

const PAGE_SIZE = "25";

const cellsOfPast: CellsOf<Past> = ({ hash, transfers, status, at }) => [
  <Copyable key="hash" text={hash} label="transaction" />,
  <Moved key="moved" transfers={transfers} />,
  status.toLowerCase(),
  <When key="when" at={at} />,
];

function History({ address, caip2, isEvm }: { address: string; caip2: string; isEvm: boolean }) {
  const { api, organizationId, userId } = useSession();
  const list = usePagedQuery({
    queryKey: [organizationId, userId, "history", address, caip2],
    initialPageParam: "",
    queryFn: async ({ pageParam: after }): Promise<PastPage> => {
      const paginationOptions = { limit: PAGE_SIZE, ...(after === "" ? {} : { after }) };
      const answer = isEvm
        ? await api.query("list_eth_transaction_history", {
            address,
            caip2: caip2 as EthHistoryChain,
            paginationOptions,
          })
        : await api.query("list_sol_transaction_history", {
            address,
            caip2: caip2 as SolHistoryChain,
            paginationOptions,
          });
      const { hasNextPage, endCursor } = answer.pageInfo;
      return { items: answer.transactions.map(pastOf), next: hasNextPage ? endCursor : undefined };
    },
    getNextPageParam: ({ next }) => next,
  });
  return (
    <Section title="History">
      <PagedTable
        list={list}
        caption="History"
        head={["Transaction", "Moved", "Status", "When"]}
        itemsOf={({ items }) => items}
        keyOf={({ hash }) => hash}
        cellsOf={cellsOfPast}
        empty="This server has not seen any transactions there."
        more="Show older transactions"
      />
    </Section>
  );
}

function pastOf(item: Schemas["EthTransactionHistoryItem"] | Schemas["SolTransactionHistoryItem"]): Past {
  const { block, status, transfers, executionFailed } = item;
  const hash = "transactionHash" in item ? item.transactionHash : item.signature;
  return { hash, status: executionFailed ? "FAILED" : status, at: block.timestamp, transfers };
}

function Moved({ transfers }: { transfers: Past["transfers"] }) {
  if (transfers.length === 0) return "nothing";
  return (
    <Stack gap={2}>
      {transfers.map(({ direction, asset, amount, counterparty, display }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the transfers of a transaction never change
        <Group key={index} gap={4} wrap="nowrap">
          <Name>{`${display?.crypto ?? amount} ${asset?.symbol ?? "of the smallest unit"}`}</Name>
          {direction === "IN" ? "from" : "to"}
          <Copyable text={counterparty} label="address" />
        </Group>
      ))}
    </Stack>
  );
}
