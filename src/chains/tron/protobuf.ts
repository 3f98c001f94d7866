/** Rejects a message. `reason` follows the message's name in the error. */
export type Refuse = (reason: string) => never;

/** A field of a message. `absent` is its value if it is missing. */
export interface Field<Value> {
  readonly number: number;
  readonly wireType: typeof VARINT | typeof LENGTH_DELIMITED;
  /** How often it may occur in one message. */
  readonly max: number;
  readonly absent: Value;
  /** Converts the values that occurred, in order; `place` names the field in errors. */
  readonly read: (values: readonly WireValue[], place: string, refuse: Refuse) => Value;
}

/** The fields of a message, by their names in the definition. */
export type Fields = { readonly [name: string]: Field<unknown> };

/** The result of `decodeMessage` for `Fields`. */
export type MessageOf<Of extends Fields> = {
  readonly [Name in keyof Of]: Of[Name] extends Field<infer Value> ? Value : never;
};

type WireValue = bigint | Buffer;

const VARINT = 0;
const LENGTH_DELIMITED = 2;
/** Seven bits per byte, 64 in total. */
const MAX_VARINT_BYTES = 10;
const MAX_INT32 = 2n ** 31n - 1n;
const MAX_INT64 = 2n ** 63n - 1n;
const MAX_FIELD_NUMBER = 2n ** 29n - 1n;

/**
 * Decodes a message so strictly that it has only one encoding: fields are in ascending order and occur at most as often as defined,
 * integers are in their shortest form, and default values are omitted. Unknown fields are rejected, because they would be signed unseen.
 * `place` names the message in errors.
 */
export function decodeMessage<Of extends Fields>(
  bytes: Buffer,
  fields: Of,
  place: string,
  refuse: Refuse,
): MessageOf<Of> {
  const found = readFields(bytes, fields, place, refuse);
  const message = Object.entries(fields).map(([name, field]) => {
    const values = found.get(field.number);
    return [name, values === undefined ? field.absent : field.read(values, `\`${name}\` in ${place}`, refuse)];
  });
  return Object.fromEntries(message) as MessageOf<Of>;
}

function readFields(bytes: Buffer, fields: Fields, place: string, refuse: Refuse): Map<number, WireValue[]> {
  const byNumber = new Map(Object.values(fields).map((field) => [field.number, field]));
  const found = new Map<number, WireValue[]>();
  let last = 0;
  for (let at = 0; at < bytes.length; ) {
    const tag = readVarint(bytes, at, place, refuse);
    const number = tag.value >> 3n;
    if (number === 0n || number > MAX_FIELD_NUMBER) refuse(`has a field in ${place} whose number is out of range`);
    const field = byNumber.get(Number(number));
    if (field === undefined) return refuse(`has a field ${number} in ${place} that is not known here`);
    if (tag.value % 8n !== BigInt(field.wireType)) refuse(`has a field ${number} in ${place} of a wrong wire type`);
    if (field.number < last) refuse(`has a field ${number} in ${place} that is not in ascending order`);
    last = field.number;
    const { value, end } = readValue(bytes, tag.end, field.wireType, place, refuse);
    const values = found.get(field.number) ?? [];
    if (values.length === field.max) refuse(`has a field ${number} in ${place} more than ${timesOf(field.max)}`);
    values.push(value);
    found.set(field.number, values);
    at = end;
  }
  return found;
}

const timesOf = (count: number): string => (count === 1 ? "once" : `${count} times`);

type Read<Value> = { readonly value: Value; readonly end: number };

function readValue(bytes: Buffer, at: number, wireType: number, place: string, refuse: Refuse): Read<WireValue> {
  const varint = readVarint(bytes, at, place, refuse);
  if (wireType === VARINT) return varint;
  if (varint.value > BigInt(bytes.length - varint.end)) refuse(`ends in the middle of a field in ${place}`);
  const end = varint.end + Number(varint.value);
  return { value: bytes.subarray(varint.end, end), end };
}

