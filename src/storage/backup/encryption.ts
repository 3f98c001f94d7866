import { createRequire } from "node:module";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type { Encrypter } from "age-encryption";
import { BackupProblem } from "./problem.ts";

/** Encryption of backups to one recipient, in the age format (age-encryption.org/v1). */

export type Bytes = AsyncIterable<Uint8Array>;

/** Loaded only when needed, because its modules would slow down the start of every other process. */
const age = () => createRequire(import.meta.url)("age-encryption") as typeof import("age-encryption");

export const AGE_MAGIC = Buffer.from("age-encryption.org/v1\n");

/**
 * @param recipient `age1…`
 * @throws BackupProblem if it is not an age recipient
 */
export function encryption(recipient: string): (plain: Bytes) => Bytes {
  const encrypter = new (age().Encrypter)();
  try {
    encrypter.addRecipient(recipient);
  } catch {
    throw new BackupProblem("the recipient must be an age recipient: age1…, as `age-keygen` prints it");
  }
  return async function* (plain) {
    yield* (await encrypter.encrypt(webStreamOf(plain))) as unknown as Bytes;
  };
}

/**
 * @param identities the text of an identity file: comments, and a line with one AGE-SECRET-KEY-…
 * @throws BackupProblem if the text contains no identity
 */
export function decryption(identities: string): (encrypted: Bytes) => Bytes {
  const decrypter = new (age().Decrypter)();
  const lines = identities.split("\n").map((line) => line.trim());
  const keys = lines.filter((line) => line !== "" && !line.startsWith("#"));
  try {
    if (keys.length === 0) throw new Error("none");
    for (const key of keys) decrypter.addIdentity(key);
  } catch {
    // The text of the error could quote the secret.
    throw new BackupProblem("the identity file contains no age identity: a line AGE-SECRET-KEY-…");
  }
  return async function* (encrypted) {
    yield* (await decrypter.decrypt(webStreamOf(encrypted))) as unknown as Bytes;
  };
}

const webStreamOf = (bytes: Bytes) =>
  Readable.toWeb(Readable.from(bytes)) as ReadableStream as unknown as Parameters<Encrypter["encrypt"]>[0] &
    globalThis.ReadableStream<Uint8Array>;
