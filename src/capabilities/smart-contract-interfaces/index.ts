import { capability } from "../../engine/capability.ts";
import { createSmartContractInterface } from "./create-smart-contract-interface.ts";
import { deleteSmartContractInterface } from "./delete-smart-contract-interface.ts";
import { getSmartContractInterface } from "./get-smart-contract-interface.ts";
import { listSmartContractInterfaces } from "./list-smart-contract-interfaces.ts";

export const smartContractInterfaces = capability({
  title: "Smart contract interfaces",
  operations: [
    createSmartContractInterface,
    deleteSmartContractInterface,
    getSmartContractInterface,
    listSmartContractInterfaces,
  ],
  erases: ["smart_contract_interfaces"],
});
