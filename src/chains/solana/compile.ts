import { type AddressTableLookup, type MessageParts, serializeMessage } from "./transaction.ts";

/** Compiles a message from instructions that name programs and accounts by address. */

export interface NamedInstruction {
  /** Base58, like all addresses here. */
  program: string;
  accounts: readonly { key: string; signer: boolean; writable: boolean }[];
  data: Uint8Array;
}

export interface LookupTable {
  key: string;
  /** The addresses in the table, in its order. */
  addresses: readonly string[];
}

interface Role {
  signer: boolean;
  writable: boolean;
}

/**
 * The bytes of a version 0 message. Accounts that do not sign and are not programs are taken from a lookup table that contains them. The
 * result is not validated: parsing it finds problems such as too many accounts.
 *
 * @param blockhash in base58
 */
export function compileMessage(
  payer: string,
  instructions: readonly NamedInstruction[],
  tables: readonly LookupTable[],
  blockhash: string,
): Buffer {
  const roles = new Map<string, Role>([[payer, { signer: true, writable: true }]]);
  for (const { program, accounts } of instructions) {
    for (const { key, signer, writable } of [{ key: program, signer: false, writable: false }, ...accounts]) {
      const known = roles.get(key) ?? { signer: false, writable: false };
      roles.set(key, { signer: known.signer || signer, writable: known.writable || writable });
    }
  }
  const lookups = lookupsOf(roles, new Set(instructions.map(({ program }) => program)), tables);
  const lookedUp = [...lookups.flatMap(({ writable }) => writable), ...lookups.flatMap(({ readonly }) => readonly)];
  const away = new Set(lookedUp);
  const statics = [...roles].filter(([key]) => !away.has(key));
  const keysOf = (signer: boolean, writable: boolean): string[] =>
    statics.filter(([, role]) => role.signer === signer && role.writable === writable).map(([key]) => key);
  const groups = [keysOf(true, true), keysOf(true, false), keysOf(false, true), keysOf(false, false)] as const;
  const keys = groups.flat();
  const places = new Map([...keys, ...lookedUp].map((key, place) => [key, place]));
  const placeOf = (key: string): number => places.get(key) as number;
  return serializeMessage({
    version: 0,
    header: [groups[0].length + groups[1].length, groups[1].length, groups[3].length],
    keys,
    blockhash,
    instructions: instructions.map(({ program, accounts, data }): MessageParts["instructions"][number] => ({
      program: placeOf(program),
      accounts: accounts.map(({ key }) => placeOf(key)),
      data,
    })),
    lookups: lookups.map(({ lookup }) => lookup),
  });
}

interface Used {
  lookup: AddressTableLookup;
  writable: string[];
  readonly: string[];
}

/** The accounts that each table supplies, in the order of its indexes; no account comes from two tables. */
function lookupsOf(
  roles: ReadonlyMap<string, Role>,
  programs: ReadonlySet<string>,
  tables: readonly LookupTable[],
): Used[] {
  const taken = new Set<string>();
  return tables.flatMap(({ key: tableKey, addresses }) => {
    const found = [...new Set(addresses)].flatMap((key) => {
      const role = roles.get(key);
      if (!role || role.signer || programs.has(key) || taken.has(key)) return [];
      taken.add(key);
      return [{ key, index: addresses.indexOf(key), writable: role.writable }];
    });
    if (found.length === 0) return [];
    const [writable, readonly] = [found.filter((one) => one.writable), found.filter((one) => !one.writable)];
    const lookup = {
      tableKey,
      writableIndexes: writable.map(({ index }) => index),
      readonlyIndexes: readonly.map(({ index }) => index),
    };
    return [{ lookup, writable: writable.map(({ key }) => key), readonly: readonly.map(({ key }) => key) }];
  });
}
