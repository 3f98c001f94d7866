import { randomBytes, scryptSync } from "node:crypto";
import {
  closeSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { wipe } from "../../kernel/bytes.ts";
import { makeFolder } from "../../kernel/make-folder.ts";
import { syncFolder } from "../../kernel/sync-folder.ts";
import { seal, unseal } from "./seal.ts";

const ROOT_KEY_BYTES = 32;
/** Two during a rotation. */
const MAX_ROOT_KEYS = 2;
/** RFC 7914 with N = 2^17, r = 8, p = 1: each guess takes about half a second and 128 MiB. */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };
const WRAP_CONTEXT = ["keystead root key"];
/** Writing a file takes milliseconds, so whoever began one longer ago was killed. */
const LEFT_AFTER_MS = 60_000;
const TEMPORARY = ".tmp";

/** A reason not to start, as a message for the operator. */
export class RootKeyProblem extends Error {}

/** Trying the same passphrase on the same file again is pointless, and takes half a second. */
export class WrongPassphrase extends RootKeyProblem {}

interface ScryptParameters {
  N: number;
  r: number;
  p: number;
  salt: string;
}

/** One root key is written as version 1, which earlier releases read too; two, during a rotation, as version 2. */
type RootKeyFile =
  | { version: 1; protection: "none"; rootKey: string }
  | { version: 1; protection: "passphrase"; scrypt: ScryptParameters; sealedRootKey: string }
  | { version: 2; protection: "none"; rootKeys: string[] }
  | { version: 2; protection: "passphrase"; scrypt: ScryptParameters; sealedRootKeys: string[] };

/** What a file says, whichever its version. Keys are in base64, sealed or not. */
type Content =
  | { protection: "none"; rootKeys: string[] }
  | { protection: "passphrase"; scrypt: ScryptParameters; sealedRootKeys: string[] };

export type RootKeyOutcome =
  | { state: "open"; rootKeys: Buffer[]; created: boolean; revision: string }
  | { state: "sealed" };

/**
 * Reads the root keys from `file`. If the file is missing and `mayCreate` is true, creates it with one key and mode 0600. With a passphrase,
 * the file contains the keys sealed under it; without one, a sealed file leaves the signer sealed.
 *
 * @throws RootKeyProblem
 */
export function openRootKeyFile(file: string, passphrase: string | undefined, mayCreate: boolean): RootKeyOutcome {
  removeLeftFiles(file);
  const read = readIfPresent(file);
  if (read === undefined) {
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
    if (!rootKey) return openRootKeyFile(file, passphrase, false);
    return { state: "open", rootKeys: [rootKey], created: true, revision: revisionOf(file) };
  }
  refuseOpenPermissions(file, read.status);
  const revision = revisionOfStatus(read.status);
  const content = parseFile(file, read.text);
  if (content.protection === "none") {
    if (passphrase !== undefined) {
      throw new RootKeyProblem(
        `the root key file ${file} is not protected by a passphrase, but one was given; start without KEYSTEAD_ROOT_KEY_PASSPHRASE`,
      );
    }
    const rootKeys = content.rootKeys.map((key) => Buffer.from(key, "base64"));
    return { state: "open", rootKeys, created: false, revision };
  }
  if (passphrase === undefined) return { state: "sealed" };
  return { state: "open", rootKeys: unwrap(file, content, passphrase), created: false, revision };
}

/** Changes whenever the file is replaced or written. */
export const revisionOf = (file: string): string => revisionOfStatus(statusOf(file));

const revisionOfStatus = ({ ino, size, mtimeMs }: Stats): string => [ino, size, mtimeMs].join(" ");

/**
 * Replaces the file by one with these keys, whose owner and mode stay the same. A crash leaves the one or the other.
 *
 * @param revision of the file that the keys were read from
 * @throws RootKeyProblem
 */
