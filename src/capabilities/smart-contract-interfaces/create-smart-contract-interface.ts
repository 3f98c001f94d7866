import { Type } from "typebox";
import { addInterface } from "../../authority/rules/contract-interfaces.ts";
import { changesOn } from "../../authority/view.ts";
import { normalizeAddress } from "../../crypto/addresses.ts";
import { activity } from "../../engine/declare.ts";
import { Label, Notes, Strict } from "../../engine/fields.ts";
import { MAX_SMART_CONTRACT_INTERFACE_BYTES } from "../../kernel/limits.ts";
import { checkAddress, checkInterface, InterfaceType } from "./model.ts";

export const createSmartContractInterface = activity({
  path: "create_smart_contract_interface",
  summary: "Tell policies what the calls of a contract mean, with its ABI on Ethereum or its IDL on Solana.",
  intent: Strict({
    smartContractAddress: Type.String({ minLength: 1, maxLength: 64 }),
    smartContractInterface: Type.String({ minLength: 1, maxLength: MAX_SMART_CONTRACT_INTERFACE_BYTES }),
    type: InterfaceType,
    label: Label,
    notes: Type.Optional(Notes),
  }),
  result: Type.Object({ smartContractInterfaceId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "SMART_CONTRACT_INTERFACE", action: "CREATE" }),
  check({ type, smartContractAddress, smartContractInterface }) {
    checkAddress(type, smartContractAddress);
    checkInterface(type, smartContractInterface);
  },
  change({ view, id, intent, now }) {
    const { type, smartContractAddress: address, smartContractInterface: json, label, notes = "" } = intent;
    const lookup = normalizeAddress(address);
    const contract = { id: id("interface"), type, address, lookup, label, notes, json, createdAt: now };
    return changesOn(view, (draft) => addInterface(draft, contract));
  },
  answer: ({ id }) => ({ smartContractInterfaceId: id("interface") }),
});
