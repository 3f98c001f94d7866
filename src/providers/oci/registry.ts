import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGunzip, createZstdDecompress } from "node:zlib";
import { parseJsonOr } from "../../crypto/json-object.ts";
import type { RegistryCredential } from "../../crypto/registry-credential.ts";
import { boundedTurns } from "../../delivery/bounded-turns.ts";
import { createGate } from "../../delivery/gate.ts";
import {
  type OutboundAnswer,
  type OutboundClient,
  OutboundError,
  type OutboundRequest,
} from "../../delivery/outbound.ts";
import {
  IMAGE_TIMEOUT_MS,
  MAX_IMAGE_LAYER_BYTES,
  MAX_IMAGE_LAYERS,
  MAX_IMAGE_MANIFEST_BYTES,
  MAX_IMAGE_READS,
  MAX_IMAGE_READS_OF_ONE_ORGANIZATION,
  MAX_PROGRAM_BYTES,
  MAX_UNPACKED_AT_ONCE,
  MAX_UNPACKED_LAYER_BYTES,
  MAX_WAITING_IMAGE_READS,
} from "../../kernel/limits.ts";
import { pause } from "../../kernel/turns.ts";
import { sha256InTurns, sha256OfPieces } from "./digest.ts";
import { type ImageReference, parseImageReference } from "./reference.ts";
import { Spool } from "./spool.ts";
import { normalPath, type TarEntry, TarProblem, TarReader } from "./tar.ts";

/**
 * Reads images from registries with the OCI distribution API, version 1. All content is requested by its digest and compared with it. A tag
 * is resolved to a digest once.
 */

/** Why an image cannot be used: a problem of its registry or its content. The message may be shown. */
export class ImageProblem extends Error {}

export interface Images {
  /**
   * The digest of a reference's current image.
   *
   * @param credential for a registry that requires authentication
   * @param rootId the organization on whose behalf it reads. Concurrent reads for it and its sub-organizations are bounded
   * @throws ImageProblem
   */
  resolve(reference: string, rootId: string, credential?: RegistryCredential): Promise<string>;
  /**
   * The content of one file of an image, after applying all layers.
   *
   * @throws ImageProblem
   */
  readFile(
    image: { reference: string; digest: string; path: string },
    rootId: string,
    credential?: RegistryCredential,
  ): Promise<Buffer>;
}

export interface ImagesOptions {
  outbound: Pick<OutboundClient, "request">;
  /** Whether registries on the loopback network are called over plain HTTP. For development only. */
  plainLoopback: boolean;
  /** The directory for layers while they are read. */
  directory: string;
}

const MANIFESTS = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];
const ARCHITECTURES: Record<string, string> = { x64: "amd64", arm64: "arm64" };
const MAX_REDIRECTS = 3;

export function createImages(options: ImagesOptions): Images {
  const inTurn = boundedTurns(
    {
      perKey: MAX_IMAGE_READS_OF_ONE_ORGANIZATION,
      total: MAX_IMAGE_READS,
      inside: MAX_WAITING_IMAGE_READS,
      waitMs: IMAGE_TIMEOUT_MS,
    },
    () => {
      throw new ImageProblem("too many others of this organization are being looked up; try again in a minute");
    },
  );
  // Layers are downloaded to the disk, at any speed. What unpacks them holds a program in memory, so few do that at a time.
  const unpacking = createGate({ perKey: 1, total: MAX_UNPACKED_AT_ONCE });
  return {
    resolve: (text, rootId, credential) =>
      inTurn(rootId, async () => {
        const reference = parsed(text);
        const session = new Session(reference, options, credential);
        const { digest } = await session.manifest(reference.digest ?? reference.tag ?? "latest");
        return digest;
      }),
    readFile: ({ reference: text, digest, path }, rootId, credential) =>
      inTurn(rootId, () => {
        const session = new Session(parsed(text), options, credential);
        return fileOf(session, { digest, path: normalPath(path) }, <T>(unpack: () => Promise<T>) =>
          unpacking.run(rootId, unpack),
        );
      }),
  };
}

function parsed(text: string): ImageReference {
  const reference = parseImageReference(text);
  if ("problem" in reference) throw new ImageProblem(`it ${reference.problem}`);
  return reference;
}

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

