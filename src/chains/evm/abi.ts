import { toHex } from "../../kernel/bytes.ts";
import { printable } from "../../kernel/json.ts";
import { MAX_ABI_DIMENSIONS } from "../../kernel/limits.ts";
import { isJsonObject, type Refuse } from "./payload.ts";
import { arrayOf, fixedBytesOf, integerOf } from "./typed-data-types.ts";

/** A value of a call: tuples and arrays are arrays, integers are bigints, addresses and bytes are lowercase 0x hex. */
export type AbiValue = string | bigint | boolean | readonly AbiValue[];

/** A type of the contract ABI. `headLength`: the number of bytes in the head. `isDynamic`: the head is an offset. */
export type AbiType = {
  readonly isDynamic: boolean;
  readonly headLength: number;
  readonly form:
    | ElementaryForm
    | { readonly kind: "array"; readonly element: AbiType; readonly length: number | undefined }
    | { readonly kind: "tuple"; readonly members: readonly AbiType[] };
};

type ElementaryForm = { readonly name: string } & (
  | { readonly kind: "integer"; readonly signed: boolean; readonly bits: number }
  | { readonly kind: "address" | "bool" | "bytes" | "string" }
  | { readonly kind: "fixedBytes"; readonly length: number }
);

const WORD = 32;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const DIMENSIONS = /^(?:\[(?:[1-9]\d{0,15})?\])*$/;
/** An address and a selector (ABI specification, "Types"). */
const FUNCTION_LENGTH = 24;

/** Why bytes are not a valid encoding of a call's values. */
class AbiError extends Error {}

/** Parses the type of a parameter `{type, components?}` of a JSON ABI. */
export function parseAbiType(parameter: unknown, place: string, refuse: Refuse): AbiType {
  if (!isJsonObject(parameter)) return refuse(place, "must be an object {name, type}");
  const { type, components } = parameter;
  if (typeof type !== "string") return refuse(`${place}.type`, "must be the name of a type");
  const base = type.split("[", 1)[0] ?? "";
  const dimensions = type.slice(base.length);
  if (dimensions.split("[").length - 1 > MAX_ABI_DIMENSIONS) {
    refuse(`${place}.type`, `has more than ${MAX_ABI_DIMENSIONS} dimensions`);
  }
  if (!DIMENSIONS.test(dimensions)) refuse(`${place}.type`, `has the malformed type "${printable(type)}"`);
  const inner = base === "tuple" ? parseTuple(components, place, refuse) : parseElementary(base, place, refuse);
  return withDimensions(type, inner);
}

function parseTuple(components: unknown, place: string, refuse: Refuse): AbiType {
  // A tuple without members would have no bytes, and an array of any number of them would not either.
  if (!Array.isArray(components) || components.length === 0) {
    return refuse(`${place}.components`, "must list the members of the tuple");
  }
  return tupleOf(components.map((each, index) => parseAbiType(each, `${place}.components[${index}]`, refuse)));
}

/** The tuple of these types; the parameters of a function are a tuple as well. */
export function tupleOf(members: readonly AbiType[]): AbiType {
  const isDynamic = members.some((member) => member.isDynamic);
  return { isDynamic, headLength: isDynamic ? WORD : headOf(members), form: { kind: "tuple", members } };
}

/** A type as in a function's signature: tuples are expanded, `(address,uint256)[]`. */
export function signatureOf({ form }: AbiType): string {
  if (form.kind === "tuple") return `(${form.members.map(signatureOf).join(",")})`;
  return form.kind === "array" ? `${signatureOf(form.element)}[${form.length ?? ""}]` : form.name;
}

const headOf = (types: readonly AbiType[]): number => types.reduce((sum, { headLength }) => sum + headLength, 0);

function withDimensions(type: string, inner: AbiType): AbiType {
  const array = arrayOf(type);
  if (array === undefined) return inner;
  const { length } = array;
  const element = withDimensions(array.element, inner);
  const isDynamic = length === undefined || element.isDynamic;
  return {
    isDynamic,
    headLength: isDynamic ? WORD : length * element.headLength,
    form: { kind: "array", element, length },
  };
}

/** Cached, because there are only about a hundred, and interfaces name them thousands of times. */
const elementaryTypes = new Map<string, AbiType>();

function parseElementary(name: string, place: string, refuse: Refuse): AbiType {
  const known = elementaryTypes.get(name);
  if (known) return known;
  const form = elementaryForm(name);
  if (form === undefined) {
    const hint = name === "uint" || name === "int" ? `; write "${name}256"` : "";
    return refuse(`${place}.type`, `has the unknown type "${printable(name)}"${hint}`);
  }
  const type = { isDynamic: name === "bytes" || name === "string", headLength: WORD, form };
  elementaryTypes.set(name, type);
  return type;
}

