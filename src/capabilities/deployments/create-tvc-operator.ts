import { type Static, Type } from "typebox";
import { addWallet } from "../../authority/rules/wallets.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { IdOrEmpty, Label, LabelOrEmpty, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_PATH_LEVELS } from "../../kernel/limits.ts";
import type { AccountParams } from "../wallets/model.ts";
import { checkAccounts } from "../wallets/model.ts";
import { accountsToProve, addAccounts, deriveAccounts, generateWallet, requireSealedWallet } from "../wallets/store.ts";
import { addOperator, findOperator } from "./operators.ts";

const Intent = Strict({
  walletName: Type.Optional(LabelOrEmpty),
  walletId: Type.Optional(IdOrEmpty),
  path: Type.String({ maxLength: 12 * MAX_PATH_LEVELS }),
  operatorName: Label,
});

/** The two accounts for an operator's keys: encryption, then signing. */
const accountsAt = ({ path, operatorName }: Static<typeof Intent>): [AccountParams, AccountParams] => {
  const account = (role: number, name: string): AccountParams => ({
    curve: "CURVE_P256",
    pathFormat: "PATH_FORMAT_BIP32",
    path: `${path}/${role}'`,
    addressFormat: "ADDRESS_FORMAT_UNCOMPRESSED",
    name: `${operatorName.slice(0, 200)} (${name})`,
  });
  return [account(0, "encryption"), account(1, "signing")];
};

export const createTvcOperator = activity({
  path: "create_tvc_operator",
  summary:
    "Create an operator whose keys are accounts of a wallet: `path` with `/0'` for the encryption key and `/1'` for the signing key.",
  asks: ["createWallet", "deriveAccounts"],
  intent: Intent,
  result: Type.Object({
    walletId: Type.String(),
    operatorId: Type.String(),
    encryptPublicKey: Type.String(),
    signPublicKey: Type.String(),
  }),
  subject: () => ({ governedBy: "policies", resource: "TVC_OPERATOR", action: "CREATE" }),
  check(intent) {
    if (Boolean(intent.walletName) === Boolean(intent.walletId)) {
      const reason = `and \`walletName\` are ${intent.walletId ? "both" : "neither"} given; give exactly one of them`;
      fail("FIELD_INVALID", { field: "parameters.walletId", reason });
    }
    checkAccounts(accountsAt(intent), "parameters");
  },
  async prepare({ intent, read, organization, signer, id }) {
    const params = accountsAt(intent);
    if (!intent.walletId) {
      const walletName = intent.walletName as string;
      const wallet = await generateWallet({ signer, organization, id }, { walletName, accounts: params });
      const operator = operatorOf(id("operator"), intent, wallet.id, wallet.accounts);
      return { operator, isKnown: false, wallet, isNew: true as const, accounts: wallet.accounts };
    }
    const wallet = await requireSealedWallet(read, organization.id, intent.walletId);
    const accounts = await deriveAccounts({ signer, organization, id }, wallet, params);
    const operator = operatorOf(id("operator"), intent, wallet.id, accounts);
    // If these accounts were deleted and are derived again, their operator still exists.
    const known = await findOperator(read, organization.id, operator);
    const operatorId = known?.id ?? operator.id;
    return {
      operator: { ...operator, id: operatorId },
      isKnown: known !== undefined,
      wallet,
      isNew: false as const,
      accounts,
    };
  },
  addresses: ({ prepared: { wallet, accounts } }) => accountsToProve(wallet, accounts),
  change: ({ view, now, prepared }) =>
    changesOn(view, (draft) => {
      if (prepared.isNew) addWallet(draft, prepared.wallet, now);
    }),
  answer: ({ prepared: { operator, wallet, accounts } }) => ({
    walletId: wallet.id,
    operatorId: operator.id,
    encryptPublicKey: accounts[0]?.address ?? "",
    signPublicKey: accounts[1]?.address ?? "",
  }),
  async alsoStore({ tx, organization, now, prepared: { operator, isKnown, wallet, isNew, accounts } }) {
    // The wallet may have been deleted since its keys were derived.
    if (!isNew) await requireSealedWallet(tx, organization.id, wallet.id);
    await addAccounts(tx, organization.id, wallet.id, accounts, now);
    if (!isKnown) await addOperator(tx, { organizationId: organization.id, now }, operator);
  },
});

const operatorOf = (
  id: string,
  { operatorName: name }: Static<typeof Intent>,
  walletId: string,
  accounts: readonly { address: string }[],
) => ({ id, name, publicKey: accounts.map(({ address }) => address).join(""), walletId });
