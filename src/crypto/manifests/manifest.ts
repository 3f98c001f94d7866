import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { fail } from "../../kernel/errors.ts";
import { printable } from "../../kernel/json.ts";
import { BorshWriter } from "./borsh.ts";
import { parseQosJson, qosJson } from "./qos-json.ts";

/**
 * Manifests of QuorumOS: which program runs, with which parameters, and who may approve it. They are JSON in one of three schemas,
 * distinguished by their content. With `version` it is the newest, v2, whose hash is that of its canonical JSON. Those without, v1 and v0,
 * are hashed as Borsh, so that their members are hashed in the order in which they appear here.
 */

export interface Member {
  alias: string;
  /** Hex: encryption key, then signing key, each an uncompressed point of P-256. */
  pubKey: string;
}

export interface MemberSet {
  threshold: number;
  members: readonly Member[];
}

/** The port of the program for which the host accepts connections, or where the program may connect to. */
export type Bridge =
  | { type: "server"; port: number; host: string }
  | { type: "client"; port: number; host: string | undefined };

export interface Manifest {
  version: "v0" | "v1" | "v2";
  namespace: { name: string; nonce: number; quorumKey: string };
  pivot: {
    /** SHA-256 of the program, in hex. */
    hash: string;
    restart: "Never" | "Always";
    /** Undefined in v0, like `debugMode`. */
    bridgeConfig: readonly Bridge[] | undefined;
    debugMode: boolean | undefined;
    args: readonly string[];
    /** Only in v2. */
    env: Readonly<Record<string, string>>;
  };
  manifestSet: MemberSet;
  shareSet: MemberSet;
  enclave: { pcr0: string; pcr1: string; pcr2: string; pcr3: string; awsRootCertificate: string; qosCommit: string };
  /** Only in v2. */
  dns: { resolvers: readonly string[] } | undefined;
  /** Only in v0 and v1. */
  patchSet: { threshold: number; members: readonly { pubKey: string }[] } | undefined;
}

/** An approval in an envelope. */
export interface EnvelopeApproval {
  /** Hex: r || s. */
  signature: string;
  member: Member;
}

/** A manifest and its signed approvals. */
export interface ManifestEnvelope {
  manifest: Manifest;
  manifestSetApprovals: readonly EnvelopeApproval[];
  shareSetApprovals: readonly EnvelopeApproval[];
  /** Whether it was a manifest without an envelope, and therefore without any approvals. */
  isBare: boolean;
}

/**
 * Parses a manifest from JSON.
 *
 * @throws KeysteadError BODY_INVALID or FIELD_INVALID: not JSON, or duplicate, unknown, missing or invalid members
 */
export const parseManifest = (json: Uint8Array): Manifest => manifestIn(parseQosJson(json), "manifest");

/** The same, for a manifest without approvals or in an envelope. */
export function parseEnvelope(json: Uint8Array): ManifestEnvelope {
  const value = parseQosJson(json);
  if (typeof value !== "object" || value === null || !("manifest" in value)) {
    return { manifest: manifestIn(value, "manifest"), manifestSetApprovals: [], shareSetApprovals: [], isBare: true };
  }
  const fields = new Fields(value, "envelope");
  return fields.all({
    manifest: manifestIn(fields.take("manifest"), "manifest"),
    manifestSetApprovals: fields.list("manifestSetApprovals", approvalIn),
    shareSetApprovals: fields.list("shareSetApprovals", approvalIn),
    isBare: false,
  });
}

/** SHA-256, 32 bytes: signed by operators and contained in an enclave's attestation. */
export function manifestHash(manifest: Manifest): Buffer {
  const bytes = manifest.version === "v2" ? Buffer.from(manifestJson(manifest)) : borshOf(manifest);
  return createHash("sha256").update(bytes).digest();
}

/** The canonical JSON of a manifest v2. */
export function manifestJson({ version, namespace, pivot, manifestSet, shareSet, enclave, dns }: Manifest): string {
  const { env, ...program } = pivot;
  const variables = Object.entries(env).map(([name, value]) => [name, { plain: { value } }]);
  return qosJson(
    digits({
      version,
      namespace,
      pivot: { ...program, ...(variables.length > 0 ? { env: Object.fromEntries(variables) } : {}) },
      manifestSet,
      shareSet,
      enclave,
      dns,
    }),
  );
}

function digits(value: unknown): unknown {
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return value.map(digits);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, digits(child)]));
}

const bytesOf = (hex: string) => Buffer.from(hex, "hex");

