import { HOUR_MS, MINUTE_MS } from "../../src/kernel/durations.ts";
import { newId } from "../../src/kernel/ids.ts";
import { MAX_BODY_BYTES } from "../../src/kernel/limits.ts";
import type { Json } from "./client.ts";

/** Where a value stands in a body. */
export type Path = readonly (string | number)[];

/** A JSON Schema, as far as requests use it. */
export interface FieldSchema {
  type?: string;
  properties?: Record<string, FieldSchema>;
  required?: string[];
  items?: FieldSchema;
  enum?: string[];
  pattern?: string;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
}

/** A value of a valid body, with what its schema says of it. */
export interface Field {
  path: Path;
  schema: FieldSchema;
  value: Json;
  /** Entries of lists are. */
  required: boolean;
}

/** A request that must be refused. */
export interface Mutation {
  name: string;
  body: string | Uint8Array;
  status: number;
  /** What the error has to name: in its text, or as a blamed field. */
  names?: string;
}

/** Every value of the body that the schema knows, the body itself first. */
export function fieldsOf(schema: FieldSchema, value: Json, path: Path = [], required = true): Field[] {
  const own: Field = { path, schema, value, required };
  if (schema.items) {
    const { items } = schema;
    return [own, ...value.flatMap((entry: Json, index: number) => fieldsOf(items, entry, [...path, index]))];
  }
  const members = Object.entries(schema.properties ?? {}).filter(([name]) => name in value);
  return [
    own,
    ...members.flatMap(([name, member]) =>
      fieldsOf(member, value[name], [...path, name], schema.required?.includes(name) ?? false),
    ),
  ];
}

/** The paths of members that the schema knows and the value lacks. */
export function missingFields(schema: FieldSchema, value: Json, path: Path = []): string[] {
  if (schema.items) {
    const { items } = schema;
    return value.flatMap((entry: Json, index: number) => missingFields(items, entry, [...path, index]));
  }
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
    name in value ? missingFields(member, value[name], [...path, name]) : [[...path, name].join(".")],
  );
}

/** The body with another value at the path; `undefined` leaves it out. */
export function replaced(body: Json, path: Path, value: unknown): Json {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(body)) return body.map((entry, index) => (index === step ? replaced(entry, rest, value) : entry));
  return { ...body, [step]: replaced(body[step], rest, value) };
}

export interface Subject {
  body: Json;
  schema: FieldSchema;
  /** The same request of another organization, for its ids. */
  foreignBody: Json;
  /** Of an older or newer activity, or of another one. */
  otherTypes: string[];
}

/** Everything that can be wrong with a request, one thing at a time. */
export function mutationsOf(subject: Subject): Mutation[] {
  const { body, schema } = subject;
  const fields = fieldsOf(schema, body);
  return [
    ...brokenBodies(body),
    ...fields.flatMap((field) => [
      ...wrongTypes(body, field),
      ...omission(body, field),
      ...wrongKeys(body, field),
      ...wrongStrings(body, field),
      ...wrongNumbers(body, field),
      ...longArrays(body, field),
      ...wrongIds(subject, field),
    ]),
    ...wrongEnvelopes(subject),
  ];
}

/** More characters than any text takes whose schema states no length of its own. */
const LONG_LENGTH = 64 * 1024;

/** What a body has room for beside its other fields. */
const ROOM = MAX_BODY_BYTES - 64 * 1024;

const nameOf = (path: Path): string => path.join(".");

