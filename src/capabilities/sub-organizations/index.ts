import { createSubOrganization } from "./create-sub-organization.ts";
import { deleteSubOrganization } from "./delete-sub-organization.ts";
import { listSuborgs } from "./list-suborgs.ts";
import { listVerifiedSuborgs } from "./list-verified-suborgs.ts";

export const subOrganizations = [createSubOrganization, deleteSubOrganization, listSuborgs, listVerifiedSuborgs];