async function fileOf(
  session: Session,
  { digest, path }: { digest: string; path: string },
  inTurn: InTurn,
): Promise<Buffer> {
  const layers = await layersOf(session, digest);
  if (layers.length > MAX_IMAGE_LAYERS) throw new ImageProblem(`it has more than ${MAX_IMAGE_LAYERS} layers`);
  // The uppermost layer that contains or removes the file decides.
  for (const layer of layers.toReversed()) {
    const found = await findInLayer(session, layer, path, inTurn);
    if (found === "removed") break;
    if (found) return found;
  }
  throw new ImageProblem(`it has no file /${path}`);
}

async function layersOf(session: Session, digest: string): Promise<Descriptor[]> {
  const { document } = await session.manifest(digest);
  if (!("manifests" in document)) return descriptorsIn(document.layers);
  const wanted = ARCHITECTURES[process.arch];
  const each = (document.manifests as { platform?: { os?: unknown; architecture?: unknown } }[] | undefined) ?? [];
  const fitting = Array.isArray(each)
    ? each.filter((one) => one?.platform?.os === "linux" && one.platform.architecture === wanted)
    : [];
  const [manifest] = descriptorsIn(fitting);
  if (!manifest) throw new ImageProblem(`it is not built for linux/${wanted}`);
  return descriptorsIn((await session.manifest(manifest.digest)).document.layers);
}

function descriptorsIn(value: unknown): Descriptor[] {
  const isDescriptor = (each: Partial<Descriptor> | null): each is Descriptor =>
    typeof each?.mediaType === "string" &&
    typeof each.digest === "string" &&
    /^sha256:[0-9a-f]{64}$/.test(each.digest) &&
    Number.isSafeInteger(each.size) &&
    (each.size as number) >= 0;
  if (!Array.isArray(value) || !value.every(isDescriptor)) {
    throw new ImageProblem("its manifest is not one of an OCI or Docker image");
  }
  return value;
}

const refuseUnstored = (error: NodeJS.ErrnoException): never => {
  throw new ImageProblem(`a layer of it could not be written to this server's disk (${error.code ?? error.message})`);
};

type Wanted = Pick<OutboundRequest, "maxResponseBytes" | "into"> & { accept: string };

/** Requests to one repository, with the token that its registry issued. */
class Session {
  readonly #reference: ImageReference;
  readonly #outbound: ImagesOptions["outbound"];
  readonly #directory: string;
  readonly #origin: string;
  readonly #latest = performance.now() + IMAGE_TIMEOUT_MS;
  readonly #credential: RegistryCredential | undefined;
  /** The credential for the registry and for its token server. Never sent after a redirect to another host. */
  #authorization: string | undefined;