/** Bodies that are not a JSON object, or not JSON. */
function brokenBodies(body: Json): Mutation[] {
  const text = JSON.stringify(body);
  const bytes = Buffer.from(text);
  const inFirstString = text.indexOf(':"') + 2;
  const withBytes = (...inserted: number[]) =>
    Buffer.concat([bytes.subarray(0, inFirstString), Buffer.from(inserted), bytes.subarray(inFirstString)]);
  const broken: Record<string, string | Uint8Array> = {
    "empty body": "",
    "blank body": " \n",
    "body null": "null",
    "body true": "true",
    "body a number": "1",
    "body a string": JSON.stringify("text"),
    "body an empty array": "[]",
    "body in an array": `[${text}]`,
    "body as a string": JSON.stringify(text),
    "cut off": text.slice(0, -1),
    "half of it": text.slice(0, text.length / 2),
    "text after it": `${text}x`,
    "twice in a row": text + text,
    "comma at the end": `${text.slice(0, -1)},}`,
    comment: `/* comment */${text}`,
    "single quotes": text.replaceAll('"', "'"),
    "not a number": `{"other":NaN,${text.slice(1)}`,
    "leading zeros": `{"other":007,${text.slice(1)}`,
    "byte order mark": `\ufeff${text}`,
    "raw control character": `${text.slice(0, inFirstString)}\n${text.slice(inFirstString)}`,
    "raw NUL": `${text.slice(0, inFirstString)}\0${text.slice(inFirstString)}`,
    "NUL after it": `${text}\0`,
    "UTF-16": Buffer.from(text, "utf16le"),
    "byte FF": withBytes(0xff),
    "overlong slash": withBytes(0xc0, 0xaf),
    "surrogate in UTF-8": withBytes(0xed, 0xa0, 0x80),
    "half a character": withBytes(0xe2, 0x82),
    "beyond Unicode": withBytes(0xf4, 0x90, 0x80, 0x80),
    "1,000 open brackets": "[".repeat(1000),
    "arrays 1,000 deep": "[".repeat(1000) + "]".repeat(1000),
    "array 1,000 deep inside": `{"other":${"[".repeat(1000)}${"]".repeat(1000)},${text.slice(1)}`,
    "object 1,000 deep inside": `{"other":${'{"a":'.repeat(1000)}1${"}".repeat(1000)},${text.slice(1)}`,
  };
  const mutations = Object.entries(broken).map(([name, body]) => ({ name, body, status: 400 }));
  return [...mutations, { name: "body over the limit", body: text.padEnd(MAX_BODY_BYTES + 1), status: 413 }];
}

/** Every JSON type but its own. Null counts as absent, so only what must be there, or stands in a list, refuses it. */
function wrongTypes(body: Json, { path, schema, required }: Field): Mutation[] {
  if (path.length === 0) return [];
  const values: Record<string, unknown> = {
    string: "text",
    number: 1,
    boolean: true,
    array: [],
    object: {},
    "list of text": ["text"],
    ...(required ? { null: null } : {}),
  };
  const own = schema.type === "integer" ? "number" : schema.type;
  return Object.entries(values)
    .filter(([type]) => type !== own && !(own === "array" && type === "list of text"))
    .map(([type, value]) => refusal(body, path, value, `${nameOf(path)} as ${type}`));
}

const refusal = (body: Json, path: Path, value: unknown, name: string): Mutation => ({
  name,
  body: JSON.stringify(replaced(body, path, value)),
  status: 400,
  names: nameOf(path),
});

const omission = (body: Json, { path, required }: Field): Mutation[] =>
  required && typeof path.at(-1) === "string" ? [refusal(body, path, undefined, `${nameOf(path)} missing`)] : [];

const MARK = "to be replaced";

