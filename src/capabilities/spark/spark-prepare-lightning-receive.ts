import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { SignWith } from "../signing/model.ts";
import { requireSameKey } from "../signing/store.ts";
import { checkLightningReceive, LightningReceive, OperatorPackages } from "./model.ts";
import { askedWith, findSparkWallet, operatorPackages, sparkFacts } from "./store.ts";

export const sparkPrepareLightningReceive = activity({
  path: "spark_prepare_lightning_receive",
  summary:
    "Create a preimage for a Lightning payment to a Spark wallet. Returns its hash, and an encrypted share for each operator.",
  asks: ["prepareSparkLightningReceive"],
  intent: Strict({ signWith: SignWith, lightningReceive: LightningReceive }),
  result: Type.Object({ operatorPackages: OperatorPackages, paymentHash: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  policyFacts: sparkFacts,
  concurrent: true,
  check: ({ lightningReceive }, turns) => checkLightningReceive(lightningReceive, turns),
  async prepare({ intent: { signWith, lightningReceive }, read, organization, signer }) {
    const key = await findSparkWallet(read, organization.id, signWith);
    const asked = askedWith(organization, key);
    const made = await signer.ask({ verb: "prepareSparkLightningReceive", ...asked, lightningReceive });
    return { key, made };
  },
  async run({ intent: { signWith, lightningReceive }, tx, organization, prepared: { key, made } }) {
    await requireSameKey(tx, organization.id, signWith, key);
    const { packages, paymentHash } = made;
    return { operatorPackages: operatorPackages(lightningReceive, packages), paymentHash };
  },
});
