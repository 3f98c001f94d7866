import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { SignWith } from "../signing/model.ts";
import { requireSameKey } from "../signing/store.ts";
import { checkTransfer, LeafPublicKeys, OperatorPackages, Transfer } from "./model.ts";
import { askedWith, findSparkWallet, operatorPackages, sparkFacts } from "./store.ts";

export const sparkPrepareTransfer = activity({
  path: "spark_prepare_transfer",
  summary:
    "Transfer Spark leaves. Returns a signed package for each operator, and the public keys that the leaves have during the transfer.",
  asks: ["prepareSparkTransfer"],
  intent: Strict({ signWith: SignWith, transfer: Transfer }),
  result: Type.Object({
    operatorPackages: OperatorPackages,
    transferUserSignature: Type.String(),
    newLeafPublicKeys: LeafPublicKeys,
  }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  policyFacts: sparkFacts,
  concurrent: true,
  check: ({ transfer }, turns) => checkTransfer(transfer, turns),
  async prepare({ intent: { signWith, transfer }, read, organization, signer }) {
    const key = await findSparkWallet(read, organization.id, signWith);
    const made = await signer.ask({ verb: "prepareSparkTransfer", ...askedWith(organization, key), transfer });
    return { key, made };
  },
  async run({ intent: { signWith, transfer }, tx, organization, prepared: { key, made } }) {
    await requireSameKey(tx, organization.id, signWith, key);
    return {
      operatorPackages: operatorPackages(transfer, made.packages),
      transferUserSignature: made.userSignature,
      // Clients look up the new keys by the leaf ids of the new derivations.
      newLeafPublicKeys: transfer.leaves.map(({ newLeafDerivation }, at) => ({
        leafId: newLeafDerivation.signingLeaf?.leafId as string,
        publicKey: made.newPublicKeys[at] as string,
      })),
    };
  },
});
