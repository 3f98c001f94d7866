import { randomInt } from "node:crypto";
import { UUID, V7Generator } from "uuidv7";

const CANONICAL = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

// Node keeps random bytes ready for `randomInt`; by itself the generator asks the operating system every few identifiers.
const generator = new V7Generator({ nextUint32: () => randomInt(2 ** 32) });

/** A new time-ordered identifier (UUIDv7, RFC 9562), lowercase with dashes. */
export const newId = (): string => generator.generate().toString();

/**
 * The identifier of what comes into being at a place of a request, such as `apiKeys.0`: one for each place, however often it is
 * asked for.
 */
export type IdFor = (place: string) => string;

/** A new identifier that sorts as one made at that time, in milliseconds: for what is told later than it happened. */
export const newIdAt = (milliseconds: number): string =>
  UUID.fromFieldsV7(milliseconds, randomInt(2 ** 12), randomInt(2 ** 30), randomInt(2 ** 32)).toString();

/** What no identifier that was made at that time, in milliseconds, sorts before. */
export const lowestIdAt = (milliseconds: number): string => UUID.fromFieldsV7(milliseconds, 0, 0, 0).toString();

/** Whether `text` has the form of an identifier; any UUID version is taken, in lowercase only. */
export const isId = (text: string): boolean => CANONICAL.test(text);
