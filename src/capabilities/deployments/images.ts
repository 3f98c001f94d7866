import type { RegistryCredential } from "../../crypto/registry-credential.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import type { Organization } from "../../engine/operations.ts";
import { fail } from "../../kernel/errors.ts";
import { ImageProblem } from "../../providers/oci/registry.ts";
import type { DeploymentHost } from "./services.ts";

/**
 * The digest that an image's name resolves to now, `sha256:…`.
 *
 * @throws KeysteadError TVC_IMAGE_VALIDATION_FAILED
 */
export async function resolveImage(
  { images }: Pick<DeploymentHost, "images">,
  organization: Organization,
  text: string,
  field: string,
  credential?: RegistryCredential,
): Promise<string> {
  try {
    return await images.resolve(text, rootIdOf(organization), credential);
  } catch (error) {
    if (!(error instanceof ImageProblem)) throw error;
    return fail("TVC_IMAGE_VALIDATION_FAILED", { field, reason: error.message });
  }
}
