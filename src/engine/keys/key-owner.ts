import type { Organization } from "../operations.ts";

/** An organization in the form that the signer takes. */
export const keyOwnerOf = ({ id, sealedKey }: Pick<Organization, "id" | "sealedKey">) => ({
  organizationId: id,
  organizationKey: Buffer.from(sealedKey).toString("base64"),
});
