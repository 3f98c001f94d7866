import { type TObject, type TProperties, type TSchema, Type } from "typebox";
import {
  MAX_CURSOR_LENGTH,
  MAX_LABEL_LENGTH,
  MAX_LIST_LENGTH,
  MAX_PAGE_SIZE,
  MAX_POLICY_LENGTH,
} from "../kernel/limits.ts";

/**
 * The schemas that requests and responses are built from. The `description` of a field with a pattern completes the error message
 * "`field` must be …".
 */

/** An object in a request's `parameters`. Unknown members are refused, so that a misspelled option is never silently ignored. */
export const Strict = <P extends TProperties>(properties: P): TObject<P> =>
  Type.Object(properties, { additionalProperties: false });

const UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";

export const Id = Type.String({ pattern: UUID, description: "an identifier (UUID)" });

/** An identifier, or '' for none. */
export const IdOrEmpty = Type.String({ pattern: `${UUID}|^$`, description: "an identifier (UUID), or empty" });

export const Ids = Type.Array(Id, { maxItems: MAX_LIST_LENGTH });

/** A list of at least one identifier. */
export const SomeIds = Type.Array(Id, { minItems: 1, maxItems: MAX_LIST_LENGTH });

// Leading spaces, then a character that is not blank. Adjacent parts match disjoint characters, so matching takes linear time.
const LABEL = "^ *[^\\s\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$";

/** A name that a user chooses: printable characters, not blank. */
export const Label = Type.String({
  minLength: 1,
  maxLength: MAX_LABEL_LENGTH,
  pattern: LABEL,
  description: `a name of 1 to ${MAX_LABEL_LENGTH} printable characters`,
});

/** A name, or '' for none: clients in languages with zero values send '' for an absent string. */
export const LabelOrEmpty = Type.String({
  maxLength: MAX_LABEL_LENGTH,
  pattern: `${LABEL}|^$`,
  description: `a name of up to ${MAX_LABEL_LENGTH} printable characters, or empty`,
});

const NoSigner = Type.String({
  pattern: "^$",
  description: "empty: signers outside of this service are not supported",
});

/** Members that newer clients send with every operation that creates or uses a key; empty for keys that this server keeps. */
export const noExternalSigner = {
  externalSignerPubkey: Type.Optional(NoSigner),
  externalSignerWrappingKeyId: Type.Optional(NoSigner),
};

/** An expression of the policy language. The language has a lower limit of its own, with a better error; this one only bounds the bytes. */
export const Expression = Type.String({ maxLength: 4 * MAX_POLICY_LENGTH });

/** Free text that describes an object. */
export const Notes = Type.String({ maxLength: 4096 });

export const List = <T extends TSchema>(items: T, maxItems = MAX_LIST_LENGTH) => Type.Array(items, { maxItems });

/** A list of at least one item. */
export const SomeOf = <T extends TSchema>(items: T, maxItems = MAX_LIST_LENGTH) =>
  Type.Array(items, { minItems: 1, maxItems });

/** One of the given strings. */
export const OneOf = <const Values extends readonly string[]>(values: Values) =>
  Type.Unsafe<Values[number]>({ type: "string", enum: [...values] });

/** Seconds as a decimal string, at least 1. */
export const Seconds = Type.String({
  pattern: "^[1-9][0-9]{0,11}$",
  description: "a number of seconds in digits, at least 1",
});

const EMAIL =
  "^[^\\s@\\u0000-\\u001f\\u007f]{1,64}@[^\\s@.\\u0000-\\u001f\\u007f]+(\\.[^\\s@.\\u0000-\\u001f\\u007f]+)+$";

/** A local part, `@` and a domain of at least two labels. Whether it can be delivered to shows only when a mail is sent. */
export const Email = Type.String({ maxLength: 254, pattern: EMAIL, description: "an email address" });

/** The same, where '' says that there is to be none. */
export const EmailOrEmpty = Type.String({
  maxLength: 254,
  pattern: `${EMAIL}|^$`,
  description: "an email address, or empty for none",
});

const PHONE_NUMBER = "^\\+[1-9][0-9]{6,14}$";

/** E.164. */
export const PhoneNumber = Type.String({
  pattern: PHONE_NUMBER,
  description: "a phone number in E.164 form, such as +14155550123",
});

/** The same, where '' says that there is to be none. */
export const PhoneNumberOrEmpty = Type.String({
  pattern: `${PHONE_NUMBER}|^$`,
  description: "a phone number in E.164 form, such as +14155550123, or empty for none",
});

/** `{seconds, nanos}`, both decimal strings, as query responses carry times. */
export const Timestamp = Type.Object({ seconds: Type.String(), nanos: Type.String() }, { $id: "Timestamp" });
export type Timestamp = { seconds: string; nanos: string };

export const timestampOf = (milliseconds: number): Timestamp => ({
  seconds: String(Math.floor(milliseconds / 1000)),
  nanos: String((milliseconds % 1000) * 1_000_000),
});

export const Pagination = Type.Object(
  {
    limit: Type.Optional(
      Type.String({ pattern: "^([1-9][0-9]?|100)?$", description: `a number from 1 to ${MAX_PAGE_SIZE} in digits` }),
    ),
    before: Type.Optional(Type.String({ pattern: `${UUID}|^$`, description: "the identifier of an object" })),
    after: Type.Optional(Type.String({ pattern: `${UUID}|^$`, description: "the identifier of an object" })),
  },
  { $id: "Pagination" },
);

/** Pagination of lists that use opaque cursors instead of identifiers: those that an answer's `pageInfo` returned. */
export const CursorPagination = Type.Object(
  {
    limit: Pagination.properties.limit,
    before: Type.Optional(Type.String({ maxLength: MAX_CURSOR_LENGTH })),
    after: Type.Optional(Type.String({ maxLength: MAX_CURSOR_LENGTH })),
  },
  { $id: "CursorPagination" },
);

/** The position of a page in such a list. Pass `endCursor` as `after`, or `startCursor` as `before`, for the adjacent pages. */
export const PageInfo = Type.Object(
  {
    hasNextPage: Type.Boolean(),
    hasPreviousPage: Type.Boolean(),
    startCursor: Type.Optional(Type.String()),
    endCursor: Type.Optional(Type.String()),
  },
  { $id: "PageInfo" },
);
