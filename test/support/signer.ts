import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger } from "../../src/kernel/log.ts";
import { SignerProcess } from "../../src/signer/client.ts";
import type { NamedAddress, Occasion, Sealed, SignerRequest } from "../../src/signer/protocol.ts";

/** A signer process of its own, with what it had logged, and one organization in it. */
export interface TestSigner {
  signer: SignerProcess;
  owner: { organizationId: string; organizationKey: Sealed };
  log: () => string;
  close(): Promise<void>;
}

export async function startTestSigner(seedCache = { entries: 100, lifetimeMs: 60_000 }): Promise<TestSigner> {
  const folder = mkdtempSync(join(tmpdir(), "keystead-signer-"));
  const lines: string[] = [];
  const { signer } = await SignerProcess.start({
    rootKeyFile: join(folder, "root.key"),
    mayCreateRootKey: true,
    seedCache,
    recordUses: false,
    log: createLogger("trace", { write: (line: string) => void lines.push(line) }),
  });
  const ask = signer.ask.bind(signer);
  signer.ask = (request, asker) => ask(request, { occasion: occasionFor(request), ...asker });
  return {
    signer,
    owner: await newOwner(signer, "organization"),
    log: () => lines.join(""),
    async close() {
      await signer.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** An activity of the request's organization that names whatever the request uses. */
/** Of import keys that `occasionFor` has used by their user. */
export const IMPORT_TERMS = { userId: "user", issuedAt: Date.now() };

export function occasionFor(request: SignerRequest): Occasion {
  const { policyOutcome, key, ...rest } = request as unknown as Record<string, Record<string, unknown> | undefined>;
  const { organizationId = policyOutcome?.organizationId, walletId, secretId } = rest;
  const parameters = {
    walletId,
    secretId,
    keyId: key?.keyId,
    address: (key?.address as NamedAddress | undefined)?.address,
    userId: IMPORT_TERMS.userId,
  };
  const timestampMs = String(IMPORT_TERMS.issuedAt);
  const body = JSON.stringify({ type: "ACTIVITY_TYPE_TEST", timestampMs, organizationId, parameters });
  return { body, ballots: [{ userId: IMPORT_TERMS.userId, publicKey: "", scheme: "", signature: "" }] };
}

export async function newOwner(signer: SignerProcess, organizationId: string): Promise<TestSigner["owner"]> {
  const { organizationKey } = await signer.ask({ verb: "createOrganizationKey", organizationId });
  return { organizationId, organizationKey };
}
