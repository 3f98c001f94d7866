import {
  type ContractInterface,
  type DecodedCall,
  decodeCall,
  parseContractInterface,
} from "../../chains/evm/contract-interface.ts";
import { type ProgramInterface, parseProgramInterface } from "../../chains/solana/program-interface.ts";
import type { SolanaTransaction } from "../../chains/solana/transaction.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import type { Reader } from "../../storage/engine.ts";
import { findInterface } from "../smart-contract-interfaces/store.ts";

/** What the stored interfaces of contracts and programs make of a transaction's calls. */

const REMEMBERED = 200;
const contracts = recentlyUsed<ContractInterface>({ entries: REMEMBERED });
const programs = recentlyUsed<ProgramInterface>({ entries: REMEMBERED });

/** The call that `data` is by the interface that the organization stored for `to`, if there is one and it fits. */
export async function callOf(
  read: Reader,
  organizationId: string,
  { to, data }: { to: string; data: string },
): Promise<DecodedCall | undefined> {
  if (to === "") return undefined;
  const stored = await findInterface(read, organizationId, "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM", to);
  if (!stored) return undefined;
  // An interface never changes under its id.
  const contract = contracts.get(stored.id) ?? parseContractInterface(stored.json, "smartContractInterface");
  contracts.set(stored.id, contract);
  return decodeCall(contract, data);
}

/** The interfaces that the organization stored for the programs of a transaction, by the programs' addresses. */
export async function programInterfaces(
  read: Reader,
  organizationId: string,
  { instructions }: SolanaTransaction,
): Promise<Map<string, ProgramInterface>> {
  const found = new Map<string, ProgramInterface>();
  for (const key of new Set(instructions.map(({ program }) => program.key))) {
    const stored = await findInterface(read, organizationId, "SMART_CONTRACT_INTERFACE_TYPE_SOLANA", key);
    if (!stored) continue;
    const program = programs.get(stored.id) ?? parseProgramInterface(stored.json, "smartContractInterface");
    programs.set(stored.id, program);
    found.set(key, program);
  }
  return found;
}
