import { normalizeAddress } from "../../crypto/addresses.ts";
import { timestampOf } from "../../engine/fields.ts";
import { refuseExcess } from "../../engine/quotas.ts";
import { fail } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { MAX_SMART_CONTRACT_INTERFACES, MAX_SMART_CONTRACT_INTERFACES_BYTES } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { InterfaceType, SmartContractInterface } from "./model.ts";

export interface NewInterface {
  type: InterfaceType;
  address: string;
  /** The interface as it was sent. */
  json: string;
  label: string;
  notes: string;
}

/**
 * Adds the interface of a contract that has none yet in the organization.
 *
 * @throws KeysteadError RESOURCE_EXISTS or QUOTA_EXCEEDED
 */
export async function addInterface(
  tx: Transactor,
  organizationId: string,
  { type, address, json, label, notes }: NewInterface,
  now: number,
): Promise<string> {
  const existing = await findInterface(tx, organizationId, type, address);
  if (existing) {
    fail("RESOURCE_EXISTS", {
      kind: "smart contract interface",
      field: "parameters.smartContractAddress",
      reason: `has one of this type, ${existing.id}; delete it first`,
    });
  }
  const id = newId();
  await tx
    .insertInto("smart_contract_interfaces")
    .values({
      id,
      organization_id: organizationId,
      type,
      address,
      lookup: normalizeAddress(address),
      label,
      notes,
      interface_json: json,
      interface_bytes: Buffer.byteLength(json),
      created_at: now,
      updated_at: now,
    })
    .execute();
  await enforceLimits(tx, organizationId);
  return id;
}

async function enforceLimits(tx: Transactor, organizationId: string): Promise<void> {
  const { count, bytes } = await tx
    .selectFrom("smart_contract_interfaces")
    .select((eb) => [eb.fn.countAll<number>().as("count"), eb.fn.sum("interface_bytes").as("bytes")])
    .where("organization_id", "=", organizationId)
    .executeTakeFirstOrThrow();
  refuseExcess(count, { kind: "smart contract interfaces", limit: MAX_SMART_CONTRACT_INTERFACES });
  const kind = "bytes of smart contract interfaces together";
  refuseExcess(Number(bytes), { kind, limit: MAX_SMART_CONTRACT_INTERFACES_BYTES });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function removeInterface(tx: Transactor, organizationId: string, id: string): Promise<void> {
  const { numDeletedRows } = await tx
    .deleteFrom("smart_contract_interfaces")
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (numDeletedRows === 0n) fail("RESOURCE_NOT_FOUND", { kind: "smart contract interface", id, organizationId });
}

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
