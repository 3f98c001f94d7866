import { capability } from "../../engine/capability.ts";
import { createSubOrganization } from "./create-sub-organization.ts";
import { deleteSubOrganization } from "./delete-sub-organization.ts";
import { eraseOrganization } from "./erase-organization.ts";
import { listSuborgs } from "./list-suborgs.ts";
import { listVerifiedSuborgs } from "./list-verified-suborgs.ts";
import { subOrganizationCalls } from "./proxy-calls.ts";

export const subOrganizations = capability({
  title: "Sub-organizations",
  operations: [createSubOrganization, deleteSubOrganization, listSuborgs, listVerifiedSuborgs],
  proxyCalls: subOrganizationCalls,
  jobs: [eraseOrganization],
});