  constructor(
    reference: ImageReference,
    { outbound, plainLoopback, directory }: ImagesOptions,
    credential: RegistryCredential | undefined,
  ) {
    this.#reference = reference;
    this.#credential = credential;
    this.#outbound = outbound;
    this.#directory = directory;
    const isPlain = plainLoopback && /^(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]+)?$/.test(reference.registry);
    this.#origin = new URL(`${isPlain ? "http" : "https"}://${reference.registry}`).origin;
  }

  /**
   * The remaining time for the image.
   *
   * @throws ImageProblem
   */
  leftMs(): number {
    const leftMs = Math.round(this.#latest - performance.now());
    if (leftMs <= 0) throw new ImageProblem(`reading it took longer than ${IMAGE_TIMEOUT_MS / 1000} s`);
    return leftMs;
  }

  async manifest(named: string): Promise<{ digest: string; document: Record<string, unknown> }> {
    const accept = MANIFESTS.join(", ");
    const { body } = await this.#read(`manifests/${named}`, { maxResponseBytes: MAX_IMAGE_MANIFEST_BYTES, accept });
    const digest = `sha256:${await sha256InTurns(body)}`;
    if (named.startsWith("sha256:") && digest !== named) {
      throw new ImageProblem("the registry gave a manifest that does not have the digest it was asked for");
    }
    const document = parseJsonOr(body, () => {
      throw new ImageProblem("the registry gave a manifest that is not JSON");
    });
    if (typeof document !== "object" || document === null || Array.isArray(document)) {
      throw new ImageProblem("its manifest is not one of an OCI or Docker image");
    }
    return { digest, document: document as Record<string, unknown> };
  }

  /** Calls `read` with the content of a layer, which is gone afterwards. */
  async withBlob<T>({ digest, size }: Descriptor, read: (content: Spool) => Promise<T>): Promise<T> {
    if (size > MAX_IMAGE_LAYER_BYTES) {
      throw new ImageProblem(`a layer of it has more than ${MAX_IMAGE_LAYER_BYTES} bytes`);
    }
    const spool = await Spool.open(this.#directory).catch(refuseUnstored);
    try {
      let stored: Promise<void> = Promise.resolve();
      const into = async (piece: Buffer) => {
        stored = stored.then(() => spool.write(piece));
        await stored.catch(() => undefined);
      };
      await this.#read(`blobs/${digest}`, { maxResponseBytes: size, accept: "*/*", into });
      await stored.catch(refuseUnstored);
      if (`sha256:${await sha256OfPieces(spool.pieces())}` !== digest) {
        throw new ImageProblem("the registry gave a layer that does not have the digest it was asked for");
      }
      return await read(spool);
    } finally {
      await spool.close();
    }
  }

  async #read(what: string, wanted: Wanted): Promise<OutboundAnswer> {
    const url = `${this.#origin}/v2/${this.#reference.repository}/${what}`;
    let answer = await this.#get(url, wanted);
    if (answer.status === 401 && this.#authorization === undefined) {
      this.#authorization = await this.#authorize(answer.headers["www-authenticate"] ?? "");
      answer = await this.#get(url, wanted);
    }
    if (answer.status === 401 || answer.status === 403) {
      throw new ImageProblem(
        this.#credential
          ? "its registry does not let the owner of the pull secret read it"
          : "its registry does not let everybody read it; encrypt a pull secret for it",
      );
    }
    if (answer.status === 404) throw new ImageProblem(`its registry has no ${what.split("/")[0]} of that name for it`);
    if (answer.status !== 200) throw new ImageProblem(`its registry answered with the status ${answer.status}`);
    if (answer.truncated) {
      throw new ImageProblem(`its registry answered with more than ${wanted.maxResponseBytes} bytes`);
    }
    return answer;
  }

  /**
   * Follows redirects, because registries store blobs elsewhere. Credentials are sent only to the registry. A server elsewhere that
   * requires authentication may not name a token server, which would receive the pull secret.
   */
  async #get(url: string, { accept, ...bounds }: Wanted): Promise<OutboundAnswer> {
    let at = url;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const isRegistry = new URL(at).origin === new URL(url).origin;
      const headers: Record<string, string> = { accept, "user-agent": "keystead-images/1" };
      if (isRegistry && this.#authorization) headers.authorization = this.#authorization;
      const answer = await this.#send({ url: at, headers, ...bounds });
      if (answer.status === 401 && !isRegistry) {
        throw new ImageProblem("its registry redirects to a server that does not let everybody read it");
      }
      const { location } = answer.headers;
      if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return answer;
      at = this.#redirected(location, at);
    }
    throw new ImageProblem("its registry redirects too often");
  }

  /** No redirect may lead to plain HTTP, where others could read the traffic. */
  #redirected(location: string, from: string): string {
    const url = URL.canParse(location, from) ? new URL(location, from) : undefined;
    if (url && (url.protocol === "https:" || url.origin === new URL(from).origin)) return url.href;
    throw new ImageProblem("its registry redirects to something that is not https");
  }

  async #send(request: Omit<OutboundRequest, "method" | "timeoutMs">): Promise<OutboundAnswer> {
    const timeoutMs = this.leftMs();
    try {
      return await this.#outbound.request({ method: "GET", timeoutMs, ...request });
    } catch (error) {
      throw error instanceof OutboundError ? new ImageProblem(error.message) : error;
    }
  }

  /** The authorization for the registry: the credential itself, or a token that it issues for it. Empty for none. */
  async #authorize(challenge: string): Promise<string> {
    const credential = this.#credential;
    if (credential && "token" in credential) return `Bearer ${credential.token}`;
    const basic =
      credential && `Basic ${Buffer.from(`${credential.username}:${credential.password}`).toString("base64")}`;
    if (/^basic\b/i.test(challenge)) return basic ?? "";
    const token = await this.#token(challenge, basic);
    return token === "" ? "" : `Bearer ${token}`;
  }

  /** Fetches a read token. Registries issue one for public images to anybody, and for more with credentials. */
  async #token(challenge: string, authorization: string | undefined): Promise<string> {
    const fields = Object.fromEntries(
      [...challenge.matchAll(/\b(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    );
    if (!/^bearer /i.test(challenge) || !fields.realm || !URL.canParse(fields.realm)) return "";
    const url = new URL(fields.realm);
    if (url.protocol !== "https:" && url.origin !== this.#origin) return "";
    if (fields.service) url.searchParams.set("service", fields.service);
    url.searchParams.set("scope", fields.scope ?? `repository:${this.#reference.repository}:pull`);
    const headers = { accept: "application/json", ...(authorization ? { authorization } : {}) };
    const { status, body } = await this.#send({
      url: url.href,
      headers,
      maxResponseBytes: MAX_IMAGE_MANIFEST_BYTES,
    });
    const answer = status === 200 ? parseJsonOr(body, () => undefined) : undefined;
    const { token, access_token: accessToken } = (answer ?? {}) as { token?: unknown; access_token?: unknown };
    const given = token ?? accessToken;
    return typeof given === "string" && /^[\x21-\x7e]{1,16384}$/.test(given) ? given : "";
  }
}