function borshOf({ namespace, pivot, manifestSet, shareSet, enclave, patchSet }: Manifest): Buffer {
  const writer = new BorshWriter();
  writer.text(namespace.name).u32(namespace.nonce).bytes(bytesOf(namespace.quorumKey));
  writer.fixed(bytesOf(pivot.hash)).u8(pivot.restart === "Always" ? 1 : 0);
  if (pivot.bridgeConfig) writer.list(pivot.bridgeConfig, (bridge) => writeBridge(writer, bridge));
  if (pivot.debugMode !== undefined) writer.bool(pivot.debugMode);
  writer.list(pivot.args, (arg) => writer.text(arg));
  for (const { threshold, members } of [manifestSet, shareSet]) {
    writer.u32(threshold).list(members, ({ alias, pubKey }) => writer.text(alias).bytes(bytesOf(pubKey)));
  }
  for (const name of ["pcr0", "pcr1", "pcr2", "pcr3", "awsRootCertificate"] as const) {
    writer.bytes(bytesOf(enclave[name]));
  }
  writer.text(enclave.qosCommit);
  const { threshold, members } = patchSet as NonNullable<typeof patchSet>;
  return writer
    .u32(threshold)
    .list(members, ({ pubKey }) => writer.bytes(bytesOf(pubKey)))
    .written();
}

function writeBridge(writer: BorshWriter, bridge: Bridge): void {
  writer.u8(bridge.type === "server" ? 0 : 1).u16(bridge.port);
  if (bridge.type === "server") writer.text(bridge.host);
  else writer.optional(bridge.host, (host) => writer.text(host));
}

const MAX_U32 = 0xffff_ffff;
const MAX_U16 = 0xffff;
const SHA256 = /^[0-9a-f]{64}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,1023}$/;

/** Takes the members of an object one by one, and rejects the remaining ones. */
class Fields {
  readonly #left: Map<string, unknown>;
  readonly #place: string;

  constructor(value: unknown, place: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) refuse(place, "must be an object");
    // A null member counts as missing.
    this.#left = new Map(Object.entries(value as object).filter(([, child]) => child !== null));
    this.#place = place;
  }

  has(name: string): boolean {
    return this.#left.has(name);
  }

  take(name: string): unknown {
    const value = this.#left.get(name);
    this.#left.delete(name);
    return value === undefined ? refuse(this.at(name), "is missing") : value;
  }

  text(name: string): string {
    const value = this.take(name);
    return typeof value === "string" ? value : refuse(this.at(name), "must be a string");
  }

  hex(name: string): string {
    const value = this.text(name).toLowerCase();
    return /^(?:[0-9a-f]{2})*$/.test(value) ? value : refuse(this.at(name), "must be hex of whole bytes");
  }

  integer(name: string, max: number): number {
    const value = this.take(name);
    if (typeof value !== "string" || !/^(?:0|[1-9][0-9]{0,9})$/.test(value) || Number(value) > max) {
      refuse(this.at(name), `must be an integer from 0 to ${max}`);
    }
    return Number(value);
  }

  bool(name: string): boolean {
    const value = this.take(name);
    return typeof value === "boolean" ? value : refuse(this.at(name), "must be true or false");
  }

  list<T>(name: string, read: (value: unknown, place: string) => T): T[] {
    const value = this.take(name);
    if (!Array.isArray(value)) return refuse(this.at(name), "must be a list");
    return value.map((item, index) => read(item, `${this.at(name)}.${index}`));
  }

  at(name: string): string {
    return `${this.#place}.${name}`;
  }

  /** Returns `read` if no members remain. */
  all<T>(read: T): T {
    for (const name of this.#left.keys()) refuse(this.at(printable(name)), "is not known in this schema");
    return read;
  }
}

const refuse = (field: string, reason: string): never => fail("FIELD_INVALID", { field, reason });

function manifestIn(value: unknown, place: string): Manifest {
  const fields = new Fields(value, place);
  const version = versionOf(fields);
  const pivot = pivotIn(fields.take("pivot"), fields.at("pivot"), version);
  return fields.all({
    version: pivot.bridgeConfig ? version : "v0",
    namespace: namespaceIn(fields.take("namespace"), fields.at("namespace")),
    pivot,
    manifestSet: setIn(fields.take("manifestSet"), fields.at("manifestSet")),
    shareSet: setIn(fields.take("shareSet"), fields.at("shareSet")),
    enclave: enclaveIn(fields.take("enclave"), fields.at("enclave")),
    dns: version === "v2" && fields.has("dns") ? dnsIn(fields.take("dns"), fields.at("dns")) : undefined,
    patchSet: version === "v2" ? undefined : patchSetIn(fields.take("patchSet"), fields.at("patchSet")),
  });
}

