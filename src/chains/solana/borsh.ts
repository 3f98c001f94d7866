import { base58 } from "@scure/base";
import { toHex } from "../../kernel/bytes.ts";
import { MAX_BORSH_DEPTH, MAX_BORSH_VALUES } from "../../kernel/limits.ts";
import { type ByteReader, byteReader } from "./byte-reader.ts";
import type { BorshType, Fields, NamedField, TypeDefinition, TypeDefinitions } from "./interface-types.ts";

/** A decoded value; see `decodeArguments` for the representation. */
export type BorshValue = boolean | bigint | string | readonly BorshValue[] | { readonly [name: string]: BorshValue };

/** The data does not match its types, or contains something that is not decoded. Not thrown outside this file. */
class UndecodableError extends Error {}

const undecodable = (reason: string): never => {
  throw new UndecodableError(reason);
};

type Decoding = {
  readonly reader: ByteReader;
  readonly definitions: TypeDefinitions;
  /** How many more values may be decoded. Some values have no bytes, so the length of the data is no limit. */
  left: number;
};

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Decodes Borsh (https://borsh.io) data by the given fields, to the last byte; undefined if it does not match.
 *
 * Integers are bigints, public keys base58, `bytes` lowercase hex. Structs are objects by field name; tuples, arrays and vectors are lists.
 * An enum is the variant's name, or for a variant with fields an object with the name as its only key. An option without a value (`None`)
 * is the empty list; with a value it is the value itself, or a list that contains it if the value could itself be a list.
 */
export function decodeArguments(
  data: Uint8Array,
  fields: readonly NamedField[],
  definitions: TypeDefinitions,
): Readonly<Record<string, BorshValue>> | undefined {
  const reader = byteReader(data, () => undecodable("the data end early"));
  try {
    const decoded = decodeNamed(fields, { reader, definitions, left: MAX_BORSH_VALUES }, 0);
    return reader.left() === 0 ? decoded : undefined;
  } catch (error) {
    if (error instanceof UndecodableError) return undefined;
    throw error;
  }
}

// `fromEntries` creates own properties for any name, including `__proto__`.
const decodeNamed = (fields: readonly NamedField[], decoding: Decoding, depth: number) =>
  Object.fromEntries(fields.map(({ name, type }) => [name, decode(type, decoding, depth)]));

function decode(type: BorshType, decoding: Decoding, depth: number): BorshValue {
  if (depth > MAX_BORSH_DEPTH) undecodable("the values are too deep inside one another");
  if (decoding.left-- === 0) undecodable("there are too many values");
  const { reader } = decoding;
  switch (type.kind) {
    case "bool":
      return readFlag(reader);
    case "integer":
      return readInteger(reader, type.bytes, type.signed);
    case "bytes":
      return toHex(reader.take(readLength(reader)));
    case "string":
      return readText(reader);
    case "pubkey":
      return base58.encode(reader.take(32));
    case "vec":
      return decodeItems(type.item, readLength(reader), decoding, depth);
    case "array":
      return decodeItems(type.item, type.length, decoding, depth);
    case "tuple":
      return type.items.map((item) => decode(item, decoding, depth + 1));
    case "option":
      return readFlag(reader) ? something(type.item, decoding, depth) : [];
    case "coption":
      return decodeFixedOption(type.item, decoding, depth);
    case "defined":
      return decodeDefined(definitionOf(type.name, decoding), decoding, depth);
    case "unsupported":
      return undecodable("the type is not supported");
  }
}

function decodeItems(item: BorshType, length: number, decoding: Decoding, depth: number): BorshValue[] {
  if (length > decoding.left) undecodable("there are too many values");
  return Array.from({ length }, () => decode(item, decoding, depth + 1));
}

function something(item: BorshType, decoding: Decoding, depth: number): BorshValue {
  const value = decode(item, decoding, depth + 1);
  return isListLike(item, decoding.definitions) ? [value] : value;
}

/** Whether values of the type are, or can be, lists. An option is a list if it is empty. */
function isListLike(type: BorshType, definitions: TypeDefinitions, depth = 0): boolean {
  if (depth > MAX_BORSH_DEPTH) return undecodable("the type never ends");
  if (type.kind !== "defined") return ["vec", "array", "tuple", "option", "coption"].includes(type.kind);
  const definition = definitions.get(type.name);
  if (definition?.kind === "alias") return isListLike(definition.type, definitions, depth + 1);
  return definition?.kind === "struct" && definition.fields.kind === "tuple";
}

/** The C layout of an option, as written by clients of Anchor and Codama: a tag of four bytes, and always space for the value. */
function decodeFixedOption(item: BorshType, decoding: Decoding, depth: number): BorshValue {
  const { reader, definitions } = decoding;
  const length = fixedLength(item, definitions);
  const tag = reader.take(4).readUInt32LE();
  if (tag === 1) return something(item, decoding, depth);
  if (tag !== 0 || reader.take(length).some((byte) => byte !== 0)) undecodable("the option is malformed");
  return [];
}

/** The number of bytes of every value of the type. */
function fixedLength(type: BorshType, definitions: TypeDefinitions, depth = 0): number {
  if (depth > MAX_BORSH_DEPTH) return undecodable("the type never ends");
  switch (type.kind) {
    case "bool":
      return 1;
    case "integer":
      return type.bytes;
    case "pubkey":
      return 32;
    case "array":
      return type.length * fixedLength(type.item, definitions, depth + 1);
    default:
      return undecodable("the type has no fixed length");
  }
}

function decodeDefined(definition: TypeDefinition, decoding: Decoding, depth: number): BorshValue {
  switch (definition.kind) {
    case "struct":
      return decodeFields(definition.fields, decoding, depth);
    case "enum":
      return decodeEnum(definition.variants, decoding, depth);
    case "alias":
      return decode(definition.type, decoding, depth + 1);
    case "unsupported":
      return undecodable("the type is not supported");
  }
}

function decodeEnum(
  variants: readonly { readonly name: string; readonly fields?: Fields }[],
  decoding: Decoding,
  depth: number,
): BorshValue {
  const { name, fields } = variants[decoding.reader.take(1).readUInt8()] ?? undecodable("there is no such variant");
  return fields === undefined ? name : Object.fromEntries([[name, decodeFields(fields, decoding, depth + 1)]]);
}

function decodeFields(fields: Fields, decoding: Decoding, depth: number): BorshValue {
  if (fields.kind === "named") return decodeNamed(fields.fields, decoding, depth + 1);
  return fields.items.map((item) => decode(item, decoding, depth + 1));
}

const definitionOf = (name: string, { definitions }: Decoding): TypeDefinition =>
  definitions.get(name) ?? undecodable("the type is not defined");

function readFlag(reader: ByteReader): boolean {
  const byte = reader.take(1).readUInt8();
  return byte <= 1 ? byte === 1 : undecodable("a flag is neither 0 nor 1");
}

const readLength = (reader: ByteReader): number => reader.take(4).readUInt32LE();

/** Little-endian; in two's complement if signed. */
function readInteger(reader: ByteReader, length: number, signed: boolean): bigint {
  const bigEndian = Buffer.from(reader.take(length)).reverse();
  const value = BigInt(`0x${toHex(bigEndian)}`);
  return signed ? BigInt.asIntN(length * 8, value) : value;
}

function readText(reader: ByteReader): string {
  const bytes = reader.take(readLength(reader));
  try {
    return decoder.decode(bytes);
  } catch {
    return undecodable("a text is not UTF-8");
  }
}
