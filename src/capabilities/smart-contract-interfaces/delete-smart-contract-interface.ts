import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { removeInterface } from "./store.ts";

export const deleteSmartContractInterface = activity({
  path: "delete_smart_contract_interface",
  summary: "Delete a smart contract interface; policies that read the contract's calls are in error from then on.",
  intent: Strict({ smartContractInterfaceId: Id }),
  result: Type.Object({ smartContractInterfaceId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "SMART_CONTRACT_INTERFACE", action: "DELETE" }),
  async run({ intent: { smartContractInterfaceId }, tx, organization }) {
    await removeInterface(tx, organization.id, smartContractInterfaceId);
    return { smartContractInterfaceId };
  },
});
