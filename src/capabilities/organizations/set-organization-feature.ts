import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { OneOf, Strict } from "../../engine/fields.ts";
import { checkFeature, Feature, featureNames } from "./model.ts";
import { findFeatures, replaceFeature } from "./store.ts";

export const setOrganizationFeature = activity({
  path: "set_organization_feature",
  summary: "Switch a feature of the organization on, or give it another value. Takes the root quorum.",
  intent: Strict({ name: OneOf(featureNames), value: Type.Optional(Type.String({ maxLength: 8192 })) }),
  result: Type.Object({ features: Type.Array(Feature) }),
  subject: () => ({ governedBy: "rootQuorum" }),
  check: ({ name, value }) => checkFeature(name, value),
  async run({ intent: { name, value }, tx, organization }) {
    await replaceFeature(tx, organization.id, name, value || null);
    return { features: await findFeatures(tx, organization.id) };
  },
});
