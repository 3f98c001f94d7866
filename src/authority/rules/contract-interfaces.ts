import { fail } from "../../kernel/errors.ts";
import { MAX_SMART_CONTRACT_INTERFACES } from "../../kernel/limits.ts";
import { refuseExcess, refuseOver } from "../quotas.ts";
import { ALL, type ContractInterface, interfaceAt } from "../state.ts";
import type { Draft } from "../view.ts";

/**
 * Adds the interface of a contract. A contract has at most one in an organization.
 *
 * @throws KeysteadError RESOURCE_EXISTS or QUOTA_EXCEEDED
 */
export function addInterface(draft: Draft, contract: ContractInterface): void {
  const existing = draft.part("interfaceId", interfaceAt(contract));
  if (existing !== undefined) {
    fail("RESOURCE_EXISTS", {
      kind: "smart contract interface",
      field: "parameters.smartContractAddress",
      reason: `already has an interface of this type, ${existing}; delete it first`,
    });
  }
  draft.apply({ do: "addInterface", contract });
  const { count, bytes } = draft.part("interfaceTotals", ALL);
  refuseExcess(count, { kind: "smart contract interfaces", limit: MAX_SMART_CONTRACT_INTERFACES });
  refuseOver(draft.part("quotas", ALL), "interfaceBytes", bytes);
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export function removeInterface(draft: Draft, id: string): void {
  const { organizationId } = draft;
  const known = draft.part("interface", id);
  if (!known) fail("RESOURCE_NOT_FOUND", { kind: "smart contract interface", id, organizationId });
  draft.apply({ do: "removeInterface", id, ...known });
}
