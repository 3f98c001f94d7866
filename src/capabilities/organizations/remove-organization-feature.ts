import { Type } from "typebox";
import { removeFeature } from "../../authority/rules/features.ts";
import { refuseQuorumWithoutFeature } from "../../authority/rules/root-quorum.ts";
import { ALL } from "../../authority/state.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { OneOf, Strict } from "../../engine/fields.ts";
import { Feature, featureNames, shownFeatures } from "./model.ts";

export const removeOrganizationFeature = activity({
  path: "remove_organization_feature",
  summary: "Disable a feature of the organization. Requires the root quorum.",
  intent: Strict({ name: OneOf(featureNames) }),
  result: Type.Object({ features: Type.Array(Feature) }),
  subject: () => ({ governedBy: "rootQuorum" }),
  change: ({ view, intent: { name }, evaluate }) =>
    changesOn(view, (draft) => {
      removeFeature(draft, name);
      refuseQuorumWithoutFeature(draft, view, name, evaluate);
    }),
  answer: ({ view }) => ({ features: shownFeatures(view.part("features", ALL)) }),
});
