import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { accountsFacts } from "./store.ts";

export const deleteWalletAccounts = activity({
  path: "delete_wallet_accounts",
  summary:
    "Delete accounts of wallets. Their wallets can derive them again. For an account that was never exported, set `deleteWithoutExport`.",
  intent: Strict({ walletAccountIds: SomeIds, deleteWithoutExport: Type.Optional(Type.Boolean()) }),
  result: Type.Object({ walletAccountIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "WALLET", action: "DELETE" }),
  policyFacts: ({ intent: { walletAccountIds }, read, organization }) =>
    accountsFacts(read, organization.id, walletAccountIds),
  async run({ intent: { walletAccountIds, deleteWithoutExport = false }, tx, organization }) {
    const rows = await tx
      .selectFrom("wallet_accounts as a")
      .innerJoin("wallets as w", (join) =>
        join.onRef("w.organization_id", "=", "a.organization_id").onRef("w.id", "=", "a.wallet_id"),
      )
      .select(["a.id", "a.exported as account_exported", "w.exported as wallet_exported"])
      .where("a.organization_id", "=", organization.id)
      .where("a.id", "in", walletAccountIds)
      .execute();
    const exported = new Map(
      rows.map(({ id, account_exported, wallet_exported }) => [id, account_exported + wallet_exported > 0]),
    );
    for (const id of walletAccountIds) {
      if (!exported.has(id)) {
        fail("RESOURCE_NOT_FOUND", { kind: "wallet account", id, organizationId: organization.id });
      }
      if (!exported.get(id) && !deleteWithoutExport) fail("WALLET_ACCOUNT_NOT_EXPORTED", { id });
    }
    await tx
      .deleteFrom("wallet_accounts")
      .where("organization_id", "=", organization.id)
      .where("id", "in", walletAccountIds)
      .execute();
    return { walletAccountIds };
  },
});
