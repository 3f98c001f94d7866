import { toHex } from "../../kernel/bytes.ts";
import type { Refuse } from "./payload.ts";
import { type RlpItem, rlpInteger } from "./rlp.ts";

/**
 * How a value is encoded in RLP. `write` is the inverse of `read`: a value is written as exactly the item that it was read from, so a
 * decision on values is a decision on bytes. Hexadecimal values are lowercase with 0x.
 */
export interface RlpCodec<Value> {
  read(item: RlpItem, place: string, refuse: Refuse): Value;
  write(value: Value): RlpItem;
}

/** A codec for lists of exactly `length` items. */
export interface RlpTupleCodec<Value> extends RlpCodec<Value> {
  readonly length: number;
  write(value: Value): readonly RlpItem[];
}

type ValueOf<Codec> = Codec extends RlpCodec<infer Value> ? Value : never;
// biome-ignore lint/suspicious/noExplicitAny: codecs of all values, whose types `ValueOf` takes out again
type Members = { readonly [member: string]: RlpCodec<any> };
type MemberValues<M extends Members> = { readonly [Member in keyof M]: ValueOf<M[Member]> };

const bytesOf = (hex: string): Buffer => Buffer.from(hex.slice(2), "hex");

function readBytes(item: RlpItem, place: string, refuse: Refuse): Uint8Array {
  return item instanceof Uint8Array ? item : refuse(place, "must be bytes and not a list");
}

/** An integer from 0 to 2^bits - 1. */
export function rlpUint(bits: number): RlpCodec<bigint> {
  return {
    read(item, place, refuse) {
      const bytes = readBytes(item, place, refuse);
      if (bytes[0] === 0) refuse(place, "is an integer with a leading zero byte");
      if (bytes.length > bits / 8) refuse(place, `is an integer of more than ${bits} bits`);
      return bytes.length === 0 ? 0n : BigInt(`0x${toHex(bytes)}`);
    },
    write: rlpInteger,
  };
}

/** Bytes of any length. */
export const rlpBytes: RlpCodec<string> = {
  read: (item, place, refuse) => `0x${toHex(readBytes(item, place, refuse))}`,
  write: bytesOf,
};

/** Any item, unchanged. */
export const rlpItem: RlpCodec<RlpItem> = { read: (item) => item, write: (item) => item };

/** Exactly `length` bytes. */
export function rlpFixedBytes(length: number): RlpCodec<string> {
  return {
    read(item, place, refuse) {
      const bytes = readBytes(item, place, refuse);
      return bytes.length === length ? `0x${toHex(bytes)}` : refuse(place, `must have ${length} bytes`);
    },
    write: bytesOf,
  };
}

/** Like `codec`, but also accepts no bytes, as ''. */
export function rlpOptional(codec: RlpCodec<string>): RlpCodec<string> {
  return {
    read(item, place, refuse) {
      return item instanceof Uint8Array && item.length === 0 ? "" : codec.read(item, place, refuse);
    },
    write: (value) => (value === "" ? Buffer.alloc(0) : codec.write(value)),
  };
}

/** A list of any number of values. */
export function rlpList<Value>(element: RlpCodec<Value>): RlpCodec<readonly Value[]> {
  return {
    read(item, place, refuse) {
      if (item instanceof Uint8Array) return refuse(place, "must be a list");
      return item.map((each, index) => element.read(each, `${place}[${index}]`, refuse));
    },
    write: (values) => values.map((value) => element.write(value)),
  };
}

/** A list with one item for each member, in the members' order. At the top level, the place of the whole is ''. */
export function rlpTuple<M extends Members>(members: M): RlpTupleCodec<MemberValues<M>> {
  const entries = Object.entries(members);
  return {
    length: entries.length,
    read(item, place, refuse) {
      const names = Object.keys(members).join(", ");
      if (item instanceof Uint8Array) return refuse(place || "it", `must be a list of ${names}`);
      if (item.length !== entries.length) {
        refuse(place || "it", `has ${item.length} members and not the ${entries.length} members ${names}`);
      }
      const read = entries.map(([name, codec], index) => {
        return [name, codec.read(item[index] as RlpItem, place === "" ? name : `${place}.${name}`, refuse)];
      });
      return Object.fromEntries(read) as MemberValues<M>;
    },
    write: (values) => entries.map(([name, codec]) => codec.write(values[name])),
  };
}
