import { base58 } from "@scure/base";
import { type Static, Type } from "typebox";
import { parseContractInterface } from "../../chains/evm/contract-interface.ts";
import { parseProgramInterface } from "../../chains/solana/program-interface.ts";
import { OneOf, Timestamp } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_SMART_CONTRACT_INTERFACE_BYTES } from "../../kernel/limits.ts";

export const InterfaceType = OneOf(["SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM", "SMART_CONTRACT_INTERFACE_TYPE_SOLANA"]);
export type InterfaceType = Static<typeof InterfaceType>;

export const SmartContractInterface = Type.Object(
  {
    organizationId: Type.String(),
    smartContractInterfaceId: Type.String(),
    smartContractAddress: Type.String(),
    smartContractInterface: Type.String(),
    type: Type.String(),
    label: Type.String(),
    notes: Type.String(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { $id: "SmartContractInterface" },
);
export type SmartContractInterface = Static<typeof SmartContractInterface>;

const ADDRESS_FIELD = "parameters.smartContractAddress";
const INTERFACE_FIELD = "parameters.smartContractInterface";

/** @throws KeysteadError FIELD_INVALID if it is not an address of a contract of this type */
export function checkAddress(type: InterfaceType, address: string): void {
  if (type === "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM") {
    if (/^0x[0-9a-fA-F]{40}$/.test(address)) return;
    fail("FIELD_INVALID", { field: ADDRESS_FIELD, reason: `must be 0x and 40 hexadecimal digits for ${type}` });
  }
  if (!isSolanaAddress(address)) {
    fail("FIELD_INVALID", { field: ADDRESS_FIELD, reason: `must be 32 bytes in base58 for ${type}` });
  }
}

/** 32 bytes are 32 to 44 characters in Base58; longer texts are not decoded. */
function isSolanaAddress(text: string): boolean {
  return /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text) && base58.decode(text).length === 32;
}

/**
 * Checks a complete interface. For Ethereum it is an ABI, as a list or as the `abi` of a compiler's artifact; for Solana an Anchor
 * IDL.
 *
 * @throws KeysteadError FIELD_INVALID
 */
export function checkInterface(type: InterfaceType, json: string): void {
  const bytes = Buffer.byteLength(json);
  if (bytes > MAX_SMART_CONTRACT_INTERFACE_BYTES) {
    const reason = `has ${bytes} bytes, but at most ${MAX_SMART_CONTRACT_INTERFACE_BYTES} are allowed`;
    fail("FIELD_INVALID", { field: INTERFACE_FIELD, reason });
  }
  if (type === "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM") parseContractInterface(json, INTERFACE_FIELD);
  else parseProgramInterface(json, INTERFACE_FIELD);
}
