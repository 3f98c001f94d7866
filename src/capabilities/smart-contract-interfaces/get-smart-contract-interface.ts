import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { SmartContractInterface } from "./model.ts";
import { findInterfaces } from "./store.ts";

export const getSmartContractInterface = query({
  path: "get_smart_contract_interface",
  summary: "Get a smart contract interface.",
  request: Type.Object({ organizationId: Id, smartContractInterfaceId: Id }),
  response: Type.Object({ smartContractInterface: SmartContractInterface }),
  async run({ request: { smartContractInterfaceId: id }, read, organization: { id: organizationId } }) {
    const [smartContractInterface] = await findInterfaces(read, organizationId, id);
    if (!smartContractInterface) fail("RESOURCE_NOT_FOUND", { kind: "smart contract interface", id, organizationId });
    return { smartContractInterface };
  },
});
