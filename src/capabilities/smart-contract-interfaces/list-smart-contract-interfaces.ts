import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { SmartContractInterface } from "./model.ts";
import { bytesOfInterfaces, findInterfaces } from "./store.ts";

export const listSmartContractInterfaces = query({
  path: "list_smart_contract_interfaces",
  summary: "List all smart contract interfaces of the organization.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ smartContractInterfaces: Type.Array(SmartContractInterface) }),
  async run({ read, organization, takeRoom }) {
    await takeRoom(await bytesOfInterfaces(read, organization.id));
    return { smartContractInterfaces: await findInterfaces(read, organization.id) };
  },
});
