import { Type } from "typebox";
import { removeInterface } from "../../authority/rules/contract-interfaces.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";

export const deleteSmartContractInterface = activity({
  path: "delete_smart_contract_interface",
  summary:
    "Delete a smart contract interface. From then on, policies that read the contract's calls cannot be evaluated.",
  intent: Strict({ smartContractInterfaceId: Id }),
  result: Type.Object({ smartContractInterfaceId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "SMART_CONTRACT_INTERFACE", action: "DELETE" }),
  change: ({ view, intent: { smartContractInterfaceId } }) =>
    changesOn(view, (draft) => removeInterface(draft, smartContractInterfaceId)),
  answer: ({ intent: { smartContractInterfaceId } }) => ({ smartContractInterfaceId }),
});