function versionOf(fields: Fields): "v1" | "v2" {
  if (!fields.has("version")) return "v1";
  return fields.text("version") === "v2" ? "v2" : refuse(fields.at("version"), 'must be "v2", or left out in v1');
}

function namespaceIn(value: unknown, place: string): Manifest["namespace"] {
  const fields = new Fields(value, place);
  return fields.all({
    name: fields.text("name"),
    nonce: fields.integer("nonce", MAX_U32),
    quorumKey: fields.hex("quorumKey"),
  });
}

function pivotIn(value: unknown, place: string, version: "v1" | "v2"): Manifest["pivot"] {
  const fields = new Fields(value, place);
  const hash = fields.hex("hash");
  if (!SHA256.test(hash)) refuse(fields.at("hash"), "must be 32 bytes");
  const restart = fields.text("restart");
  if (restart !== "Never" && restart !== "Always") return refuse(fields.at("restart"), "must be Never or Always");
  // The oldest schema has neither.
  const isOldest = version === "v1" && !fields.has("bridgeConfig") && !fields.has("debugMode");
  return fields.all({
    hash,
    restart,
    bridgeConfig: isOldest ? undefined : fields.list("bridgeConfig", bridgeIn),
    debugMode: isOldest ? undefined : fields.bool("debugMode"),
    args: fields.list("args", textIn),
    env: version === "v2" && fields.has("env") ? environmentIn(fields.take("env"), fields.at("env")) : {},
  });
}

const textIn = (value: unknown, place: string): string =>
  typeof value === "string" ? value : refuse(place, "must be a string");

function bridgeIn(value: unknown, place: string): Bridge {
  const fields = new Fields(value, place);
  const type = fields.text("type");
  const port = fields.integer("port", MAX_U16);
  if (type === "server") return fields.all({ type, port, host: fields.text("host") });
  if (type !== "client") return refuse(fields.at("type"), "must be server or client");
  return fields.all({ type, port, host: fields.has("host") ? fields.text("host") : undefined });
}

function environmentIn(value: unknown, place: string): Record<string, string> {
  const fields = new Fields(value, place);
  const read = Object.keys(value as object).map((name) => {
    if (!VARIABLE.test(name)) refuse(`${place}.${printable(name)}`, "must be the name of a variable");
    const kind = new Fields(fields.take(name), fields.at(name));
    const plain = new Fields(kind.take("plain"), kind.at("plain"));
    return [name, kind.all(plain.all(plain.text("value")))];
  });
  return fields.all(Object.fromEntries(read));
}

function memberIn(value: unknown, place: string): Member {
  const fields = new Fields(value, place);
  return fields.all({ alias: fields.text("alias"), pubKey: fields.hex("pubKey") });
}

function setIn(value: unknown, place: string): MemberSet {
  const fields = new Fields(value, place);
  return fields.all({ threshold: fields.integer("threshold", MAX_U32), members: fields.list("members", memberIn) });
}

function patchSetIn(value: unknown, place: string): NonNullable<Manifest["patchSet"]> {
  const fields = new Fields(value, place);
  const members = fields.list("members", (item, at) => {
    const member = new Fields(item, at);
    return member.all({ pubKey: member.hex("pubKey") });
  });
  return fields.all({ threshold: fields.integer("threshold", MAX_U32), members });
}

function enclaveIn(value: unknown, place: string): Manifest["enclave"] {
  const fields = new Fields(value, place);
  return fields.all({
    pcr0: fields.hex("pcr0"),
    pcr1: fields.hex("pcr1"),
    pcr2: fields.hex("pcr2"),
    pcr3: fields.hex("pcr3"),
    awsRootCertificate: fields.hex("awsRootCertificate"),
    qosCommit: fields.text("qosCommit"),
  });
}

function dnsIn(value: unknown, place: string): { resolvers: string[] } {
  const fields = new Fields(value, place);
  const resolvers = fields.list("resolvers", (item, at) =>
    typeof item === "string" && isIP(item) !== 0 ? item : refuse(at, "must be an IP address"),
  );
  return fields.all({ resolvers });
}

function approvalIn(value: unknown, place: string): EnvelopeApproval {
  const fields = new Fields(value, place);
  return fields.all({
    signature: fields.hex("signature"),
    member: memberIn(fields.take("member"), fields.at("member")),
  });
}
