import { createSmartContractInterface } from "./create-smart-contract-interface.ts";
import { deleteSmartContractInterface } from "./delete-smart-contract-interface.ts";
import { getSmartContractInterface } from "./get-smart-contract-interface.ts";
import { listSmartContractInterfaces } from "./list-smart-contract-interfaces.ts";

export const smartContractInterfaces = [
  createSmartContractInterface,
  deleteSmartContractInterface,
  getSmartContractInterface,
  listSmartContractInterfaces,
];
