import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { SignWith } from "../signing/model.ts";
import { requireSameKey } from "../signing/store.ts";
import { checkSignatures, Signatures } from "./model.ts";
import { askedWith, findSparkWallet, sparkFacts } from "./store.ts";

export const sparkSignFrost = activity({
  path: "spark_sign_frost",
  summary: "Make a Spark user's shares of threshold signatures, with nonces that are used only for them.",
  asks: ["signSparkFrost"],
  intent: Strict({ signWith: SignWith, signatures: Signatures }),
  result: Type.Object({
    signatures: Type.Array(
      Type.Object({ signatureShare: Type.String(), hiding: Type.String(), binding: Type.String() }),
    ),
  }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  policyFacts: sparkFacts,
  concurrent: true,
  check: ({ signatures }, turns) => checkSignatures(signatures, turns),
  async prepare({ intent: { signWith, signatures }, read, organization, signer }) {
    const key = await findSparkWallet(read, organization.id, signWith);
    const shares = await signer.ask({ verb: "signSparkFrost", ...askedWith(organization, key), signatures });
    if ("problem" in shares) {
      const reason = "must be the sum of the user's and the operators' keys, not the user's key alone";
      return fail("FIELD_INVALID", { field: `parameters.signatures.${shares.at}.verifyingKey`, reason });
    }
    return { key, shares };
  },
  async run({ intent, tx, organization, prepared: { key, shares } }) {
    await requireSameKey(tx, organization.id, intent.signWith, key);
    return shares;
  },
});
