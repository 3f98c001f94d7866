import { Type } from "typebox";
import { parseP256Point } from "../../crypto/hpke.ts";
import { activity } from "../../engine/declare.ts";
import { SomeOf, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_TVC_OPERATORS_OF_SET } from "../../kernel/limits.ts";
import { MIN_SHARE_THRESHOLD, POINT, Point } from "./model.ts";
import { addQuorumKey, operatorsByEncryptKey } from "./quorum-keys.ts";

export const createTvcQuorumKey = activity({
  path: "create_tvc_quorum_key",
  summary:
    "Create a quorum key for an app and split it among operators, each share encrypted to one operator's encryption key. Nobody keeps the key.",
  asks: ["createQuorumKey"],
  intent: Strict({
    threshold: Type.Integer({ minimum: MIN_SHARE_THRESHOLD, maximum: MAX_TVC_OPERATORS_OF_SET }),
    operatorEncryptKeys: SomeOf(Point, MAX_TVC_OPERATORS_OF_SET),
  }),
  result: Type.Object({
    quorumKeyId: Type.String(),
    quorumPublicKey: Type.String(),
    shareIds: Type.Array(Type.String()),
  }),
  subject: () => ({ governedBy: "policies", resource: "TVC_QUORUM_KEY", action: "CREATE" }),
  check({ threshold, operatorEncryptKeys }) {
    const refuse = (name: string, reason: string) =>
      fail("TVC_QUORUM_KEY_INVALID", { field: `parameters.${name}`, reason });
    if (threshold > operatorEncryptKeys.length) {
      refuse("threshold", `is more than the number of operators, ${operatorEncryptKeys.length}`);
    }
    operatorEncryptKeys.forEach((key, index) => {
      const field = `operatorEncryptKeys.${index}`;
      if (operatorEncryptKeys.indexOf(key) < index)
        refuse(field, "is already in the list: each operator has one share");
      if (!parseP256Point(key)) fail("FIELD_INVALID", { field: `parameters.${field}`, reason: `must be ${POINT}` });
    });
  },
  async prepare({ intent: { threshold, operatorEncryptKeys }, read, organization, signer, id }) {
    const operators = await operatorsByEncryptKey(read, organization.id, operatorEncryptKeys);
    const { publicKey, shares } = await signer.ask({
      verb: "createQuorumKey",
      organizationId: organization.id,
      threshold,
      operatorEncryptKeys,
    });
    return {
      key: { id: id("quorumKey"), publicKey, threshold },
      shares: shares.map((share, index) => ({
        ...share,
        id: id(`shares.${index}`),
        operatorId: operators[index]?.id ?? "",
      })),
    };
  },
  async run({ tx, organization: { id: organizationId }, now, prepared: { key, shares } }) {
    await addQuorumKey(tx, { organizationId, now }, key, shares);
    return { quorumKeyId: key.id, quorumPublicKey: key.publicKey, shareIds: shares.map(({ id }) => id) };
  },
});