/** Keys that no object takes, and in parameters those that this one does not know. */
function wrongKeys(body: Json, { path, schema, value }: Field): Mutation[] {
  if (schema.type !== "object") return [];
  const where = nameOf(path) || "the body";
  const withKey = (key: string, about: string, added: unknown = {}): Mutation => ({
    name: `${about} in ${where}`,
    body: JSON.stringify(replaced(body, path, { ...value, [MARK]: added })).replace(JSON.stringify(MARK), key),
    status: 400,
  });
  const forbidden = [
    { ...withKey('"__proto__"', "__proto__"), names: "__proto__" },
    { ...withKey('"\\u005f_proto__"', "escaped __proto__"), names: "__proto__" },
    { ...withKey('"a\\u0000"', "NUL in a key"), names: "NUL" },
    { ...withKey('"a\\udc00"', "lone surrogate in a key"), names: "surrogate" },
  ];
  // With an equal value, so that nothing but the repetition is wrong.
  const twice = Object.keys(value).map((key) => ({
    ...withKey(JSON.stringify(key), `duplicate ${key}`, value[key]),
    names: key,
  }));
  const long = "a".repeat(LONG_LENGTH);
  const longKey = { ...withKey(JSON.stringify(long), "long unknown key"), names: long.slice(0, 50) };
  // A validator stops counting at some point; what it reports up to there must do.
  const keys = Array.from({ length: 20 }, (_, index) => `"k${index}"`);
  const manyKeys = { ...withKey(keys.join(":1,"), "20 unknown keys"), names: nameOf([...path, "k0"]) };
  const unknown =
    path[0] === "parameters"
      ? ["keysteadUnknown", "constructor", "prototype", "toString", "hasOwnProperty", "", "a.b/c~d", "ключ", "0"]
      : [];
  return [
    ...forbidden,
    ...twice,
    ...unknown.map((key) => ({
      ...withKey(JSON.stringify(key), `unknown key ${JSON.stringify(key)}`),
      names: nameOf([...path, key].filter((step) => step !== "")),
    })),
    ...(path[0] === "parameters" ? [longKey, manyKeys] : []),
  ];
}

/** Text that no field takes, and what this one's form refuses. */
function wrongStrings(body: Json, { path, schema }: Field): Mutation[] {
  if (schema.type !== "string") return [];
  const refuse = (value: string, about: string) => refusal(body, path, value, `${nameOf(path)} ${about}`);
  const always = [
    refuse("a\0b", "with NUL"),
    refuse("\ud800", "a lone high surrogate"),
    refuse("a\udfffb", "with a lone low surrogate"),
  ];
  const tooLong = (schema.maxLength ?? LONG_LENGTH) + 1;
  const long = refuse("a".repeat(tooLong), `of ${tooLong} characters`);
  // A fingerprint is only looked up.
  const looked = nameOf(path) === "parameters.fingerprint" ? { status: 404, names: "fingerprint" } : {};
  const odd = ["", " ", "\n", "nope", "toString", "constructor", "-1", "1e3", "0x10", "٣", "9".repeat(400), "'; --"];
  const { pattern, enum: words } = schema;
  const isRefused = (value: string) =>
    (pattern !== undefined && !new RegExp(pattern, "u").test(value)) || words?.includes(value) === false;
  return [
    ...always,
    { ...long, ...looked },
    ...odd.filter(isRefused).map((value) => refuse(value, `as ${JSON.stringify(value.slice(0, 20))}`)),
  ];
}

/** Numbers no field takes, and 0 where the field says that it begins above. They are written as text, as JSON can hold more than a double. */
function wrongNumbers(body: Json, { path, schema }: Field): Mutation[] {
  if (schema.type !== "integer" && schema.type !== "number") return [];
  const numbers = [
    "-1",
    "0",
    "-0",
    "1.5",
    "1e-7",
    "1e21",
    "1e308",
    "1e400",
    "-1e400",
    "9007199254740993",
    "9".repeat(400),
  ];
  const wrong = schema.minimum === 0 ? numbers.filter((number) => Number(number) !== 0) : numbers;
  return wrong.map((number) => ({
    name: `${nameOf(path)} as ${number.slice(0, 20)}`,
    body: JSON.stringify(replaced(body, path, MARK)).replace(JSON.stringify(MARK), number),
    status: 400,
    names: String(path.at(-1)),
  }));
}

/** Of entries, where the schema states no number of its own. */
const MANY = 5000;

