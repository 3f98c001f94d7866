import { createHmac, randomBytes, scryptSync } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { wipe } from "../../kernel/bytes.ts";
import { makeFolder } from "../../kernel/make-folder.ts";
import { syncFolder } from "../../kernel/sync-folder.ts";
import { seal, unseal } from "./seal.ts";

const ROOT_KEY_BYTES = 32;
/** RFC 7914 with N = 2^17, r = 8, p = 1: each guess takes about half a second and 128 MiB. */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };
const WRAP_CONTEXT = ["keystead root key"];

/** A reason not to start, as a message for the operator. */
export class RootKeyProblem extends Error {}

interface PlainFile {
  version: 1;
  protection: "none";
  rootKey: string;
}
interface PassphraseFile {
  version: 1;
  protection: "passphrase";
  scrypt: { N: number; r: number; p: number; salt: string };
  sealedRootKey: string;
}

export type RootKeyOutcome = { state: "open"; rootKey: Buffer; created: boolean } | { state: "sealed" };

/**
 * Reads the root key from `file`. If the file is missing and `mayCreate` is true, creates it with mode 0600. With a passphrase, the file
 * contains the key sealed under it; without one, a sealed file leaves the signer sealed.
 *
 * @throws RootKeyProblem
 */
export function openRootKey(file: string, passphrase: string | undefined, mayCreate: boolean): RootKeyOutcome {
  const text = readIfPresent(file);
  if (text === undefined) {
    if (!mayCreate) {
      throw new RootKeyProblem(
        `the root key file ${file} is missing, but the database already holds keys sealed with it; restore the file from its backup`,
      );
    }
    const rootKey = createRootKey(file, passphrase);
    if (!rootKey && readIfPresent(file) === undefined) {
      throw new RootKeyProblem(
        `the root key file ${file} is a link to where nothing is; mount what it leads to, or remove it`,
      );
    }
    // If another signer was faster, its root key applies.
    return rootKey ? { state: "open", rootKey, created: true } : openRootKey(file, passphrase, false);
  }
  refuseOpenPermissions(file);
  const content = parseFile(file, text);
  if (content.protection === "none") {
    if (passphrase !== undefined) {
      throw new RootKeyProblem(
        `the root key file ${file} is not protected by a passphrase, but one was given; start without KEYSTEAD_ROOT_KEY_PASSPHRASE`,
      );
    }
    return { state: "open", rootKey: Buffer.from(content.rootKey, "base64"), created: false };
  }
  if (passphrase === undefined) return { state: "sealed" };
  return { state: "open", rootKey: unwrap(file, content, passphrase), created: false };
}

/** An id for a root key that reveals nothing about it. The database stores the id of the root key that sealed its rows. */
export function rootKeyId(rootKey: Uint8Array): string {
  return createHmac("sha256", rootKey).update("keystead root key id").digest("hex").slice(0, 32);
}

/** The new root key, or undefined if the file was created in the meantime. */
function createRootKey(file: string, passphrase: string | undefined): Buffer | undefined {
  const rootKey = randomBytes(ROOT_KEY_BYTES);
  const content = passphrase === undefined ? plain(rootKey) : wrapped(rootKey, passphrase);
  try {
    makeFolder(dirname(file), 0o700);
    writeOnce(file, `${JSON.stringify(content)}\n`);
    return rootKey;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return undefined;
    throw new RootKeyProblem(`the root key file ${file} cannot be written (${code})`);
  }
}

function plain(rootKey: Buffer): PlainFile {
  return { version: 1, protection: "none", rootKey: rootKey.toString("base64") };
}

function wrapped(rootKey: Buffer, passphrase: string): PassphraseFile {
  const salt = randomBytes(16);
  const wrappingKey = scryptSync(passphrase, salt, 32, SCRYPT);
  try {
    const { N, r, p } = SCRYPT;
    const sealedRootKey = seal(wrappingKey, WRAP_CONTEXT, rootKey);
    return { version: 1, protection: "passphrase", scrypt: { N, r, p, salt: salt.toString("base64") }, sealedRootKey };
  } finally {
    wipe(wrappingKey);
  }
}

function unwrap(file: string, content: PassphraseFile, passphrase: string): Buffer {
  const wrappingKey = wrappingKeyOf(file, content, passphrase);
  try {
    const rootKey = unseal(wrappingKey, WRAP_CONTEXT, content.sealedRootKey);
    if (!rootKey) throw new RootKeyProblem(`the passphrase does not open the root key file ${file}`);
    return rootKey;
  } finally {
    wipe(wrappingKey);
  }
}

function wrappingKeyOf(file: string, { scrypt }: PassphraseFile, passphrase: string): Buffer {
  const { N, r, p, salt } = scrypt;
  try {
    return scryptSync(passphrase, Buffer.from(salt, "base64"), 32, { N, r, p, maxmem: SCRYPT.maxmem });
  } catch {
    // Node rejects parameters that RFC 7914 does not allow or that need too much memory.
    return refuseDamaged(file);
  }
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new RootKeyProblem(`the root key file ${file} cannot be read (${code})`);
  }
}

function refuseOpenPermissions(file: string): void {
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new RootKeyProblem(`the root key file ${file} can be read by others; run: chmod 600 ${file}`);
  }
}

function parseFile(file: string, text: string): PlainFile | PassphraseFile {
  try {
    const content = JSON.parse(text) as PlainFile | PassphraseFile;
    const plainKeyFits =
      content.protection === "none" && Buffer.from(content.rootKey, "base64").length === ROOT_KEY_BYTES;
    const wrappedKeyFits =
      content.protection === "passphrase" && typeof content.sealedRootKey === "string" && content.scrypt.N <= SCRYPT.N;
    if (content.version === 1 && (plainKeyFits || wrappedKeyFits)) return content;
  } catch {
    // Falls through: whatever the error was, the remedy is the same.
  }
  return refuseDamaged(file);
}

function refuseDamaged(file: string): never {
  throw new RootKeyProblem(`the root key file ${file} is damaged; restore it from its backup`);
}

/** Writes, flushes and then links the file into place: a crash leaves a complete file or none, and an existing file is never overwritten. */
function writeOnce(file: string, text: string): void {
  const temporary = `${file}.${process.pid}.tmp`;
  // A killed start leaves its temporary file, and in a container the next start has the same process id.
  rmSync(temporary, { force: true });
  const descriptor = openSync(temporary, "wx", 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  try {
    linkSync(temporary, file);
  } finally {
    unlinkSync(temporary);
  }
  syncFolder(dirname(file));
}
