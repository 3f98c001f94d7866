import { randomInt } from "node:crypto";
import { UUID, V7Generator } from "uuidv7";

const CANONICAL = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

// Node keeps a pool of random bytes for `randomInt`. By default the generator asks the operating system every few identifiers.
const generator = new V7Generator({ nextUint32: () => randomInt(2 ** 32) });

/** A new time-ordered identifier (UUIDv7, RFC 9562), lowercase with dashes. */
export const newId = (): string => generator.generate().toString();

/** The identifier for an object that a request creates at a place such as `apiKeys.0`. The same place always gets the same identifier. */
export type IdFor = (place: string) => string;

/** A new identifier that sorts as if created at that time, in milliseconds. For events that are recorded later than they happen. */
export const newIdAt = (milliseconds: number): string =>
  UUID.fromFieldsV7(milliseconds, randomInt(2 ** 12), randomInt(2 ** 30), randomInt(2 ** 32)).toString();

/** The lowest identifier that can be created at that time, in milliseconds. */
export const lowestIdAt = (milliseconds: number): string => UUID.fromFieldsV7(milliseconds, 0, 0, 0).toString();

/** Whether `text` has the form of an identifier: a UUID of any version, in lowercase. */
export const isId = (text: string): boolean => CANONICAL.test(text);
