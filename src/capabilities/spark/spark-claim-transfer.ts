import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { SignWith } from "../signing/model.ts";
import { requireSameKey } from "../signing/store.ts";
import { Claim, checkClaim, LeafPublicKeys, OperatorPackages } from "./model.ts";
import { askedWith, findSparkWallet, operatorPackages, sparkFacts } from "./store.ts";

/** One fixed text per problem, the same for every leaf and every cause. */
const reasons = {
  unsigned: "is not signed by `senderIdentityPublicKey` for this transfer; ask the sender to send the leaf again",
  undecryptable: "does not contain a key for this wallet; ask the sender to send the leaf again",
};

export const sparkClaimTransfer = activity({
  path: "spark_claim_transfer",
  summary:
    "Claim Spark leaves that were sent to a wallet. Verifies every sender's signature, and returns a package for each operator.",
  asks: ["claimSparkTransfer"],
  intent: Strict({ signWith: SignWith, claim: Claim }),
  result: Type.Object({ operatorPackages: OperatorPackages, newLeafPublicKeys: LeafPublicKeys }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  policyFacts: sparkFacts,
  concurrent: true,
  check: ({ claim }, turns) => checkClaim(claim, turns),
  async prepare({ intent: { signWith, claim }, read, organization, signer }) {
    const key = await findSparkWallet(read, organization.id, signWith);
    const made = await signer.ask({ verb: "claimSparkTransfer", ...askedWith(organization, key), claim });
    if ("problem" in made) {
      const reason = `contains the leaf ${made.leafId}, which ${reasons[made.problem]}`;
      return fail("FIELD_INVALID", { field: "parameters.claim.leaves", reason });
    }
    return { key, made };
  },
  async run({ intent: { signWith, claim }, tx, organization, prepared: { key, made } }) {
    await requireSameKey(tx, organization.id, signWith, key);
    return {
      operatorPackages: operatorPackages(claim, made.packages),
      newLeafPublicKeys: claim.leaves.map(({ leafId }, at) => ({
        leafId,
        publicKey: made.newPublicKeys[at] as string,
      })),
    };
  },
});