/** Copies of a valid entry, and empty entries: one more than the schema allows. */
function longArrays(body: Json, { path, schema, value }: Field): Mutation[] {
  if (schema.type !== "array") return [];
  const tooMany = (schema.maxItems ?? MANY) + 1;
  const refuse = (entry: unknown, about: string) =>
    refusal(body, path, new Array(tooMany).fill(entry), `${nameOf(path)} ${about} ${tooMany} times`);
  const [entry = "text"] = value;
  const fits = JSON.stringify(entry).length * tooMany < ROOM;
  return [
    ...(schema.minItems ? [refusal(body, path, [], `${nameOf(path)} empty`)] : []),
    ...(fits ? [refuse(entry, "its entry")] : []),
    refuse(null, "null"),
    refuse({}, "{}"),
    refuse([], "[]"),
  ];
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const FINGERPRINT = /^sha256:[0-9a-f]{64}$/;

/** Ids that are none, that nobody has, and that another organization has. */
function wrongIds({ body, foreignBody }: Subject, { path, value }: Field): Mutation[] {
  const isId = typeof value === "string" && ID.test(value);
  if (!isId && !(typeof value === "string" && FINGERPRINT.test(value))) return [];
  const name = nameOf(path);
  // A cursor only says where a page begins; whatever it names, the page is of the own organization.
  if (name.startsWith("paginationOptions.")) return [];
  const foreign = path.reduce((inside, step) => inside[step], foreignBody);
  if (name === "organizationId") {
    return [
      { ...refusal(body, path, newId(), "organizationId of nobody"), status: 401, names: "could not find public key" },
      { ...refusal(body, path, foreign, "organizationId of another"), status: 401, names: "could not find public key" },
      { ...refusal(body, path, value.toUpperCase(), "organizationId in capitals"), names: "malformed organization ID" },
    ];
  }
  // A method that MFA asks for is named by its type and this; which part is wrong, the field tells.
  if (name.startsWith("parameters.requiredAuthenticationMethods.")) {
    return [
      refusal(body, path, newId(), `${name} of nobody`),
      ...(foreign === value ? [] : [refusal(body, path, foreign, `${name} of another organization`)]),
    ];
  }
  // Leaves and transfers of Spark are nothing of this service's, which knows none of them.
  if (/^parameters\.(signatures|transfer|claim)\./.test(name)) {
    return [refusal(body, path, value.toUpperCase(), `${name} in capitals`)];
  }
  // Whoever guesses is not told whether it was the code or token or its id that was wrong.
  const isInvitation = name === "parameters.invitationId" && body.parameters.token !== undefined;
  if (name === "parameters.otpId" || isInvitation) {
    return [newId(), foreign]
      .filter((id) => id !== value)
      .map((id) => ({ name: `${name} of nobody`, body: JSON.stringify(replaced(body, path, id)), status: 400 }));
  }
  const unknown = isId ? newId() : `sha256:${"0".repeat(64)}`;
  // What signs may be named in several ways, and a fingerprint says nothing; the error repeats neither.
  const isRepeated = isId && !/^parameters\.(signWith|signWiths\.\d+|privateKeyId)$/.test(name);
  const missing = (id: string, about: string): Mutation => ({
    name: `${name} ${about}`,
    body: JSON.stringify(replaced(body, path, id)),
    status: 404,
    ...(isRepeated ? { names: id } : {}),
  });
  return [missing(unknown, "of nobody"), missing(foreign, "of another organization")];
}

/** Times outside the window, and types of other activities. */
function wrongEnvelopes({ body, otherTypes }: Subject): Mutation[] {
  if (body.type === undefined) return [];
  const now = Number(body.timestampMs);
  const refuse = (field: string, value: unknown) => refusal(body, [field], value, `${field} as ${value}`);
  // Far ahead, as it may be long until they are sent. `activities.test.ts` looks at the bounds themselves.
  const times = [now - HOUR_MS - MINUTE_MS, now + HOUR_MS, 0, Number.MAX_SAFE_INTEGER].map(String);
  const malformed = ["", "now", "-1", "1e12", `${now}.5`, ` ${now}`, `+${now}`, "9".repeat(400), "0x18f"];
  const types = ["", "ACTIVITY_TYPE_", "ACTIVITY_TYPE_UNKNOWN", "toString", `${body.type}_V99`, `${body.type} `];
  return [
    ...[...times, ...malformed].map((time) => refuse("timestampMs", time)),
    ...[...types, ...otherTypes].map((type) => refuse("type", type)),
    refuse("generateAppProofs", "true"),
    refusal(body, ["parameters", "generateAppProofs"], 1, "generateAppProofs in the parameters"),
  ];
}
