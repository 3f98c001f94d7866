import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { sealedEnvelope, TargetPublicKey, targetOf } from "../../engine/keys/bundle-envelopes.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_ADDRESS_LENGTH } from "../../kernel/limits.ts";
import type { Reader } from "../../storage/engine.ts";
import { lookUpSigningKey, type SigningKey, signingKeyFacts } from "../signing/store.ts";
import { markAccountsExported } from "./store.ts";

export const exportWalletAccount = activity({
  path: "export_wallet_account",
  summary: "Get the key of a wallet account, encrypted to your own P-256 key. The account is marked as exported.",
  asks: ["exportKey", "signStatements"],
  intent: Strict({
    address: Type.String({ minLength: 1, maxLength: MAX_ADDRESS_LENGTH }),
    targetPublicKey: TargetPublicKey,
  }),
  result: Type.Object({ address: Type.String(), exportBundle: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "WALLET", action: "EXPORT" }),
  policyFacts: ({ intent, read, organization }) => signingKeyFacts(read, organization.id, intent.address),
  check: (intent) => void targetOf(intent),
  async prepare({ intent, read, organization, signer }) {
    const account = await requireAccount(read, organization.id, intent.address);
    const targetPublicKey = targetOf(intent);
    const { reference } = account;
    const message = await signer.ask({
      verb: "exportKey",
      ...keyOwnerOf(organization),
      key: reference,
      targetPublicKey,
    });
    return { account, exportBundle: await sealedEnvelope({ read, signer }, organization.id, message) };
  },
  async run({ intent: { address }, tx, organization, now, prepared: { account, exportBundle } }) {
    // The decision applies to the account that has the address now; it must be the one that the signer exported.
    const { id } = await requireAccount(tx, organization.id, address);
    if (id !== account.id) return accountNotFound(address, organization.id);
    await markAccountsExported(tx, organization.id, account.address, now);
    return { address: account.address, exportBundle };
  },
});

/** Rejects an address that only a private key has; those are exported by id, by another operation. */
async function requireAccount(
  read: Reader,
  organizationId: string,
  named: string,
): Promise<Pick<SigningKey, "id" | "reference"> & { address: string }> {
  const key = await lookUpSigningKey(read, organizationId, named);
  if (key?.reference.kind !== "walletAccount" || !key.address) return accountNotFound(named, organizationId);
  const { id, reference, address } = key;
  return { id, reference, address: address.address };
}

const accountNotFound = (address: string, organizationId: string): never =>
  fail("RESOURCE_NOT_FOUND", { kind: "wallet account", id: address, organizationId });