export function writeRootKeyFile(
  { file, revision }: { file: string; revision: string },
  rootKeys: readonly Buffer[],
  passphrase: string | undefined,
): void {
  if (rootKeys.length > MAX_ROOT_KEYS) {
    throw new RootKeyProblem(
      `the root key file ${file} already contains ${MAX_ROOT_KEYS} root keys; complete the rotation first: keystead root-key rotate, then keystead root-key retire`,
    );
  }
  const { uid, gid } = statusOf(file);
  const text = textOf(rootKeys, passphrase);
  try {
    // What a link leads to is replaced, and not the link.
    const place = realpathSync(file);
    const temporary = writeTemporary(place, text, { uid, gid });
    try {
      // Last, because a passphrase takes half a second, in which another command may have added a key.
      if (revisionOf(file) !== revision) {
        throw new RootKeyProblem(`the root key file ${file} was changed in the meantime; nothing was changed here`);
      }
      renameSync(temporary, place);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
    syncFolder(dirname(place));
  } catch (error) {
    if (error instanceof RootKeyProblem) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new RootKeyProblem(
      `the root key file ${file} cannot be replaced (${code}); nothing was changed. If it is mounted read-only, run the command where the file comes from, with KEYSTEAD_ROOT_KEY_FILE`,
    );
  }
}

export const newRootKey = (): Buffer => randomBytes(ROOT_KEY_BYTES);

/** The new root key, or undefined if the file was created in the meantime. */
function createRootKey(file: string, passphrase: string | undefined): Buffer | undefined {
  const rootKey = newRootKey();
  try {
    makeFolder(dirname(file), 0o700);
    writeOnce(file, textOf([rootKey], passphrase));
    return rootKey;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return undefined;
    throw new RootKeyProblem(`the root key file ${file} cannot be written (${code})`);
  }
}

const textOf = (rootKeys: readonly Buffer[], passphrase: string | undefined): string =>
  `${JSON.stringify(passphrase === undefined ? plain(rootKeys) : wrapped(rootKeys, passphrase))}\n`;

function plain(keys: readonly Buffer[]): RootKeyFile {
  const rootKeys = keys.map((key) => key.toString("base64"));
  const [rootKey] = rootKeys as [string];
  return rootKeys.length === 1
    ? { version: 1, protection: "none", rootKey }
    : { version: 2, protection: "none", rootKeys };
}

function wrapped(keys: readonly Buffer[], passphrase: string): RootKeyFile {
  const salt = randomBytes(16);
  const wrappingKey = scryptSync(passphrase, salt, 32, SCRYPT);
  try {
    const { N, r, p } = SCRYPT;
    const scrypt = { N, r, p, salt: salt.toString("base64") };
    const sealedRootKeys = keys.map((key) => seal(wrappingKey, WRAP_CONTEXT, key));
    const [sealedRootKey] = sealedRootKeys as [string];
    return sealedRootKeys.length === 1
      ? { version: 1, protection: "passphrase", scrypt, sealedRootKey }
      : { version: 2, protection: "passphrase", scrypt, sealedRootKeys };
  } finally {
    wipe(wrappingKey);
  }
}

type Wrapped = Extract<Content, { protection: "passphrase" }>;

function unwrap(file: string, content: Wrapped, passphrase: string): Buffer[] {
  const wrappingKey = wrappingKeyOf(file, content, passphrase);
  try {
    return content.sealedRootKeys.map((sealed) => {
      const rootKey = unseal(wrappingKey, WRAP_CONTEXT, sealed);
      if (!rootKey) throw new WrongPassphrase(`the passphrase does not open the root key file ${file}`);
      return rootKey;
    });
  } finally {
    wipe(wrappingKey);
  }
}

function wrappingKeyOf(file: string, { scrypt }: Wrapped, passphrase: string): Buffer {
  const { N, r, p, salt } = scrypt;
  try {
    return scryptSync(passphrase, Buffer.from(salt, "base64"), 32, { N, r, p, maxmem: SCRYPT.maxmem });
  } catch {
    // Node rejects parameters that RFC 7914 does not allow or that need too much memory.
    return refuseDamaged(file);
  }
}

/** The text, and the status of the same file even if it is replaced meanwhile. */
function readIfPresent(file: string): { text: string; status: Stats } | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, "r");
    return { status: fstatSync(descriptor), text: readFileSync(descriptor, "utf8") };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new RootKeyProblem(`the root key file ${file} cannot be read (${code})`);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function statusOf(file: string): Stats {
  try {
    return statSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new RootKeyProblem(`the root key file ${file} cannot be read (${code})`);
  }
}

