/** Answers of others in which one part is what nobody expects there. */

/** In JSON, because some have no short form as values. */
const nested = (levels: number): string => `${"[".repeat(levels)}"\\u0000"${"]".repeat(levels)}`;
const hostileValues: readonly string[] = [
  "null",
  "true",
  "-1",
  "0.5",
  "1e308",
  "9007199254740993",
  '""',
  '"0x"',
  '"\\u0000"',
  '"\\ud800"',
  '"__proto__"',
  "[]",
  "{}",
  "[null]",
  '[{"toString":1}]',
  '{"toString":1,"valueOf":1,"length":1,"constructor":null}',
  '{"toString":"x","valueOf":"x","then":1,"toJSON":1,"0":1}',
  `[${nested(60)}]`,
  nested(5000),
  `{"a":${nested(5000)}}`,
  `"0x${"f".repeat(2000)}"`,
  `"${"1".repeat(2000)}"`,
];
const PLACE = "the place of a hostile value";

/** In JSON: the value with one of its parts, but not the whole of it, replaced by one of the hostile values, for each of both. */
export function* hostileVariants(value: object): Generator<string> {
  for (const placed of withOnePlace(value)) {
    if (placed === PLACE) continue;
    for (const hostile of hostileValues) yield JSON.stringify(placed).replace(`"${PLACE}"`, () => hostile);
  }
}

/** The value with one of its parts replaced by `PLACE`, once for each part. */
function* withOnePlace(value: unknown): Generator<unknown> {
  yield PLACE;
  if (typeof value !== "object" || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    for (const replaced of withOnePlace(part)) {
      if (Array.isArray(value)) yield value.with(Number(key), replaced);
      else yield { ...value, [key]: replaced };
    }
  }
}
