import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger } from "../../src/kernel/log.ts";
import { SignerProcess } from "../../src/signer/client.ts";
import type { Sealed } from "../../src/signer/protocol.ts";

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
    log: createLogger("trace", { write: (line: string) => void lines.push(line) }),
  });
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

export async function newOwner(signer: SignerProcess, organizationId: string): Promise<TestSigner["owner"]> {
  const { organizationKey } = await signer.ask({ verb: "createOrganizationKey", organizationId });
  return { organizationId, organizationKey };
}
