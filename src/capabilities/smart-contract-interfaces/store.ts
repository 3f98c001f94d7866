import { sql } from "kysely";
import { normalizeAddress } from "../../crypto/addresses.ts";
import { timestampOf } from "../../engine/fields.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { InterfaceType, SmartContractInterface } from "./model.ts";

/** The stored size of all interfaces of an organization with their notes, in bytes. */
export async function bytesOfInterfaces(read: Reader, organizationId: string): Promise<number> {
  const texts = sql<number>`sum(interface_bytes + octet_length(notes))`;
  const rows = read
    .selectFrom("smart_contract_interfaces")
    .select(texts.as("bytes"))
    .where("organization_id", "=", organizationId);
  return Number((await rows.executeTakeFirst())?.bytes ?? 0);
}

/** All interfaces of the organization, or only the one with this id. */
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

/**
 * The id of the interface that this organization stored for a contract. Ethereum addresses match in any letter case, Solana addresses
 * exactly. Interfaces are immutable, so anything derived from one can be cached by its id.
 */
export async function findInterface(
  read: Reader,
  organizationId: string,
  type: InterfaceType,
  address: string,
): Promise<string | undefined> {
  const [row] = await selectInterface(read, { organizationId, type, lookup: normalizeAddress(address) });
  return row?.id;
}

/** The JSON of an interface, which may be long. */
export async function readInterface(read: Reader, organizationId: string, id: string): Promise<string | undefined> {
  const [row] = await selectInterfaceJson(read, { organizationId, id });
  return row?.interface_json;
}

const selectInterfaceJson = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db
    .selectFrom("smart_contract_interfaces")
    .select("interface_json")
    .where("organization_id", "=", organizationId)
    .where("id", "=", id),
);

const selectInterface = prepared<{ organizationId: string; type: InterfaceType; lookup: string }>()(
  (db, { organizationId, type, lookup }) =>
    db
      .selectFrom("smart_contract_interfaces")
      .select("id")
      .where("organization_id", "=", organizationId)
      .where("type", "=", type)
      .where("lookup", "=", lookup),
);