/** 8 MiB, which RFC 8878 (section 3.1.1.1.2) recommends to support. A few bytes can ask for 16 times as much. */
const ZSTD_WINDOW_LOG = 23;

type Unpacker = () => NodeJS.ReadWriteStream | undefined;
const UNPACKERS: [RegExp, Unpacker][] = [
  [/(\+gzip|\.gzip)$/, createGunzip],
  [/\+zstd$/, () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } })],
  [/\.tar$/, () => undefined],
];

/** The file in this layer, "removed" if the layer deletes it, or undefined. */
async function findInLayer(
  session: Session,
  layer: Descriptor,
  path: string,
  inTurn: InTurn,
): Promise<Buffer | "removed" | undefined> {
  const { mediaType } = layer;
  const unpacker = UNPACKERS.find(([pattern]) => pattern.test(mediaType))?.[1];
  if (!unpacker)
    throw new ImageProblem(`a layer of it is of the type ${mediaType.slice(0, 100)}, which is not known here`);
  return session.withBlob(layer, (blob) => inTurn(() => findInBlob(session, blob, unpacker(), path)));
}

async function findInBlob(
  session: Session,
  blob: Spool,
  unpack: ReturnType<Unpacker>,
  path: string,
): Promise<Buffer | "removed" | undefined> {
  const search = new FileSearch(path);
  const reader = new TarReader(
    (entry) => search.wants(entry),
    (_, content) => search.take(content),
  );
  let unpacked = 0;
  const look = async (piece: Buffer) => {
    await pause();
    session.leftMs();
    unpacked += piece.length;
    if (unpacked > MAX_UNPACKED_LAYER_BYTES) {
      throw new ImageProblem(`a layer of it has more than ${MAX_UNPACKED_LAYER_BYTES} bytes unpacked`);
    }
    reader.write(piece);
  };
  const sink = new Writable({
    write(piece: Buffer, _, done) {
      look(piece).then(() => done(), done);
    },
  });
  try {
    const pieces = Readable.from(blob.pieces());
    if (unpack) await pipeline(pieces, unpack, sink);
    else await pipeline(pieces, sink);
  } catch (error) {
    if (error instanceof ImageProblem) throw error;
    throw new ImageProblem(`a layer of it cannot be unpacked${reasonIn(error)}`);
  }
  return search.found;
}

function reasonIn(error: unknown): string {
  if (error instanceof TarProblem) return `: ${error.message}`;
  const isOfWindow = (error as NodeJS.ErrnoException).code === "ZSTD_error_frameParameter_windowTooLarge";
  return isOfWindow ? `: its zstd window is larger than ${2 ** (ZSTD_WINDOW_LOG - 20)} MiB` : "";
}

/** Searches one layer for a file. Symbolic links are not followed. */
class FileSearch {
  found: Buffer | "removed" | undefined;
  readonly #path: string;
  readonly #whiteouts: ReadonlySet<string>;

  constructor(path: string) {
    this.#path = path;
    const parts = path.split("/");
    // Whiteouts of the file and of every folder that contains it. An opaque folder hides everything below it in lower layers.
    this.#whiteouts = new Set(
      parts.flatMap((part, index) => {
        const parent = parts
          .slice(0, index)
          .map((each) => `${each}/`)
          .join("");
        return [`${parent}.wh.${part}`, ...(index > 0 ? [`${parent}.wh..wh..opq`] : [])];
      }),
    );
  }

  wants({ name, kind, size, target }: TarEntry): boolean {
    if (this.#whiteouts.has(name)) this.found ??= "removed";
    if (name !== this.#path) return false;
    if (kind !== "file") {
      throw new ImageProblem(
        kind === "symlink" || kind === "link"
          ? `/${name} in it is a link to ${target.slice(0, 200)}; name the program itself`
          : `/${name} in it is not a file`,
      );
    }
    if (size > MAX_PROGRAM_BYTES) throw new ImageProblem(`/${name} in it has more than ${MAX_PROGRAM_BYTES} bytes`);
    return true;
  }

  take(content: Buffer): void {
    this.found = content;
  }
}
