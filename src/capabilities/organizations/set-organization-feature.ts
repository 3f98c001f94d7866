import { Type } from "typebox";
import { ALL } from "../../authority/state.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { OneOf, Strict } from "../../engine/fields.ts";
import { checkFeature, Feature, featureNames, shownFeatures } from "./model.ts";

export const setOrganizationFeature = activity({
  path: "set_organization_feature",
  summary: "Enable a feature of the organization, or change its value. Requires the root quorum.",
  intent: Strict({ name: OneOf(featureNames), value: Type.Optional(Type.String({ maxLength: 8192 })) }),
  result: Type.Object({ features: Type.Array(Feature) }),
  subject: () => ({ governedBy: "rootQuorum" }),
  check: ({ name, value }) => checkFeature(name, value),
  change: ({ view, intent: { name, value } }) =>
    changesOn(view, (draft) => draft.apply({ do: "setFeatures", features: [{ name, value: value || null }] })),
  answer: ({ view }) => ({ features: shownFeatures(view.part("features", ALL)) }),
});
