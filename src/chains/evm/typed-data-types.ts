import { printable } from "../../kernel/json.ts";
import { MAX_JSON_DEPTH, MAX_TYPED_DATA_TYPES, MAX_TYPED_DATA_TYPES_LENGTH } from "../../kernel/limits.ts";
import { isJsonObject, type JsonObject, type Refuse } from "./payload.ts";

export type TypedDataMember = { readonly name: string; readonly type: string };
/** Struct types by name, with members in the order in which they are hashed. Always includes `EIP712Domain`. */
export type TypedDataTypes = ReadonlyMap<string, readonly TypedDataMember[]>;

export const DOMAIN_TYPE = "EIP712Domain";

/** The domain's fields in their fixed order (EIP-712, "Definition of domainSeparator"). */
export const DOMAIN_MEMBERS: readonly TypedDataMember[] = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
  { name: "salt", type: "bytes32" },
];

// Some exchanges name their structs `Exchange:Action`. No contract could do that, but wallets sign it.
const STRUCT_NAME = /^[A-Za-z_$][\w$:]*$/;
const PLAIN_STRUCT_NAME = /^[A-Za-z_]\w*$/;
const MEMBER_NAME = /^[A-Za-z_$][\w$]*$/;
const RESERVED_NAME = /^(?:u?int\d*|bytes\d*|address|bool|string)$/;
const DIMENSIONS = /^(?:\[(?:[1-9]\d*)?\])*$/;
const INTEGER = /^(u?)int([1-9]\d{0,2})$/;
const FIXED_BYTES = /^bytes([1-9]\d?)$/;

/** Splits `T[n]` or `T[]`, for a type that was checked; undefined for every other type. The outermost dimension comes last. */
export function arrayOf(type: string): { element: string; length: number | undefined } | undefined {
  const open = type.lastIndexOf("[");
  if (open === -1) return undefined;
  const length = type.slice(open + 1, -1);
  return { element: type.slice(0, open), length: length === "" ? undefined : Number(length) };
}

/** `uint8` ... `uint256`, `int8` ... `int256`; undefined for every other type. */
export function integerOf(type: string): { signed: boolean; bits: number } | undefined {
  const [, unsigned, width] = INTEGER.exec(type) ?? [];
  const bits = Number(width);
  return bits % 8 === 0 && bits <= 256 ? { signed: unsigned === "", bits } : undefined;
}

/** The length of `bytes1` ... `bytes32`; undefined for every other type, including `bytes`. */
export function fixedBytesOf(type: string): number | undefined {
  const length = Number(FIXED_BYTES.exec(type)?.[1]);
  return length <= 32 ? length : undefined;
}

/** `Name(type1 name1,…)`, followed by all struct types that it refers to, in the same form and sorted (EIP-712, "Definition of encodeType"). */
export function encodeType(name: string, types: TypedDataTypes): string {
  const referred = new Set([name]);
  // Iterating over a set also visits elements that are added during the loop.
  for (const each of referred) {
    for (const { type } of types.get(each) ?? []) if (types.has(baseOf(type))) referred.add(baseOf(type));
  }
  referred.delete(name);
  return [name, ...[...referred].sort()].map((each) => encodeDefinition(each, types)).join("");
}

function encodeDefinition(name: string, types: TypedDataTypes): string {
  const members = types.get(name) ?? [];
  return `${name}(${members.map((member) => `${member.type} ${member.name}`).join(",")})`;
}

const baseOf = (type: string): string => type.split("[", 1)[0] ?? "";

/**
 * Parses the `types` of a payload. If it does not declare `EIP712Domain`, the domain's type has those standard fields that `domain`
 * contains, as wallets and libraries complete it.
 */
export function parseTypes(declared: unknown, domain: JsonObject, refuse: Refuse): TypedDataTypes {
  if (declared === undefined) refuse("types", "is missing");
  if (!isJsonObject(declared)) return refuse("types", "must be an object of struct types");
  const types = new Map<string, readonly TypedDataMember[]>();
  for (const [name, members] of Object.entries(declared)) {
    checkStructName(name, refuse);
    types.set(name, parseMembers(members, `types.${name}`, refuse));
  }
  if (!types.has(DOMAIN_TYPE)) types.set(DOMAIN_TYPE, membersOfDomain(domain, refuse));
  checkSize(types, refuse);
  checkReferences(types, refuse);
  checkRecursion(types, refuse);
  return types;
}

