import { MAX_TYPED_DATA_LENGTH } from "../../../src/kernel/limits.ts";
import { writtenAddress, writtenInteger } from "./written-values.ts";

/** Messages to be signed, to be read before somebody approves them. Nothing is decided by what stands here. */

const PERSONAL_PREFIX = new TextEncoder().encode("\x19Ethereum Signed Message:\n");
/** More digits would be the length of no payload. */
const MAX_LENGTH_DIGITS = 7;

/** The message within the prefix that `personal_sign` of wallets puts before it (EIP-191, version 0x45); undefined where that is not there. */
export function personalMessageIn(bytes: Uint8Array): Uint8Array | undefined {
  if (!PERSONAL_PREFIX.every((byte, at) => bytes[at] === byte)) return undefined;
  const rest = bytes.subarray(PERSONAL_PREFIX.length);
  // A message may begin with digits of its own: no more than one number fits what follows it.
  for (let digits = 1; digits <= Math.min(MAX_LENGTH_DIGITS, rest.length); digits++) {
    const length = String(rest.length - digits);
    if (length === String.fromCharCode(...rest.subarray(0, digits))) return rest.subarray(digits);
  }
  return undefined;
}

/** Undefined of bytes that are no UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** A value inside typed data. */
export interface TypedMember {
  /** From the outermost struct: `to.wallets[0]`. */
  path: string;
  /** As the types declare it. */
  type: string;
  /** Integers in decimals, addresses with their checksum, texts and bytes as they were sent. */
  value: string;
}

/** What EIP-712 has signed: what no type declares is not signed, and does not stand here. */
export interface TypedData {
  primaryType: string;
  domain: TypedMember[];
  message: TypedMember[];
  /** Whether there are more members than stand here. */
  isCut: boolean;
}

const MAX_MEMBERS = 100;
/** Structs and lists inside one another. */
const MAX_DEPTH = 64;

const DOMAIN_TYPE = "EIP712Domain";
/** Of a domain whose type is not declared (EIP-712, "Definition of domainSeparator"). */
const DOMAIN_MEMBERS: readonly Declared[] = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
  { name: "salt", type: "bytes32" },
];

interface Declared {
  name: string;
  type: string;
}

type JsonObject = Record<string, unknown>;

/** Thrown inside alone: the text is no typed data. */
class NotTypedData extends Error {}

/** Undefined of whatever is not the JSON of EIP-712 typed data. */
export function readTypedData(json: string): TypedData | undefined {
  if (json.length > MAX_TYPED_DATA_LENGTH) return undefined;
  try {
    return typedDataOf(objectOf(JSON.parse(json)));
  } catch (error) {
    if (error instanceof NotTypedData || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function typedDataOf({ types, primaryType, domain = {}, message }: JsonObject): TypedData {
  const declared = typesOf(objectOf(types));
  const ofDomain = objectOf(domain);
  if (!declared.has(DOMAIN_TYPE)) {
    declared.set(
      DOMAIN_TYPE,
      DOMAIN_MEMBERS.filter(({ name }) => (ofDomain[name] ?? null) !== null),
    );
  }
  if (typeof primaryType !== "string" || !declared.has(primaryType)) throw new NotTypedData();
  const left = { members: MAX_MEMBERS, isCut: false };
  return {
    primaryType,
    domain: membersOf(declared, DOMAIN_TYPE, ofDomain, "", left),
    message: primaryType === DOMAIN_TYPE ? [] : membersOf(declared, primaryType, message, "", left),
    isCut: left.isCut,
  };
}

function objectOf(value: unknown): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new NotTypedData();
  return value as JsonObject;
}

type Types = Map<string, readonly Declared[]>;

function typesOf(types: JsonObject): Types {
  return new Map(
    Object.entries(types).map(([name, members]) => {
      if (!Array.isArray(members)) throw new NotTypedData();
      return [name, members.map(declaredOf)];
    }),
  );
}

function declaredOf(member: unknown): Declared {
  const { name, type } = objectOf(member);
  if (typeof name !== "string" || typeof type !== "string") throw new NotTypedData();
  return { name, type };
}

interface Left {
  members: number;
  isCut: boolean;
}

function membersOf(types: Types, type: string, value: unknown, path: string, left: Left, depth = 0): TypedMember[] {
  if (left.members === 0) {
    left.isCut = true;
    return [];
  }
  if (depth > MAX_DEPTH || value === undefined) throw new NotTypedData();
  const inside = (inner: string, part: unknown, place: string) => membersOf(types, inner, part, place, left, depth + 1);
  const struct = types.get(type);
  if (struct) {
    const object = objectOf(value);
    const partOf = (name: string) => (Object.hasOwn(object, name) ? object[name] : undefined);
    return struct.flatMap(({ name, type: inner }) =>
      inside(inner, partOf(name), path === "" ? name : `${path}.${name}`),
    );
  }
  const list = /^(.+)\[[0-9]*\]$/.exec(type)?.[1];
  if (list === undefined || (Array.isArray(value) && value.length === 0)) {
    left.members--;
    return [{ path, type, value: list === undefined ? elementaryOf(type, value) : "nothing" }];
  }
  if (!Array.isArray(value)) throw new NotTypedData();
  return value.flatMap((part: unknown, index) => inside(list, part, `${path}[${index}]`));
}

const INTEGER = /^u?int[0-9]+$/;

function elementaryOf(type: string, value: unknown): string {
  const told = INTEGER.test(type) ? writtenInteger(value)?.toString() : textOfElementary(type, value);
  if (told === undefined) throw new NotTypedData();
  return told;
}

function textOfElementary(type: string, value: unknown): string | undefined {
  if (type === "bool") return typeof value === "boolean" ? String(value) : undefined;
  if (type === "address") return writtenAddress(value);
  return typeof value === "string" && /^(string|bytes([0-9]+)?)$/.test(type) ? value : undefined;
}
