import { newId } from "../../kernel/ids.ts";
import type { Reader } from "../../storage/engine.ts";
import { serviceKeyOwner } from "../keys/service-keys.ts";
import type { AskedSigner } from "../services.ts";

/**
 * A secret of a job, such as a code or a token. The signer seals it before the transaction that queues the job, and opens it for each run.
 */
export interface SealedSecret {
  /** The id that it was sealed for, together with the kind of job. */
  id: string;
  /** base64. */
  sealed: string;
}

/** Seals `secret`, a JSON value, for one job of this kind. */
export async function sealJobSecret(
  { read, signer }: { read: Reader; signer: AskedSigner<"sealJobSecret"> },
  jobKind: string,
  secret: unknown,
): Promise<SealedSecret> {
  const id = newId();
  const { sealed } = await signer.ask({
    verb: "sealJobSecret",
    ...(await serviceKeyOwner(read)),
    secretId: id,
    jobKind,
    secret: Buffer.from(JSON.stringify(secret)).toString("base64"),
  });
  return { id, sealed };
}

/** @throws KeysteadError SIGNER_UNAVAILABLE, SIGNER_SEALED, or the signer's refusal of a secret that was sealed for another kind */
export async function openJobSecret(
  { read, signer }: { read: Reader; signer: AskedSigner<"openJobSecret"> },
  jobKind: string,
  { id, sealed }: SealedSecret,
): Promise<unknown> {
  const owner = await serviceKeyOwner(read);
  const { secret } = await signer.ask({ verb: "openJobSecret", ...owner, secretId: id, jobKind, sealed });
  return JSON.parse(Buffer.from(secret, "base64").toString()) as unknown;
}