function readVarint(bytes: Buffer, start: number, place: string, refuse: Refuse): Read<bigint> {
  let value = 0n;
  for (let i = 0; i < MAX_VARINT_BYTES; i++) {
    const byte = bytes[start + i];
    if (byte === undefined) return refuse(`ends in the middle of an integer in ${place}`);
    value |= BigInt(byte & 0x7f) << BigInt(7 * i);
    if (byte >= 0x80) continue;
    if (byte === 0 && i > 0) refuse(`has an integer in ${place} that is not in its shortest form`);
    if (value >= 2n ** 64n) break;
    return { value, end: start + i + 1 };
  }
  return refuse(`has an integer in ${place} of more than 64 bits`);
}

/** A field that occurs at most once; its default value must not be written out. */
function scalar<Value>(
  number: number,
  wireType: Field<Value>["wireType"],
  absent: Value,
  read: (value: WireValue, place: string, refuse: Refuse) => Value,
): Field<Value> {
  return {
    number,
    wireType,
    max: 1,
    absent,
    read([first], place, refuse) {
      const isDefault = typeof first === "bigint" ? first === 0n : first?.length === 0;
      if (first === undefined || isDefault) return refuse(`spells out the default of ${place}`);
      return read(first, place, refuse);
    },
  };
}

function integer(number: number, max: bigint, name: string): Field<bigint> {
  return scalar(number, VARINT, 0n, (value, place, refuse) => {
    const integer = BigInt(value as bigint);
    if (integer > max) refuse(`has a negative ${place}, or one beyond ${name}`);
    return integer;
  });
}

/** A nonnegative int64. */
export const int64 = (number: number): Field<bigint> => integer(number, MAX_INT64, "int64");

/** A nonnegative int32. */
export const int32 = (number: number): Field<bigint> => integer(number, MAX_INT32, "int32");

export const boolean = (number: number): Field<boolean> =>
  scalar(number, VARINT, false, (value, place, refuse) =>
    value === 1n ? true : refuse(`has ${place} that is not 0 or 1`),
  );

/** One of the names, by its index. */
export function enumeration<Name extends string>(number: number, names: readonly [Name, ...Name[]]): Field<Name> {
  return scalar<Name>(number, VARINT, names[0], (value, place, refuse) => {
    return names[Number(value)] ?? refuse(`has ${place} that is not one of ${names.join(", ")}`);
  });
}

/** Bytes; if `length` is given, exactly that many, unless they are absent. */
export function bytes(number: number, length?: number): Field<Buffer> {
  return scalar(number, LENGTH_DELIMITED, Buffer.alloc(0), (value, place, refuse) => {
    const content = value as Buffer;
    if (length !== undefined && content.length !== length) refuse(`has ${place} that is not of ${length} bytes`);
    return content;
  });
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function text(number: number): Field<string> {
  return scalar(number, LENGTH_DELIMITED, "", (value, place, refuse) => {
    try {
      return decoder.decode(value as Buffer);
    } catch {
      return refuse(`has ${place} that is not UTF-8`);
    }
  });
}

/** A message; undefined if it is absent. */
export function message<Of extends Fields>(number: number, fields: Of): Field<MessageOf<Of> | undefined> {
  return {
    number,
    wireType: LENGTH_DELIMITED,
    max: 1,
    absent: undefined,
    read: ([first], place, refuse) => decodeMessage(first as Buffer, fields, place, refuse),
  };
}

/** At most `max` messages. */
export function messages<Of extends Fields>(number: number, max: number, fields: Of): Field<readonly MessageOf<Of>[]> {
  return {
    number,
    wireType: LENGTH_DELIMITED,
    max,
    absent: [],
    read: (values, place, refuse) => values.map((value) => decodeMessage(value as Buffer, fields, place, refuse)),
  };
}

/** An encoded length-delimited field. */
export function encodeField(number: number, content: Uint8Array): Buffer {
  const tag = varint((number << 3) | LENGTH_DELIMITED);
  return Buffer.concat([tag, varint(content.length), content]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return Buffer.of(...bytes, rest);
}
