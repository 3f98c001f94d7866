import { Type } from "typebox";
import { withChecksum } from "../../crypto/addresses/ethereum.ts";
import { query } from "../../engine/declare.ts";
import { CursorPagination, Id, OneOf, PageInfo } from "../../engine/fields.ts";
import { commonItem, historyPage } from "./listing.ts";
import { EvmAddress, historyChains } from "./model.ts";

const HistoryItem = Type.Object(
  {
    transactionHash: Type.String(),
    ...commonItem,
    from: Type.String(),
    to: Type.Optional(Type.String()),
    /** Absent if unknown, as for transactions that an older release read. */
    executionFailed: Type.Optional(Type.Boolean()),
  },
  { $id: "EthTransactionHistoryItem" },
);

export const listEthTransactionHistory = query({
  path: "list_eth_transaction_history",
  summary:
    "List transactions on an Ethereum chain that involve the address of a wallet account, the most recent first.",
  needs: ["evm", "assets"],
  request: Type.Object({
    organizationId: Id,
    address: EvmAddress,
    caip2: OneOf(historyChains),
    paginationOptions: Type.Optional(CursorPagination),
  }),
  response: Type.Object({ transactions: Type.Array(HistoryItem), pageInfo: PageInfo }),
  async run({ request, read, organization, evm, assets, takeRoom }) {
    const { caip2, address, paginationOptions } = request;
    const of = { organizationId: organization.id, caip2, address: address.toLowerCase() };
    const requireNodes = () => evm.requireChain(caip2);
    const { rows, pageInfo, common } = await historyPage(
      { read, assets, takeRoom, requireNodes },
      of,
      paginationOptions,
    );
    return {
      transactions: rows.map((row) => ({
        transactionHash: row.transaction_hash,
        ...common(row),
        from: withChecksum(row.sender),
        ...(row.recipient === null ? {} : { to: withChecksum(row.recipient) }),
        ...(row.failed === null ? {} : { executionFailed: row.failed === 1 }),
      })),
      pageInfo,
    };
  },
});
