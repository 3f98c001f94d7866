import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { OneOf, Strict } from "../../engine/fields.ts";
import { Feature, featureNames } from "./model.ts";
import { findFeatures, removeFeature } from "./store.ts";

export const removeOrganizationFeature = activity({
  path: "remove_organization_feature",
  summary: "Switch a feature of the organization off. Takes the root quorum.",
  intent: Strict({ name: OneOf(featureNames) }),
  result: Type.Object({ features: Type.Array(Feature) }),
  subject: () => ({ governedBy: "rootQuorum" }),
  async run({ intent: { name }, tx, organization }) {
    await removeFeature(tx, organization.id, name);
    return { features: await findFeatures(tx, organization.id) };
  },
});
