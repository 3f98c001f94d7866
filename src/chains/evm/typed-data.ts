import { keccak_256 } from "@noble/hashes/sha3.js";
import { printable } from "../../kernel/json.ts";
import {
  isJsonObject,
  type JsonObject,
  ownValue,
  parsePayload,
  type Refuse,
  readAddress,
  readInteger,
  refusalOf,
} from "./payload.ts";
import {
  arrayOf,
  DOMAIN_MEMBERS,
  DOMAIN_TYPE,
  encodeType,
  fixedBytesOf,
  integerOf,
  parseTypes,
  type TypedDataMember,
  type TypedDataTypes,
} from "./typed-data-types.ts";

/**
 * A value in canonical form: integers are bigints; `address`, `bytes` and `bytesN` are lowercase 0x hex; `string` is unchanged. Structs
 * contain exactly the members of their type.
 */
export type TypedDataValue = string | bigint | boolean | readonly TypedDataValue[] | TypedDataStruct;
export type TypedDataStruct = { readonly [member: string]: TypedDataValue };

/** Everything that is signed: all of it goes into the hash, so a decision may rely on it. */
export type TypedData = {
  readonly types: TypedDataTypes;
  readonly primaryType: string;
  readonly domain: TypedDataStruct;
  /** Empty if `primaryType` is `EIP712Domain`. */
  readonly message: TypedDataStruct;
};

/** The domain's members as EIP-712 defines them. */
export type StandardDomain = {
  readonly name?: string;
  readonly version?: string;
  readonly chainId?: bigint;
  readonly verifyingContract?: string;
  readonly salt?: string;
};

/**
 * Parses and validates the JSON text of EIP-712 typed data `{types, primaryType, domain, message}`. The result contains only what the types
 * declare. `field` names the request's field in errors.
 *
 * @throws KeysteadError FIELD_INVALID
 */
export function parseTypedData(json: string, field: string): TypedData {
  const refuse = refusalOf(field, "EIP-712 typed data");
  const payload = parsePayload(json, refuse);
  const { primaryType, domain = {}, message } = payload;
  if (!isJsonObject(domain)) return refuse("domain", "must be an object");
  const types = parseTypes(payload.types, domain, refuse);
  if (typeof primaryType !== "string") {
    return refuse("primaryType", primaryType === undefined ? "is missing" : "must be the name of a struct type");
  }
  if (!types.has(primaryType)) return refuse("primaryType", "is not a struct of types");
  const read = reader(types, refuse);
  return {
    types,
    primaryType,
    domain: read.struct(DOMAIN_TYPE, domain, "domain"),
    message: primaryType === DOMAIN_TYPE ? {} : read.struct(primaryType, message, "message"),
  };
}

/** The domain's members that are declared with the types of EIP-712. With another type, a standard name could mean anything. */
export function standardDomain({ types, domain }: TypedData): StandardDomain {
  const declared = types.get(DOMAIN_TYPE) ?? [];
  const standard = DOMAIN_MEMBERS.filter(({ name, type }) =>
    declared.some((member) => member.name === name && member.type === type),
  );
  return Object.fromEntries(standard.map(({ name }) => [name, domain[name]]));
}

/**
 * The 32 bytes to sign: `keccak256(0x1901 ‖ domainSeparator ‖ hashStruct(message))`, without the last part if the primary type is the
 * domain itself. `spend` is called with the number of Keccak-256 blocks to be hashed next, and may throw.
 */
export function hashTypedData(
  { types, primaryType, domain, message }: TypedData,
  spend: (blocks: number) => void = () => {},
): Buffer {
  const keccak256 = (bytes: Uint8Array): Buffer => {
    spend(1 + Math.floor(bytes.length / KECCAK_BLOCK));
    return Buffer.from(keccak_256(bytes));
  };
  const hashStruct = structHasher(types, keccak256);
  const parts = [Buffer.of(0x19, 0x01), hashStruct(DOMAIN_TYPE, domain)];
  if (primaryType !== DOMAIN_TYPE) parts.push(hashStruct(primaryType, message));
  return keccak256(Buffer.concat(parts));
}

/** The number of bytes that one permutation absorbs. */
const KECCAK_BLOCK = 136;

type Hash = (bytes: Uint8Array) => Buffer;

// Parsing: from JSON to validated values.

