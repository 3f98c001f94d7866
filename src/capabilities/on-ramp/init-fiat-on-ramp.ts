import { Type } from "typebox";
import { isPublicAddress } from "../../delivery/addresses.ts";
import { activity } from "../../engine/declare.ts";
import { checkPurchase, PurchaseIntent, purchaseOf } from "./purchase.ts";
import { asking, credentialFor, holderOf } from "./store.ts";

export const initFiatOnRamp = activity({
  path: "init_fiat_on_ramp",
  summary:
    "Begin a purchase of crypto for fiat. Returns the URL of the provider's page, signed or with a token that opens it once. Sub-organizations without their own credential use their parent's.",
  needs: ["onRamps"],
  asks: ["signMoonPayUrl", "authorizeCoinbase"],
  intent: PurchaseIntent,
  result: Type.Object({
    onRampUrl: Type.String(),
    onRampTransactionId: Type.String(),
    onRampUrlSignature: Type.Optional(Type.String()),
  }),
  subject: () => ({ governedBy: "policies", resource: "FIAT_TRANSACTION", action: "CREATE" }),
  check: checkPurchase,
  // A page that nobody opens and a token that nobody uses have no effect, so this may run in vain and repeatedly.
  async prepare({ intent, read, organization, signer, onRamps, remoteAddress, id }) {
    // A private address, as of a proxy that is not configured, says nothing about the buyer.
    const clientAddress = remoteAddress !== undefined && isPublicAddress(remoteAddress) ? remoteAddress : undefined;
    const transactionId = id("transaction");
    const purchase = purchaseOf(intent, { transactionId, clientAddress });
    const market = { provider: intent.onrampProvider, sandbox: purchase.sandbox };
    const lent = await credentialFor(read, organization, market);
    const begun = await asking(lent, () => onRamps.begin(holderOf(lent, signer), purchase));
    return { transactionId, credentialId: lent.row.id, ...begun };
  },
  async run({ intent, tx, organization, now, prepared: { transactionId, credentialId, url, signature } }) {
    await tx
      .insertInto("on_ramp_transactions")
      .values({
        id: transactionId,
        organization_id: organization.id,
        credential_id: credentialId,
        provider: intent.onrampProvider,
        sandbox: Number(intent.sandboxMode ?? false),
        wallet_address: intent.walletAddress,
        status: "PENDING",
        created_at: now,
        updated_at: now,
      })
      .execute();
    return {
      onRampUrl: url,
      onRampTransactionId: transactionId,
      ...(signature === undefined ? {} : { onRampUrlSignature: signature }),
    };
  },
});
