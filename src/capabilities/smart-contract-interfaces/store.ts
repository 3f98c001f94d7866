import { normalizeAddress } from "../../crypto/addresses.ts";
import { timestampOf } from "../../engine/fields.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { InterfaceType, SmartContractInterface } from "./model.ts";

/** All interfaces of the organization, or the one named. */
export async function findInterfaces(
  read: Reader,
  organizationId: string,
  id?: string,
): Promise<SmartContractInterface[]> {
  const rows = await read
    .selectFrom("smart_contract_interfaces")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .$if(id !== undefined, (interfaces) => interfaces.where("id", "=", id as string))
    .orderBy("id")
    .execute();
  return rows.map((row) => ({
    organizationId,
    smartContractInterfaceId: row.id,
    smartContractAddress: row.address,
    smartContractInterface: row.interface_json,
    type: row.type,
    label: row.label,
    notes: row.notes,
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
  }));
}

/** What is known of the contract at an address. An interface is never changed, so what is made of `json` may be kept by `id`. */
export interface StoredInterface {
  id: string;
  json: string;
}

/** The organization's own interface of a contract; Ethereum addresses match in any case, Solana addresses exactly. */
export async function findInterface(
  read: Reader,
  organizationId: string,
  type: InterfaceType,
  address: string,
): Promise<StoredInterface | undefined> {
  const [row] = await selectInterface(read, { organizationId, type, lookup: normalizeAddress(address) });
  return row && { id: row.id, json: row.interface_json };
}

const selectInterface = prepared<{ organizationId: string; type: InterfaceType; lookup: string }>()(
  (db, { organizationId, type, lookup }) =>
    db
      .selectFrom("smart_contract_interfaces")
      .select(["id", "interface_json"])
      .where("organization_id", "=", organizationId)
      .where("type", "=", type)
      .where("lookup", "=", lookup),
);
