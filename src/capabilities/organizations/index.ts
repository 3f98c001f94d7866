import { capability } from "../../engine/capability.ts";
import { getOrganization } from "./get-organization.ts";
import { getOrganizationConfigs } from "./get-organization-configs.ts";
import { removeOrganizationFeature } from "./remove-organization-feature.ts";
import { setOrganizationFeature } from "./set-organization-feature.ts";
import { updateOrganizationName } from "./update-organization-name.ts";
import { updateRootQuorum } from "./update-root-quorum.ts";
import { whoami } from "./whoami.ts";

export const organizations = capability({
  title: "Organizations",
  operations: [
    updateOrganizationName,
    updateRootQuorum,
    setOrganizationFeature,
    removeOrganizationFeature,
    whoami,
    getOrganization,
    getOrganizationConfigs,
  ],
  erases: ["organization_features", "organization_quotas"],
});