function elementaryForm(name: string): ElementaryForm | undefined {
  if (name === "address" || name === "bool" || name === "bytes" || name === "string") return { name, kind: name };
  if (name === "function") return { name, kind: "fixedBytes", length: FUNCTION_LENGTH };
  const integer = integerOf(name);
  if (integer !== undefined) return { name, kind: "integer", ...integer };
  const length = fixedBytesOf(name);
  return length === undefined ? undefined : { name, kind: "fixedBytes", length };
}

/**
 * The values that `data` encodes, or undefined if it is not a valid encoding in the ABI specification's strict mode: offsets point to where
 * the previous data ends, padding is zero, integers are in range, and nothing follows. So each byte is read exactly once, and there is only
 * one way to read the data.
 */
export function decodeAbi(types: readonly AbiType[], data: Uint8Array): readonly AbiValue[] | undefined {
  try {
    const { value, end } = abiReader(data).sequence(types, 0);
    return end === data.length ? value : undefined;
  } catch (error) {
    if (error instanceof AbiError) return undefined;
    throw error;
  }
}

type Decoded<Value> = { value: Value; end: number };

function abiReader(data: Uint8Array) {
  function bytesAt(start: number, length: number): Buffer {
    if (start + length > data.length) throw new AbiError("ends too early");
    return Buffer.from(data.buffer, data.byteOffset + start, length);
  }

  const uintAt = (start: number): bigint => BigInt(`0x${toHex(bytesAt(start, WORD))}`);

  /** A length or count; rejected before use if it exceeds the data. */
  function countAt(start: number): number {
    const count = uintAt(start);
    if (count > data.length) throw new AbiError("has a length beyond its end");
    return Number(count);
  }

  function sequence(types: readonly AbiType[], start: number): Decoded<readonly AbiValue[]> {
    let head = start;
    let tail = start + headOf(types);
    if (tail > data.length) throw new AbiError("ends too early");
    const value = types.map((type) => {
      if (!type.isDynamic) {
        const decoded = staticAt(type, head);
        head = decoded.end;
        return decoded.value;
      }
      if (uintAt(head) !== BigInt(tail - start)) throw new AbiError("has an offset to another place than the next");
      head += WORD;
      const decoded = dynamicAt(type, tail);
      tail = decoded.end;
      return decoded.value;
    });
    return { value, end: tail };
  }

  function staticAt({ form }: AbiType, start: number): Decoded<AbiValue> {
    if (form.kind === "tuple") return sequence(form.members, start);
    if (form.kind === "array") return elementsAt(form.element, form.length ?? 0, start);
    return { value: wordValue(form, bytesAt(start, WORD)), end: start + WORD };
  }

  function dynamicAt({ form }: AbiType, start: number): Decoded<AbiValue> {
    if (form.kind === "tuple") return sequence(form.members, start);
    const count = form.kind === "array" && form.length !== undefined ? undefined : countAt(start);
    if (form.kind === "array") {
      return count === undefined
        ? elementsAt(form.element, form.length ?? 0, start)
        : elementsAt(form.element, count, start + WORD);
    }
    const bytes = paddedAt(start + WORD, count ?? 0);
    return {
      value: form.kind === "string" ? textOf(bytes) : `0x${toHex(bytes)}`,
      end: start + WORD + paddedLength(bytes.length),
    };
  }

  function elementsAt(element: AbiType, count: number, start: number): Decoded<readonly AbiValue[]> {
    if (start + count * element.headLength > data.length) throw new AbiError("ends too early");
    return sequence(new Array<AbiType>(count).fill(element), start);
  }

  function paddedAt(start: number, length: number): Buffer {
    return withoutPadding(bytesAt(start, paddedLength(length)), length);
  }

  return { sequence };
}

const paddedLength = (length: number): number => Math.ceil(length / WORD) * WORD;

/** The first `length` bytes; the rest must be zero. */
function withoutPadding(bytes: Buffer, length: number): Buffer {
  if (bytes.subarray(length).some((byte) => byte !== 0)) throw new AbiError("has padding that is not zero");
  return bytes.subarray(0, length);
}

function textOf(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new AbiError("has text that is not UTF-8");
  }
}

/** The value of a type whose head is the value in one word. */
function wordValue(form: AbiType["form"], word: Buffer): AbiValue {
  if (form.kind === "fixedBytes") return `0x${toHex(withoutPadding(word, form.length))}`;
  const integer = BigInt(`0x${toHex(word)}`);
  if (form.kind === "integer") return form.signed ? signedOf(integer, form.bits) : unsignedOf(integer, form.bits);
  if (form.kind === "bool") return unsignedOf(integer, 1) === 1n;
  return `0x${unsignedOf(integer, 160).toString(16).padStart(40, "0")}`;
}

function unsignedOf(integer: bigint, bits: number): bigint {
  if (BigInt.asUintN(bits, integer) !== integer) throw new AbiError("has an integer out of range");
  return integer;
}

function signedOf(integer: bigint, bits: number): bigint {
  const value = BigInt.asIntN(bits, integer);
  if (BigInt.asUintN(256, value) !== integer) throw new AbiError("has an integer out of range");
  return value;
}