function checkStructName(name: string, refuse: Refuse): void {
  if (!STRUCT_NAME.test(name)) refuse("types", `has a struct with the invalid name "${printable(name)}"`);
  if (RESERVED_NAME.test(name))
    refuse("types", `has a struct with the name "${printable(name)}" of an elementary type`);
}

function parseMembers(members: unknown, place: string, refuse: Refuse): TypedDataMember[] {
  if (!Array.isArray(members)) return refuse(place, "must be a list of {name, type}");
  const names = new Set<string>();
  return members.map((member: unknown, index) => {
    const { name, type } = parseMember(member, `${place}[${index}]`, refuse);
    if (names.has(name)) refuse(place, `has two members called "${printable(name)}"`);
    names.add(name);
    return { name, type };
  });
}

function parseMember(member: unknown, place: string, refuse: Refuse): TypedDataMember {
  if (!isJsonObject(member)) return refuse(place, "must be an object {name, type}");
  const { name, type } = member;
  if (typeof name !== "string" || !MEMBER_NAME.test(name)) return refuse(`${place}.name`, "must be an identifier");
  if (typeof type !== "string") return refuse(`${place}.type`, "must be the name of a type");
  return { name, type };
}

function membersOfDomain(domain: JsonObject, refuse: Refuse): TypedDataMember[] {
  const present = Object.keys(domain).filter((key) => domain[key] !== null);
  const unknown = present.find((key) => !DOMAIN_MEMBERS.some(({ name }) => name === key));
  if (unknown !== undefined) {
    refuse("domain", `has the unknown field "${printable(unknown)}"; declare it in types.${DOMAIN_TYPE}`);
  }
  return DOMAIN_MEMBERS.filter(({ name }) => present.includes(name));
}

function checkSize(types: TypedDataTypes, refuse: Refuse): void {
  if (types.size > MAX_TYPED_DATA_TYPES) refuse("types", `has more than ${MAX_TYPED_DATA_TYPES} structs`);
  let length = 0;
  for (const name of types.keys()) length += encodeDefinition(name, types).length;
  if (length > MAX_TYPED_DATA_TYPES_LENGTH) {
    refuse("types", `has definitions longer than ${MAX_TYPED_DATA_TYPES_LENGTH} characters together`);
  }
}

function checkReferences(types: TypedDataTypes, refuse: Refuse): void {
  for (const [owner, members] of types) {
    for (const { name, type } of members) checkType(type, owner, `types.${owner}.${name}`, types, refuse);
  }
}

function checkType(type: string, owner: string, place: string, types: TypedDataTypes, refuse: Refuse): void {
  const base = baseOf(type);
  const dimensions = type.slice(base.length);
  if (dimensions.split("[").length - 1 > MAX_JSON_DEPTH) refuse(place, `has more than ${MAX_JSON_DEPTH} dimensions`);
  if (!DIMENSIONS.test(dimensions)) refuse(place, `has the malformed type "${printable(type)}"`);
  if (isElementary(base)) return;
  if (base === "uint" || base === "int") refuse(place, `has the type "${base}"; write "${base}256"`);
  if (!types.has(base)) refuse(place, `has the unknown type "${printable(type)}"`);
  // When libraries look for referenced types, they cut a name at its first special character, and then hash another text.
  const odd = [owner, base].find((name) => !PLAIN_STRUCT_NAME.test(name));
  if (odd !== undefined) refuse(place, `joins structs, and libraries disagree how "${printable(odd)}" is hashed then`);
}

function isElementary(type: string): boolean {
  if (type === "address" || type === "bool" || type === "string" || type === "bytes") return true;
  return integerOf(type) !== undefined || fixedBytesOf(type) !== undefined;
}

/** A struct may contain itself only through a dynamic array, which can be empty. Otherwise its values would be infinite. */
function checkRecursion(types: TypedDataTypes, refuse: Refuse): void {
  const finite = new Set<string>();
  const visit = (name: string, open: readonly string[]): void => {
    if (open.includes(name)) refuse(`types.${name}`, "contains itself other than through a [] array, so it has no end");
    if (finite.has(name)) return;
    for (const { type } of types.get(name) ?? []) if (!type.includes("[]")) visit(baseOf(type), [...open, name]);
    finite.add(name);
  };
  for (const name of types.keys()) visit(name, []);
}
