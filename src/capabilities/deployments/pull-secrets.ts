import type { RegistryCredential } from "../../crypto/registry-credential.ts";
import { openJobSecret, type SealedSecret, sealJobSecret } from "../../engine/jobs/sealed-secrets.ts";
import { publishedKeyReferences, publishedPoints, type ServiceKeyKind } from "../../engine/keys/service-keys.ts";
import type { Organization } from "../../engine/operations.ts";
import type { AskedSigner } from "../../engine/services.ts";
import { WEEK_MS } from "../../kernel/durations.ts";
import { fail } from "../../kernel/errors.ts";
import { parseImageReference } from "../../providers/oci/reference.ts";
import { ImageProblem } from "../../providers/oci/registry.ts";
import type { Reader } from "../../storage/engine.ts";

/** The key to which clients encrypt pull secrets for images. */
export const pullSecretKey: ServiceKeyKind = {
  purpose: "tvcPullSecret",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: WEEK_MS,
  publish: (read, now) => publishedPoints(read, pullSecretKey, now),
};

/** The kind under which credentials are sealed. */
export const PULL_SECRET_KIND = "tvc_pull_secret";

/** Sealed together, so that changing the image in a row does not send the credential to another registry. */
interface StoredPullSecret {
  registry: string;
  credential: RegistryCredential;
}

/** Seals the credential for the image's registry, for storage. */
export async function sealPullSecret(
  context: { read: Reader; signer: AskedSigner<"sealJobSecret"> },
  image: string,
  credential: RegistryCredential,
): Promise<string> {
  const secret: StoredPullSecret = { registry: registryOf(image), credential };
  return JSON.stringify(await sealJobSecret(context, PULL_SECRET_KIND, secret));
}

/**
 * Opens a stored credential for the image's registry.
 *
 * @throws ImageProblem if it was sealed for another registry
 */
export async function unsealPullSecret(
  context: { read: Reader; signer: AskedSigner<"openJobSecret"> },
  image: string,
  sealed: string,
): Promise<RegistryCredential> {
  const secret = await openJobSecret(context, PULL_SECRET_KIND, JSON.parse(sealed) as SealedSecret);
  const { registry, credential } = secret as StoredPullSecret;
  if (registry !== registryOf(image)) throw new ImageProblem("its pull secret was not sealed for its registry");
  return credential;
}

function registryOf(image: string): string {
  const reference = parseImageReference(image);
  if ("problem" in reference) throw new ImageProblem(`it ${reference.problem}`);
  return reference.registry;
}

const PROBLEMS = {
  undecryptable:
    "was not encrypted to a key of this server: use `serviceKeys.tvcPullSecret` of /.well-known/keystead.json",
  malformed:
    'must contain a Docker configuration, {"auths": {"<registry>": {"auth": "<base64 of user:password>"}}}, with `username` and `password` or `registrytoken` instead of `auth`',
  otherRegistry: "has no entry in `auths` for the registry of the image",
};

/**
 * Decrypts a request's credential for the image's registry; undefined if the request has none.
 *
 * @throws KeysteadError FIELD_INVALID
 */
export async function openPullSecret(
  {
    read,
    signer,
    organization,
    now,
  }: {
    read: Reader;
    signer: AskedSigner<"openPullSecret">;
    organization: Organization;
    now: number;
  },
  image: string,
  envelope: string | undefined,
  field: string,
): Promise<RegistryCredential | undefined> {
  if (!envelope) return undefined;
  const reference = parseImageReference(image);
  if ("problem" in reference) return fail("FIELD_INVALID", { field, reason: reference.problem });
  const answer = await signer.ask({
    verb: "openPullSecret",
    organizationId: organization.id,
    envelope,
    registry: reference.registry,
    ...(await publishedKeyReferences(read, pullSecretKey, now)),
  });
  return "credential" in answer
    ? answer.credential
    : fail("FIELD_INVALID", { field, reason: PROBLEMS[answer.problem] });
}
