import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

/** A registry on this machine that speaks the OCI distribution API, as far as it takes to read images. */
export interface RegistryOfTests {
  /** `host:port`, as references begin. */
  host: string;
  /** What came in: method and path. */
  requests: string[];
  /** Stores a layer or configuration; its digest. */
  blob(bytes: Buffer): string;
  /** What was stored under this digest. */
  blobOf(digest: string): Buffer;
  /** Stores a manifest, with a tag if one is given; its digest. */
  manifest(repository: string, document: object, tag?: string): string;
  /** What it answers to paths that hold this from now on, in place of its own answer. */
  answer(part: string, reply: RequestListener | undefined): void;
}

let ofTests: Promise<RegistryOfTests> | undefined;

/** The one of all tests in this process; it ends with it. */
export function registryOfTests(): Promise<RegistryOfTests> {
  ofTests ??= startRegistry();
  return ofTests;
}

export const digestOf = (bytes: Uint8Array): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

async function startRegistry(): Promise<RegistryOfTests> {
  const blobs = new Map<string, Buffer>();
  const manifests = new Map<string, { bytes: Buffer; type: string }>();
  const replies = new Map<string, RequestListener>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const { url = "" } = request;
    requests.push(`${request.method} ${url}`);
    const reply = [...replies].find(([part]) => url.includes(part))?.[1];
    if (reply) return reply(request, response);
    const [, repository, kind, name = ""] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(url) ?? [];
    const found = kind === "blobs" ? blobs.get(name) : manifests.get(`${repository} ${name}`)?.bytes;
    if (!found) return response.writeHead(404).end('{"errors":[{"code":"NOT_FOUND"}]}');
    const type = manifests.get(`${repository} ${name}`)?.type ?? "application/octet-stream";
    return response.writeHead(200, { "content-type": type, "docker-content-digest": digestOf(found) }).end(found);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    blob(bytes) {
      blobs.set(digestOf(bytes), bytes);
      return digestOf(bytes);
    },
    blobOf: (digest) => blobs.get(digest) ?? assert.fail(`no ${digest}`),
    manifest(repository, document, tag) {
      const bytes = Buffer.from(JSON.stringify(document));
      const { mediaType: type = "" } = document as { mediaType?: string };
      for (const name of [digestOf(bytes), ...(tag === undefined ? [] : [tag])]) {
        manifests.set(`${repository} ${name}`, { bytes, type });
      }
      return digestOf(bytes);
    },
    answer(part, reply) {
      if (reply) replies.set(part, reply);
      else replies.delete(part);
    },
  };
}

/** What one entry of a layer is. */
export interface LayerEntry {
  name: string;
  content?: Buffer;
  type?: "0" | "1" | "2" | "5";
  target?: string;
}

/** A tar archive. */
export function tarOf(entries: readonly LayerEntry[]): Buffer {
  const parts = entries.flatMap(({ name, content = Buffer.alloc(0), type = "0", target = "" }) => {
    const long = Buffer.byteLength(name) > 100;
    const pax = long ? paxFor(name) : [];
    return [...pax, headerOf(long ? name.slice(0, 100) : name, content.length, type, target), padded(content)];
  });
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

function paxFor(name: string): Buffer[] {
  const record = (length: number) => `${length} path=${name}\n`;
  let length = record(0).length;
  while (Buffer.byteLength(record(length)) !== length) length = Buffer.byteLength(record(length));
  const content = Buffer.from(record(length));
  return [headerOf("pax", content.length, "x", ""), padded(content)];
}

const padded = (content: Buffer): Buffer =>
  Buffer.concat([content, Buffer.alloc((512 - (content.length % 512)) % 512)]);

function headerOf(name: string, size: number, type: string, target: string): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write("0000755\0", 100);
  header.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  header.write("        ", 148);
  header.write(type, 156);
  header.write(target, 157);
  header.write("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

/** Stores an image with these layers, the lowest first; its reference by digest, and by its tag. */
export async function pushImage(
  layers: readonly (readonly LayerEntry[])[],
  { repository = "team/app", tag = "1" } = {},
): Promise<{ digest: string; byDigest: string; byTag: string }> {
  const registry = await registryOfTests();
  const gzip = "application/vnd.oci.image.layer.v1.tar+gzip";
  const described = layers.map((entries) => {
    const bytes = gzipSync(tarOf(entries));
    return { mediaType: gzip, digest: registry.blob(bytes), size: bytes.length };
  });
  const config = Buffer.from("{}");
  const manifest = {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: { mediaType: "application/vnd.oci.image.config.v1+json", digest: registry.blob(config), size: 2 },
    layers: described,
  };
  const digest = registry.manifest(repository, manifest);
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const index = {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: [
      {
        mediaType: manifest.mediaType,
        digest: digestOf(Buffer.from("another")),
        size: 7,
        platform: { os: "windows", architecture },
      },
      {
        mediaType: manifest.mediaType,
        digest,
        size: JSON.stringify(manifest).length,
        platform: { os: "linux", architecture },
      },
    ],
  };
  const indexDigest = registry.manifest(repository, index, tag);
  const named = `${registry.host}/${repository}`;
  return { digest: indexDigest, byDigest: `${named}@${indexDigest}`, byTag: `${named}:${tag}` };
}
