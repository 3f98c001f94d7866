import { setImmediate } from "node:timers/promises";
import { type DecodedCall, decodeCall, parseContractInterface } from "../../chains/evm/contract-interface.ts";
import { type ProgramInterface, parseProgramInterface } from "../../chains/solana/program-interface.ts";
import type { SolanaTransaction } from "../../chains/solana/transaction.ts";
import { MAX_CACHED_INTERFACE_BYTES, MAX_CACHED_INTERFACES } from "../../kernel/limits.ts";
import { memorySizeOf } from "../../kernel/memory-size.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import type { Reader } from "../../storage/engine.ts";
import type { InterfaceType } from "../smart-contract-interfaces/model.ts";
import { findInterface, readInterface } from "../smart-contract-interfaces/store.ts";

/** Decodes a transaction's calls by the interfaces that the organization stored for contracts and programs. */

const contractAt = parsedInterfaces("SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM", parseContractInterface);
const programAt = parsedInterfaces("SMART_CONTRACT_INTERFACE_TYPE_SOLANA", parseProgramInterface);

/** Decodes `data` as a call of the contract at `to`; undefined if the organization stored no interface for it or it does not match. */
export async function callOf(
  read: Reader,
  organizationId: string,
  { to, data }: { to: string; data: string },
): Promise<DecodedCall | undefined> {
  if (to === "") return undefined;
  const contract = await contractAt(read, organizationId, to);
  return contract && decodeCall(contract, data);
}

/** The JSON of the interface that the organization stored for a contract. */
export async function interfaceOfContract(
  read: Reader,
  organizationId: string,
  address: string,
): Promise<string | undefined> {
  const id = await findInterface(read, organizationId, "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM", address);
  return id === undefined ? undefined : readInterface(read, organizationId, id);
}

/** The interfaces that the organization stored for the programs of a transaction, by the programs' addresses. */
export async function programInterfaces(
  read: Reader,
  organizationId: string,
  { instructions }: SolanaTransaction,
): Promise<Map<string, ProgramInterface>> {
  const found = new Map<string, ProgramInterface>();
  for (const key of new Set(instructions.map(({ program }) => program.key))) {
    const program = await programAt(read, organizationId, key);
    if (program) found.set(key, program);
  }
  return found;
}

/** Looks up an organization's interface of one type by address and parses it. Recently used ones are cached. */
function parsedInterfaces<Parsed extends object>(type: InterfaceType, parse: (json: string, field: string) => Parsed) {
  // The id is enough as the key: interfaces are immutable.
  const remembered = recentlyUsed<Parsed>({
    entries: MAX_CACHED_INTERFACES,
    bytes: MAX_CACHED_INTERFACE_BYTES,
    sizeOf: memorySizeOf,
  });
  return async (read: Reader, organizationId: string, address: string): Promise<Parsed | undefined> => {
    const id = await findInterface(read, organizationId, type, address);
    if (id === undefined) return undefined;
    const known = remembered.get(id);
    if (known) return known;
    const json = await readInterface(read, organizationId, id);
    if (json === undefined) return undefined;
    const parsed = parse(json, "smartContractInterface");
    // A transaction may name thirty programs, and parsing the largest interface blocks the event loop for nearly as long as one turn may.
    await setImmediate();
    remembered.set(id, parsed);
    return parsed;
  };
}