function reader(types: TypedDataTypes, refuse: Refuse) {
  function struct(name: string, value: unknown, place: string): TypedDataStruct {
    if (value === undefined) return refuse(place, "is missing");
    if (!isJsonObject(value)) return refuse(place, `must be an object of type ${printable(name)}`);
    return Object.fromEntries((types.get(name) ?? []).map((member) => [member.name, memberOf(value, member, place)]));
  }

  function memberOf(value: JsonObject, { name, type }: TypedDataMember, place: string): TypedDataValue {
    return any(type, ownValue(value, name), `${place}.${name}`);
  }

  function any(type: string, value: unknown, place: string): TypedDataValue {
    if (types.has(type)) return struct(type, value, place);
    const array = arrayOf(type);
    return array === undefined ? readElementary(type, value, place, refuse) : list(array, value, place);
  }

  function list({ element, length }: { element: string; length: number | undefined }, value: unknown, place: string) {
    if (value === undefined) return refuse(place, "is missing");
    if (!Array.isArray(value)) return refuse(place, "must be a list");
    if (length !== undefined && value.length !== length) refuse(place, `must have ${length} elements`);
    return value.map((item: unknown, index) => any(element, item, `${place}[${index}]`));
  }

  return { struct };
}

function readElementary(type: string, value: unknown, place: string, refuse: Refuse): TypedDataValue {
  if (value === undefined) return refuse(place, "is missing");
  if (type === "bool") return typeof value === "boolean" ? value : refuse(place, "must be true or false");
  if (type === "string") return typeof value === "string" ? value : refuse(place, "must be a string");
  if (type === "address") return readAddress(value, place, refuse);
  const integer = integerOf(type);
  return integer === undefined ? readBytes(type, value, place, refuse) : readSized(integer, type, value, place, refuse);
}

function readSized(
  { signed, bits }: { signed: boolean; bits: number },
  type: string,
  value: unknown,
  place: string,
  refuse: Refuse,
): bigint {
  const integer = readInteger(value, place, refuse);
  const wrapped = signed ? BigInt.asIntN(bits, integer) : BigInt.asUintN(bits, integer);
  return wrapped === integer ? integer : refuse(place, `is out of the range of ${type}`);
}

function readBytes(type: string, value: unknown, place: string, refuse: Refuse): string {
  if (typeof value !== "string" || !/^0x(?:[0-9a-fA-F]{2})*$/.test(value)) {
    return refuse(place, "must be bytes: 0x and an even number of hex digits");
  }
  const length = fixedBytesOf(type);
  if (length !== undefined && value.length !== 2 + 2 * length) refuse(place, `must have ${length} bytes`);
  return value.toLowerCase();
}

// Hashing of validated values. Each becomes one word of 32 bytes (EIP-712, "Definition of encodeData").

type StructHasher = (name: string, value: TypedDataStruct) => Buffer;

function structHasher(types: TypedDataTypes, keccak256: Hash): StructHasher {
  const typeHashes = new Map<string, Buffer>();
  const typeHash = (name: string): Buffer => {
    const hash = typeHashes.get(name) ?? keccak256(Buffer.from(encodeType(name, types)));
    typeHashes.set(name, hash);
    return hash;
  };
  const hashStruct: StructHasher = (name, value) => {
    const words = (types.get(name) ?? []).map((member) => word(member.type, value[member.name] as TypedDataValue));
    return keccak256(Buffer.concat([typeHash(name), ...words]));
  };
  const word = (type: string, value: TypedDataValue): Buffer => {
    if (types.has(type)) return hashStruct(type, value as TypedDataStruct);
    const array = arrayOf(type);
    if (array === undefined) return elementaryWord(type, value as string | bigint | boolean, keccak256);
    return keccak256(Buffer.concat((value as TypedDataValue[]).map((item) => word(array.element, item))));
  };
  return hashStruct;
}

function elementaryWord(type: string, value: string | bigint | boolean, keccak256: Hash): Buffer {
  if (typeof value === "boolean") return integerWord(value ? 1n : 0n);
  if (typeof value === "bigint") return integerWord(value);
  if (type === "string") return keccak256(Buffer.from(value));
  const bytes = Buffer.from(value.slice(2), "hex");
  if (type === "bytes") return keccak256(bytes);
  const padding = Buffer.alloc(32 - bytes.length);
  return Buffer.concat(type === "address" ? [padding, bytes] : [bytes, padding]);
}

/** Big-endian, negative numbers in two's complement. */
function integerWord(value: bigint): Buffer {
  return Buffer.from(BigInt.asUintN(256, value).toString(16).padStart(64, "0"), "hex");
}
