import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { failForNow } from "../../kernel/errors.ts";
import { ON_RAMP_REFRESHES } from "../../kernel/limits.ts";
import type { OnRampProviderId } from "../../providers/on-ramp/offers.ts";
import { asking, credentialFor, holderOf, noteStatus, requireTransaction } from "./store.ts";

export const getOnrampTransactionStatus = query({
  path: "get_onramp_transaction_status",
  summary:
    "Get the last known status of a purchase: PENDING, COMPLETED, FAILED or CANCELLED. With `refresh`, the provider is asked again.",
  needs: ["onRamps", "apart"],
  asks: ["authorizeCoinbase"],
  request: Type.Object({ organizationId: Id, transactionId: Id, refresh: Type.Optional(Type.Boolean()) }),
  response: Type.Object({ transactionStatus: Type.String() }),
  async run({ request: { transactionId: id, refresh }, read, organization, signer, onRamps, apart, now }) {
    const known = await requireTransaction(read, organization.id, id);
    if (!refresh || known.status === "COMPLETED") return { transactionStatus: known.status };
    const market = { provider: known.provider as OnRampProviderId, sandbox: known.sandbox === 1 };
    const lent = await credentialFor(read, organization, market, known.credential_id);
    const holder = holderOf(lent, signer);
    const seconds = onRamps.takeRefresh(holder);
    if (seconds > 0) {
      const reason = `providers are asked about at most ${ON_RAMP_REFRESHES.perSecond} purchases a second; leave \`refresh\` out`;
      failForNow("RATE_LIMITED", { reason }, seconds);
    }
    const status = await asking(lent, () => onRamps.statusOf(holder, { id, walletAddress: known.wallet_address }));
    // If the provider no longer knows the purchase, the status that it reported before stays.
    if (status === known.status || status === "PENDING") return { transactionStatus: known.status };
    const noted = { organizationId: organization.id, id, status, now };
    await apart.transact(organization.id, (tx) => noteStatus(tx, noted));
    return { transactionStatus: status };
  },
});
