import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { CursorPagination, Id, OneOf, PageInfo } from "../../engine/fields.ts";
import type { SolanaDetails } from "./entries.ts";
import { commonItem, historyPage } from "./listing.ts";
import { SolanaAddress, solanaChainOf, solanaSpellings } from "./model.ts";

const HistoryItem = Type.Object(
  {
    signature: Type.String(),
    ...commonItem,
    /** The first signer. */
    feePayer: Type.String(),
    /** In the order of the message. */
    signers: Type.Array(
      Type.Object({ address: Type.String(), writable: Type.Boolean() }, { $id: "SolTransactionHistorySigner" }),
    ),
    executionFailed: Type.Boolean(),
  },
  { $id: "SolTransactionHistoryItem" },
);

export const listSolTransactionHistory = query({
  path: "list_sol_transaction_history",
  summary: "List transactions on a Solana cluster that involve the address of a wallet account, the most recent first.",
  needs: ["solana", "assets"],
  request: Type.Object({
    organizationId: Id,
    address: SolanaAddress,
    caip2: OneOf(solanaSpellings),
    paginationOptions: Type.Optional(CursorPagination),
  }),
  response: Type.Object({ transactions: Type.Array(HistoryItem), pageInfo: PageInfo }),
  async run({ request, read, organization, solana, assets, takeRoom }) {
    const { address, paginationOptions } = request;
    const caip2 = solanaChainOf(request.caip2);
    const requireNodes = () => solana.requireChain(caip2);
    const { rows, pageInfo, common } = await historyPage(
      { read, assets, takeRoom, requireNodes },
      { organizationId: organization.id, caip2, address },
      paginationOptions,
    );
    return {
      transactions: rows.map((row) => {
        const { signers, failed } = JSON.parse(row.solana as string) as SolanaDetails;
        return {
          signature: row.transaction_hash,
          ...common(row),
          feePayer: row.sender,
          signers: [...signers],
          executionFailed: failed,
        };
      }),
      pageInfo,
    };
  },
});