function refuseOpenPermissions(file: string, { mode }: Stats): void {
  if ((mode & 0o077) !== 0) {
    throw new RootKeyProblem(`the root key file ${file} can be read by others; run: chmod 600 ${file}`);
  }
}

function parseFile(file: string, text: string): Content {
  try {
    const content = contentOf(JSON.parse(text) as RootKeyFile);
    const keys = content.protection === "none" ? content.rootKeys : content.sealedRootKeys;
    const isFitting =
      content.protection === "none"
        ? (key: string) => Buffer.from(key, "base64").length === ROOT_KEY_BYTES
        : (key: string) => typeof key === "string" && content.scrypt.N <= SCRYPT.N;
    if (keys.length >= 1 && keys.length <= MAX_ROOT_KEYS && keys.every(isFitting)) return content;
  } catch {
    // Falls through: whatever the error was, the remedy is the same.
  }
  return refuseDamaged(file);
}

/** @throws for what is neither version */
function contentOf(file: RootKeyFile): Content {
  const isPlain = file.protection === "none";
  if (!isPlain && file.protection !== "passphrase") throw new Error("unknown protection");
  switch (file.version) {
    case 1:
      return isPlain
        ? { protection: "none", rootKeys: [file.rootKey] }
        : { protection: "passphrase", scrypt: file.scrypt, sealedRootKeys: [file.sealedRootKey] };
    case 2:
      return file;
    default:
      throw new Error("unknown version");
  }
}

function refuseDamaged(file: string): never {
  throw new RootKeyProblem(`the root key file ${file} is damaged; restore it from its backup`);
}

/** Writes, flushes and then links the file into place: a crash leaves a complete file or none, and an existing file is never overwritten. */
function writeOnce(file: string, text: string): void {
  const temporary = writeTemporary(file, text);
  try {
    linkSync(temporary, file);
  } finally {
    unlinkSync(temporary);
  }
  syncFolder(dirname(file));
}

/** Writes and flushes a file beside `file`, which only its owner can read. */
function writeTemporary(file: string, text: string, owner?: { uid: number; gid: number }): string {
  // Not the process id, which processes of two containers may share.
  const temporary = `${file}.${randomBytes(8).toString("hex")}${TEMPORARY}`;
  const descriptor = openSync(temporary, "wx", 0o600);
  try {
    // An operator may run a command as root, but the server must be able to read the file.
    if (owner) fchownSync(descriptor, owner.uid, owner.gid);
    // The disk may take only a part at once; this writes the rest, or fails.
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  return temporary;
}

/**
 * Removes what was left beside `file` by starts and commands that were killed while they wrote, since it contains root keys. If one of them is
 * only slow, it fails without it and has changed nothing.
 */
function removeLeftFiles(file: string): void {
  try {
    const place = statSync(file, { throwIfNoEntry: false }) ? realpathSync(file) : file;
    const folder = dirname(place);
    const begin = `${basename(place)}.`;
    for (const name of readdirSync(folder)) {
      if (!name.startsWith(begin) || !name.endsWith(TEMPORARY)) continue;
      if (!/^[0-9a-f]+$/.test(name.slice(begin.length, -TEMPORARY.length))) continue;
      const left = join(folder, name);
      const { mtimeMs } = statSync(left);
      if (Date.now() - mtimeMs > LEFT_AFTER_MS) rmSync(left);
    }
  } catch {
    // The folder may be read-only, or missing before the first start. The start does not depend on this.
  }
}
