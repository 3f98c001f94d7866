import { type Static, Type } from "typebox";
import { addWallet } from "../../authority/rules/wallets.ts";
import { changesOn } from "../../authority/view.ts";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { fail, failForNow } from "../../kernel/errors.ts";
import { MAX_SWAP_FEE_BPS } from "../../kernel/limits.ts";
import type { Reader } from "../../storage/engine.ts";
import { lookUpSigningKey } from "../signing/store.ts";
import { accountsToProve, addAccounts, generateWallet } from "../wallets/store.ts";
import { findConfig, putConfig, type SwapConfig } from "./store.ts";

const FeeBps = Type.String({
  pattern: "^(0|[1-9][0-9]{0,2})$",
  description: `basis points in digits, up to ${MAX_SWAP_FEE_BPS}`,
});

const Intent = Strict({
  feeReceiverWalletAddress: Type.Optional(
    Type.String({
      pattern: "^(0x[0-9a-fA-F]{40})?$",
      description: "an Ethereum address of the organization: 0x and 40 hex digits",
    }),
  ),
  feeBps: Type.Optional(FeeBps),
  stableFeeBps: Type.Optional(FeeBps),
});

export const upsertSwapConfig = activity({
  path: "upsert_swap_config",
  summary:
    "Set the fee that the organization charges on its own swaps and those of its sub-organizations, and who receives it. What is left out is unset. Existing quotes keep their fee.",
  only: "parents",
  asks: ["createWallet"],
  intent: Intent,
  result: Type.Object({
    feeReceiverWalletAddress: Type.Optional(Type.String()),
    feeBps: Type.Optional(Type.String()),
    stableFeeBps: Type.Optional(Type.String()),
  }),
  subject: () => ({ governedBy: "policies", resource: "CONFIG", action: "UPDATE" }),
  check(intent) {
    for (const member of ["feeBps", "stableFeeBps"] as const) {
      if (Number(intent[member] ?? 0) <= MAX_SWAP_FEE_BPS) continue;
      fail("FIELD_INVALID", { field: `parameters.${member}`, reason: `must be at most ${MAX_SWAP_FEE_BPS}` });
    }
  },
  prepare: settle,
  addresses: ({ prepared: { wallet } }) => (wallet ? accountsToProve(wallet, wallet.accounts) : []),
  change: ({ view, now, prepared: { wallet } }) =>
    changesOn(view, (draft) => {
      if (wallet) addWallet(draft, wallet, now);
    }),
  answer: ({ prepared: { config, shown } }) => ({
    ...(shown === undefined ? {} : { feeReceiverWalletAddress: shown }),
    ...(config.feeBps === undefined ? {} : { feeBps: config.feeBps }),
    ...(config.stableFeeBps === undefined ? {} : { stableFeeBps: config.stableFeeBps }),
  }),
  async alsoStore({ tx, organization, now, prepared: { before, wallet, config } }) {
    await refuseOtherWallet(tx, organization.id, before);
    if (wallet) await addAccounts(tx, organization.id, wallet.id, wallet.accounts, now);
    await putConfig(tx, organization.id, config, now);
  },
});

/** Determines the receiver of the fees: the named address, or else the wallet that this server created for them, which is created if missing. */
async function settle({
  intent,
  read,
  organization,
  signer,
  id,
}: PrepareContext<Static<typeof Intent>, "createWallet">) {
  const { feeReceiverWalletAddress: named, feeBps, stableFeeBps } = intent;
  const { madeReceiver } = (await findConfig(read, organization.id)) ?? {};
  const fees = { feeBps, stableFeeBps };
  const before = madeReceiver;
  if (named) {
    const shown =
      (await ownAddress(read, organization.id, named)) ??
      fail("FIELD_INVALID", {
        field: "parameters.feeReceiverWalletAddress",
        reason: "is not the Ethereum address of a wallet account or a private key of this organization",
      });
    return { before, config: { ...fees, receiver: shown.toLowerCase(), madeReceiver }, shown };
  }
  const made = madeReceiver === undefined ? undefined : await ownAddress(read, organization.id, madeReceiver);
  const isNeeded = Number(feeBps ?? 0) > 0 || Number(stableFeeBps ?? 0) > 0;
  const config: SwapConfig = { ...fees, receiver: made?.toLowerCase(), madeReceiver };
  if (made !== undefined || !isNeeded) return { before, config, ...(made === undefined ? {} : { shown: made }) };
  const wallet = await generateWallet(
    { signer, organization, id },
    {
      walletName: `Swap fees ${id("walletName")}`,
      accounts: [
        {
          curve: "CURVE_SECP256K1",
          pathFormat: "PATH_FORMAT_BIP32",
          path: "m/44'/60'/0'/0/0",
          addressFormat: "ADDRESS_FORMAT_ETHEREUM",
        },
      ],
    },
  );
  const [{ address: shown } = { address: "" }] = wallet.accounts;
  const receiver = shown.toLowerCase();
  return { before, config: { ...fees, receiver, madeReceiver: receiver }, shown, wallet };
}

/**
 * Checks in the transaction that no wallet for the fees has been created since the one that is known was read: one of two would be forgotten, with
 * the fees that it receives. The same request, or the same vote, succeeds when it is sent again.
 *
 * @throws KeysteadError RESOURCE_EXISTS
 */
async function refuseOtherWallet(read: Reader, organizationId: string, before: string | undefined): Promise<void> {
  const { madeReceiver } = (await findConfig(read, organizationId)) ?? {};
  if (madeReceiver === before) return;
  const reason = "has one that another request created at the same time; send this request again";
  failForNow("RESOURCE_EXISTS", { kind: "wallet for swap fees", field: "organizationId", reason }, 1);
}

async function ownAddress(read: Reader, organizationId: string, address: string): Promise<string | undefined> {
  const key = await lookUpSigningKey(read, organizationId, address);
  return key?.address?.format === "ADDRESS_FORMAT_ETHEREUM" ? key.address.address : undefined;
}
