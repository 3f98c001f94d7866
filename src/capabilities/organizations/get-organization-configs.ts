import { Type } from "typebox";
import { findRootQuorum } from "../../engine/authority/root-quorum.ts";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { Feature, RootQuorum } from "./model.ts";
import { findFeatures } from "./store.ts";

export const getOrganizationConfigs = query({
  path: "get_organization_configs",
  summary: "Get the organization's features and its root quorum.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({
    configs: Type.Object({
      features: Type.Optional(Type.Array(Feature)),
      quorum: Type.Optional(RootQuorum),
    }),
  }),
  async run({ read, organization }) {
    const features = await findFeatures(read, organization.id);
    return { configs: { features, quorum: await findRootQuorum(read, organization.id) } };
  },
});
