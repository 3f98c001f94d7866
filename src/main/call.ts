import { operations } from "../capabilities/index.ts";
import { apiKeyStamper } from "../client/api-key-stamper.ts";
import { createClient } from "../client/client.ts";
import { createRegistry, pathOf } from "../engine/registry.ts";
import { MAX_HELD_ANSWER_BYTES } from "../kernel/limits.ts";
import { type Config, configuredUrl, StartProblem } from "./config.ts";
import { credentialsFileIn, readAddress, readCredentials } from "./credentials-file.ts";

export interface CallOptions {
  config: Pick<Config, "dataDir" | "publicUrl" | "host" | "port">;
  operation: string;
  /** The parameters, or a query's fields, as JSON. */
  json: string;
  credentialsFile?: string | undefined;
  /** Receives warnings for the operator before anything is sent. */
  warn: (text: string) => void;
}

/** Stamps a request with the key in the credentials file and sends it; resolves to the unparsed answer. */
export async function call(options: CallOptions): Promise<{ ok: boolean; text: string }> {
  const { config, operation: name, json, credentialsFile = credentialsFileIn(config.dataDir) } = options;
  const credentials = readCredentials(credentialsFile);
  const { publicKey, privateKey } = credentials?.apiKey ?? {};
  if (!credentials || !publicKey || !privateKey) {
    throw new StartProblem(
      `no credentials with a private key in ${credentialsFile}; start the server once, or name a file with --credentials`,
    );
  }
  // Credentials that the operator names may be for another server than this folder's.
  const isOwnFile = options.credentialsFile === undefined;
  const address = isOwnFile ? readAddress(config.dataDir) : undefined;
  const baseUrl = address ?? credentials.baseUrl;
  const operation = createRegistry(operations).operations.find(({ path }) => path === name);
  if (!operation) throw new StartProblem(`there is no operation ${name}; ${baseUrl}/docs lists them`);
  const given = parseObject(json);
  const { organizationId } = credentials;
  const body = JSON.stringify(
    operation.kind === "query"
      ? { organizationId, ...given }
      : {
          type: operation.kind === "vote" ? operation.type : [...operation.versions.keys()][0],
          timestampMs: String(Date.now()),
          organizationId,
          parameters: given,
        },
  );
  if (isOwnFile && address === undefined && baseUrl !== configuredUrl(config)) {
    // Files that were copied from another machine contain that machine's address.
    options.warn(
      `${name} is sent to ${baseUrl}, the address in ${credentialsFile}, because no server in this folder has written the address that it listens on`,
    );
  }
  const stamper = apiKeyStamper({ publicKey, privateKey });
  const client = createClient({ baseUrl, organizationId, stamper, fetch: fetchWithin });
  const path = pathOf(operation);
  const { status, text } = await client.send(path, body).catch((error: unknown) => {
    if (error instanceof StartProblem) throw error;
    const { cause, message } = error as Error & { cause?: Error };
    throw new StartProblem(`${baseUrl}${path} does not answer (${cause?.message ?? message}); is the server running?`);
  });
  if (status >= 300 && status < 400) {
    throw new StartProblem(
      `${baseUrl}${path} leads to another address (${status}), where nothing was sent; if that is the server, use its address directly`,
    );
  }
  return { ok: status === 200, text };
}

/** Sends a stamped request only to the address that it is for, and reads no more than a server ever answers. */
const fetchWithin: typeof fetch = async (input, init) => {
  const { status, body } = await fetch(input, { ...init, redirect: "manual" });
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > MAX_HELD_ANSWER_BYTES) {
      throw new StartProblem(
        `${input} answers with more than ${MAX_HELD_ANSWER_BYTES} bytes; check that this is the server's address`,
      );
    }
    pieces.push(piece);
  }
  return new Response(bytes === 0 ? null : Buffer.concat(pieces), { status });
};

function parseObject(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Fall through.
  }
  throw new StartProblem(`the parameters must be a JSON object, such as '{}'`);
}
