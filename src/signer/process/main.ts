import { Socket } from "node:net";
import { wipe } from "../../kernel/bytes.ts";
import { readFrames, writeFrame } from "../frames.ts";
import {
  type OpenRequest,
  PROTOCOL_VERSION,
  type RequestFrame,
  type Responses,
  type SignerFault,
  type SignerRequest,
} from "../protocol.ts";
import { generateSecret, publicKeyOf } from "./keys.ts";
import { openRootKey, RootKeyProblem, rootKeyId } from "./root-key.ts";
import { seal, unseal } from "./seal.ts";
import { SigningRefused, signPayload } from "./sign.ts";

/**
 * The signer: the only code that sees plaintext keys. It has no database and no network, and speaks over the socket it
 * inherited as file descriptor 3. It ends when that socket does, so it never outlives its server.
 */

const SOCKET_DESCRIPTOR = 3;

class Sealed extends Error {}

let rootKey: Buffer | undefined;

const verbs: {
  [Verb in SignerRequest["verb"]]?: (request: Extract<SignerRequest, { verb: Verb }>) => Responses[Verb];
} = {
  open,

  createOrganizationKey({ organizationId }) {
    const key = Buffer.allocUnsafeSlow(32);
    crypto.getRandomValues(key);
    try {
      return { organizationKey: seal(openedRootKey(), organizationContext(organizationId), key) };
    } finally {
      wipe(key);
    }
  },

  generateKeys({ organizationId, organizationKey, keys }) {
    return withOrganizationKey(organizationId, organizationKey, (wrappingKey) => ({
      keys: keys.map(({ keyId, curve }) => {
        const secret = generateSecret(curve);
        try {
          const sealedKey = seal(wrappingKey, keyContext(organizationId, keyId, curve), secret);
          return { sealedKey, publicKey: publicKeyOf(curve, secret) };
        } finally {
          wipe(secret);
        }
      }),
    }));
  },

  sign({ organizationId, organizationKey, key, scheme, hash, payloads }) {
    if (key.kind !== "privateKey" || scheme !== undefined) throw new SigningRefused("unknown kind of key or scheme");
    const { keyId, curve, sealedKey } = key;
    return withOrganizationKey(organizationId, organizationKey, (wrappingKey) => {
      const secret = unseal(wrappingKey, keyContext(organizationId, keyId, curve), sealedKey);
      if (!secret) throw new SigningRefused(`key ${keyId} cannot be opened: it was sealed for something else`);
      try {
        const signatures = payloads.map((payload) =>
          signPayload({ curve, secret, origin: sealedKey }, hash, Buffer.from(payload, "base64")),
        );
        return { signatures };
      } finally {
        wipe(secret);
      }
    });
  },
};

function open({ protocolVersion, rootKeyFile, passphrase, mayCreate }: OpenRequest): Responses["open"] {
  if (protocolVersion !== PROTOCOL_VERSION) {
    throw new SigningRefused(
      `the server speaks version ${protocolVersion} of the protocol, the signer ${PROTOCOL_VERSION}`,
    );
  }
  const outcome = openRootKey(rootKeyFile, passphrase, mayCreate);
  if (outcome.state === "sealed") return { state: "sealed" };
  rootKey = outcome.rootKey;
  return { state: "open", rootKeyId: rootKeyId(outcome.rootKey), created: outcome.created };
}

function openedRootKey(): Buffer {
  if (!rootKey) throw new Sealed("the root key is sealed");
  return rootKey;
}

function withOrganizationKey<T>(organizationId: string, sealed: string, use: (key: Buffer) => T): T {
  const key = unseal(openedRootKey(), organizationContext(organizationId), sealed);
  if (!key) throw new SigningRefused(`the key of organization ${organizationId} was not sealed with this root key`);
  try {
    return use(key);
  } finally {
    wipe(key);
  }
}

const organizationContext = (organizationId: string) => ["organization key", organizationId];
const keyContext = (organizationId: string, keyId: string, curve: string) => ["key", organizationId, keyId, curve];

function answer(request: SignerRequest): unknown {
  const verb = verbs[request.verb] as ((request: SignerRequest) => unknown) | undefined;
  if (!verb) throw new SigningRefused("unknown verb");
  return verb(request);
}

function faultOf(error: unknown): SignerFault {
  if (error instanceof Sealed) return { kind: "sealed", message: error.message };
  if (error instanceof SigningRefused || error instanceof RootKeyProblem)
    return { kind: "refused", message: error.message };
  // The text of an unknown error could quote its input.
  return { kind: "internal", message: error instanceof Error ? error.name : "unknown error" };
}

function serve(): void {
  const socket = new Socket({ fd: SOCKET_DESCRIPTOR, readable: true, writable: true });
  readFrames(socket, (frame) => {
    const { id, request } = frame as RequestFrame;
    try {
      writeFrame(socket, { id, response: answer(request) });
    } catch (error) {
      writeFrame(socket, { id, fault: faultOf(error) });
    }
  });
  const end = () => {
    if (rootKey) wipe(rootKey);
    process.exit(0);
  };
  socket.on("close", end);
  socket.on("error", end);
  // A terminal sends its signals to the whole group; the server decides when the signer stops.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => {});
}

serve();
